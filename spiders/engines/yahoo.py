"""Yahoo."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from scrapy.http import Request, Response

from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery
from websearch.providers.serp import Expressed, Layout, Panels, Param, SerpProvider
from websearch.results.page import first
from websearch.results.urls import Redirect, path_segment

#: Countries with a search host of their own, where it is not the country's code. Other codes in `_OWN` are the host.
_HOSTS = {"us": "", "gb": "uk", "my": "malaysia"}
_OWN = frozenset(
    str.split(
        "ar at au be br ca ch cl co de dk es fi fr gr hk id ie in it mx nl no nz pe ph pl ro se sg th tr tw uk ve vn za"
    )
)


class YahooSpider(SerpProvider):
    """Yahoo Search, Bing's index in another order and with fewer rows a page (facts §7.4).

    Each country has its own host. Pages differ in length (7 to 10 rows), so a later page is asked for by the "next" link
    of the page before. `btf` knows day, week and month: a year is dropped. A range of dates is applied to the rows
    afterwards. Since September 2026 a first visit is sent through a few redirects that set a `YBV` cookie; they are
    followed like any others.
    """

    name, label, index_family = "yahoo", "Yahoo", "bing"
    base_url = "https://search.yahoo.com"
    own_hosts = ("search.yahoo.com",)
    asks_count = True
    follows_pages = True
    recency = Param("btf", day="d", week="w", month="m")
    safesearch = Param("vm", off="p", moderate="i", strict="r")

    layouts = (
        Layout(
            "algo",
            rows=".algo, .algo-sr",
            # The link lies around the heading (2026) or in it; what comes before or beside is display URL and favicon.
            link="a[href]:has(h3), h3 a[href], .compTitle a[href]",
            title="h3",
            snippet=".compText.aAbs, .compText:not(:has(p > a:only-child))",
            site_name=".compTitle a div span > span:first-child",
            sitelinks=".compList li a[href], .sitelinks a[href]",
            skip="#right, .bingrelqa",
            drop="a > span.p-abs, a > span.d-ib, a > span:has(> .p-crumb)",
        ),
        Layout("classic", rows="#web .res, #main .res", link="h3 a[href]", snippet=".abstr, .sm-abs", skip=".sc"),
    )
    panels = Panels(
        related=".AlsoTry table a, #satat a",
        questions=".bingrelqa .ttl-l",
        correction=".Sugg .compTitle a",
    )
    redirects = (Redirect(("r.search.yahoo.com", "ri.search.yahoo.com"), "/", path_segment("RU")),)
    ads = ".ads, [class*='CenterTopAds'], [class*='CenterBottomAds'], .spns"
    nothing = ".zrp"
    walls = (
        Wall(Outcome.CONSENT, "Yahoo consent", url=r"^https?://(?:[\w-]+\.)*(?:consent|guce)\.yahoo\.[a-z.]+(?::\d+)?/"),
        Wall(
            Outcome.CONSENT,
            "Yahoo consent",
            css="form[action*='collectConsent'], form.consent-form, form input[name='originalDoneUrl']",
        ),
        Wall(Outcome.RATE_LIMITED, "status 999", status=999),
        Wall(Outcome.RATE_LIMITED, "error 999", text=r"\berror 999\b|^(?:edge: )?too many requests"),
    )
    echo = "#yschsp, input[name='p']"
    signature = "body#ysch, #yschsp, form[action*='search.yahoo.com/'], form[action*='collectConsent']"
    clicks = ("form.consent-form [name='reject'], form[action*='collectConsent'] [name='reject'], .reject-all",)

    def request(self, query: SearchQuery, page: int) -> Request:
        return self._ask(query, page, {"p": query.text, "n": str(self.rows_wanted(query))})

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """What the page's "next" link asks for, sent to the host the page was asked from."""
        link = first(self.page(response).root, "a.next[href], a#pg-next[href]")
        if link is None:
            return None
        return self._ask(query, page, dict(parse_qsl(urlsplit(link.get("href") or "").query)))

    def _ask(self, query: SearchQuery, page: int, params: dict[str, str]) -> Request:
        host = self._host(query)
        origin = f"https://{host}.search.yahoo.com" if host and self.settings_of.base_url is None else self.url
        return self.get(f"{origin}/search", query, page, params | self.filters(query).params, referer=f"{origin}/")

    @staticmethod
    def _host(query: SearchQuery) -> str | None:
        country = query.country or "us"
        return _HOSTS.get(country, country if country in _OWN else None)

    def region_params(self, query: SearchQuery) -> Expressed:
        if self._host(query) is None:
            return None
        return {}, "applied" if self.settings_of.base_url is None else "ignored"

    def language_params(self, query: SearchQuery) -> Expressed:
        code = (query.language or "").split("-")[0]
        return {"fl": "1", "vl": f"lang_{code}"}
