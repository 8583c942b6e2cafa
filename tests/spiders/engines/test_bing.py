"""Bing: what is asked for, and the page shapes that the stored cases do not hold."""

from __future__ import annotations

import base64
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from scrapy.http import HtmlResponse, Request
from websearch.spiders.engines.bing import BingSpider

from websearch.config import Config, ProviderConfig
from websearch.fetching.context import META, BrowserPlan, Fetch, Rung, fetch_of
from websearch.model import InvalidInput, Outcome, SearchQuery, SearchResponse

TODAY = date(2026, 7, 13)  # day 20647 since 1970
URL = "https://www.bing.com/search?q=x"
UNKNOWN = SearchQuery.unchecked("")
BASIC = {"q": "rust", "count": "10", "mkt": "en-US", "setlang": "en"}


class Bing(BingSpider):
    """Bing on a fixed day."""

    def today(self) -> date:
        return TODAY


def sent(page: int = 1, **fields: Any) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(Bing().request(SearchQuery(text="rust", **fields), page).url).query))


def states(**fields: Any) -> dict[str, str]:
    return dict(Bing().filters(SearchQuery(text="rust", **fields)).states)


def read(html: str, query: SearchQuery = UNKNOWN, url: str = URL, status: int = 200) -> SearchResponse:
    return Bing().parse(HtmlResponse(url, status=status, body=html, encoding="utf-8"), query)


def page(rows: str) -> str:
    return f'<html lang="en"><header id="b_header"></header><div id="b_content"><ol id="b_results">{rows}</ol></div>'


def row(href: str, title: str = "T", more: str = "") -> str:
    return (
        f'<li class="b_algo"><h2><a href="{href}">{title}</a></h2><div class="b_caption"><p>text</p>{more}</div></li>'
    )


def token(target: str) -> str:
    return (
        f"https://www.bing.com/ck/a?!&&p=1&u=a1{base64.urlsafe_b64encode(target.encode()).decode().rstrip('=')}&ntb=1"
    )


# --- requests ---------------------------------------------------------------------------------------------------------


def test_plain_request() -> None:
    request = Bing().request(SearchQuery(text='c++ "a & b"'), 1)
    assert request.method == "GET"
    assert request.url == ("https://www.bing.com/search?q=c%2B%2B+%22a+%26+b%22&count=10&mkt=en-US&setlang=en")
    assert request.headers["Referer"] == b"https://www.bing.com/"
    assert request.headers["Sec-Fetch-Site"] == b"same-origin"
    assert request.headers["Accept-Language"] == b"en-US,en;q=0.9"
    assert request.cookies == {}
    fetch = fetch_of(request)
    assert fetch is not None
    assert fetch.browser == BrowserPlan(
        ready="li.b_algo, .sb_results > li", nothing="li.b_no, #no_results, .no_results", clicks=("#bnp_btn_reject",)
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"recency": "day"}, {"filters": 'ex1:"ez1"'}),
        ({"recency": "week"}, {"filters": 'ex1:"ez2"'}),
        ({"recency": "month"}, {"filters": 'ex1:"ez3"'}),
        ({"recency": "year"}, {"filters": 'ex1:"ez5_20282_20647"'}),  # facts §7.3
        ({"after": "2026-07-01"}, {"filters": 'ex1:"ez5_20635_20647"'}),
        ({"before": "1970-01-02"}, {"filters": 'ex1:"ez5_0_1"'}),
        ({"after": "2026-07-01", "before": "2026-07-03"}, {"filters": 'ex1:"ez5_20635_20637"'}),
        ({"after": "2026-07-20"}, {"filters": 'ex1:"ez5_20654_20654"'}),
        ({"safesearch": "off"}, {"adlt": "off"}),
        ({"safesearch": "moderate"}, {"adlt": "moderate"}),
        ({"safesearch": "strict"}, {"adlt": "strict"}),
        ({"region": "de-de"}, {"mkt": "de-DE", "setlang": "de", "cc": "DE"}),
        ({"region": "us-en"}, {"mkt": "en-US", "setlang": "en", "cc": "US"}),
        ({"region": "uk-en"}, {"mkt": "en-GB", "setlang": "en", "cc": "GB"}),
        ({"region": "fr"}, {"mkt": "en-FR", "setlang": "en", "cc": "FR"}),
        ({"region": "ch-de", "language": "fr"}, {"mkt": "fr-CH", "setlang": "fr", "cc": "CH"}),
        ({"region": "br-pt", "language": "pt-br"}, {"mkt": "pt-BR", "setlang": "pt-br", "cc": "BR"}),
        ({"language": "ja"}, {"mkt": "ja-JP", "setlang": "ja"}),
        ({"language": "pt-pt"}, {"mkt": "pt-PT", "setlang": "pt-pt"}),
        ({"limit": 20}, {"count": "20"}),
        ({"limit": 50}, {"count": "20"}),
        ({"limit": 3}, {"count": "3"}),
    ],
)
def test_parameters(fields: dict[str, Any], expected: dict[str, str]) -> None:
    assert sent(**fields) == BASIC | expected


@pytest.mark.parametrize("fields", [{"region": "wt-wt"}, {"language": "is"}])
def test_no_market_is_better_than_a_wrong_one(fields: dict[str, str]) -> None:
    assert "mkt" not in sent(**fields)


def test_all_at_once_in_order() -> None:
    query = SearchQuery(text="rust", limit=20, recency="week", region="at-de", language="de", safesearch="strict")
    assert Bing().request(query, 3).url == (
        "https://www.bing.com/search?q=rust&count=20&mkt=de-AT&setlang=de&filters=ex1%3A%22ez2%22&cc=AT&adlt=strict"
        "&first=41&FORM=PERE1"
    )


def test_pages() -> None:
    assert sent(2) == BASIC | {"first": "11", "FORM": "PERE"}
    assert sent(3) == BASIC | {"first": "21", "FORM": "PERE1"}


def test_states() -> None:
    asked = {"recency": "day", "region": "us-en", "language": "en", "safesearch": "off"}
    assert states(**asked) == dict.fromkeys(asked, "applied")
    assert states(language="de") == {"language": "approximated"}
    # One parameter holds both: the range wins.
    assert states(recency="day", after="2026-01-01") == {"recency": "ignored", "after": "applied"}
    assert sent(recency="day", after="2026-07-01") == BASIC | {"filters": 'ex1:"ez5_20635_20647"'}


def test_base_url_is_configurable() -> None:
    spider = Bing()
    spider.configure(Config(providers={"bing": ProviderConfig(base_url="http://127.0.0.1:8080/")}))
    request = spider.request(SearchQuery(text="rust"), 1)
    assert request.url == "http://127.0.0.1:8080/search?q=rust&count=10&mkt=en-US&setlang=en"
    assert request.headers["Referer"] == b"http://127.0.0.1:8080/"


def test_a_query_longer_than_the_box_is_refused() -> None:
    Bing().check(SearchQuery(text="x" * 1000))
    with pytest.raises(InvalidInput, match="1001 characters"):
        Bing().check(SearchQuery(text="x" * 1001))


def following(html: str, number: int = 2, **fields: Any) -> Request | None:
    response = HtmlResponse(URL, body=html, encoding="utf-8")
    return Bing().next_request(response, SearchQuery(text="rust", **fields), number)


def test_next_page_begins_where_the_link_says() -> None:
    """BC075: asked for twenty rows, Bing may give ten, and its own link leads to the eleventh."""
    link = '<li class="b_pag"><a class="sb_pagN" href="/search?q=rust&amp;FPIG=0&amp;first=11&amp;FORM=PORE">Next</a>'
    request = following(page(link), limit=20)
    assert request is not None
    assert dict(parse_qsl(urlsplit(request.url).query)) == BASIC | {"count": "20", "first": "11", "FORM": "PERE"}


def test_no_next_link_is_the_last_page() -> None:
    assert following(page('<li class="b_pag"><a class="sb_pagS">7</a></li>')) is None


@pytest.mark.parametrize(
    "html", [page(""), page('<li class="b_pag"><a class="sb_pagN" href="/search?q=x&amp;first=y">')]
)
def test_without_a_usable_link_pages_are_counted(html: str) -> None:
    request = following(html, 3)
    assert request is not None
    assert "first=21" in request.url


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("href", "target"),
    [
        # BC002
        (
            "https://www.bing.com/ck/a?!&&u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS93YXRjaD92PTF-fn4",
            "https://example.com/watch?v=1~~~",
        ),
        (
            "https://www.bing.com/ck/a?!&&u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS93YXRjaD92PXg-Pj8",
            "https://example.com/watch?v=x>>?",
        ),
        ("https://www.bing.com/ck/a?!&&u=a1aHR0cHM6Ly_kvovjgYguanAv44OR44K5P3E9w6k", "https://例え.jp/パス?q=é"),
        # BC003
        (
            "https://www.bing.com/ck/a?!&amp;&amp;p=1&amp;u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS9h&amp;ntb=1",
            "https://example.com/a",
        ),
        ("https://www.bing.com/ck/a?!&amp;amp;&amp;amp;u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS9h", "https://example.com/a"),
        ("/ck/a?!&&u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS9h", "https://example.com/a"),
        ("https://cn.bing.com/ck/a?!&&u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS9h", "https://example.com/a"),
        ("https://example.com/docs/?a=%20&amp;b=%2F#x", "https://example.com/docs/?a=%20&b=%2F#x"),
    ],
)
def test_links(href: str, target: str) -> None:
    assert [found.url for found in read(page(row(href))).results] == [target]


@pytest.mark.parametrize(
    "href",
    [
        # BC005
        "https://www.bing.com/ck/a?!&&u=a0L3ZpZGVvcy9zZWFyY2g_cT14&ntb=1",
        "https://www.bing.com/ck/a?!&&u=&ntb=1",
        "https://www.bing.com/ck/a?!&&p=1&ntb=1",
        "https://www.bing.com/ck/a?!&&u=a1%%%&ntb=1",
        "https://www.bing.com/ck/a?!&&u=a1amF2YXNjcmlwdDphbGVydCgxKQ&ntb=1",
        # BC035, also wrapped
        "https://www.bing.com/aclick?ld=x&u=aHR0cHM6Ly9zaG9w",
        token("https://www.bing.com/aclick?ld=x"),
        "/search?q=more",
        "https://www.bing.com/videos/search?q=x",
        "javascript:void(0)",
    ],
)
def test_links_that_are_no_results(href: str) -> None:
    found = read(page(row(href) + row("https://example.com/a")))
    assert [result.url for result in found.results] == ["https://example.com/a"]
    assert found.extra["skipped_rows"] == 1


def test_display_url_is_never_the_link() -> None:
    """BC004."""
    cite = '<div class="b_attribution"><cite>https://example.com › docs › …</cite></div>'
    found = read(page(row("https://example.com/docs/a/very/long/path", "T", cite)))
    assert [(result.url, result.snippet) for result in found.results] == [
        ("https://example.com/docs/a/very/long/path", "text")
    ]


# --- rows -------------------------------------------------------------------------------------------------------------


def test_mobile_heading_with_two_links_and_heading_in_link() -> None:
    icon = '<li class="b_algo"><div class="b_algoheader"><h2><a href="https://a.example/"></a><a href="https://a.example/">A</a></h2></div>'
    link = '<li class="b_algo"><div class="b_algoheader"><a href="https://b.example/"><cite>b.example</cite><h2>B</h2></a></div>'
    assert [(r.title, r.url) for r in read(page(icon + link)).results] == [
        ("A", "https://a.example/"),
        ("B", "https://b.example/"),
    ]


def test_page_of_2010() -> None:
    rows = "".join(
        f'<li class="sa_wr"><div class="sa_cc"><div class="sb_tlst"><h3><a href="https://{name}.example/">{name}</a></h3></div>'
        f'<div class="sb_meta"><cite>{name}.example</cite></div><p>About <strong>{name}</strong>.</p></div></li>'
        for name in "abc"
    )
    ads = '<div class="sb_adsW"><ul class="sb_results"><li><div class="sb_tlst"><h3><a href="https://ad.example/">Ad</a></h3></div></li></ul></div>'
    found = read(f'{ads}<div id="results"><ul id="wg0" class="sb_results">{rows}</ul></div>')
    assert [(r.title, r.snippet) for r in found.results] == [(n, f"About {n}.") for n in "abc"]
    assert found.extra["layout"] == "2009"


def test_date_before_the_text() -> None:
    text = '<p><span class="news_dt">17 giờ trước</span>&nbsp;&#183; Thời tiết</p>'
    found = read(page(row("https://a.example/").replace("<p>text</p>", text)))
    assert [(r.age, r.snippet) for r in found.results] == [("17 giờ trước", "Thời tiết")]


def test_rich_card_gives_its_first_text() -> None:
    card = (
        '<div class="b_rc_gb_window"><div class="b_rc_gb_sub_hero"><ul class="b_vList"><li>First fact. '
        '<a href="https://a.example/#:~:text=First">See more</a></li></ul></div>'
        '<div class="b_rc_gb_sub_section"><p class="b_paractl">Another fact</p></div></div>'
    )
    found = read(page(row("https://a.example/", more=card).replace("<p>text</p>", "")))
    assert [r.snippet for r in found.results] == ["First fact."]


def test_one_row_in_two_places_counts_once() -> None:
    found = read(page(row("https://a.example/") + row("https://b.example/") + row("https://a.example/")))
    assert [(r.rank, r.url) for r in found.results] == [(1, "https://a.example/"), (2, "https://b.example/")]


def test_results_about_captchas_are_results() -> None:
    found = read(page(row("https://a.example/turing/captcha", "Verify you are a human") * 3))
    assert found.outcome is Outcome.OK


# --- walls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "url", "evidence"),
    [
        ('<div class="captcha"><div class="captcha_header">x</div></div>', URL, "Bing captcha"),
        ('<header id="b_header"></header><div id="turnstile-widget"></div>', URL, "Bing captcha"),
        ("<h1>x</h1>", "https://www.bing.com/turing/captcha/challenge?q=x", "Bing captcha"),
        ('<form action="/turing/captcha/verify"></form>', URL, "Bing captcha"),
        ('<div id="px-captcha"></div>', URL, "PerimeterX"),
        ("<p>Please verify that you are a human.</p>", URL, "JavaScript check"),
        ('<header id="b_header"></header><footer id="b_footer"></footer>', URL, "page without content"),
        (page(""), URL, "page without content"),
    ],
)
def test_challenges(html: str, url: str, evidence: str) -> None:
    found = read(html, url=url)
    assert found.outcome is Outcome.CHALLENGE
    assert found.error is not None
    assert found.error.evidence == evidence


def test_unfollowed_redirect_to_the_captcha() -> None:
    response = HtmlResponse(URL, status=302, headers={"Location": "/turing/captcha/challenge?q=x"})
    assert Bing().parse(response, UNKNOWN).outcome is Outcome.CHALLENGE


def test_other_page_is_a_changed_layout() -> None:
    assert read(page('<li class="b_card"><p>new</p></li>')).outcome is Outcome.LAYOUT_CHANGED


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(429, Outcome.RATE_LIMITED), (403, Outcome.BLOCKED), (503, Outcome.UNAVAILABLE)],
)
def test_refusals(status: int, outcome: Outcome) -> None:
    assert read("<h1>no</h1>", status=status).outcome is outcome


def test_answer_to_another_query_is_suspect() -> None:
    """BC046."""
    rows = "".join(row(f"https://erp{n}.example/", "ERP software") for n in range(10))
    html = page(rows).replace("</header>", '<input id="sb_form_q" name="q" value="ERP software"></header>')
    found = read(html, SearchQuery(text="gezond eten"))
    assert (found.outcome, len(found.results)) == (Outcome.SUSPECT, 10)


# --- "no results" -----------------------------------------------------------------------------------------------------

NOTHING = page('<li class="b_no"><h1>Aucun résultat pour <strong>x</strong></h1></li>')


@pytest.mark.parametrize(
    "text",
    ["classement de la premier league", "how to brew coffee", "прогноз погоды москва", "thời tiết Hà Nội hôm nay"],
)
def test_nothing_for_an_ordinary_query_is_a_soft_block(text: str) -> None:
    found = read(NOTHING, SearchQuery(text=text, region="fr-fr", language="fr"))
    assert found.outcome is Outcome.SUSPECT
    assert found.error is not None
    assert found.error.evidence == "soft block"
    assert found.error.message.startswith("Bing: ")


@pytest.mark.parametrize(
    "query",
    [
        UNKNOWN,
        SearchQuery(text="two words"),
        SearchQuery(text='"how to brew" coffee ratios'),
        SearchQuery(text="how to brew site:example.com"),
        SearchQuery(text="brew coffee NOT tea"),
        SearchQuery(text="how to -brew coffee"),
        SearchQuery(text="error 0x80070057 in windows"),
        SearchQuery(text="zxqvplorf kwyjibo brnmtz"),
        SearchQuery(text="how to brew coffee", page=9),
        SearchQuery(text="how to brew coffee", recency="day"),
        SearchQuery(text="how to brew coffee", after=date(2026, 1, 1)),
        SearchQuery(text="how to brew coffee", safesearch="strict"),
    ],
)
def test_nothing_may_be_true(query: SearchQuery) -> None:
    assert read(NOTHING, query).outcome is Outcome.EMPTY


@pytest.mark.parametrize(("rung", "outcome"), [("http", Outcome.SUSPECT), ("browser", Outcome.EMPTY)])
def test_a_browser_is_believed(rung: Rung, outcome: Outcome) -> None:
    spider, query = Bing(), SearchQuery(text="how to brew coffee")
    request = spider.request(query, 1)
    fetch = request.meta[META]
    assert isinstance(fetch, Fetch)
    fetch.rung = rung
    response = HtmlResponse(URL, body=NOTHING, encoding="utf-8", request=request)
    assert spider.judge(response, query).outcome is outcome
