"""Startpage by its search form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar, Final

from scrapy.http import Request, Response

from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery, SearchResponse, SearchResult
from websearch.providers.serp import Expressed, Layout, Param, SerpProvider, accept_language
from websearch.results.page import Page, first, form_fields, markup_text
from websearch.results.urls import Redirect, query_param

SEARCH: Final = "/sp/search"

#: The values of the page's region filter (`qsr`), the usual language of a country first.
_REGIONS: Final = (
    "es_AR", "en_AU", "de_AT", "ru_BY", "nl_BE", "fr_BE", "pt-BR_BR", "bg_BG", "en_CA", "fr_CA", "es_CL", "zh-CN_CN",
    "es_CO", "cs_CZ", "da_DK", "ar_EG", "et_EE", "fi_FI", "fr_FR", "de_DE", "el_GR", "zh-TW_HK", "hu_HU", "en_IN",
    "hi_IN", "id_ID", "en_ID", "en_IE", "it_IT", "ja_JP", "ko_KR", "ms_MY", "en_MY", "es_MX", "nl_NL", "en_NZ", "no_NO",
    "es_PE", "en_PH", "fil_PH", "pl_PL", "pt_PT", "ro_RO", "ru_RU", "en_SG", "ms_SG", "en_ZA", "es_ES", "ca_ES",
    "sv_SE", "de_CH", "fr_CH", "it_CH", "zh-TW_TW", "tr_TR", "uk_UA", "en-GB_GB", "es_UY", "en_US", "es_US", "es_VE",
    "vi_VN", "en_VN",
)  # fmt: skip
#: The names Startpage has for languages of results (`language`).
_LANGUAGES: Final = {
    "af": "afrikaans", "am": "amharic", "ar": "arabic", "az": "azerbaijani", "be": "belarusian", "bg": "bulgarian",
    "bn": "bengali", "bs": "bosnian", "ca": "catalan", "cs": "czech", "cy": "welsh", "da": "dansk", "de": "deutsch",
    "el": "greek", "en": "english", "en-gb": "english_uk", "eo": "esperanto", "es": "espanol", "et": "estonian",
    "eu": "basque", "fa": "persian", "fi": "suomi", "fo": "faroese", "fr": "francais", "fy": "frisian", "ga": "irish",
    "gd": "gaelic", "gl": "galician", "gu": "gujarati", "he": "hebrew", "hi": "hindi", "hr": "croatian",
    "hu": "hungarian", "ia": "interlingua", "id": "indonesian", "is": "icelandic", "it": "italiano", "ja": "nihongo",
    "jv": "javanese", "ka": "georgian", "kn": "kannada", "ko": "hangul", "la": "latin", "lt": "lithuanian",
    "lv": "latvian", "mk": "macedonian", "ml": "malayalam", "mr": "marathi", "ms": "malay", "mt": "maltese",
    "nb": "norsk", "ne": "nepali", "nl": "nederlands", "no": "norsk", "oc": "occitan", "pa": "punjabi", "pl": "polski",
    "pt": "portugues", "ro": "romanian", "ru": "russian", "si": "sinhalese", "sk": "slovak", "sl": "slovenian",
    "sq": "albanian", "sr": "serbian", "su": "sudanese", "sv": "svenska", "sw": "swahili", "ta": "tamil",
    "te": "telugu", "th": "thai", "ti": "tigrinya", "tl": "tagalog", "tr": "turkce", "uk": "ukrainian", "ur": "urdu",
    "uz": "uzbek", "vi": "vietnamese", "xh": "xhosa", "zh": "jiantizhongwen", "zh-hant": "fantizhengwen",
    "zh-hk": "fantizhengwen", "zh-tw": "fantizhengwen", "zu": "zulu",
}  # fmt: skip
#: Those of them that are languages of the page as well (`lui`).
_INTERFACES: Final = (
    "dansk", "deutsch", "english", "espanol", "francais", "nederlands", "norsk", "polski", "portugues", "svenska",
)  # fmt: skip

#: Outcomes that show a form to be good.
_ANSWERED: Final = (Outcome.OK, Outcome.EMPTY, Outcome.SUSPECT)

#: What the page gives its script to draw it again: one JSON value, with more arguments behind it (BC042).
_PROPERTIES: Final = re.compile(r"createElement\(\s*UIStartpage\.\w+\s*,\s*(?=\{)")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of the home page's search form, and when it was read (seconds, monotonic)."""

    fields: dict[str, str]
    read_at: float


class StartpageSpider(SerpProvider):
    """Startpage, Google's index: the home page's form with its token `sc`, by POST (facts §7.5).

    A form serves all searches of an hour, so a warm search is one request. Without a form the same is asked by GET.
    Startpage knows recency but no ranges: the smallest recency around a range is asked, and rows are filtered by date.
    """

    name, label, index_family = "startpage", "Startpage", "google"
    base_url = "https://www.startpage.com"
    own_hosts = ("startpage.com",)
    follows_pages = True
    recency = Param("with_date", day="d", week="w", month="m", year="y")
    safesearch = Param("qadf", strict="heavy", moderate="moderate", off="none")

    form_lifetime: ClassVar[float] = 3600.0  # seconds
    #: One form for each address, way out and language of the home page; shared by all spiders of the process.
    forms: ClassVar[dict[tuple[str, str, str], Form]] = {}

    # Class names such as css-1bggj8v are made anew with each build and say nothing.
    layouts = (
        Layout(
            "2024",
            rows="div.result",
            link="a.result-link, a.result-title",
            title="a.result-link h2, a.result-link h3, a.result-title h2, a.result-link, a.result-title",
            snippet="p.description, .description",
            site_name=".wgl-site-title",
            sitelinks=".wgl-sitelinks a",
        ),
        Layout(
            "w-gl",
            rows=".w-gl__result, .w-gl__result__main",
            link="a.w-gl__result-title, a.result-link",
            title=".w-gl__result-title h3, .w-gl__result-title h2, .w-gl__result-title",
            snippet=".w-gl__description",
            sitelinks="[class*='sitelink'] a",
        ),
        Layout(
            "2018",
            rows=".search-result, .search-item",
            link=".search-item__title a, h3 a",
            snippet=".search-item__body",
        ),
        Layout(
            "classic",
            rows="#results .result, .web_regular_results > li",
            link=".clk a, h3 a, a[id^='title_']",
            snippet=".desc, p",
        ),
    )
    redirects = (Redirect(("startpage.com",), "/do/d/search", query_param("url")),)
    ads = "#sponsored, .a-bg-result, .ecommerce-ad, .gcsa-container, #gcsa-top, #gcsa-bottom, .sponsored, .search-ad"
    nothing = ".nc-nr-em, .mainline-results__notice [class*='-nr-'], .notice-noresults-empty, .no-results"
    walls = (
        Wall(Outcome.BLOCKED, "captcha block", url=r"^[^?]*/sp/captcha-block"),
        Wall(Outcome.CHALLENGE, "captcha page", url=r"^[^?]*/(?:sp/captcha|captcha/|errors/)"),
        Wall(Outcome.CHALLENGE, "captcha page", html="component---src-pages-captcha"),
        Wall(Outcome.CHALLENGE, "captcha page", html="/sp/captcha"),
        Wall(Outcome.BLOCKED, "suspended", title=r"^access denied"),
        Wall(Outcome.BLOCKED, "suspended", text=r"temporarily prevented searches from your"),
        Wall(Outcome.BLOCKED, "suspended", html="error-pages/blocked"),
    )
    echo = "input[name='query']"
    signature = f"form[action='{SEARCH}'], link[href*='startpage.com/sp/cdn/'], a[href='https://www.startpage.com'] svg"
    home = "/"

    # --- requests ----------------------------------------------------------------------------------------------------

    def request(self, query: SearchQuery, page: int) -> Request:
        """The search without a form: what is left when the home page gives none."""
        return self.get(
            SEARCH, query, page, {"query": query.text, **self.filters(query).params}, referer=f"{self.url}/"
        )

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """The page's own form for the page wanted, its fields verbatim."""
        for form in self.page(response).css("form"):
            button = first(form, f"[name='page'][value='{page}']")
            if button is not None:
                fields = form_fields(form) | {"page": str(page)}
                return self.post(SEARCH, query, page, fields, referer=f"{self.url}/")
        return None

    async def fetch(self, query: SearchQuery, page: int, previous: Response | None) -> Response | None:
        """The home page when there is no young form, then the search; once more when an old form has lost its power."""
        if previous is not None:
            return await super().fetch(query, page, previous)
        key = (self.url, self.route, accept_language(query))
        kept = self.forms.get(key)
        if kept and monotonic() - kept.read_at < self.form_lifetime:
            response = await self.download(self.search_request(query, page, kept, browser=False))
            if self.judge(response, query).outcome in _ANSWERED:
                return response
        self.forms.pop(key, None)
        form = await self.read_form(query, page)
        request = self.search_request(query, page, form) if form else self.request(query, page)
        response = await self.download(request)
        if form and self.judge(response, query).outcome in _ANSWERED:
            self.forms[key] = form
        return response

    async def read_form(self, query: SearchQuery, page: int) -> Form | None:
        """The home page's search form; None when it cannot be had, for whatever reason (it stands in the attempts)."""
        try:
            response = await self.download(self.get("/", query, page, {}, prelude=True))
        except Exception:  # noqa: BLE001 - the search goes on without a form
            return None
        for form in self.page(response).css(f"form[action$='{SEARCH}']"):
            fields = form_fields(form)
            if fields.get("sc"):
                return Form(fields, monotonic())
        return None

    def search_request(self, query: SearchQuery, page: int, form: Form, *, browser: bool = True) -> Request:
        """The home page's form, filled in."""
        fields = form.fields | {"query": query.text} | self.filters(query).params
        return self.post(SEARCH, query, page, fields, referer=f"{self.url}/", browser=browser)

    def region_params(self, query: SearchQuery) -> Expressed:
        """`qsr` by allow-list; a country in a language it is not offered in becomes the country."""
        country = {"uk": "GB"}.get(query.country or "", (query.country or "").upper())
        offered = {re.split("[-_]", value)[0]: value for value in _REGIONS if value.endswith(f"_{country}")}
        if not offered:
            return None
        own = (query.region or "").partition("-")[2] or query.language or ""
        language = own.split("-")[0]
        value = offered.get({"nb": "no", "nn": "no", "tl": "fil"}.get(language, language))
        return {"qsr": value or next(iter(offered.values()))}, "applied" if value or not language else "approximated"

    def language_params(self, query: SearchQuery) -> Expressed:
        """`language` (of results) and, where there is one, `lui` (of the page)."""
        code = query.language or ""
        exact = _LANGUAGES.get(code) or _LANGUAGES.get("-".join(code.split("-")[:2]))
        name = exact or _LANGUAGES.get(code.split("-")[0])
        if name is None:
            return None
        page_language = {"lui": name} if name in _INTERFACES else {}
        return {"language": name, **page_language}, "applied" if exact else "approximated"

    def date_params(self, query: SearchQuery) -> Expressed:
        """The smallest recency that reaches back to `after`; the rest is done by the rows' own dates."""
        age = (self.today() - query.after).days if query.after else None
        for days, code in ((0, "d"), (6, "w"), (27, "m"), (364, "y")):
            if age is not None and age <= days:
                return {"with_date": code}, "approximated"
        return None

    # --- the page ----------------------------------------------------------------------------------------------------

    def data_rows(self, page: Page) -> list[SearchResult]:
        """Rows of the JSON for the page's script, for the day its elements are not to be read."""
        rows: dict[str, SearchResult] = {}
        for item in (item for block in _blocks(page) if _kind(block).startswith("web-") for item in _items(block)):
            url = self.link(str(item.get("clickUrl") or item.get("url") or ""), page)
            title = markup_text(item.get("title"))
            if url and title:
                row = SearchResult(rank=0, title=title, url=url, snippet=markup_text(item.get("description")))
                row.site_name = markup_text(item.get("siteTitleData")) or None
                rows.setdefault(url, row)
        return list(rows.values())

    def says_nothing(self, page: Page) -> bool:
        """The notice, as an element or in the JSON of newer pages (its name is there also where a tool has rewritten
        the script)."""
        return super().says_nothing(page) or "notice-noresults" in page.html

    def enrich(self, page: Page, response: SearchResponse) -> None:
        """What the JSON says beside the rows: the spelling Google suggests."""
        for block in _blocks(page):
            if _kind(block).startswith("spellsuggest"):
                suggested = next((markup_text(item.get("query")) for item in _items(block)), "")
                response.extra.update({"correction": suggested} if suggested else {})


def _blocks(page: Page) -> list[dict[str, Any]]:
    """The blocks of the main column in the JSON for the page's script; none when it is missing or no JSON."""
    for match in _PROPERTIES.finditer(page.html):
        try:
            value, _ = json.JSONDecoder().raw_decode(page.html, match.end())
            blocks = value["render"]["presenter"]["regions"]["mainline"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(blocks, list):
            return [block for block in blocks if isinstance(block, dict)]
    return []


def _kind(block: dict[str, Any]) -> str:
    return str(block.get("display_type") or "")


def _items(block: dict[str, Any]) -> list[dict[str, Any]]:
    items = block.get("results")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
