"""Bing, an index of its own, that many other engines show as well."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final
from urllib.parse import parse_qs, urlsplit

from lxml.html import HtmlElement
from scrapy.http import Request, Response

from websearch.fetching.context import META, Fetch
from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery, SearchResponse, SearchResult
from websearch.providers.serp import Expressed, Layout, Panels, Param, SerpProvider, read
from websearch.results.page import Page, first
from websearch.results.urls import Redirect, bing_token, query_param

#: The main market of a language, for queries that name no region (Microsoft's table of market codes).
MARKETS: Final[Mapping[str, str]] = {
    "da": "DK", "de": "DE", "en": "US", "es": "ES", "fi": "FI", "fr": "FR", "it": "IT", "ja": "JP", "ko": "KR",
    "nb": "NO", "nl": "NL", "no": "NO", "pl": "PL", "pt": "BR", "ru": "RU", "sv": "SE", "tr": "TR", "zh": "CN",
}  # fmt: skip
_EPOCH: Final = date(1970, 1, 1)


class BingSpider(SerpProvider):
    """Bing's web search. Parameters, markup and walls: facts §7.3, field-notes §3.

    It applies every filter, though how strictly differs from place to place (facts §7.3). To clients it suspects it
    shows, with status 200: a Turnstile or captcha page, the page's head alone, "no results" for a query that surely
    has some, or rows about something else (BC046).
    """

    name, label, index_family = "bing", "Bing", "bing"
    base_url, own_hosts = "https://www.bing.com", ("bing.com",)
    asks_count, max_query = True, 1000
    recency = Param("filters", day='ex1:"ez1"', week='ex1:"ez2"', month='ex1:"ez3"')
    safesearch = Param("adlt", off="off", moderate="moderate", strict="strict")
    clicks = ("#bnp_btn_reject",)

    redirects = (
        Redirect(("bing.com",), "/ck/a", bing_token("u")),
        Redirect(("bing.com",), "/cr", query_param("r")),  # about 2015 to 2018
    )
    ads = "li.b_ad, .sb_add, .sb_adsW, .sb_adsN"
    layouts = (
        Layout(
            "2013",  # desktop and mobile; on mobile the link is around the heading
            rows="li.b_algo",
            link="h2 a[href], .b_algoheader a[href]",
            title="h2, .b_algoheader a",
            snippet=".b_caption > p, .b_caption > .b_snippet p, p[class*='b_lineclamp'], .b_rc_gb_sub_hero .b_vList,"
            ".b_caption p, .b_algoSlug, .b_caption .b_snippet, p",
            date=".news_dt",
            site_name="a.tilk .tptt",
            sitelinks=".b_deep h3 a[href], .b_deep .deeplink_title a[href], .hozdl_car .slide a[href]",
            # Answers, carousels and the sources of "people also ask" reuse the class of the rows.
            skip="li.b_ans:not(.b_algo), .b_slideexp, .qna_algo, #b_context",
            drop=".algoSlug_icon, .sb_doct_txt, a[href*='#:~:text=']",  # the last: "see more" of a rich card
        ),
        Layout("2009", rows=".sb_results > li", link=".sb_tlst a[href]", snippet="p", sitelinks=".sp_pss a[href]"),
    )
    panels = Panels(
        answer="li.b_ans.b_top .rwrl, li.b_ans.b_top .b_focusTextLarge, li.b_ans.b_top .b_focusTextMedium",
        related=".b_rs li a[href], .b_rrsr li a[href]",
        questions="[data-tag='RelatedQnA.Item'] .b_expansion_text, .df_alaskcard .df_qntext, .df_alsoAsk .df_qntext",
        correction="#sp_requery a, #sp_recourse a",
    )
    echo = "#sb_form_q, input[name='q']"
    signature = "#b_results, li.b_algo, #b_header, #sb_form_q, .captcha_header + .captcha_text, #results .sb_results"
    nothing = "li.b_no, #no_results, .no_results"
    walls = (
        Wall(Outcome.CHALLENGE, "Bing captcha", url=r"/turing/captcha"),
        Wall(
            Outcome.CHALLENGE,
            "Bing captcha",
            css=".captcha_header, #turnstile-widget, div.captcha, #b_captcha, .b_captcha, [src*='/turing/captcha'],"
            "[action*='/turing/captcha']",
        ),
        # The head of a result page and nothing below it. Nobody is turned away and nothing is said: the rows are kept
        # back from a client that looks like no browser, and a browser is what gets them. So it is no block.
        Wall(
            Outcome.CHALLENGE,
            "page without content",
            css="body:not(:has(#b_content, [id^='mmComponent'], #vm_c, .news-card, .dgControl)) #b_header",
        ),
        Wall(Outcome.CHALLENGE, "page without content", css="#b_results:not(:has(> li))"),
    )

    # --- requests

    def request(self, query: SearchQuery, page: int) -> Request:
        """The request for one page. Rows count from 1, and the first page says nothing about it."""
        return self._search(query, page, self.offset(query, page) + 1)

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """The page the engine's own link leads to: it does not always give as many rows as it is asked for."""
        root = read(response).root
        link = first(root, "a.sb_pagN[href]")
        if link is None:
            return self.request(query, page) if first(root, ".b_pag") is None else None
        start = parse_qs(urlsplit(link.get("href") or "").query).get("first", [""])[0]
        return self._search(query, page, int(start)) if start.isdecimal() else self.request(query, page)

    def _search(self, query: SearchQuery, page: int, start: int) -> Request:
        params = {"q": query.text, "count": str(self.rows_wanted(query)), "mkt": "en-US", "setlang": "en"}
        params |= self.filters(query).params
        if start > 1:
            params |= {"first": str(start), "FORM": f"PERE{page - 2 or ''}"}
        sent = {name: value for name, value in params.items() if value}
        return self.get("/search", query, page, sent, referer=f"{self.url}/")

    def region_params(self, query: SearchQuery) -> Expressed:
        """Market, interface language and country; `wt-wt` is no market at all."""
        country, language = (query.country or "").upper(), query.locale_language or "en"
        if country == "WT":
            return {"mkt": ""}
        country = "GB" if country == "UK" else country
        return {"mkt": f"{language.split('-')[0]}-{country}", "setlang": language, "cc": country}

    def language_params(self, query: SearchQuery) -> Expressed:
        """With a region the market holds the language too; alone it gives the interface, and its main market."""
        language = query.language or ""
        if query.country:
            return {"setlang": language}
        base, _, country = language.partition("-")
        country = country.upper() if len(country) == 2 else MARKETS.get(base, "")
        return {"mkt": country and f"{base}-{country}", "setlang": language}, "approximated"

    def recency_params(self, query: SearchQuery) -> Expressed:
        """Day, week and month have a code; a year is a range of days."""
        if query.recency != "year":
            return super().recency_params(query)
        day = (self.today() - _EPOCH).days
        return {"filters": f'ex1:"ez5_{day - 365}_{day}"'}

    def date_params(self, query: SearchQuery) -> Expressed:
        """Days since 1970, both included."""
        after = query.after or _EPOCH
        before = query.before or max(after, self.today())
        return {"filters": f'ex1:"ez5_{(after - _EPOCH).days}_{(before - _EPOCH).days}"'}

    # --- the page

    def fill(self, row: SearchResult, element: HtmlElement, layout: Layout, page: Page) -> None:
        """The date stands before the text, in the same paragraph."""
        super().fill(row, element, layout, page)
        if row.age and row.snippet.startswith(row.age):
            row.snippet = row.snippet.removeprefix(row.age).lstrip(" ·—–-")

    def enrich(self, page: Page, response: SearchResponse) -> None:
        """Where the featured answer comes from."""
        if response.answer:
            links = page.css("li.b_ans.b_top h2 a[href], li.b_ans.b_top .rwrl_cred a[href]")
            url = next((url for link in links if (url := self.link(link.get("href"), page))), None)
            if url:
                response.extra["answer_url"] = url

    def parse(self, response: Response, query: SearchQuery) -> SearchResponse:
        """As of any engine; but "no results" for an ordinary query is a soft block, unless a browser was told so."""
        found = super().parse(response, query)
        if found.outcome is Outcome.EMPTY and not found.extra.get("filtered_out"):
            fetch = response.meta.get(META) if response.request else None
            asked_by_browser = isinstance(fetch, Fetch) and fetch.rung == "browser"
            if _surely_has_results(query) and not asked_by_browser:
                message = f'{self.label}: "no results" for an ordinary query, which is how it turns clients away'
                found.outcome = Outcome.SUSPECT
                found.error = SearchResponse.failure(
                    self.name, query, Outcome.SUSPECT, message, evidence="soft block"
                ).error
        return found


def _surely_has_results(query: SearchQuery) -> bool:
    """True for the first page of an unfiltered query of three or more plain words: no operator, quote or code."""
    words = query.text.split()
    narrowed = query.page > 1 or query.recency or query.after or query.before or query.safesearch == "strict"
    return not narrowed and len(words) >= 3 and all(map(_is_plain, words))


def _is_plain(word: str) -> bool:
    """Letters only, and in Latin letters not without a vowel."""
    return (
        word.isalpha()
        and word not in ("OR", "AND", "NOT")
        and (not word.isascii() or not set("aeiouy").isdisjoint(word.lower()))
    )
