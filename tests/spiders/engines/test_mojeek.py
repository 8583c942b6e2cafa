"""Mojeek: what is asked for, and the page shapes that the stored cases do not hold."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.http import HtmlResponse
from websearch.spiders.engines.mojeek import MojeekSpider

from websearch.config import Config, ProviderConfig
from websearch.fetching.context import fetch_of
from websearch.model import Outcome, SearchQuery, SearchResponse

URL = "https://www.mojeek.com/search?q=x"
UNKNOWN = SearchQuery.unchecked("")
PLAIN = "&arc=none&lang=en&lb=en"


def ask(page: int = 1, **fields: Any) -> str:
    """The request's address without what is the same for all."""
    url = MojeekSpider().request(SearchQuery(text="rust", **fields), page).url
    assert url.startswith("https://www.mojeek.com/search?q=rust&t=")
    return url.removeprefix("https://www.mojeek.com/search?q=rust")


def states(**fields: Any) -> dict[str, str]:
    return dict(MojeekSpider().filters(SearchQuery(text="rust", **fields)).states)


def response(html: str, status: int = 200) -> HtmlResponse:
    return HtmlResponse(URL, status=status, body=html, encoding="utf-8")


def read(html: str, status: int = 200) -> SearchResponse:
    return MojeekSpider().parse(response(html, status), UNKNOWN)


def item(url: str, title: str = "T", more: str = '<p class="s">text</p>') -> str:
    return (
        f'<li class="r1"><a title="{url}" href="{url}" class="ob"><p class="i"><span class="url">{url}</span></p></a>'
        f'<h2><a class="title" title="{url}" href="{url}">{title}</a></h2>{more}</li>'
    )


def page(inside: str, footer: str = '<div class="footer"></div>') -> str:
    return (
        '<body class="serp-grid"><div class="header"><a href="https://newsletter.example/">News</a></div>'
        f'<div class="container serp-results"><div class="result-col">{inside}</div>'
        '<div class="right-col"><a href="https://www.mojeek.com/search?q=x&amp;mal=1">Summarise</a></div></div>'
        f"{footer}</body>"
    )


def rows(*items: str) -> str:
    return page(f'<div class="results"><ul class="results-standard">{"".join(items)}</ul></div>')


# --- requests ---------------------------------------------------------------------------------------------------------


def test_plain_request() -> None:
    request = MojeekSpider().request(SearchQuery(text='a "b c"'), 1)
    assert request.method == "GET"
    # A space must be `+`: with `%20` a phrase in quotes is answered 403.
    assert request.url == "https://www.mojeek.com/search?q=a+%22b+c%22&t=10&arc=none&lang=en&lb=en"
    assert request.headers["Referer"] == b"https://www.mojeek.com/?arc=none&lang=en&lb=en"
    assert request.headers["Sec-Fetch-Site"] == b"same-origin"
    assert request.cookies == {}
    fetch = fetch_of(request)
    assert fetch is not None
    assert fetch.browser is not None
    assert fetch.browser.clicks == ("altcha-widget input[type=checkbox]",)
    assert "ul.results-standard > li" in fetch.browser.ready


def test_an_offset_only_from_page_two_on() -> None:
    assert [ask(number) for number in (1, 2, 3)] == [f"&t=10{PLAIN}", f"&t=10{PLAIN}&s=11", f"&t=10{PLAIN}&s=21"]
    assert ask(2, limit=20) == f"&t=20{PLAIN}&s=21"


@pytest.mark.parametrize(("limit", "count"), [(None, 10), (5, 5), (15, 15), (99, 20)])
def test_count_is_held_to_twenty(limit: int | None, count: int) -> None:
    assert ask(limit=limit) == f"&t={count}{PLAIN}"


@pytest.mark.parametrize(
    ("fields", "params", "expected"),
    [
        ({"recency": "day"}, f"{PLAIN}&since=day", {"recency": "applied"}),
        ({"recency": "week"}, f"{PLAIN}&since=week", {"recency": "applied"}),
        ({"recency": "month"}, f"{PLAIN}&since=month", {"recency": "applied"}),
        ({"recency": "year"}, f"{PLAIN}&since=year", {"recency": "applied"}),
        ({"after": "2026-01-31"}, f"{PLAIN}&since=20260131", {"after": "applied"}),
        ({"before": "2026-02-28"}, f"{PLAIN}&before=20260301", {"before": "applied"}),
        ({"after": "0900-01-01", "before": "9999-12-31"}, f"{PLAIN}&since=09000101", {"after": "applied", "before": "applied"}),
        ({"recency": "week", "after": "2026-01-31"}, f"{PLAIN}&since=20260131", {"recency": "ignored", "after": "applied"}),
        ({"recency": "week", "before": "2026-01-31"}, f"{PLAIN}&since=week&before=20260201", {"recency": "applied", "before": "applied"}),
        ({"region": "de-de"}, "&arc=de&lang=en&lb=de", {"region": "applied"}),
        ({"region": "uk-en"}, "&arc=gb&lang=en&lb=en", {"region": "applied"}),
        ({"region": "ch"}, "&arc=ch&lang=en&lb=en", {"region": "applied"}),
        ({"region": "ch-fr", "language": "it"}, "&arc=ch&lang=en&lb=it", {"region": "applied", "language": "applied"}),
        ({"region": "wt-wt"}, PLAIN, {"region": "applied"}),
        ({"region": "eur-en"}, PLAIN, {"region": "unsupported"}),
        ({"language": "pt-br"}, "&arc=none&lang=en&lb=pt", {"language": "applied"}),
        ({"language": "fil"}, PLAIN, {"language": "unsupported"}),
        ({"safesearch": "off"}, f"{PLAIN}&safe=0", {"safesearch": "applied"}),
        ({"safesearch": "moderate"}, f"{PLAIN}&safe=1", {"safesearch": "applied"}),
        ({"safesearch": "strict"}, f"{PLAIN}&safe=1", {"safesearch": "applied"}),
    ],
)  # fmt: skip
def test_filters(fields: dict[str, str], params: str, expected: dict[str, str]) -> None:
    assert ask(**fields) == f"&t=10{params}"
    assert states(**fields) == expected


def test_the_referer_has_the_same_settings() -> None:
    request = MojeekSpider().request(SearchQuery(text="rust", region="fr-fr", recency="day"), 1)
    assert request.headers["Referer"] == b"https://www.mojeek.com/?arc=fr&lang=en&lb=fr"


def test_base_url_is_configurable() -> None:
    spider = MojeekSpider()
    spider.configure(Config(providers={"mojeek": ProviderConfig(base_url="https://www.mojeek.de/")}))
    request = spider.request(SearchQuery(text="rust"), 1)
    assert request.url == f"https://www.mojeek.de/search?q=rust&t=10{PLAIN}"
    assert request.headers["Referer"] == b"https://www.mojeek.de/?arc=none&lang=en&lb=en"


@pytest.mark.parametrize(
    ("pagination", "start"),
    [
        ('<ul><li>Prev</li><li><span>1</span></li><li><a href="/search?q=x&amp;s=11">Next</a></li></ul>', "11"),
        # The page is shorter than it was asked to be: a computed offset would skip rows (BC075).
        ('<ul><li>Prev</li><li><a href="/search?q=x&amp;t=20&amp;s=16">Next</a></li></ul>', "16"),
        ('<ul><li><a href="/search?q=x">Prev</a></li><li><span>2</span></li><li>Next</li></ul>', None),
        ('<ul><li>Prev</li><li><a href="/search?q=x&amp;s=next">Next</a></li></ul>', None),
        ('<ul><li>Prev</li><li><a href="http://[bad?s=">Next</a></li></ul>', None),
        (None, "21"),
    ],
)
def test_paging_follows_the_next_link(pagination: str | None, start: str | None) -> None:
    html = page(f'<div class="pagination">{pagination}</div>' if pagination else "")
    request = MojeekSpider().next_request(response(html), SearchQuery(text="rust", limit=20), 2)
    assert (request.url if request else None) == (
        f"https://www.mojeek.com/search?q=rust&t=20{PLAIN}&s={start}" if start else None
    )


# --- rows -------------------------------------------------------------------------------------------------------------


def test_rows_of_older_pages() -> None:
    older = '<li><h2><a class="ob" href="https://a.example/">A <strong>b</strong></a></h2><p class="i">a.example</p><p class="s">text</p></li>'
    bare = '<li><a class="ob" href="https://c.example/"><p class="i">https://c.example</p></a></li>'
    got = read(rows(older, bare)).results
    assert [(r.title, r.url, r.snippet) for r in got] == [("A b", "https://a.example/", "text")]


def test_own_pages_ads_and_other_blocks_are_no_rows() -> None:
    own = [
        f"https://{host}/about"
        for host in ("www.mojeek.com", "blog.mojeek.com", "www.mojeek.co.uk", "www.mojeek.de", "mojeek.fr")
    ]
    blocks = (
        '<div aria-label="Sponsored products"><div class="results"><ul><li><h2><a class="title" href="https://shop.example/">Ad</a></h2></li></ul></div></div>'
        '<div class="results news-results"><ul><li><h2><a href="https://news.example/">News</a></h2></li></ul></div>'
    )
    items = [*(item(url) for url in own), item("/search?q=site%3Aa.example"), item("https://notmojeek.com/")]
    got = read(page(f'{blocks}<div class="results"><ul class="results-standard">{"".join(items)}</ul></div>'))
    assert [r.url for r in got.results] == ["https://notmojeek.com/"]


def test_rows_when_the_list_has_another_class() -> None:
    got = read(
        page(f'<div class="results"><ul class="x">{item("https://a.example/")}{item("https://a.example/")}</ul></div>')
    )
    assert [r.url for r in got.results] == ["https://a.example/"]


# --- empty and walls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        page('<div class="results"><p>No pages found matching: <b>x</b></p></div>'),
        page('<div class="results"><p>Ei tuloksia</p><ul><li>Tarkista</li></ul></div>'),
        page('<div class="no-results">nothing</div>', footer=""),
        page('<div class="results"><p>Keine Seiten gefunden</p></div>', footer=""),
    ],
)
def test_nothing_found(html: str) -> None:
    """The frame of a finished page without a title and without a link that leads out, in whatever language."""
    assert read(html).outcome is Outcome.EMPTY


@pytest.mark.parametrize(
    "html",
    [
        page("", footer=""),
        page('<div class="list"><p><a href="https://a.example/">A</a></p></div>'),
        rows(item("/click?to=https://a.example/"), item("/click?to=https://b.example/")),
        "<body class='home'><div class='footer'></div></body>",
        page('<div class="results"></div>').replace("serp-results", "page-results"),
    ],
)
def test_a_page_of_another_shape_is_not_empty(html: str) -> None:
    assert read(html).outcome is Outcome.LAYOUT_CHANGED


@pytest.mark.parametrize("status", [200, 403, 429])
@pytest.mark.parametrize(
    "html",
    [
        '<title>Captcha</title><form id="altcha-form" action="/captcha/verify"><altcha-widget challenge="/captcha/challenge"></altcha-widget></form>',
        '<title>Mojeek Search</title><altcha-widget challengeurl="/captcha/challenge"></altcha-widget>',
        '<div class="captcha-wrap"><h1>Verification required</h1></div>',
        '<title>Captcha</title><form action="https://www.mojeek.com/captcha/verify"></form>',
    ],
)
def test_proof_of_work(html: str, status: int) -> None:
    assert read(html, status).outcome is Outcome.CHALLENGE


@pytest.mark.parametrize(
    ("html", "status", "outcome"),
    [
        ("<h2>Sorry your network appears to be sending automated queries so we</h2>", 200, Outcome.BLOCKED),
        ("<title>403 - Forbidden</title><h1>403 - Forbidden</h1>", 200, Outcome.BLOCKED),
        ("<h1>403 - Forbidden</h1>", 403, Outcome.BLOCKED),
        ("", 429, Outcome.RATE_LIMITED),
        ("<h1>oops</h1>", 500, Outcome.UNAVAILABLE),
        (rows(item("https://a.example/", "Your network appears to be sending automated queries"), "<li><altcha-widget></altcha-widget></li>"), 200, Outcome.OK),
    ],
)  # fmt: skip
def test_refusals(html: str, status: int, outcome: Outcome) -> None:
    """BC043. A result that talks about a wall is a result."""
    assert read(html, status).outcome is outcome
