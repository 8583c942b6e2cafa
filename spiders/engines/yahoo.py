"""Yahoo Search."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from scrapy.http import Request, Response

from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery
from websearch.providers.serp import Expressed, Layout, Panels, Param, SerpProvider
from websearch.results import sanity
from websearch.results.page import Page, first
from websearch.results.text import element_text
from websearch.results.urls import Redirect, on_host, path_segment, resolve

#: Countries with a host of their own (facts §7.4): `de.search.yahoo.com`. The United States have the one without a name.
_COUNTRIES = frozenset(
    str.split(
        "ar at au be br ca ch cl co de dk es fi fr gr hk id ie in it mx my nl no nz pe ph pl ro se sg th tr tw uk us ve vn"
        " za"
    )
)
_NAMES = {"us": "", "my": "malaysia."}
#: Languages that results can be restricted to (`vl=lang_de`).
_LANGUAGES = frozenset(
    str.split("ar bg cs da de el en es et fi fr he hr hu it ja ko lt lv nl no pl pt ro ru sk sl sv th tr zh")
)
#: The form of the consent page, which may lie on any host of a gateway.
_CONSENT = (
    "form[action*='collectConsent'], form.consent-form, form input[name='originalDoneUrl'], #consent-page, .con-wizard"
)
#: What stands in place of the rows where the element that says so is missing; the page is short then.
_NOTHING = (
    r"\bdid not find (?:any )?results\b|\bkeine (?:\w+ ){0,2}(?:such)?(?:ergebnisse|treffer)\b|\b(?:aucun|de) résultats?\b"
    r"|\b(?:non|nessun|alcun)\b.{0,30}\brisultat[oi]\b|\b(?:no|não)\b.{0,30}\bresultados\b|\bgeen (?:\w+ )?resultaten\b"
    r"|找不到|沒有找到|ничего не найдено|sonuç bulamadık|\binga resultat\b|tidak menemukan hasil|không tìm thấy"
)


class YahooSpider(SerpProvider):
    """Yahoo Search: Bing's index, in rows of its own choice (facts §7.4).

    A country has its own host. Pages differ in length (7 to 10 rows), so a later one is had by the "next" link of the page
    before. `btf` knows day, week and month: a year is dropped, a range of dates is applied to the rows afterwards. A first
    visit passes some redirects that set the cookie `YBV` (since September 2026), from Europe it ends on a consent page.
    """

    name, label, index_family = "yahoo", "Yahoo", "bing"
    base_url = "https://search.yahoo.com"
    #: Yahoo's news, finance or answers may well be results; its searches are not.
    own_hosts = ("search.yahoo.com", "consent.yahoo.com", "guce.yahoo.com")
    asks_count = True
    follows_pages = True
    recency = Param("btf", day="d", week="w", month="m")
    safesearch = Param("vm", off="p", moderate="i", strict="r")

    layouts = (
        Layout(
            "algo",
            rows=".algo, .algo-sr",
            # The link lies around the heading (2026) or in it (2015 to 2025).
            link="a[data-matarget='algo'], a[href]:has(h3), h3 a[href], .compTitle a[href]",
            title="h3",
            snippet=".compText.aAbs, .compText:not(:has(p > a:only-child)), :scope > div > p",
            site_name=".compTitle a > div span > span:first-child",
            sitelinks="a[data-matarget='algo-ql'], .compList li a[href], .sitelinks a[href]",
            skip="#right, .bingrelqa",
            drop="a > span.p-abs, a > span.d-ib, a > span:has(> .p-crumb)",  # the display URL in the heading
        ),
        Layout(
            "classic",
            rows="#web .res, #main .res",
            link="h3 a[href]",
            snippet=".abstr, .sm-abs",
            sitelinks=".sitelinks a[href]",
            skip=".sc, #right, #sidebar",
        ),
        # By position alone: headings of blocks that are no results lie deeper, or link to another search.
        Layout(
            "list",
            rows="#web > ol > li",
            link=":scope > div > div > a[href]:has(> h3), :scope > div > div > h3 > a[href]",
            title="h3",
            snippet=":scope > div > div > p",
            drop="a > span:first-child",
        ),
    )
    panels = Panels(
        related=".AlsoTry table a, #satat a",
        questions=".bingrelqa .ttl-l",
        correction=".Sugg .compTitle a",
    )
    redirects = (Redirect(("r.search.yahoo.com", "ri.search.yahoo.com"), "/", path_segment("RU")),)
    ads = ".ads, .AdTop, .AdBtm, .spns, [class*='TopAds'], [class*='BottomAds']"
    nothing = ".zrp"
    walls = (
        # By host, not by a word in the address (BC060). A result page mentions guce.yahoo.com in its head and footer.
        Wall(
            Outcome.CONSENT, "Yahoo consent", url=r"^https?://(?:[\w-]+\.)*(?:consent|guce)\.yahoo\.[a-z.]+(?:[:/?]|$)"
        ),
        Wall(
            Outcome.CONSENT,
            "Yahoo consent",
            css=_CONSENT,
        ),
        Wall(Outcome.RATE_LIMITED, "status 999", status=999),
        Wall(Outcome.RATE_LIMITED, "error 999", title=r"\b999\b"),
        Wall(Outcome.RATE_LIMITED, "error 999", text=r"\berror 999\b|^(?:edge: )?too many requests\b"),
    )
    echo = "#yschsp, input[name='p']"
    signature = f"body#ysch, #yschsp, form[action*='.yahoo.com/search'], form[action*='yahoo.com/mobile'], {_CONSENT}"
    clicks = ("form [name='reject'], .reject-all",)

    def request(self, query: SearchQuery, page: int) -> Request:
        """A GET of the search form; for a later page by the length that pages mostly have."""
        start = {"b": str((page - 1) * 7 + 1), "pz": "7"} if page > 1 else {}
        params = {"p": query.text, "n": str(self.rows_wanted(query)), **start}
        return self._ask(query, page, self._origin(query), params)

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """What the "next" link asks for, of the host that it names."""
        before = self.page(response)
        link = first(before.root, "a.next[href], a#pg-next[href]")
        url = resolve(link.get("href") or "", before.url) if link is not None else None
        params = dict(parse_qsl(urlsplit(url or "").query, keep_blank_values=True))
        if url is None or "b" not in params:
            return None
        official = self.settings_of.base_url is None and on_host(url, self.own_hosts)
        return self._ask(query, page, f"https://{urlsplit(url).netloc}" if official else self._origin(query), params)

    def _ask(self, query: SearchQuery, page: int, origin: str, params: dict[str, str]) -> Request:
        return self.get(f"{origin}/search", query, page, params | self.filters(query).params, referer=f"{origin}/")

    def _origin(self, query: SearchQuery) -> str:
        if self.settings_of.base_url is None and (country := _country(query)):
            return f"https://{_NAMES.get(country, f'{country}.')}search.yahoo.com"
        return self.url

    def region_params(self, query: SearchQuery) -> Expressed:
        """The host says it; a host the user has set says another."""
        if _country(query) is None:
            return None
        return {}, "applied" if self.settings_of.base_url is None else "ignored"

    def language_params(self, query: SearchQuery) -> Expressed:
        """The language restriction of the advanced search form."""
        code, *more = (query.language or "").split("-")
        if code not in _LANGUAGES:
            return None
        if code == "zh":
            code = "zh_cht" if {"tw", "hk", "hant"} & set(more) else "zh_chs"
        return {"fl": "1", "vl": f"lang_{code}"}

    def says_nothing(self, page: Page) -> bool:
        """The marker, or the sentence on a page that says little else."""
        texts = [element_text(part) for part in page.css("#web, #main")]
        return super().says_nothing(page) or any(len(text) < 800 and sanity.matches(_NOTHING, text) for text in texts)


def _country(query: SearchQuery) -> str | None:
    country = {"gb": "uk"}.get(query.country or "", query.country)
    return country if country in _COUNTRIES else None
