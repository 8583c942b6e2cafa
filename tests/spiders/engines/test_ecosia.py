"""Ecosia: what is asked for, and the page shapes that the stored cases do not hold."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.http import HtmlResponse
from websearch.spiders.engines.ecosia import REGIONS, EcosiaSpider

from websearch.config import Config, ProviderConfig
from websearch.fetching.context import fetch_of
from websearch.model import Outcome, SearchQuery, SearchResponse

URL = "https://www.ecosia.org/search?q=x"
UNKNOWN = SearchQuery.unchecked("")


def cookie(**fields: Any) -> str | None:
    cookies = EcosiaSpider().request(SearchQuery(text="rust", **fields), 1).cookies
    assert isinstance(cookies, dict)
    return cookies.get("ECFG")


def states(**fields: Any) -> dict[str, str]:
    return dict(EcosiaSpider().filters(SearchQuery(text="rust", **fields)).states)


def read(html: str, status: int = 200) -> SearchResponse:
    return EcosiaSpider().parse(HtmlResponse(URL, status=status, body=html, encoding="utf-8"), UNKNOWN)


def row(url: str, title: str = "T", inner: str = "") -> str:
    return (
        f'<article data-test-id="organic-result"><a data-test-id="result-link" href="{url}"><span>{url}</span></a>'
        f'<div class="result__title"><a data-test-id="result-link" href="{url}"><h2 data-test-id="result-title">{title}</h2>'
        "</a></div>"
        f'<div data-test-id="result-description">{inner}<p data-test-id="web-result-description">text</p></div></article>'
    )


# --- requests ---------------------------------------------------------------------------------------------------------


def test_plain_request() -> None:
    request = EcosiaSpider().request(SearchQuery(text="a & b", limit=50), 1)
    assert (request.method, request.url) == ("GET", "https://www.ecosia.org/search?q=a+%26+b")
    assert request.headers["Referer"] == b"https://www.ecosia.org/"
    assert request.cookies == {}
    fetch = fetch_of(request)
    assert fetch is not None
    assert fetch.browser is not None
    assert fetch.browser.home == "https://www.ecosia.org/"
    assert "[data-test-id='organic-result']" in fetch.browser.ready
    assert "[data-test-id='cookie-notice-reject']" in fetch.browser.clicks


def test_pages_count_from_zero() -> None:
    urls = [EcosiaSpider().request(SearchQuery(text="rust"), page).url for page in (1, 2, 3)]
    assert urls == [f"https://www.ecosia.org/search?q=rust{more}" for more in ("", "&p=1", "&p=2")]


def test_base_url_is_configurable() -> None:
    spider = EcosiaSpider()
    spider.configure(Config(providers={"ecosia": ProviderConfig(base_url="http://127.0.0.1:8080")}))
    request = spider.request(SearchQuery(text="rust"), 2)
    assert request.url == "http://127.0.0.1:8080/search?q=rust&p=1"
    fetch = fetch_of(request)
    assert fetch is not None
    assert fetch.browser is not None
    assert fetch.browser.home == "http://127.0.0.1:8080/"


@pytest.mark.parametrize(
    ("fields", "market", "expected"),
    [
        ({"region": "de-de"}, "de-de", {"region": "applied"}),
        ({"region": "us-en"}, "en-us", {"region": "applied"}),
        ({"region": "uk-en"}, "en-gb", {"region": "applied"}),
        ({"region": "ca-fr"}, "fr-ca", {"region": "applied"}),
        ({"region": "ch"}, "fr-ch", {"region": "applied"}),
        ({"region": "cz-cs"}, "cz-cz", {"region": "applied"}),
        ({"region": "no-no"}, "nb-no", {"region": "applied"}),
        ({"region": "wt-wt"}, "en-ww", {"region": "approximated"}),
        ({"region": "de-en"}, "de-de", {"region": "approximated"}),
        ({"region": "be-fr", "language": "nl"}, "nl-be", {"region": "applied", "language": "applied"}),
        ({"region": "jp-ja", "language": "en"}, "ja-jp", {"region": "approximated", "language": "ignored"}),
        ({"region": "is-is"}, None, {"region": "ignored"}),
        ({"language": "de"}, "de-de", {"language": "approximated"}),
        ({"language": "en"}, "en-us", {"language": "approximated"}),
        ({"language": "pt-br"}, "pt-br", {"language": "approximated"}),
        ({"language": "sv"}, "sv-se", {"language": "approximated"}),
        ({"language": "is"}, None, {"language": "ignored"}),
    ],
)
def test_region_and_language(fields: dict[str, str], market: str | None, expected: dict[str, str]) -> None:
    assert states(**fields) == expected
    stored = cookie(**fields)
    assert (f":mc={market}:" in stored if stored else None) == (True if market else None)


def test_cookie_is_whole_and_legal() -> None:
    assert cookie(region="at-de") == "a=0:as=1:dt=pc:f=i:fr=0:fs=1:l=de:mc=de-at:nf=1:ma=1"


def test_regions_are_codes_once_each() -> None:
    assert len(REGIONS) == len(set(REGIONS)) == 61


def test_dates_and_safe_search() -> None:
    """Recency is ignored on purpose (facts §7.7); a range is applied to the rows; safe search is not offered (BC079)."""
    query = SearchQuery(text="rust", recency="day", after="2026-01-01", safesearch="strict")
    found = EcosiaSpider().filters(query)
    assert found.params == {}
    assert found.states == {"recency": "ignored", "safesearch": "unsupported", "after": "approximated"}


# --- rows -------------------------------------------------------------------------------------------------------------


def test_screen_reader_caption_is_no_snippet() -> None:
    found = read(row("https://a.example/", inner='<a href="#"><span class="sr-only">Thumbnail for “T”</span></a>'))
    assert [r.snippet for r in found.results] == ["text"]


def test_own_pages_are_dropped_but_not_its_other_hosts() -> None:
    own = row("https://www.ecosia.org/settings") + row("https://ecosia.org/x")
    found = read(own + row("https://blog.ecosia.org/x") + row("https://notecosia.org/"))
    assert [r.url for r in found.results] == ["https://blog.ecosia.org/x", "https://notecosia.org/"]
    assert found.extra["skipped_rows"] == 2


@pytest.mark.parametrize("wrapper", ["mainline-result-ad", "sidebar-result-ad", "ad-google"])
def test_ads(wrapper: str) -> None:
    ad = f'<div data-test-id="{wrapper}">{row("https://shop.example/")}</div>'
    unmarked = row("https://www.bing.com/aclick?ld=x&amp;u=aHR0cHM6Ly9zaG9w")
    assert [r.url for r in read(ad + unmarked + row("https://a.example/")).results] == ["https://a.example/"]


def test_title_that_is_the_link_itself() -> None:
    html = (
        '<div class="web-result"><a class="result-title" data-test-id="result-title" href="https://a.example/"><b>A</b> b</a>'
        '<p class="result-snippet">text</p></div>'
    )
    assert [(r.title, r.url, r.snippet) for r in read(html).results] == [("A b", "https://a.example/", "text")]


def test_wrapper_without_its_article() -> None:
    html = (
        '<div data-test-id="mainline-result-web"><a data-test-id="result-link" href="https://a.example/"><h2>A</h2></a>'
        "<p>text</p></div>"
    )
    found = read(html)
    assert [(r.title, r.snippet) for r in found.results] == [("A", "text")]
    assert found.extra["layout"] == "2022 wrapper"


def test_provider_of_the_results() -> None:
    script = '<script type="application/json">{"global": {"mainResultsProvider": "GOOGLE"}}</script>'
    assert read(row("https://a.example/") + script).extra["results_provider"] == "google"
    assert "results_provider" not in read(row("https://a.example/")).extra


# --- walls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("apostrophe", ["'", "\u2019", "&#39;", "&rsquo;", ""])
def test_robot_question_in_every_spelling(apostrophe: str) -> None:
    assert read(f"<h1>Confirm you{apostrophe}re not a robot</h1>").outcome is Outcome.CHALLENGE


@pytest.mark.parametrize(
    ("html", "status", "outcome"),
    [
        ("<script>window._cf_chl_opt={}</script>", 200, Outcome.CHALLENGE),
        ('<script src="/cdn-cgi/challenge-platform/h/b/x.js"></script>', 200, Outcome.CHALLENGE),
        ("<title>Just a moment...</title>", 403, Outcome.CHALLENGE),  # BC044
        ('<div class="cf-captcha-container"></div><div id="cf-error-details"></div>', 403, Outcome.CHALLENGE),
        ("<title>Ecosia Firewall</title>", 200, Outcome.BLOCKED),
        ('<title>Ecosia Firewall</title><input name="cf-turnstile-response">', 403, Outcome.CHALLENGE),
        ("<p>Your IP address has been blocked.</p>", 200, Outcome.BLOCKED),
        ("", 403, Outcome.BLOCKED),
        ("<p>slow down</p>", 429, Outcome.RATE_LIMITED),
        ("<h1>Service Unavailable</h1>", 503, Outcome.UNAVAILABLE),  # BC044
        ("<main>something else</main>", 200, Outcome.LAYOUT_CHANGED),
    ],
)
def test_walls(html: str, status: int, outcome: Outcome) -> None:
    found = read(html, status)
    assert (found.outcome, found.results) == (outcome, [])


def test_results_that_talk_about_walls_are_results() -> None:
    html = "<title>ecosia firewall - Ecosia</title>" + row("https://a.example/", "Confirm you’re not a robot")
    assert read(html).outcome is Outcome.OK


@pytest.mark.parametrize(
    "html",
    [
        '<div data-test-id="web-no-results"><p>Nichts</p></div>',
        '<div class="mainline"><div class="no-results"></div></div>',
    ],
)
def test_nothing(html: str) -> None:
    assert read(html).outcome is Outcome.EMPTY
