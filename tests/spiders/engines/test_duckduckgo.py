"""DuckDuckGo: what is sent for every filter, both frontends as a ladder, paging by the page's own form, pages and walls."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from scrapy.http import HtmlResponse, Request
from websearch.spiders.engines.duckduckgo import DuckDuckGoSpider

from tests.conftest import ROOT
from tests.spiders.engines._web import Web, form
from websearch.config import BrowserConfig, Config, ProviderConfig
from websearch.fetching.context import fetch_of
from websearch.model import InvalidInput, Outcome, SearchQuery, SearchResponse

HTML, LITE = "https://html.duckduckgo.com/html/", "https://lite.duckduckgo.com/lite/"
QUERY = SearchQuery(text="pour over coffee ratio")


def asked(**fields: Any) -> SearchQuery:
    return SearchQuery(text="x", **fields)


def page(name: str) -> bytes:
    return (ROOT / "fixtures/duckduckgo" / name / "page.html").read_bytes()


def parse(body: str | bytes, status: int = 200, query: str = "", **headers: str) -> SearchResponse:
    data = body.encode() if isinstance(body, str) else body
    response = HtmlResponse(HTML, status=status, body=data, headers=headers)
    return DuckDuckGoSpider().parse(response, SearchQuery(text=query) if query else SearchQuery.unchecked(""))


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDuckGoSpider, "today", lambda self: date(2026, 11, 20))


# --- requests --------------------------------------------------------------------------------------------------------


def test_request_is_the_form_of_the_page() -> None:
    request = DuckDuckGoSpider().request(QUERY, 1)
    assert (request.method, request.url) == ("POST", HTML)
    assert form(request) == [("q", "pour over coffee ratio"), ("b", ""), ("kl", "wt-wt")]
    assert request.headers["Content-Type"] == b"application/x-www-form-urlencoded"
    assert request.headers["Referer"] == b"https://html.duckduckgo.com/"
    assert request.headers["Sec-Fetch-Site"] == b"same-origin"
    # Cookies would go with later searches that do not ask for the filter.
    assert request.cookies == {}
    fetch = fetch_of(request)
    assert fetch is not None
    assert fetch.browser is not None
    assert fetch.browser.url == f"{HTML}?q=pour+over+coffee+ratio&b=&kl=wt-wt"


def test_lite_request_is_the_form_of_the_lite_page() -> None:
    request = DuckDuckGoSpider(frontend="LITE ").request(asked(region="de-de", recency="week"), 1)
    assert (request.method, request.url) == ("POST", LITE)
    assert form(request) == [("q", "x"), ("kl", "de-de"), ("df", "w")]
    assert request.headers["Referer"] == b"https://lite.duckduckgo.com/"


@pytest.mark.parametrize(
    ("fields", "sent", "states"),
    [
        ({"recency": "day"}, {"df": "d"}, {"recency": "applied"}),
        ({"recency": "week"}, {"df": "w"}, {"recency": "applied"}),
        ({"recency": "month"}, {"df": "m"}, {"recency": "applied"}),
        ({"recency": "year"}, {"df": "y"}, {"recency": "applied"}),
        (
            {"after": "2024-02-29", "before": "2024-03-01"},
            {"df": "2024-02-29..2024-03-01"},
            {"after": "applied", "before": "applied"},
        ),
        ({"after": "2026-01-01"}, {"df": "2026-01-01..2026-11-20"}, {"after": "applied"}),
        ({"after": "2027-01-01"}, {"df": "2027-01-01..2027-01-01"}, {"after": "applied"}),
        ({"before": "2020-05-06"}, {"df": "1990-01-01..2020-05-06"}, {"before": "applied"}),
        (
            {"recency": "day", "after": "2026-11-01"},
            {"df": "2026-11-01..2026-11-20"},
            {"recency": "ignored", "after": "applied"},
        ),
        ({"safesearch": "strict"}, {"kp": "1"}, {"safesearch": "applied"}),
        ({"safesearch": "moderate"}, {"kp": "-1"}, {"safesearch": "applied"}),
        ({"safesearch": "off"}, {"kp": "-2"}, {"safesearch": "applied"}),
        ({"limit": 50}, {}, {}),
    ],
)
def test_time_and_safesearch(fields: dict[str, Any], sent: dict[str, str], states: dict[str, str]) -> None:
    spider = DuckDuckGoSpider()
    query = asked(**fields)
    assert dict(form(spider.request(query, 1))) == {"q": "x", "b": "", "kl": "wt-wt", **sent}
    assert spider.filters(query).states == states


@pytest.mark.parametrize(
    ("fields", "kl", "states"),
    [
        ({"region": "us-en"}, "us-en", {"region": "applied"}),
        ({"region": "US_ES"}, "us-es", {"region": "applied"}),
        ({"region": "uk-en"}, "uk-en", {"region": "applied"}),
        ({"region": "gb-en"}, "uk-en", {"region": "applied"}),
        ({"region": "uk"}, "uk-en", {"region": "applied"}),
        ({"region": "jp-ja"}, "jp-jp", {"region": "applied"}),
        ({"region": "jp-jp"}, "jp-jp", {"region": "applied"}),
        ({"region": "kr-ko"}, "kr-kr", {"region": "applied"}),
        ({"region": "tw-zh"}, "tw-tzh", {"region": "applied"}),
        ({"region": "sa-ar"}, "xa-ar", {"region": "applied"}),
        ({"region": "si-sl"}, "sl-sl", {"region": "applied"}),
        ({"region": "no-nb"}, "no-no", {"region": "applied"}),
        ({"region": "be"}, "be-nl", {"region": "applied"}),
        ({"region": "ch-it"}, "ch-de", {"region": "approximated"}),
        ({"region": "de-en"}, "de-de", {"region": "approximated"}),
        ({"region": "aq-en"}, "wt-wt", {"region": "unsupported"}),
        ({"language": "de"}, "de-de", {"language": "approximated"}),
        ({"language": "en"}, "us-en", {"language": "approximated"}),
        ({"language": "pt-BR"}, "br-pt", {"language": "approximated"}),
        ({"language": "pt"}, "pt-pt", {"language": "approximated"}),
        ({"language": "ja"}, "jp-jp", {"language": "approximated"}),
        ({"language": "uk"}, "ua-uk", {"language": "approximated"}),
        ({"language": "ca"}, "es-ca", {"language": "approximated"}),
        ({"language": "tlh"}, "wt-wt", {"language": "unsupported"}),
        ({"region": "ch-de", "language": "fr"}, "ch-fr", {"region": "applied", "language": "applied"}),
        ({"region": "de-de", "language": "de"}, "de-de", {"region": "applied", "language": "applied"}),
        ({"region": "de-de", "language": "en"}, "de-de", {"region": "applied", "language": "unsupported"}),
        ({"region": "aq-en", "language": "de"}, "wt-wt", {"region": "unsupported", "language": "unsupported"}),
    ],
)
def test_regions_and_languages(fields: dict[str, str], kl: str, states: dict[str, str]) -> None:
    spider = DuckDuckGoSpider()
    query = asked(**fields)
    assert dict(form(spider.request(query, 1)))["kl"] == kl
    assert spider.filters(query).states == states


def test_all_filters_together_in_the_order_of_the_form() -> None:
    query = asked(recency="month", region="fr-fr", safesearch="strict", limit=20)
    sent = form(DuckDuckGoSpider().request(query, 1))
    assert sent == [("q", "x"), ("b", ""), ("kl", "fr-fr"), ("df", "m"), ("kp", "1")]


@pytest.mark.parametrize(
    ("frontend", "url"), [("html", "http://127.0.0.1:8/ddg/html/"), ("lite", "http://127.0.0.1:8/ddg/lite/")]
)
def test_both_frontends_lie_below_a_base_url_of_the_users(frontend: str, url: str) -> None:
    spider = DuckDuckGoSpider(frontend=frontend)
    spider.configure(Config(providers={"duckduckgo": ProviderConfig(base_url="http://127.0.0.1:8/ddg/")}))
    request = spider.request(QUERY, 1)
    assert request.url == url
    assert request.headers["Referer"] == b"http://127.0.0.1:8/ddg/"
    later = HtmlResponse(url, body=page("results-en" if frontend == "html" else "lite-en"), request=request)
    follow = spider.next_request(later, QUERY, 2)
    assert follow is not None
    assert follow.url == url


def test_an_unknown_frontend_and_a_long_query_are_refused() -> None:
    web = Web(lambda _: AssertionError("nothing may be sent"))
    refused = web.search(DuckDuckGoSpider(frontend="wap"), QUERY)
    assert refused.outcome is Outcome.INVALID_INPUT
    assert refused.error is not None
    assert "html, lite" in refused.error.message
    with pytest.raises(InvalidInput, match="500 characters"):
        DuckDuckGoSpider().check(SearchQuery(text="q" * 500))
    DuckDuckGoSpider().check(SearchQuery(text="語" * 499))
    assert not web.requests


# --- the ladder ------------------------------------------------------------------------------------------------------


def test_a_good_answer_is_one_request() -> None:
    web = Web(lambda _: page("results-en"))
    got = web.search(DuckDuckGoSpider(), QUERY)
    assert (got.outcome, len(got.results)) == (Outcome.OK, 10)
    assert web.urls == [HTML]
    # No browser is started before the other frontend was asked.
    fetch = fetch_of(web.requests[0])
    assert fetch is not None
    assert fetch.browser is None


def test_the_lite_page_is_tried_before_the_browser() -> None:
    web = Web(lambda request: page("lite-en") if "/lite/" in request.url else (page("challenge-html"), 202))
    got = web.search(DuckDuckGoSpider(), SearchQuery(text="coffee bloom time", limit=6))
    assert (got.outcome, len(got.results), got.extra["layout"]) == (Outcome.OK, 6, "lite")
    assert web.urls == [HTML, LITE]
    assert [(attempt.outcome, attempt.status) for attempt in got.attempts] == [("challenge", 202), ("ok", 200)]


def test_when_both_are_challenged_html_goes_the_whole_ladder() -> None:
    web = Web(
        lambda request: (page("challenge-lite"), 200) if "/lite/" in request.url else (page("challenge-html"), 202)
    )
    got = web.search(DuckDuckGoSpider(), QUERY)
    assert got.outcome is Outcome.CHALLENGE
    assert web.urls == [HTML, LITE, HTML]
    plans = [fetch.browser is not None for fetch in map(fetch_of, web.requests) if fetch]
    assert plans == [False, False, True]
    assert len(got.attempts) == 3


def test_without_a_browser_nobody_insists() -> None:
    web = Web(lambda _: (page("challenge-html"), 202))
    got = web.search(DuckDuckGoSpider(), QUERY, Config(browser=BrowserConfig(enabled=False)))
    assert got.outcome is Outcome.CHALLENGE
    assert web.urls == [HTML, LITE]


@pytest.mark.parametrize("second", [OSError("lite is away"), ("<h1>503</h1>", 503), "<p>what is this</p>"])
def test_trouble_with_the_lite_page_does_not_end_the_search(second: Any) -> None:
    answers = iter([(page("challenge-html"), 202), second, page("results-en")])
    web = Web(lambda _: next(answers))
    got = web.search(DuckDuckGoSpider(), QUERY)
    assert got.outcome is Outcome.OK
    assert web.urls == [HTML, LITE, HTML]
    assert len(got.attempts) == 3


def test_lite_as_the_first_door_has_the_browser_behind_it() -> None:
    web = Web(lambda _: (page("challenge-lite"), 200))
    assert web.search(DuckDuckGoSpider(frontend="lite"), QUERY).outcome is Outcome.CHALLENGE
    assert web.urls == [LITE]
    fetch = fetch_of(web.requests[0])
    assert fetch is not None
    assert fetch.browser is not None


def test_a_bang_is_explained_and_not_followed() -> None:
    web = Web(lambda _: (b"", 303))
    got = web.search(DuckDuckGoSpider(), SearchQuery(text="!w coffee"))
    assert got.outcome is Outcome.ERROR
    assert got.error is not None
    assert "!bang" in got.error.message
    assert web.requests[0].meta["handle_httpstatus_list"] == [303]


# --- paging ----------------------------------------------------------------------------------------------------------


def test_later_pages_are_asked_with_the_form_of_the_page_before() -> None:
    """BC075, BC078: the first page first, then its hidden fields verbatim."""
    web = Web(lambda request: page("results-en-page2") if ("s", "10") in form(request) else page("results-en"))
    got = web.search(DuckDuckGoSpider(), SearchQuery(text=QUERY.text, limit=20))
    assert len(got.results) == 20
    assert [row.rank for row in got.results] == list(range(1, 21))
    assert form(web.requests[1]) == [
        ("q", "pour over coffee ratio"),
        ("s", "10"),
        ("nextParams", ""),
        ("v", "l"),
        ("o", "json"),
        ("dc", "11"),
        ("api", "d.js"),
        ("vqd", "4-100200300400500600700800900100200300401"),
        ("kl", "us-en"),
    ]
    assert (web.requests[1].method, web.requests[1].url) == ("POST", HTML)
    assert web.requests[1].headers["Referer"] == b"https://html.duckduckgo.com/"


def test_page_two_alone_still_asks_page_one() -> None:
    web = Web(lambda request: page("results-en-page2") if ("s", "10") in form(request) else page("results-en"))
    got = web.search(DuckDuckGoSpider(), SearchQuery(text=QUERY.text, page=2))
    assert got.results[0].title == "Coffee brewing control chart"
    assert len(web.requests) == 2


def test_next_is_not_previous() -> None:
    spider = DuckDuckGoSpider()
    first = spider.next_request(HtmlResponse(HTML, body=page("results-en")), QUERY, 2)
    assert first is not None
    second = HtmlResponse(HTML, body=page("results-en-page2"), request=first)
    third = spider.next_request(second, QUERY, 3)
    assert third is not None
    assert dict(form(third))["s"] == "25"
    # The last page has a way back only. As the browser has it, the fields stand in the address.
    last = HtmlResponse(HTML, body=page("results-en-page2"), request=Request(f"{HTML}?q=x&s=25&vqd=4"))
    assert spider.next_request(last, QUERY, 4) is None


def test_the_lite_page_is_continued_on_the_lite_page() -> None:
    request = DuckDuckGoSpider().next_request(HtmlResponse(LITE, body=page("lite-en")), QUERY, 2)
    assert request is not None
    assert request.url == LITE
    assert dict(form(request))["vqd"] == "4-100200300400500600700800900100200300404"


def test_pages_that_overlap_give_each_row_once() -> None:
    """BC075: a b c d, then d e f, then no further page: six rows, the offset taken from the page's form."""

    def rows(names: str, offset: int | None) -> bytes:
        links = "".join(
            f'<div class="result web-result"><h2><a class="result__a" href="https://{n}.example/x">x {n}</a></h2></div>'
            for n in names
        )
        more = (
            f'<form action="/html/"><input name="s" value="{offset}"><input name="vqd" value="4"></form>'
            if offset
            else ""
        )
        return f'<div id="links">{links}{more}</div>'.encode()

    web = Web(lambda request: rows("def", None) if ("s", "4") in form(request) else rows("abcd", 4))
    got = web.search(DuckDuckGoSpider(), SearchQuery(text="x", limit=30))
    assert [(row.rank, row.url[8]) for row in got.results] == list(zip(range(1, 7), "abcdef", strict=True))
    assert len(web.requests) == 2


# --- pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "href",
    [
        "/l/?kh=-1&uddg=https%3A%2F%2Fexample.com%2Fdocs&rut=123",
        "https://html.duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fdocs",
        "//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fdocs&amp;rut=abc",
        "//example.com/docs",
        "https://example.com/docs",
    ],
)
def test_links_are_unwrapped(href: str) -> None:
    """BC009."""
    got = parse(f'<div id="links"><div class="result web-result"><a class="result__a" href="{href}">A</a></div></div>')
    assert [row.url for row in got.results] == ["https://example.com/docs"]


def test_a_target_is_decoded_once() -> None:
    href = "//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fa%3Fb%3D1%26c%3D100%2525&amp;rut=abc"
    got = parse(f'<div id="links"><div class="web-result"><a class="result__a" href="{href}">A</a></div></div>')
    assert got.results[0].url == "https://example.com/a?b=1&c=100%25"


def test_relative_links_behind_a_gateway_are_duckduckgos() -> None:
    spider = DuckDuckGoSpider()
    spider.configure(Config(providers={"duckduckgo": ProviderConfig(base_url="http://127.0.0.1:8")}))
    body = (
        b'<div id="links"><div class="web-result"><a class="result__a" href="/l/?uddg=https%3A%2F%2Fa.example">A</a></div>'
        b'<div class="web-result"><a class="result__a" href="/html/?q=more">More</a></div></div>'
    )
    got = spider.parse(HtmlResponse("http://127.0.0.1:8/html/", body=body), asked())
    assert [row.url for row in got.results] == ["https://a.example"]


def test_the_end_block_is_no_row_and_no_error() -> None:
    """BC020."""
    got = parse(
        '<div id="links"><div class="result results_links"><a class="result__a" href="https://a.example">A</a></div>'
        '<div class="result result--more"><div class="no-results">No more results.</div></div></div>'
    )
    assert (got.outcome, [row.url for row in got.results]) == (Outcome.OK, ["https://a.example"])


def test_ads_are_told_by_class_and_by_link() -> None:
    """BC032, BC035."""
    got = parse(
        '<div id="links"><div class="result results_links results_links_deep result--ad"><a class="result__a" '
        'href="https://shop.example/direct">Buy</a></div>'
        '<div class="result web-result"><a class="result__a" '
        'href="https://duckduckgo.com/y.js?ad_domain=shop.example&u3=https%3A%2F%2Fshop.example">Buy</a></div>'
        '<div class="result web-result"><a class="result__a" href="//duckduckgo.com/l/?uddg='
        'https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain%3Dshop.example">Buy</a></div>'
        '<div class="result web-result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example">A</a>'
        "</div></div>"
    )
    assert [(row.rank, row.url) for row in got.results] == [(1, "https://a.example")]


def test_duckduckgos_articles_are_results_its_searches_are_not() -> None:
    links = ("https://duckduckgo.com/about", "https://duckduckgo.com/?q=x&ia=images", "https://lite.duckduckgo.com/")
    rows = "".join(f'<div class="web-result"><a class="result__a" href="{url}">T</a></div>' for url in links)
    got = parse(f'<div id="links">{rows}</div>')
    assert [row.url for row in got.results] == [links[0], links[2]]


def test_text_of_a_snippet_keeps_its_spaces() -> None:
    """BC025."""
    got = parse(
        '<div id="links"><div class="web-result"><a class="result__a" href="https://a.example">A</a>'
        '<a class="result__snippet">Learn <b>Py</b>thon<br>fast today<div>Phone</div><div>555</div> - <b>Foo</b>, '
        "<b>Bar</b>.</a></div></div>"
    )
    assert got.results[0].snippet == "Learn Python fast today Phone 555 - Foo, Bar."


def test_a_date_at_the_head_of_a_snippet_is_not_the_pages_own() -> None:
    """The date has an element of its own; a snippet that begins with one in its sentence keeps it."""
    got = parse(
        '<div id="links"><div class="web-result"><a class="result__a" href="https://a.example">A</a><div class="result__extras">'
        '<div class="result__extras__url"><span class="result__icon"></span><a class="result__url">a.example</a>'
        "<span>&nbsp; &nbsp; 2026-02-28T12:30:00.0000000</span></div></div>"
        '<a class="result__snippet">5 March 2024 was a day like any other.</a></div></div>'
    )
    row = got.results[0]
    assert (row.published, row.snippet) == ("2026-02-28T12:30:00", "5 March 2024 was a day like any other.")


def test_the_desktop_page_of_2014_to_2022() -> None:
    got = parse(
        '<div id="ads" class="results--ads"><div class="result result--ad"><h2><a class="result__a" href="https://ad.example">'
        'Ad</a></h2></div></div><div id="links" class="results js-results">'
        '<div class="module module--videos"><div class="result"><a class="result__a" href="https://v.example">V</a></div></div>'
        '<div id="r1-0" class="result results_links_deep highlight_d" data-nrn="r1-0"><div class="result__body links_main '
        'links_deep"><h2 class="result__title"><a class="result__a" href="https://a.example/">A <b>page</b></a>'
        '<a class="result__check" href="?q=x&amp;site=a.example">more</a></h2><div class="result__snippet js-result-snippet">'
        '<span class="result__timestamp">Mar 5, 2020</span><b>Text</b> of a.</div><div class="result__extras"><a '
        'class="result__url" href="https://a.example/">a.example</a></div><div class="result__sitelinks">'
        '<a href="https://a.example/one">One</a></div></div></div>'
        '<div id="r1-1" class="result results_links_deep"><h2><a class="result__a" href="https://b.example/">B</a></h2>'
        '</div><div class="result result--more"><a class="result--more__btn" href="/?q=x&amp;s=30">More results</a></div></div>'
    )
    assert got.extra["layout"] == "desktop"
    assert [(row.title, row.url, row.snippet) for row in got.results] == [
        ("A page", "https://a.example/", "Text of a."),
        ("B", "https://b.example/", ""),
    ]
    assert (got.results[0].age, got.results[0].published) == ("Mar 5, 2020", "2020-03-05")
    assert got.results[0].extra["sitelinks"] == [{"title": "One", "url": "https://a.example/one"}]


def test_the_classic_page() -> None:
    got = parse(
        '<div id="content"><div class="results_links web-result-sponsored"><div class="links_main"><a class="large" '
        'href="https://ad.example">Ad</a></div></div><div class="results_links results_links_deep web-result">'
        '<div class="links_main links_deep"><a rel="nofollow" class="large" href="https://a.example/">A page</a>'
        '<div class="snippet">Text of a.</div><div class="url">a.example</div></div></div></div>'
    )
    assert (got.extra["layout"], [(r.url, r.snippet) for r in got.results]) == (
        "classic",
        [("https://a.example/", "Text of a.")],
    )


def test_rows_of_the_script_behind_the_desktop_page() -> None:
    rows = [
        {
            "t": "The <b>A</b> &amp; page",
            "c": "https://a.example/",
            "a": "Text <b>of</b> a.",
            "e": "2025-07-16T00:00:00.0",
        },
        None,
        {"t": "B", "u": "https://b.example/}])"},
        {"n": "/d.js?q=x&s=30"},
    ]
    got = parse(f"if (DDG.pageLayout) DDG.pageLayout.load('d',{json.dumps(rows)});DDG.duckbar.load('images');")
    assert got.outcome is Outcome.OK
    assert [(row.title, row.url, row.snippet) for row in got.results] == [
        ("The A & page", "https://a.example/", "Text of a."),
        ("B", "https://b.example/}])", ""),
    ]
    assert (got.results[0].published or "").startswith("2025-07-16")


@pytest.mark.parametrize(
    "body",
    [
        '{"results":[{"t":"DEEP_ERROR_NO_RESULTS","u":"http://www.google.com/search?hl=en&q=x","a":"..."},{"n":"/d.js?q=x&s=700"}]}',
        'DDG.pageLayout.load(\'d\', [{"c":"http://www.google.com/search?q=x","t":"DEEP_SIMPLE_NO_RESULTS"}]);',
    ],
)
def test_the_row_that_says_there_are_none(body: str) -> None:
    """BC021."""
    got = parse(body)
    assert (got.outcome, got.results) == (Outcome.EMPTY, [])


def test_the_answer_leaves_its_source_link_out() -> None:
    got = parse(page("lite-en"))
    assert got.answer is not None
    assert got.answer.endswith("half a minute to a minute.")
    assert got.extra["answer_url"] == "https://en.encyclopedia.example/wiki/Bloom_(coffee)"


# --- nothing, walls, shells ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 202])
def test_an_honest_empty_page_is_empty_also_with_202(status: int) -> None:
    assert parse(page("empty-en"), status).outcome is Outcome.EMPTY


def test_an_empty_react_page_is_no_shell() -> None:
    got = parse(
        '<noscript><meta http-equiv="refresh" content="0;URL=/html?q=x"></noscript><div id="react-layout"><ol><li '
        'data-layout="no_results"><p>Nothing.</p></li></ol></div>'
    )
    assert got.outcome is Outcome.EMPTY


@pytest.mark.parametrize("status", [200, 202])
@pytest.mark.parametrize(
    "body",
    [
        '<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html"><p>ducks</p></form>',
        '<div class="anomaly-modal__title">…</div>',
        "<p>Unfortunately, bots use DuckDuckGo too.</p>",
        "DDG.deep.anomalyDetectionBlock({});",
    ],
)
def test_challenges_in_every_shape(body: str, status: int) -> None:
    """BC036."""
    got = parse(body, status)
    assert (got.outcome, got.error.evidence if got.error else None) == (Outcome.CHALLENGE, "anomaly check")


@pytest.mark.parametrize("body", ["", "Accepted", "<p>Please try again.</p>", '<div id="links"></div>'])
def test_202_without_rows_is_a_challenge(body: str) -> None:
    assert parse(body, 202).outcome is Outcome.CHALLENGE


def test_rows_in_a_202_are_rows() -> None:
    assert parse(page("results-en"), 202).outcome is Outcome.OK


def test_a_result_about_challenges_is_a_result() -> None:
    got = parse(
        '<div id="links"><div class="web-result"><a class="result__a" href="https://a.example">Bots use DuckDuckGo too</a>'
        '<a class="result__snippet">anomaly-modal, anomaly.js, captcha, unusual traffic</a></div></div>'
    )
    assert got.outcome is Outcome.OK


@pytest.mark.parametrize(
    "body",
    [
        '<noscript><meta http-equiv="refresh" content="0;URL=/html?q=x"></noscript><div id="links"></div>',
        '<div id="links"></div><noscript>Click <a href="/html/?q=x" content="/html">here</a></noscript>',
        "<script>function nrji() {nrj('/d.js?q=x&l=us-en');};DDG.ready(nrji, 1);</script><div id='links'></div>",
        "<script>DDG.deep.initialize('/d.js?q=x');</script><div id='links'></div>",
    ],
)
def test_a_page_that_wants_javascript_is_never_empty(body: str) -> None:
    got = parse(body)
    assert (got.outcome, got.error.evidence if got.error else None) == (Outcome.CHALLENGE, "page needs JavaScript")


def test_a_rendered_page_of_unknown_layout_is_a_new_layout() -> None:
    body = '<noscript><meta content="0;URL=/html?q=x"></noscript><div id="react-layout"><h2>One thing</h2></div>'
    assert parse(body).outcome is Outcome.LAYOUT_CHANGED


def test_the_error_page_is_no_result() -> None:
    got = parse('<p>If this persists, <a href="mailto:error-lite@duckduckgo.com?subject=Error">mail us</a>.</p>')
    assert got.outcome is Outcome.BLOCKED


@pytest.mark.parametrize(
    ("status", "outcome"), [(403, Outcome.BLOCKED), (429, Outcome.RATE_LIMITED), (500, Outcome.UNAVAILABLE)]
)
def test_refusals_by_status(status: int, outcome: Outcome) -> None:
    got = parse("<h1>no</h1>", status, **{"Retry-After": "7"})
    assert got.outcome is outcome
    assert got.error is not None
    assert got.error.retry_after == 7
