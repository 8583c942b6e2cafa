"""Ecosia: other engines' results, which ones depends on place, device and consent."""

from __future__ import annotations

import re
from typing import Final

from scrapy.http import Request

from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery, SearchResponse
from websearch.providers.serp import Expressed, Layout, Panels, SerpProvider
from websearch.results.page import Page
from websearch.results.urls import host

#: The search regions the engine offers, in its own codes (language first; a few name the country twice).
REGIONS: Final = (
    "es-ar", "en-au", "de-at", "nl-be", "fr-be", "pt-br", "bg-bg", "en-ca", "fr-ca", "es-cl", "zh-cn", "es-co",
    "hr-hr", "cz-cz", "da-dk", "ee-ee", "fi-fi", "fr-fr", "de-de", "gr-gr", "zh-hk", "en-in", "en-id", "en-ie",
    "it-it", "ja-jp", "lv-lv", "lt-lt", "en-my", "es-mx", "nl-nl", "en-nz", "nb-no", "es-pe", "en-ph", "pl-pl",
    "pt-pt", "ro-ro", "ru-ru", "ar-sa", "en-sa", "en-sg", "sk-sk", "en-za", "ko-kr", "es-es", "sv-se", "fr-ch",
    "de-ch", "zh-tw", "en-th", "th-th", "tr-tr", "uk-ua", "en-gb", "en-us", "es-us", "es-ve", "en-vn", "vi-vn",
    "en-ww",
)  # fmt: skip
_PROVIDER: Final = re.compile(r'"mainResultsProvider":\s*"(\w+)"')


class EcosiaSpider(SerpProvider):
    """Ecosia's web search. Parameters, markup and walls: facts §7.7.

    The results are Bing's, Google's or its own (rank-fusion notes: "Ecosia is not fixed"); where the page says whose,
    that is `extra["results_provider"]`. Dates are not filtered, on purpose. Region and language are its `ECFG` cookie;
    of the values for safe search only the default is known, so it is not offered. Plain requests mostly meet
    Cloudflare: the browser rung is the usual way.
    """

    name, label, index_family = "ecosia", "Ecosia", "ecosia"
    base_url, own_hosts, home = "https://www.ecosia.org", ("ecosia.org", "www.ecosia.org"), "/"
    ignores = ("recency",)
    clicks = ("[data-test-id='cookie-notice-reject']", "#didomi-notice-disagree-button")

    ads = (
        "[data-test-id='mainline-result-ad'], [data-test-id='sidebar-result-ad'], [data-test-id='ad-google'],"
        ".ad-result, [class*='card-ad'], [class*='-top-ad'], [class*='product-ads']"
    )
    layouts = (
        Layout(
            "2022",
            rows="[data-test-id='organic-result'], .web-result:not(.results_links)",
            link="a[data-test-id='result-title-link'], .result__title a[href], [data-test-id='result-title'] a[href],"
            "a[data-test-id='result-title'], a[data-test-id='result-link'], a.result-title, h2 a[href]",
            title="[data-test-id='result-title'], h2, .result-title",
            snippet="[data-test-id='web-result-description'], [data-test-id='result-description'],"
            ".web-result__description, .result__description, .result-snippet, p",
            site_name=".result-source-name__label, .result-info__name-label",
            sitelinks="a[data-test-id='deep-links-link'], .deep-links a[href], .result-deeplink-list a[href]",
        ),
        Layout(
            "2022 wrapper",
            rows="[data-test-id='mainline-result-web']",
            link="a[data-test-id='result-link'], a[href]:has(h2), h2 a[href], a.result__link, a[href]",
            title="[data-test-id='result-title'], h2, h3",
            snippet="[data-test-id='web-result-description'], [data-test-id='result-description'], p",
        ),
        Layout(
            "2019",
            rows=".js-result, .card-web .result, .mainline-results .result, body.js-serp .result",
            link="a.js-result-title, a.result-title",
            snippet=".result-snippet",
            sitelinks=".result-deeplink-list a[href]",
            skip=".query-context",
        ),
    )
    panels = Panels(
        related="[data-test-id='web-related-queries'] a[href], .related-queries__link",
        correction=".query-context a.result-title, [data-test-id*='spelling'] a, [data-test-id*='correction'] a",
    )
    echo = "input[name='q']"
    signature = (
        "[data-test-id='mainline'], [data-test-id='main-header-search-form'], [data-test-id='web-no-results'],"
        "body.js-serp, .js-result"
    )
    nothing = "[data-test-id='web-no-results'], [data-test-id='no-results-query'], .mainline .no-results, .empty-result"
    walls = (
        Wall(
            Outcome.CHALLENGE,
            "Cloudflare challenge",
            css="input[name='cf-turnstile-response'], .cf-turnstile, #challenge-form, .cf-captcha-container,"
            "script[src*='/cdn-cgi/challenge-platform/']",
        ),
        Wall(Outcome.CHALLENGE, "Cloudflare challenge", html="_cf_chl_opt"),
        Wall(Outcome.CHALLENGE, "Cloudflare challenge", text=r"confirm you.{0,3}re not a robot"),
        Wall(Outcome.BLOCKED, "Ecosia Firewall", title=r"^ecosia firewall"),
    )

    def request(self, query: SearchQuery, page: int) -> Request:
        """The request for one page; pages count from 0, and the first is not named."""
        params = {"q": query.text} | ({"p": str(page - 1)} if page > 1 else {})
        region = self.filters(query).params.get("mc")
        # What choosing a region on the page stores: interface language, region, and that it was chosen.
        cookies = {"ECFG": f"a=0:as=1:dt=pc:f=i:fr=0:fs=1:l={_language(query) or 'en'}:mc={region}:nf=1:ma=1"}
        return self.get("/search", query, page, params, referer=f"{self.url}/", cookies=cookies if region else None)

    def region_params(self, query: SearchQuery) -> Expressed:
        """The engine's region of that country, in that language where it has one."""
        region, language = _region(query), _language(query)
        if region is None:
            return {}, "ignored"
        return {"mc": region}, "applied" if region.startswith(language) else "approximated"

    def language_params(self, query: SearchQuery) -> Expressed:
        """A language is had only with a region: of the country asked for, else of its own."""
        region, language = _region(query), _language(query)
        if region is None or not region.startswith(language):
            return {}, "ignored"
        return {"mc": region}, "applied" if query.country else "approximated"

    def is_own(self, url: str) -> bool:
        """Its blog and help pages, on hosts of their own, are results like others."""
        return host(url) in self.own_hosts

    def enrich(self, page: Page, response: SearchResponse) -> None:
        """Whose results these are."""
        if provider := _PROVIDER.search(page.html):
            response.extra["results_provider"] = provider[1].lower()


def _language(query: SearchQuery) -> str:
    """The language asked for, as the region codes begin; empty when none is."""
    language = (query.locale_language or "").split("-")[0]
    return {"cs": "cz", "et": "ee", "el": "gr", "no": "nb"}.get(language, language)


def _region(query: SearchQuery) -> str | None:
    """The region that fits best: the country decides, then the language, then where that language is at home."""
    language, country = _language(query), {"uk": "gb", "wt": "ww"}.get(query.country or "", query.country)
    if country:
        fitting = [code for code in REGIONS if code.endswith(f"-{country}")]
    else:
        fitting = [code for code in REGIONS if code.startswith(f"{language}-")]
    home = (query.language, f"{language}-{language}", "en-us")
    return max(fitting, key=lambda code: (code.startswith(f"{language}-"), code in home), default=None)
