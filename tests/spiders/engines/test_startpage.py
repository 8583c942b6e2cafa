"""Startpage: home page, form and search as one flow, the form kept for an hour, every filter, paging, JSON rows, walls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from scrapy.http import HtmlResponse, Request
from websearch.spiders.engines import startpage
from websearch.spiders.engines.startpage import Form, StartpageSpider

from tests.conftest import ROOT
from tests.spiders.engines._web import Web, form
from websearch.config import Config, ProviderConfig
from websearch.fetching.context import fetch_of
from websearch.model import Outcome, SearchQuery, SearchResponse

HOME, SEARCH = "https://www.startpage.com/", "https://www.startpage.com/sp/search"
QUERY = SearchQuery(text="pour over coffee ratio")
FIELDS = {"query": "", "t": "device", "lui": "english", "sc": "tOkEn1", "cat": "web", "qsr": "all", "qadf": "moderate"}


def home_page(token: str = "tOkEn1") -> str:
    hidden = "".join(f'<input type="hidden" name="{k}" value="{v}">' for k, v in (FIELDS | {"sc": token}).items() if v)
    search = f'<form id="search" action="/sp/search" method="post"><input name="query" value="">{hidden}</form>'
    return f'<html><form action="/"><input name="sc" value="other"></form>{search}</html>'


def page(name: str) -> bytes:
    return (ROOT / "fixtures/startpage" / name / "page.html").read_bytes()


def asked(**fields: Any) -> SearchQuery:
    return SearchQuery(text="x", **fields)


def parse(body: str | bytes, status: int = 200, url: str = SEARCH, query: str = "") -> SearchResponse:
    data = body.encode() if isinstance(body, str) else body
    response = HtmlResponse(url, status=status, body=data)
    return StartpageSpider().parse(response, SearchQuery(text=query) if query else SearchQuery.unchecked(""))


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(StartpageSpider, "today", lambda self: date(2026, 11, 20))
    StartpageSpider.forms.clear()
    yield
    StartpageSpider.forms.clear()


def site(token: str = "tOkEn1", good: tuple[str, ...] = ("tOkEn1", "dEmO0sCtOkEn00")) -> Web:
    """A Startpage that answers a search only with a token it knows."""

    def answer(request: Request) -> Any:
        if request.url == HOME:
            return home_page(token)
        sent = dict(form(request))
        if sent.get("sc") in good:
            return page("results-en-page2" if sent.get("page") == "2" else "results-en")
        return HtmlResponse("https://www.startpage.com/sp/captcha", body=page("challenge-captcha"))

    return Web(answer)


# --- the flow --------------------------------------------------------------------------------------------------------


def test_a_cold_search_is_the_home_page_and_its_form() -> None:
    web = site()
    got = web.search(StartpageSpider(), QUERY)
    assert (got.outcome, len(got.results)) == (Outcome.OK, 10)
    assert [(request.method, request.url) for request in web.requests] == [("GET", HOME), ("POST", SEARCH)]
    # All fields of the form, in its order, nothing of other forms.
    assert form(web.requests[1]) == list((FIELDS | {"query": QUERY.text}).items())
    assert web.requests[1].headers["Referer"] == HOME.encode()
    assert web.requests[1].headers["Content-Type"] == b"application/x-www-form-urlencoded"
    first, second = map(fetch_of, web.requests)
    assert first is not None
    assert second is not None
    assert (first.prelude, first.browser) == (True, None)
    assert second.browser is not None
    assert second.browser.home == HOME
    assert (second.browser.url or "").startswith(f"{SEARCH}?query=pour+over+coffee+ratio&t=device&")
    assert [attempt.outcome for attempt in got.attempts] == ["ok", "ok"]


def test_a_warm_search_is_one_request() -> None:
    web = site()
    web.search(StartpageSpider(), QUERY)
    got = web.search(StartpageSpider(), SearchQuery(text="coffee"))
    assert got.outcome is Outcome.OK
    assert web.urls == [HOME, SEARCH, SEARCH]
    assert dict(form(web.requests[2]))["query"] == "coffee"


def test_a_form_is_kept_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(startpage, "monotonic", lambda: now)
    web = site()
    web.search(StartpageSpider(), QUERY)
    now += 3599
    web.search(StartpageSpider(), QUERY)
    assert web.urls == [HOME, SEARCH, SEARCH]
    now += 2
    web.search(StartpageSpider(), QUERY)
    assert web.urls == [HOME, SEARCH, SEARCH, HOME, SEARCH]


def test_forms_of_another_language_address_or_way_out_are_not_used() -> None:
    web = site()
    web.search(StartpageSpider(), QUERY)
    web.search(StartpageSpider(), SearchQuery(text="x", language="de"))
    assert web.urls == [HOME, SEARCH] * 2
    web.search(StartpageSpider(), QUERY, Config(proxy="http://127.0.0.1:3128"))
    assert web.urls == [HOME, SEARCH] * 3
    assert len(StartpageSpider.forms) == 3


@pytest.mark.parametrize(
    "refusal",
    [
        HtmlResponse("https://www.startpage.com/sp/captcha", body=b"<p>letters</p>"),
        ("<p>what is this</p>", 200),
        ("", 403),
    ],
)
def test_a_form_that_lost_its_power_is_dropped_and_the_search_asked_once_more(refusal: Any) -> None:
    key = (HOME[:-1], "direct", "en-US,en;q=0.9")
    StartpageSpider.forms[key] = Form(FIELDS | {"sc": "old"}, startpage.monotonic())
    answers = iter([refusal, home_page("tOkEn2"), page("results-en")])
    web = Web(lambda _: next(answers))
    got = web.search(StartpageSpider(), QUERY)
    assert got.outcome is Outcome.OK
    assert web.urls == [SEARCH, HOME, SEARCH]
    assert [dict(form(request)).get("sc") for request in web.requests] == ["old", None, "tOkEn2"]
    assert StartpageSpider.forms[key].fields["sc"] == "tOkEn2"
    # No browser is started for a form that may just be old.
    first = fetch_of(web.requests[0])
    assert first is not None
    assert first.browser is None
    assert len(got.attempts) == 3


def test_an_empty_answer_to_a_kept_form_is_an_answer() -> None:
    web = Web(lambda request: home_page() if request.url == HOME else page("empty-en"))
    for _ in range(2):
        assert web.search(StartpageSpider(), QUERY).outcome is Outcome.EMPTY
    assert web.urls == [HOME, SEARCH, SEARCH]


def test_a_fresh_form_that_is_refused_is_not_kept_and_not_tried_again() -> None:
    web = site("bad")
    got = web.search(StartpageSpider(), QUERY)
    assert got.outcome is Outcome.CHALLENGE
    assert web.urls == [HOME, SEARCH]
    assert StartpageSpider.forms == {}


@pytest.mark.parametrize(
    "home",
    [
        OSError("away"),
        ("<h1>503</h1>", 503),
        "<html><p>no form</p></html>",
        '<form action="/sp/search"><input name="sc" value=""></form>',
        '<form action="/elsewhere"><input name="sc" value="a"></form>',
        HtmlResponse(HOME, body=page("challenge-anubis")),
    ],
)
def test_without_a_form_the_search_is_a_get(home: Any) -> None:
    web = Web(lambda request: home if request.url == HOME else page("results-en"))
    got = web.search(StartpageSpider(), SearchQuery(text=QUERY.text, recency="week"))
    assert got.outcome is Outcome.OK
    assert [request.method for request in web.requests] == ["GET", "GET"]
    assert web.urls[1] == f"{SEARCH}?query=pour+over+coffee+ratio&with_date=w"
    assert web.requests[1].headers["Referer"] == HOME.encode()
    fetch = fetch_of(web.requests[1])
    assert fetch is not None
    assert fetch.browser is not None


def test_all_of_it_lies_below_a_base_url_of_the_users() -> None:
    web = Web(lambda request: home_page() if request.url.endswith("/sp/") else page("results-en"))
    config = Config(providers={"startpage": ProviderConfig(base_url="http://127.0.0.1:8/sp")})
    assert web.search(StartpageSpider(), QUERY, config).outcome is Outcome.OK
    assert web.urls == ["http://127.0.0.1:8/sp/", "http://127.0.0.1:8/sp/sp/search"]


# --- filters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "sent", "states"),
    [
        ({"recency": "day"}, {"with_date": "d"}, {"recency": "applied"}),
        ({"recency": "week"}, {"with_date": "w"}, {"recency": "applied"}),
        ({"recency": "month"}, {"with_date": "m"}, {"recency": "applied"}),
        ({"recency": "year"}, {"with_date": "y"}, {"recency": "applied"}),
        ({"safesearch": "strict"}, {"qadf": "heavy"}, {"safesearch": "applied"}),
        ({"safesearch": "moderate"}, {"qadf": "moderate"}, {"safesearch": "applied"}),
        ({"safesearch": "off"}, {"qadf": "none"}, {"safesearch": "applied"}),
        ({"after": "2026-11-20"}, {"with_date": "d"}, {"after": "approximated"}),
        ({"after": "2026-11-19"}, {"with_date": "w"}, {"after": "approximated"}),
        ({"after": "2026-11-14"}, {"with_date": "w"}, {"after": "approximated"}),
        ({"after": "2026-11-13"}, {"with_date": "m"}, {"after": "approximated"}),
        (
            {"after": "2026-03-01", "before": "2026-04-01"},
            {"with_date": "y"},
            {"after": "approximated", "before": "approximated"},
        ),
        ({"after": "2024-01-01"}, {}, {"after": "approximated"}),
        ({"before": "2026-11-01"}, {}, {"before": "approximated"}),
        (
            {"recency": "day", "after": "2026-11-01"},
            {"with_date": "m"},
            {"recency": "ignored", "after": "approximated"},
        ),
        (
            {"recency": "year", "before": "2026-06-01"},
            {"with_date": "y"},
            {"recency": "applied", "before": "approximated"},
        ),
        ({"region": "us-en"}, {"qsr": "en_US"}, {"region": "applied"}),
        ({"region": "us-es"}, {"qsr": "es_US"}, {"region": "applied"}),
        ({"region": "uk-en"}, {"qsr": "en-GB_GB"}, {"region": "applied"}),
        ({"region": "gb"}, {"qsr": "en-GB_GB"}, {"region": "applied"}),
        ({"region": "br-pt"}, {"qsr": "pt-BR_BR"}, {"region": "applied"}),
        ({"region": "cn-zh"}, {"qsr": "zh-CN_CN"}, {"region": "applied"}),
        ({"region": "hk-zh"}, {"qsr": "zh-TW_HK"}, {"region": "applied"}),
        ({"region": "no-nb"}, {"qsr": "no_NO"}, {"region": "applied"}),
        ({"region": "ph-tl"}, {"qsr": "fil_PH"}, {"region": "applied"}),
        ({"region": "ch-it"}, {"qsr": "it_CH"}, {"region": "applied"}),
        ({"region": "ch"}, {"qsr": "de_CH"}, {"region": "applied"}),
        ({"region": "us-de"}, {"qsr": "en_US"}, {"region": "approximated"}),
        ({"region": "aq-en"}, {}, {"region": "unsupported"}),
        ({"language": "de"}, {"language": "deutsch", "lui": "deutsch"}, {"language": "applied"}),
        ({"language": "ja"}, {"language": "nihongo"}, {"language": "applied"}),
        ({"language": "en-gb"}, {"language": "english_uk"}, {"language": "applied"}),
        ({"language": "zh-TW"}, {"language": "fantizhengwen"}, {"language": "applied"}),
        ({"language": "zh-hant-tw"}, {"language": "fantizhengwen"}, {"language": "applied"}),
        ({"language": "pt-br"}, {"language": "portugues", "lui": "portugues"}, {"language": "approximated"}),
        ({"language": "tlh"}, {}, {"language": "unsupported"}),
        (
            {"region": "ch", "language": "fr"},
            {"qsr": "fr_CH", "language": "francais", "lui": "francais"},
            {"region": "applied", "language": "applied"},
        ),
        (
            {"region": "ch-de", "language": "fr"},
            {"qsr": "de_CH", "language": "francais", "lui": "francais"},
            {"region": "applied", "language": "applied"},
        ),
        ({"limit": 30, "page": 2}, {}, {}),
    ],
)
def test_filters(fields: dict[str, Any], sent: dict[str, str], states: dict[str, str]) -> None:
    spider = StartpageSpider()
    query = asked(**fields)
    request = spider.search_request(query, 1, Form(FIELDS, 0.0))
    assert dict(form(request)) == FIELDS | {"query": "x"} | sent
    assert dict(parse_qsl(urlsplit(spider.request(query, 1).url).query)) == {"query": "x", **sent}
    assert spider.filters(query).states == states


def test_a_range_is_applied_to_the_rows_that_carry_a_date() -> None:
    spider = StartpageSpider()
    query = SearchQuery(text=QUERY.text, after=date(2026, 1, 1))
    got = spider.parse(HtmlResponse(SEARCH, body=page("results-en")), query)
    # The row of March 2024 is gone, rows without a date stay.
    assert (len(got.results), got.filters) == (9, {"after": "approximated"})
    assert "https://coffee-lab.example/articles/1-16-ratio?lang=en" not in [row.url for row in got.results]


# --- paging ----------------------------------------------------------------------------------------------------------


def test_the_next_page_is_asked_with_the_pages_own_form() -> None:
    web = site()
    got = web.search(StartpageSpider(), SearchQuery(text=QUERY.text, limit=20))
    assert len(got.results) == 20
    assert web.urls == [HOME, SEARCH, SEARCH]
    assert form(web.requests[2]) == [
        ("lui", "english"),
        ("language", "english"),
        ("query", "pour over coffee ratio"),
        ("cat", "web"),
        ("sc", "dEmO0sCtOkEn00"),
        ("pl", ""),
        ("t", "device"),
        ("segment", "startpage.demo"),
        ("page", "2"),
        ("abd", "0"),
        ("abe", "0"),
        ("qsr", "all"),
        ("qadf", "moderate"),
        ("with_date", ""),
    ]
    assert web.requests[2].headers["Referer"] == HOME.encode()


def test_a_form_with_a_button_for_each_page_and_no_form_at_all() -> None:
    spider = StartpageSpider()
    old = HtmlResponse(SEARCH, body=page("gl-2021-en"))
    request = spider.next_request(old, QUERY, 2)
    assert request is not None
    assert dict(form(request)) == {
        "language": "english",
        "lui": "english",
        "query": "french press ratio",
        "cat": "web",
        "sc": "dEmO0sCtOkEn00",
        "page": "2",
    }
    assert spider.next_request(old, QUERY, 3) is None


# --- pages -----------------------------------------------------------------------------------------------------------


def script(value: str, rest: str = ")") -> str:
    return f'<div id="root"></div><script>React.createElement(UIStartpage.AppSerpWeb, {value}{rest}</script>'


def test_one_json_value_is_read_whatever_follows() -> None:
    """BC042."""
    got = parse(
        '<script>React.createElement(UIStartpage.AppSerpWeb, {"render":{"presenter":{"regions":{"mainline":[{"display_type":'
        '"web-google","results":[{"clickUrl":"https://a.example","title":"A }) x","description":"d"}]}]}}}}, {"more":1}), root)'
        "</script>"
    )
    assert (got.outcome, got.extra["layout"]) == (Outcome.OK, "data")
    assert [(row.rank, row.url, row.title, row.snippet) for row in got.results] == [
        (1, "https://a.example", "A }) x", "d")
    ]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "{",
        "{}",
        '{"render":null}',
        '{"render":{"presenter":{"regions":{"mainline":{}}}}}',
        '{"render":{"presenter":{"regions":{"mainline":[1,{"display_type":"web-google","results":[null,{"title":5}]}]}}}}',
        '{"render":{"presenter":{"regions":{"mainline":[{"display_type":"web-google","results":null}]}}}}',
        '{"a":' * 5000,
    ],
)
def test_json_of_another_shape_is_a_new_layout(value: str) -> None:
    assert parse(script(value)).outcome is Outcome.LAYOUT_CHANGED


def test_elements_come_before_the_script() -> None:
    got = parse(page("results-en"))
    assert (got.extra["layout"], len(got.results)) == ("2024", 10)


def test_both_sources_say_the_same() -> None:
    html = page("results-en").decode()
    cut = html[: html.index('<div class="w-gl ')] + html[html.index("<script>") :]
    data, elements = parse(cut), parse(html)
    assert data.extra["layout"] == "data"
    assert [(r.url, r.title, r.snippet, r.site_name, r.published) for r in data.results] == [
        (r.url, r.title, r.snippet, r.site_name, r.published) for r in elements.results
    ]


def test_ads_and_the_honeypot_are_no_rows() -> None:
    got = parse(
        '<div id="sponsored"><div class="result"><a class="result-link" href="https://ad.example"><h2>Ad</h2></a></div></div>'
        '<div class="a-bg-result"><a class="result-link" href="https://honeypot.example"><h2>H</h2></a></div>'
        '<div class="a-bg-result result"><a class="result-link" href="https://honeypot2.example"><h2>H</h2></a></div>'
        '<div class="result"><a class="result-link" href="https://www.google.com/aclk?sa=l"><h2>Ad</h2></a></div>'
        '<div class="result"><a class="result-link" href="https://www.startpage.com/do/search?q=x"><h2>Own</h2></a></div>'
        '<div class="result"><a class="result-link" href="https://a.example/?a=1&amp;b=2"><h3>A</h3></a><p>text</p></div>'
    )
    assert [(row.url, row.title) for row in got.results] == [("https://a.example/?a=1&b=2", "A")]


def test_a_title_without_heading_is_the_links_text() -> None:
    got = parse(
        '<div class="result css-1"><style>.a{}</style><a class="result-link" href="https://a.example">A <b>b</b></a></div>'
    )
    assert got.results[0].title == "A b"


OLDER = {
    "2018": """<ul><li class="search-result search-item"><h3 class="search-item__title"><a href="https://a.example">A</a></h3>
        <p class="search-item__body">text</p></li></ul>""",
    "classic": """<div id="results"><div id="sponsored"><div class="result"><h3><a href="https://ad.example">Ad</a></h3></div></div>
        <div class="result"><h3 class="clk"><a id="title_1" href="https://a.example">A</a></h3><p class="desc">text</p></div>
        </div>""",
    "list": """<ol class="web_regular_results"><li><h3><a href="https://a.example">A</a></h3>
        <p class="desc">text</p></li></ol>""",
    "w-gl": """<div class="w-gl__result"><a class="w-gl__result-title" href="https://a.example">A</a>
        <p class="w-gl__description">text</p></div>""",
}


@pytest.mark.parametrize("body", OLDER.values(), ids=OLDER)
def test_older_pages(body: str) -> None:
    got = parse(body)
    assert [(row.url, row.title, row.snippet) for row in got.results] == [("https://a.example", "A", "text")]


# --- nothing and walls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        '<div class="mainline-results mainline-results__notice"><div class="nc-nr-em"><h2>何も</h2></div></div>',
        script(
            json.dumps(
                {"render": {"presenter": {"regions": {"mainline": [{"display_type": "notice-noresults-empty"}]}}}}
            )
        ),
        # A tool has rewritten the script: it is no JSON any more.
        "<script>React.createElement(UIStartpage.AppSerpWeb, {render: {x: [{display_type: 'notice-noresults-empty'}]}})</script>",
    ],
)
def test_the_notice_that_there_is_nothing(body: str) -> None:
    assert parse(body).outcome is Outcome.EMPTY


def test_another_notice_is_not_taken_for_that_one() -> None:
    body = '<div class="mainline-results mainline-results__notice"><p>Results are filtered.</p></div>'
    assert parse(body).outcome is Outcome.LAYOUT_CHANGED


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("https://www.startpage.com/sp/captcha?sc=1", Outcome.CHALLENGE),
        ("https://www.startpage.com/captcha/", Outcome.CHALLENGE),
        ("https://www.startpage.com/errors/503.html", Outcome.CHALLENGE),
        ("https://www.startpage.com/sp/captcha-block", Outcome.BLOCKED),
        # What was asked for is no wall.
        ("https://www.startpage.com/sp/search?query=a/captcha/b", Outcome.LAYOUT_CHANGED),
    ],
)
def test_walls_by_address(url: str, outcome: Outcome) -> None:
    assert parse("<p>hello</p>", url=url).outcome is outcome


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ('<script src="/component---src-pages-captcha-tsx-12.js"></script>', Outcome.CHALLENGE),
        ('<form action="/sp/captcha"></form>', Outcome.CHALLENGE),
        ('<script id="anubis_challenge" type="application/json">{}</script>', Outcome.CHALLENGE),
        ("<title>Access Denied - Startpage</title>", Outcome.BLOCKED),
    ],
)
def test_walls_by_page(body: str, outcome: Outcome) -> None:
    assert parse(body).outcome is outcome
    assert parse(body, 403).outcome is outcome


def test_a_redirect_to_the_captcha_that_nobody_followed() -> None:
    response = HtmlResponse(SEARCH, status=302, headers={"Location": "/sp/captcha?sc=1"})
    assert StartpageSpider().parse(response, QUERY).outcome is Outcome.CHALLENGE


def test_the_word_captcha_is_no_wall() -> None:
    assert parse("<p>How does a captcha work?</p>").outcome is Outcome.LAYOUT_CHANGED
    rows = (
        '<div class="result"><a class="result-link" href="https://a.example"><h2>/sp/captcha explained</h2></a></div>'
    )
    assert parse(rows).outcome is Outcome.OK
