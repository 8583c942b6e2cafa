"""Mojeek."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import parse_qsl, urlencode

from scrapy.http import Request, Response

from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery, SearchResponse
from websearch.providers.serp import Expressed, Layout, Panels, Param, SerpProvider
from websearch.results import sanity
from websearch.results.page import Page, first
from websearch.results.text import element_text

#: Beginning of the sentence the page shows in place of rows, in the languages Mojeek's pages come in.
_NOTHING = (
    r"\bno (?:pages|results) (?:found|match)\b|\bno se (?:han encontrado|encontraron)\b"
    r"|\bkeine (?:seiten|ergebnisse)\b|\baucune? (?:page|résultat)"
)


class MojeekSpider(SerpProvider):
    """Mojeek, an index of its own (facts §7.8).

    `arc` is the country, `lb` the language of preferred pages; both always go along, or the engine guesses them from the
    client's address. The pages of mojeek.de, .fr and .co.uk are the same. About ten requests use up an address's budget;
    what follows is a proof of work or a 403. A 403 is also the answer to an operator without a word, or with a phrase in
    quotes (`intitle:"a b"`). `since` and `before` take dates, `before` is exclusive:
    https://www.mojeek.com/support/api/search/request_parameters.html
    """

    name, label, index_family = "mojeek", "Mojeek", "mojeek"
    base_url = "https://www.mojeek.com"
    own_hosts = ("mojeek.com", "mojeek.co.uk", "mojeek.de", "mojeek.fr")
    asks_count = True
    recency = Param("since", day="day", week="week", month="month", year="year")
    safesearch = Param("safe", off="0", moderate="1", strict="1")

    layouts = (
        Layout(
            "standard",
            rows="ul.results-standard > li, .results > ul > li",
            # `a.ob`, where there is no other link, is the display URL.
            link="h2 a.title, a.title, h2 a[href]",
            snippet="p.s",
            date=".mdate",
            skip=".news-results, .infobox, .right-col, .pagination",
            drop=".mdate",
        ),
    )
    panels = Panels(answer=".infobox-top p", correction=".spell a")
    ads = ".ad, .ads, [aria-label='Sponsored products']"
    #: A finished result page (its footer is there) in whose frame there is no title and no link that leads out.
    nothing = (
        ".no-results, body:has(.footer) .serp-results:not(:has(h2 a, .results-standard li))"
        ":not(:has(a[href^='http']:not([href*='mojeek.'])))"
    )
    walls = (
        Wall(Outcome.CHALLENGE, "ALTCHA proof of work", css="altcha-widget, #altcha-form, .captcha-wrap"),
        Wall(Outcome.CHALLENGE, "ALTCHA proof of work", css="form[action*='/captcha/verify']"),
        Wall(Outcome.BLOCKED, "automated queries", text=r"sending automated queries"),
        Wall(Outcome.BLOCKED, "403 page", title=r"^403\b"),
    )
    echo = "input[name='q']"
    signature = "link[rel='search'][title='Mojeek'], ul.results-standard, a[href*='/about/contact?refr=']"
    clicks = ("altcha-widget input[type=checkbox]",)

    def request(self, query: SearchQuery, page: int) -> Request:
        """A GET of the search form. On page 1 an offset, even of 0, would bring the proof of work at once."""
        return self._ask(query, page, str(self.offset(query, page) + 1) if page > 1 else None)

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """The offset that the page's "next" link names. As text, the last entry of the list of pages, it ends it."""
        entries = self.page(response).css(".pagination li:last-child")
        if not entries:
            return self.request(query, page)
        link = first(entries[-1], "a[href]")
        asked = (link.get("href") or "").partition("?")[2] if link is not None else ""
        start = dict(parse_qsl(asked)).get("s", "")
        return self._ask(query, page, start) if start.isdecimal() else None

    def _ask(self, query: SearchQuery, page: int, start: str | None) -> Request:
        settings = {"arc": "none", "lang": "en", "lb": "en"} | self.filters(query).params
        home = urlencode({name: settings[name] for name in ("arc", "lang", "lb")})
        params = {"q": query.text, "t": str(self.rows_wanted(query)), **settings, **({"s": start} if start else {})}
        return self.get("/search", query, page, params, referer=f"{self.url}/?{home}")

    def region_params(self, query: SearchQuery) -> Expressed:
        """`arc` is an ISO 3166 country; a region with a language asks for pages in it as well. `wt` is the whole world."""
        if query.country == "wt":
            return {"arc": "none"}
        country = {"uk": "gb"}.get(query.country or "", query.country or "")
        if len(country) != 2:
            return None
        return {"arc": country} | (self._language(query.locale_language) or {})

    def language_params(self, query: SearchQuery) -> Expressed:
        """`lb` is an ISO 639-1 language."""
        return self._language(query.language)

    @staticmethod
    def _language(tag: str | None) -> dict[str, str] | None:
        code = (tag or "").split("-")[0]
        return {"lb": code} if len(code) == 2 else None

    def date_params(self, query: SearchQuery) -> Expressed:
        """Days as YYYYMMDD: from `since` on, up to and without `before`."""
        params = {}
        if query.after:
            params["since"] = _compact(query.after)
        if query.before and query.before < date.max:
            params["before"] = _compact(query.before + timedelta(days=1))
        return params

    def says_nothing(self, page: Page) -> bool:
        """The marker, or the sentence."""
        return super().says_nothing(page) or any(
            sanity.matches(_NOTHING, element_text(part)) for part in page.css(".results, .result-col, .top-info")
        )

    def enrich(self, page: Page, response: SearchResponse) -> None:
        """Where the answer is from."""
        link = first(page.root, ".infobox-top a[href^='http']")
        if response.answer and link is not None and (url := self.link(link.get("href"), page)):
            response.extra["answer_url"] = url


def _compact(day: date) -> str:
    return day.isoformat().replace("-", "")
