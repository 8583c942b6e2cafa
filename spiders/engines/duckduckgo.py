"""DuckDuckGo by its pages without JavaScript."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

from lxml.html import HtmlElement
from scrapy.http import Request, Response

from websearch.fetching.walls import Wall
from websearch.model import InvalidInput, Outcome, SearchQuery, SearchResponse, SearchResult
from websearch.providers.serp import Expressed, Layout, Panels, Param, SerpProvider
from websearch.results import sanity
from websearch.results.page import Page, first, form_fields, markup_text
from websearch.results.text import element_text
from websearch.results.urls import Redirect, query_param

Frontend = Literal["html", "lite"]
FRONTENDS: Final[tuple[Frontend, ...]] = ("html", "lite")

#: The values of the page's region selector (`kl`), the usual language of a country first.
_REGIONS: Final = (
    "ar-es", "at-de", "au-en", "be-nl", "be-fr", "bg-bg", "br-pt", "ca-en", "ca-fr", "ch-de", "ch-fr", "cl-es",
    "cn-zh", "co-es", "ct-ca", "cz-cs", "de-de", "dk-da", "ee-et", "es-es", "es-ca", "fi-fi", "fr-fr", "gr-el",
    "hk-tzh", "hr-hr", "hu-hu", "id-en", "ie-en", "il-en", "in-en", "is-is", "it-it", "jp-jp", "kr-kr", "lt-lt",
    "lv-lv", "mx-es", "my-en", "nl-nl", "no-no", "nz-en", "pe-es", "ph-en", "pk-en", "pl-pl", "pt-pt", "ro-ro",
    "ru-ru", "se-sv", "sg-en", "sk-sk", "sl-sl", "th-en", "tr-tr", "tw-tzh", "ua-uk", "uk-en", "us-en", "us-es",
    "vn-en", "xa-ar", "za-en",
)  # fmt: skip
#: Where DuckDuckGo spells a country or a language in its own way: value -> as in ISO 3166 and 639.
_SPELLED: Final = {
    "hk-tzh": "hk-zh", "jp-jp": "jp-ja", "kr-kr": "kr-ko", "no-no": "no-nb", "sl-sl": "si-sl", "tw-tzh": "tw-zh",
    "uk-en": "gb-en", "xa-ar": "sa-ar",
}  # fmt: skip
_LOCALES: Final = {_SPELLED.get(region, region): region for region in _REGIONS}
#: The country that stands for a language where that is not the country of the same name, nor the first of the list.
_HOMES: Final = {"en": "us-en", "ca": "es-ca"}

_NOTHING: Final = (
    "[class*='no-results'], [class*='noresults'], .result--no-result, [data-testid^='no-results'], [data-result='no-results'],"
    " li[data-layout^='no_result'], li[data-layout^='no-result']"
)
_SILENT: Final = f"html:not(:has({_NOTHING}, #react-layout h2, #links h2))"
_LITE: Final = Layout(
    "lite",
    rows="a.result-link",
    link="a.result-link",
    snippet="td.result-snippet",
    date="span.timestamp",
    skip="tr.result-sponsored",
)
#: The rows of the script behind the desktop page: `DDG.pageLayout.load('d', [row, …])`, or the bare JSON of it.
_SCRIPT: Final = re.compile(r"DDG\.pageLayout\.load\(\s*'d'\s*,\s*|\A\s*(?=[\[{])")
_SCRIPT_NOTHING: Final = ("DEEP_ERROR_NO_RESULTS", "DEEP_SIMPLE_NO_RESULTS", "EOF")


class DuckDuckGoSpider(SerpProvider):
    """DuckDuckGo, mostly Bing's index: `html` (default) or `lite` page by POST (facts §7.1, §7.2).

    It has no count and no language parameter (a language asked for alone becomes a region). Later pages are had by the
    page's own form only, whose `vqd` token is bound to query and user agent. `kl` and `df` go in the form alone: as
    cookies they would stay for searches that do not ask for them. Parameters: DuckDuckGo help pages, "URL parameters".
    """

    name, label, index_family = "duckduckgo", "DuckDuckGo", "bing"
    base_url = "https://html.duckduckgo.com"
    own_hosts = ("duckduckgo.com",)
    arguments = ("frontend",)
    follows_pages = True
    max_query = 499
    recency = Param("df", day="d", week="w", month="m", year="y")
    safesearch = Param("kp", strict="1", moderate="-1", off="-2")

    layouts = (
        Layout(
            "react",
            rows="[data-testid='result'], li[data-layout='organic'], article[data-nrn]",
            link="a[data-testid='result-title-a'], h2 a[href]",
            snippet="[data-result='snippet']",
            # The date is the first of two spans; the second is the text.
            date="[data-result='snippet'] span > span:first-child:nth-last-child(2)",
            site_name="p:has(+ a[data-testid='result-extras-url-link'])",
            sitelinks="a[data-testid*='sitelink'], [data-testid*='sitelink'] a",
            skip="li[data-layout]:not([data-layout='organic'])",
            drop="span > span:first-child:nth-last-child(2)",
        ),
        Layout(
            "html",
            rows="#links .web-result, .serp__results .web-result",
            link="a.result__a, .result__title a",
            snippet=".result__snippet",
            date=".result__extras__url > span:not([class]), .result__timestamp",
        ),
        _LITE,
        Layout(
            "desktop",
            rows="#links .result, #links .results_links",
            link="a.result__a, .result__title a, a.large",
            snippet=".result__snippet, .snippet",
            date=".result__timestamp",
            sitelinks=".result__sitelinks a, a[class*='sitelink']",
            skip=".result--more, .result--sep, .result--news, .module",
            drop=".result__timestamp",
        ),
        Layout("classic", rows=".links_main", link="a.large, h2 a[href]", snippet=".snippet, .result__snippet"),
    )
    panels = Panels(
        related="[data-testid='related-searches'] a, li[data-layout='related_searches'] a, .related-searches a",
        correction="#did_you_mean a, a.js-spelling-suggestion-link",
    )
    redirects = (Redirect(("duckduckgo.com",), "/l/", query_param("uddg")),)
    ads = ".result--ad, .results--ads, #ads, .web-result-sponsored, tr.result-sponsored, [data-testid='ad']"
    nothing = _NOTHING
    walls = (
        Wall(
            Outcome.CHALLENGE, "anomaly check", css="#challenge-form, form[action*='anomaly'], [class*='anomaly-modal']"
        ),
        Wall(Outcome.CHALLENGE, "anomaly check", html="anomalyDetectionBlock"),
        Wall(Outcome.CHALLENGE, "anomaly check", text=r"bots use DuckDuckGo too"),
        Wall(Outcome.BLOCKED, "error page", css="a[href^='mailto:error']"),
        Wall(Outcome.ERROR, "sent on to another site, as a !bang is: quote or remove it", status=303),
        # 202 is also the status of some honest pages without results (BC036).
        Wall(Outcome.CHALLENGE, "status 202", status=202, css=_SILENT),
        Wall(Outcome.CHALLENGE, "page needs JavaScript", css=f"{_SILENT} noscript [content*='/html']"),
        Wall(Outcome.CHALLENGE, "page needs JavaScript", css=_SILENT, html="DDG.deep.initialize("),
        Wall(Outcome.CHALLENGE, "page needs JavaScript", css=_SILENT, html="nrj('/d.js"),
    )
    echo = "input[name='q']"
    signature = (
        "link[title^='DuckDuckGo'], .header__logo-wrap, form[action*='anomaly.js'], #zero_click_wrapper,"
        " td > a.result-link, #links .web-result, form[action$='/lite/'], a[href*='duckduckgo.com/l/?uddg=']"
    )

    # --- requests ----------------------------------------------------------------------------------------------------

    @property
    def frontend(self) -> Frontend:
        """Which page is asked first: `-a frontend=lite`. Raises InvalidInput for another value."""
        given = str(self.given.get("frontend") or FRONTENDS[0]).strip().lower()
        for frontend in FRONTENDS:
            if given == frontend:
                return frontend
        raise InvalidInput(f"frontend must be one of {', '.join(FRONTENDS)}, not {given!r}")

    def check(self, query: SearchQuery) -> None:
        """Refuse a query of 500 characters or more, and an unknown frontend."""
        super().check(query)
        _ = self.frontend

    def request(self, query: SearchQuery, page: int) -> Request:
        """The search form of the chosen frontend; only good for page 1 (BC078)."""
        return self._ask(query, page, self.frontend)

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """The page's own "next" form, its fields verbatim (BC075), sent to the frontend the page came from."""
        here = _offset(_sent(response.request).get("s", "")) if response.request else 0
        forms = [(form, form_fields(form)) for form in self.page(response).css("form[action]")]
        # "Previous" is a form of the same kind: it leads to a smaller offset.
        ahead = [(form, fields) for form, fields in forms if _offset(fields.get("s", "")) > here]
        if not ahead:
            return None
        form, fields = ahead[-1]
        frontend: Frontend = "lite" if "/lite" in (form.get("action") or "") else "html"
        return self._send(frontend, query, page, fields)

    async def fetch(self, query: SearchQuery, page: int, previous: Response | None) -> Response | None:
        """The other frontend often answers while one is challenged: it is tried before a browser is started."""
        if previous is not None or self.frontend != "html":
            return await super().fetch(query, page, previous)
        response = await self.download(self._ask(query, page, "html", browser=False))
        if not self.judge(response, query).outcome.refused:
            return response
        with suppress(Exception):  # it stands in the attempts
            other = await self.download(self._ask(query, page, "lite", browser=False))
            if self.judge(other, query).outcome in (Outcome.OK, Outcome.EMPTY, Outcome.SUSPECT):
                return other
        return await self.download(self._ask(query, page, "html")) if self.config.browser.enabled else response

    def _ask(self, query: SearchQuery, page: int, frontend: Frontend, *, browser: bool = True) -> Request:
        filters = self.filters(query).params
        region = filters.pop("kl", "wt-wt")  # all regions
        button = {"b": ""} if frontend == "html" else {}
        return self._send(frontend, query, page, {"q": query.text, **button, "kl": region, **filters}, browser=browser)

    def _send(
        self, frontend: Frontend, query: SearchQuery, page: int, form: dict[str, str], *, browser: bool = True
    ) -> Request:
        official = self.settings_of.base_url is None
        origin = "https://lite.duckduckgo.com" if official and frontend == "lite" else self.url
        request = self.post(f"{origin}/{frontend}/", query, page, form, referer=f"{origin}/", browser=browser)
        request.meta["handle_httpstatus_list"] = [303]  # a bang; it is not followed
        return request

    def region_params(self, query: SearchQuery) -> Expressed:
        """`kl` by allow-list; a country in a language it is not offered in becomes the country."""
        found = _region(query)
        if found is None:
            return None
        region, exact = found
        return {"kl": region}, "applied" if exact else "approximated"

    def language_params(self, query: SearchQuery) -> Expressed:
        """A language alone becomes the region it is spoken in; beside a region it is what that region's value says."""
        language = (query.language or "").split("-")[0]
        if query.region:
            found = _region(query)
            spoken = _SPELLED.get(found[0], found[0]).split("-")[1] if found else ""
            return ({}, "applied") if spoken == language else None
        tag = "-".join(reversed((query.language or "").split("-")[:2]))
        spoken_in = (region for locale, region in _LOCALES.items() if locale.endswith(f"-{language}"))
        places = (_LOCALES.get(tag), _HOMES.get(language), _LOCALES.get(f"{language}-{language}"), *spoken_in)
        region = next(filter(None, places), None)
        return ({"kl": region}, "approximated") if region else None

    def date_params(self, query: SearchQuery) -> Expressed:
        """`df=YYYY-MM-DD..YYYY-MM-DD`; an open end is 1990 or today."""
        after = query.after or date(1990, 1, 1)
        return {"df": f"{after}..{query.before or max(after, self.today())}"}

    # --- the page ----------------------------------------------------------------------------------------------------

    def is_own(self, url: str) -> bool:
        """DuckDuckGo's searches are no results; its articles and home page may well be."""
        return super().is_own(url) and bool(urlsplit(url).query)

    def fill(self, row: SearchResult, element: HtmlElement, layout: Layout, page: Page) -> None:
        """A result of the lite page takes several table rows: title, snippet, address with date."""
        for part in _table_rows(element) if layout.name == _LITE.name else (element,):
            super().fill(row, part, layout, page)

    def data_rows(self, page: Page) -> list[SearchResult]:
        """Rows of a stored answer of the script behind the desktop page: title, address, abstract, date."""
        rows: dict[str, SearchResult] = {}
        for item in _script_items(page):
            url = self.link(str(item.get("c") or item.get("u") or ""), page)
            title = markup_text(item.get("t"))
            if url and title and title not in _SCRIPT_NOTHING:
                row = SearchResult(rank=0, title=title, url=url, snippet=markup_text(item.get("a")))
                row.age = str(item.get("e") or "") or None
                rows.setdefault(url, row)
        return list(rows.values())

    def says_nothing(self, page: Page) -> bool:
        """The marker; on the lite page, which is English only, a sentence in a cell; in the script a row of that name
        (BC021)."""
        if super().says_nothing(page):
            return True
        if any(item.get("t") in _SCRIPT_NOTHING for item in _script_items(page)):
            return True
        cells = page.css("table td, table p, table span") if page.css("form[action$='/lite/']") else []
        return any(sanity.matches(r"^no (?:more )?results\b", element_text(cell)) for cell in cells)

    def enrich(self, page: Page, response: SearchResponse) -> None:
        """The zero-click panel, without its "More at …" link."""
        panel = first(page.root, "#zero_click_abstract, [data-testid^='duckassist'][data-testid$='answer-content']")
        panel = panel if panel is not None else _lite_panel(page)
        if panel is None or not (text := element_text(panel, "a")):
            return
        response.answer = text
        source = first(panel, "a[href]")
        if source is not None and (url := self.link(source.get("href"), page)):
            response.extra["answer_url"] = url


def _region(query: SearchQuery) -> tuple[str, bool] | None:
    """The `kl` value for a query's region, and whether it is all that was asked for."""
    if query.region in _REGIONS and not query.language:
        return query.region, True
    country = {"uk": "gb"}.get(query.country or "", query.country)
    own = (query.region or "").partition("-")[2].split("-")[0]
    for language in dict.fromkeys(((query.language or "").split("-")[0], own)):
        if region := _LOCALES.get(f"{country}-{language}"):
            return region, True
    first_of = next((region for locale, region in _LOCALES.items() if locale.startswith(f"{country}-")), None)
    return (first_of, not own) if first_of else None


def _sent(request: Request) -> dict[str, str]:
    """The fields a request carries, in its address or its body."""
    pairs = f"{urlsplit(request.url).query}&{request.body.decode('utf-8', 'replace')}"
    return dict(parse_qsl(pairs))


def _offset(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _table_rows(element: HtmlElement) -> Iterator[HtmlElement]:
    """The table rows of one result of the lite page: from its link's up to the next one with a link."""
    line = next(element.iterancestors("tr"), element)
    yield line
    for other in line.itersiblings("tr"):
        if first(other, "a.result-link") is not None:
            return
        yield other


def _lite_panel(page: Page) -> HtmlElement | None:
    """The cell below "Zero-click info: …"."""
    for cell in page.css("td:only-child"):
        if (cell.text or "").strip().startswith("Zero-click info"):
            line = cell.getparent()
            below = line.getnext() if line is not None else None
            return first(below, "td") if below is not None else None
    return None


def _script_items(page: Page) -> list[dict[str, Any]]:
    """The objects of the script's list; none when the page is something else."""
    match = _SCRIPT.search(page.html)
    if match is None:
        return []
    try:
        data, _ = json.JSONDecoder().raw_decode(page.html, match.end())
    except (ValueError, RecursionError):
        return []
    items = data.get("results") if isinstance(data, dict) else data
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
