"""Yahoo: what is asked for, and the page shapes that the stored cases do not hold."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from scrapy.http import HtmlResponse, Request
from websearch.spiders.engines.yahoo import YahooSpider

from websearch.config import Config, ProviderConfig
from websearch.fetching.context import fetch_of
from websearch.model import Outcome, SearchQuery, SearchResponse

URL = "https://search.yahoo.com/search?p=x"
UNKNOWN = SearchQuery.unchecked("")
GATEWAY = "http://127.0.0.1:8080/yahoo"


def spider(base_url: str | None = None) -> YahooSpider:
    made = YahooSpider()
    made.configure(Config(providers={"yahoo": ProviderConfig(base_url=base_url)}))
    return made


def ask(page: int = 1, **fields: Any) -> str:
    return spider().request(SearchQuery(text="rust", **fields), page).url


def states(base_url: str | None = None, **fields: Any) -> dict[str, str]:
    return dict(spider(base_url).filters(SearchQuery(text="rust", **fields)).states)


def response(html: str, url: str = URL, status: int = 200, **headers: str) -> HtmlResponse:
    return HtmlResponse(url, status=status, body=html, encoding="utf-8", headers=dict(headers))


def read(html: str, url: str = URL, status: int = 200, **headers: str) -> SearchResponse:
    return spider().parse(response(html, url, status, **headers), UNKNOWN)


def row(href: str, title: str = "T", more: str = "") -> str:
    return f'<li><div class="dd algo algo-sr"><div class="compTitle"><h3 class="title"><a href="{href}">{title}</a></h3></div>{more}</div></li>'


def page(rows: str, after: str = "") -> str:
    return f'<body id="ysch"><div id="main"><div id="web"><ol>{rows}</ol></div></div>{after}</body>'


# --- requests ---------------------------------------------------------------------------------------------------------


def test_plain_request() -> None:
    request = spider().request(SearchQuery(text="a & b"), 1)
    assert (request.method, request.url) == ("GET", "https://search.yahoo.com/search?p=a+%26+b&n=10")
    assert request.headers["Referer"] == b"https://search.yahoo.com/"
    assert request.headers["Sec-Fetch-Site"] == b"same-origin"
    assert request.cookies == {}
    fetch = fetch_of(request)
    assert fetch is not None
    assert fetch.browser is not None
    assert (fetch.browser.home, fetch.browser.nothing) == (None, ".zrp")
    assert "[name='reject']" in fetch.browser.clicks[0]


@pytest.mark.parametrize(("limit", "count"), [(None, 10), (3, 3), (15, 15), (99, 20), (-1, 1)])
def test_count_is_held_to_twenty(limit: int | None, count: int) -> None:
    assert ask(limit=limit) == f"https://search.yahoo.com/search?p=rust&n={count}"


def test_a_later_page_without_the_one_before() -> None:
    assert ask(2).endswith("?p=rust&n=10&b=8&pz=7")
    assert ask(3).endswith("?p=rust&n=10&b=15&pz=7")


@pytest.mark.parametrize(
    ("fields", "params", "expected"),
    [
        ({"recency": "day"}, "&btf=d", {"recency": "applied"}),
        ({"recency": "week"}, "&btf=w", {"recency": "applied"}),
        ({"recency": "month"}, "&btf=m", {"recency": "applied"}),
        ({"recency": "year"}, "", {"recency": "ignored"}),
        ({"after": "2026-01-01"}, "", {"after": "approximated"}),
        ({"before": "2026-02-01"}, "", {"before": "approximated"}),
        (
            {"recency": "week", "after": "2026-01-01", "before": "2026-02-01"},
            "&btf=w",
            {"recency": "applied", "after": "approximated", "before": "approximated"},
        ),
        ({"safesearch": "off"}, "&vm=p", {"safesearch": "applied"}),
        ({"safesearch": "moderate"}, "&vm=i", {"safesearch": "applied"}),
        ({"safesearch": "strict"}, "&vm=r", {"safesearch": "applied"}),
        ({"language": "de"}, "&fl=1&vl=lang_de", {"language": "applied"}),
        ({"language": "pt-br"}, "&fl=1&vl=lang_pt", {"language": "applied"}),
        ({"language": "zh"}, "&fl=1&vl=lang_zh_chs", {"language": "applied"}),
        ({"language": "zh-hant-tw"}, "&fl=1&vl=lang_zh_cht", {"language": "applied"}),
        ({"language": "eo"}, "", {"language": "unsupported"}),
        (
            {"recency": "day", "language": "fr", "safesearch": "strict"},
            "&btf=d&fl=1&vl=lang_fr&vm=r",
            {"recency": "applied", "language": "applied", "safesearch": "applied"},
        ),
    ],
)
def test_filters(fields: dict[str, str], params: str, expected: dict[str, str]) -> None:
    assert ask(**fields) == f"https://search.yahoo.com/search?p=rust&n=10{params}"
    assert states(**fields) == expected


@pytest.mark.parametrize(
    ("region", "host", "state"),
    [
        ("us-en", "search.yahoo.com", "applied"),
        ("au-en", "au.search.yahoo.com", "applied"),
        ("de-de", "de.search.yahoo.com", "applied"),
        ("uk-en", "uk.search.yahoo.com", "applied"),
        ("gb", "uk.search.yahoo.com", "applied"),
        ("my-en", "malaysia.search.yahoo.com", "applied"),
        ("jp-ja", "search.yahoo.com", "unsupported"),
        ("wt-wt", "search.yahoo.com", "unsupported"),
        ("evil.example", None, None),
    ],
)
def test_a_region_is_a_host(region: str, host: str | None, state: str | None) -> None:
    """BC081: a host without a scheme; nothing but a known code may become part of a host."""
    if host is None:
        with pytest.raises(ValueError, match="region"):
            SearchQuery(text="rust", region=region)
        return
    request = spider().request(SearchQuery(text="rust", region=region), 1)
    assert request.url == f"https://{host}/search?p=rust&n=10"
    assert request.headers["Referer"] == f"https://{host}/".encode()
    assert states(region=region) == {"region": state}


def test_base_url_wins_over_the_region() -> None:
    request = spider(GATEWAY).request(SearchQuery(text="rust", region="de-de"), 1)
    assert request.url == f"{GATEWAY}/search?p=rust&n=10"
    assert request.headers["Accept-Language"] == b"de-DE,de;q=0.9,en;q=0.5"
    assert states(GATEWAY, region="de-de") == {"region": "ignored"}


# --- paging -----------------------------------------------------------------------------------------------------------


def following(html: str, url: str = URL, base_url: str | None = None, **fields: Any) -> Request | None:
    return spider(base_url).next_request(response(html, url), SearchQuery(text="rust", **fields), 2)


NEXT = (
    '<div class="compPagination"><div class="pages"><strong>1</strong><a href="/search?p=rust&amp;b=91">9</a></div>'
    '<a class="next" href="{}/search;_ylt=Aw;_ylu=Y2?p=rust&amp;ei=UTF-8&amp;b=10&amp;pz=9&amp;xargs=0">Next<ins></ins></a></div>'
)


def test_next_link_is_followed_with_what_it_carries() -> None:
    request = following(page("", NEXT.format("https://search.yahoo.com")))
    assert request is not None
    assert request.url == "https://search.yahoo.com/search?p=rust&ei=UTF-8&b=10&pz=9&xargs=0"


def test_next_link_names_the_host() -> None:
    """A first visit may have been sent to the host of the visitor's country."""
    request = following(
        page("", NEXT.format("https://au.search.yahoo.com")), "https://au.search.yahoo.com/search?p=rust"
    )
    assert request is not None
    assert request.url.startswith("https://au.search.yahoo.com/search?p=rust&")
    assert request.headers["Referer"] == b"https://au.search.yahoo.com/"


def test_next_link_keeps_the_filters_and_never_leaves_yahoo() -> None:
    request = following(
        page("", NEXT.format("https://evil.example")), recency="week", safesearch="strict", region="de-de"
    )
    assert request is not None
    assert urlsplit(request.url).hostname == "de.search.yahoo.com"
    asked = dict(parse_qsl(urlsplit(request.url).query))
    assert asked == {"p": "rust", "ei": "UTF-8", "b": "10", "pz": "9", "xargs": "0", "btf": "w", "vm": "r"}


def test_next_link_behind_a_gateway() -> None:
    request = following(page("", NEXT.format("https://de.search.yahoo.com")), f"{GATEWAY}/search?p=rust", GATEWAY)
    assert request is not None
    assert request.url == f"{GATEWAY}/search?p=rust&ei=UTF-8&b=10&pz=9&xargs=0"


def test_next_link_of_2015() -> None:
    request = following(
        '<div id="pg"><strong>1</strong><a id="pg-next" href="/search;_ylt=A9?p=rust&amp;b=11">More</a></div>'
    )
    assert request is not None
    assert request.url == "https://search.yahoo.com/search?p=rust&b=11"


@pytest.mark.parametrize(
    "html",
    [
        page(row("https://a.example/")),
        '<div class="compPagination"><a class="prev" href="/search?p=rust&amp;b=1">Prev</a><strong>2</strong></div>',
        '<span class="next arrow"></span>',
        '<a class="next" href="javascript:next()">Next</a>',
        '<a class="next" href="/search?p=rust">Next</a>',
        '<a class="next" href="http://[bad/search?b=8">Next</a>',
        "",
    ],
)
def test_no_next_link_is_the_last_page(html: str) -> None:
    assert following(html) is None


# --- rows -------------------------------------------------------------------------------------------------------------


def test_row_without_description() -> None:
    """BC019: a row without a description costs nothing."""
    got = read(
        page(row("https://a.example", "A") + row("https://b.example", "B", '<div class="compText"><p>b</p></div>'))
    )
    assert got.outcome is Outcome.OK
    assert [(r.rank, r.title, r.url, r.snippet) for r in got.results] == [
        (1, "A", "https://a.example", ""),
        (2, "B", "https://b.example", "b"),
    ]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("https://r.search.yahoo.com/_ylt=Aw;_ylu=X3/RV=2/RE=1572756518/RO=10/RU=https%3a%2f%2fexample.com%2f2019%2f04%2fp%2f/RK=2/RS=ou-", "https://example.com/2019/04/p/"),
        ("https://r.search.yahoo.com/_ylt=Aw/RV=2/RU=https%3a%2f%2fexample.com%2fRK%3d1%2fx%3fRS%3d2/RK=2/RS=ou-", "https://example.com/RK=1/x?RS=2"),
        ("http://ri.search.yahoo.com/_ylt=A0;_ylu=X3/RV=1/RE=1393527333/RO=10/RU=https%3a%2f%2fexample.com%2fa%253Fb/RS=%5EAD-", "https://example.com/a%3Fb"),
        ("//r.search.yahoo.com/_ylt=A/RU=https%3A%2F%2Fexample.com%2Fa%3Fb%3D1%26c%3D2/RK=2/RS=x-", "https://example.com/a?b=1&c=2"),
        ("https://news.yahoo.com/story-1.html", "https://news.yahoo.com/story-1.html"),
        ("https://it.answers.yahoo.com/question/index;_ylt=Aw.;_ylu=Y2?qid=2007", "https://it.answers.yahoo.com/question/index;_ylt=Aw.;_ylu=Y2?qid=2007"),
        ("https://r.search.yahoo.com/_ylt=Aw/RV=2/RE=1/RO=10/RK=2/RS=x-", None),
        ("https://r.search.yahoo.com/_ylt=Aw/RU=javascript%3aalert(1)/RK=2/RS=x-", None),
        ("https://r.search.yahoo.com/_ylt=Aw/RU=https%3a%2f%2fde.images.search.yahoo.com%2fx/RK=2/RS=x-", None),
        ("https://r.search.yahoo.com/cbclk2/dWU9/RU=https%3a%2f%2fshop.example/RK=2", None),
        ("https://r.search.yahoo.com/_ylt=Aw/RU=https%3a%2f%2fwww.bing.com%2faclick%3fld%3dx/RK=2/RS=x-", None),
        ("https://video.search.yahoo.com/search/video?p=x", None),
        ("/search?p=x", None),
    ],
)  # fmt: skip
def test_links(href: str, url: str | None) -> None:
    """BC007, BC035: unwrapped once, split before decoding; ads and searches are no results."""
    rows = read(page(row(href) + row("https://last.example/"))).results
    assert [r.url for r in rows] == ([url] if url else []) + ["https://last.example/"]


def test_link_around_the_heading_or_in_it_on_one_page() -> None:
    new = (
        '<li><div class="algo"><div class="compTitle"><a href="https://a.example/"><div><span><span>Site A</span>https://a.example</span>'
        '</div><h3><span>New <b>A</b></span></h3></a></div><div class="compText aAbs"><p>a</p></div></div></li>'
    )
    old = row(
        "https://b.example/x",
        '<span class="d-ib p-abs t-0">b.example<span class="p-crumb"> · x</span></span>Old <b>B</b>',
        '<ul class="compDlink"><li><a href="https://cache.example/">Cached</a></li></ul><div class="compText aAbs"><p>b</p></div>',
    )
    got = read(page(new + old)).results
    assert [(r.title, r.url, r.snippet, r.site_name) for r in got] == [
        ("New A", "https://a.example/", "a", "Site A"),
        ("Old B", "https://b.example/x", "b", None),
    ]


def test_see_full_list_is_no_snippet() -> None:
    tabs = (
        '<div class="grp"><ul><li><span>Table</span></li></ul></div><div class="grp"><table><tr><td>1</td></tr></table>'
        '<div class="compText mt-8"><p class=""><a href="https://a.example/">See full list on a.example</a></p></div></div>'
        '<div class="grp"><div class="compText"><p><span>text of the tab</span></p></div></div>'
    )
    assert [r.snippet for r in read(page(row("https://a.example/", "A", tabs))).results] == ["text of the tab"]


def test_blocks_are_no_rows() -> None:
    blocks = (
        '<li><div class="dd ads relsrch"><h3><a href="https://shop.example/">Ad</a></h3></div></li>'
        '<li><div class="dd bingrelqa"><div class="compTitle"><h3><a href="https://answer.example/">Q</a></h3></div></div></li>'
        '<li><div class="dd algo ads"><h3><a href="https://shop.example/2">Ad with a row\'s class</a></h3></div></li>'
        '<li><div class="dd sys_news_auto"><h3><a href="https://news.search.yahoo.com/search?p=x">Top stories</a></h3><a href="https://n.example/">N</a></div></li>'
    )
    side = '<div id="right"><ol><li><div class="algo"><h3><a href="https://side.example/">Side</a></h3></div></li></ol></div>'
    got = read(page(blocks + row("https://a.example/") + row("https://a.example/", "again"), side))
    assert [r.url for r in got.results] == ["https://a.example/"]


def test_rows_by_position_when_their_classes_are_gone() -> None:
    def item(url: str, title: str, text: str) -> str:
        return f'<li><div><div><h3><a href="{url}"><span>{url}</span>{title}</a></h3></div><div><p>{text}</p></div></div></li>'

    other = (
        '<li><div><div><h3><a href="https://images.search.yahoo.com/x">Images</a></h3></div></div></li>'
        '<li><div><div>Asked</div><div><div><div><h3><a href="https://answer.example/">Deep</a></h3></div></div></div></div></li>'
    )
    got = read(page(item("https://a.example/", "A", "a") + other + item("https://b.example/", "B", "b")))
    assert got.extra["layout"] == "list"
    assert [(r.title, r.url, r.snippet) for r in got.results] == [
        ("A", "https://a.example/", "a"),
        ("B", "https://b.example/", "b"),
    ]


def test_dates_before_the_text() -> None:
    text = '<div class="compText aAbs"><p><span class="fc-smoke">Mar 13, 2026 · </span><b>Rust</b> is</p></div>'
    (got,) = read(page(row("https://a.example/", "A", text))).results
    assert (got.age, got.published, got.snippet) == ("Mar 13, 2026", "2026-03-13", "Rust is")


def test_range_is_applied_to_dated_rows() -> None:
    def dated(name: str, day: str) -> str:
        return row(f"https://{name}.example/", name, f'<div class="compText aAbs"><p>{day} · rust</p></div>')

    html = page(dated("old", "Mar 13, 2020") + dated("new", "Mar 13, 2026") + row("https://undated.example/", "rust"))
    got = spider().parse(response(html), SearchQuery(text="rust", after="2026-01-01"))
    assert [r.url for r in got.results] == ["https://new.example/", "https://undated.example/"]


# --- empty and walls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        page('<li><div class="dd zrp"><div class="compText"><p>Žádné výsledky</p></div></div></li>'),
        page("<li><p>We did not find results for: <b>x</b>.</p></li>"),
        page("<li><p>Non sono stati trovati risultati per x</p></li>"),
        page("<li><p>Es wurden keine Ergebnisse für x gefunden</p></li>"),
        page("<li><p>No se han encontrado resultados para x</p></li>"),
    ],
)
def test_nothing_found(html: str) -> None:
    assert read(html).outcome is Outcome.EMPTY


@pytest.mark.parametrize(
    "html",
    [
        page(""),
        page("<li><p>Loading</p></li>"),
        page("", "<p>We did not find results for x</p>"),
        page(f"<li><p>{'an article about search. ' * 60} We did not find results for it.</p></li>"),
        '<form action="https://search.yahoo.com/search"><input id="yschsp" name="p" value="did not find results"></form>',
    ],
)
def test_a_page_of_another_shape_is_not_empty(html: str) -> None:
    assert read(html).outcome is Outcome.LAYOUT_CHANGED


CONSENT = '<form method="post" class="consent-form"><input type="hidden" name="originalDoneUrl" value="x"><button name="reject">No</button></form>'


@pytest.mark.parametrize(
    ("url", "html", "status", "location"),
    [
        (URL, "", 302, "https://consent.yahoo.com/v2/collectConsent?sessionId=3_cc-session_x"),
        (URL, "", 302, "https://guce.yahoo.com/consent?brandType=eu&x"),
        ("https://consent.yahoo.com/v2/collectConsent?sessionId=3", "<html><body>Text</body></html>", 200, ""),
        ("https://guce.yahoo.com/consent?brandType=eu", "<html></html>", 200, ""),
        ("https://de.consent.yahoo.com:443/x", "<p>x</p>", 200, ""),
        ("http://127.0.0.1:8080/consent", CONSENT, 200, ""),
        (
            "http://127.0.0.1:8080/x",
            '<form action="/v2/collectConsent?sessionId=3"><button>OK</button></form>',
            200,
            "",
        ),
    ],
)
def test_consent(url: str, html: str, status: int, location: str) -> None:
    """BC060: told by the host, or by the form."""
    headers = {"Location": location} if location else {}
    assert read(html, url, status, **headers).outcome is Outcome.CONSENT


@pytest.mark.parametrize(
    "url",
    ["https://search.yahoo.com/search?p=consent+form+template", "https://search.yahoo.com/search?p=guce.yahoo.com"],
)
def test_results_about_consent_are_results(url: str) -> None:
    html = page(row("https://forms.example/consent.yahoo.com/collectConsent", "Consent form template"))
    meta = '<meta name="oath:guce:consent-host" content="guce.yahoo.com">'
    assert read(meta + html, url).outcome is Outcome.OK
    assert read(meta + page(""), url).outcome is Outcome.LAYOUT_CHANGED


@pytest.mark.parametrize(
    ("html", "status", "outcome"),
    [
        ("<title>Yahoo! - 999 Unable to process request at this time -- error 999</title><h1>error 999</h1>", 999, Outcome.RATE_LIMITED),
        ("<p>Sorry, Unable to process request at this time -- error 999.</p>", 200, Outcome.RATE_LIMITED),
        ("Edge: Too Many Requests", 200, Outcome.RATE_LIMITED),
        ("Too Many Requests", 429, Outcome.RATE_LIMITED),
        ("", 429, Outcome.RATE_LIMITED),
        ("<h1>Forbidden</h1>", 403, Outcome.BLOCKED),
        ("<h1>Will be right back</h1>", 503, Outcome.UNAVAILABLE),
        ("", 200, Outcome.UNAVAILABLE),
        (page(row("https://a.example/", "Yahoo error 999: too many requests")), 200, Outcome.OK),
    ],
)  # fmt: skip
def test_refusals(html: str, status: int, outcome: Outcome) -> None:
    assert read(html, status=status).outcome is outcome
