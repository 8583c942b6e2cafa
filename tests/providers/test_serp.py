"""The engine base with an engine of its own: outcome table, paging, filters, attempts. The network is a function here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import exceptions
from scrapy.http import HtmlResponse, Request, Response
from scrapy.utils.defer import deferred_f_from_coro_f

from websearch.config import Config, ProviderConfig
from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery
from websearch.providers.serp import Layout, Param, SerpProvider, accept_language
from websearch.results.urls import Redirect, query_param


class Toy(SerpProvider):
    name, label, index_family = "toy", "Toy", "toy"
    base_url = "https://toy.example"
    own_hosts = ("toy.example",)
    recency = Param("t", day="d", week="w")
    safesearch = Param("safe", strict="1")
    layouts = (
        Layout("new", rows="li.row", link="h2 a", snippet="p.s", date="time"),
        Layout("old", rows="div.old", link="a.title", snippet=".d"),
    )
    redirects = (Redirect(("toy.example",), "/go", query_param("to")),)
    ads = ".ad"
    nothing = "#none"
    walls = (Wall(Outcome.CHALLENGE, "toy wall", css="#wall"),)
    echo = "input[name=q]"
    max_pages = 5

    def request(self, query: SearchQuery, page: int) -> Request:
        start = {"page": str(page)} if page > 1 else {}
        return self.get("/search", query, page, {"q": query.text, **start, **self.filters(query).params})


def row(number: int, text: str = "alpha beta") -> str:
    return f'<li class="row"><h2><a href="https://site{number}.example/p{number}">Title {number}</a></h2><p class="s">{text} {number}</p></li>'


def page(*rows: str, extra: str = "") -> bytes:
    return f"<html><body><ul>{''.join(rows)}</ul>{extra}</body></html>".encode()


def respond(
    body: bytes = b"x", status: int = 200, url: str = "https://toy.example/search?q=x", **headers: str
) -> HtmlResponse:
    return HtmlResponse(url, status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


def parse(response: Response, text: str = "alpha", **fields: Any) -> Any:
    return Toy().parse(response, SearchQuery(text=text, **fields) if text else SearchQuery.unchecked(""))


def spider(download: Callable[[Request], Any], **given: str) -> Toy:
    """A spider whose downloads are answered by a function."""

    async def download_async(request: Request) -> Response:
        answer = download(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer.replace(request=request)

    toy = Toy(**given)
    toy.crawler = SimpleNamespace(engine=SimpleNamespace(download_async=download_async), settings={})  # type: ignore[assignment]
    return toy


# --- the page


def test_rows_ranks_and_layout() -> None:
    found = parse(respond(page(row(1), row(2), row(1))))
    assert [(r.rank, r.title, r.url, r.snippet) for r in found.results] == [
        (1, "Title 1", "https://site1.example/p1", "alpha beta 1"),
        (2, "Title 2", "https://site2.example/p2", "alpha beta 2"),
    ]
    assert (found.outcome, found.extra["layout"]) == (Outcome.OK, "new")


def test_an_older_layout_is_read() -> None:
    old = '<div class="old"><a class="title" href="/go?to=https%3A%2F%2Fa.example%2F%3Fx%3D1%2526">Alpha</a><p class="d">d</p></div>'
    found = parse(respond(page(extra=old)))
    assert [r.url for r in found.results] == ["https://a.example/?x=1%26"]
    assert found.extra["layout"] == "old"


def test_ads_own_links_and_odd_rows_are_left_out_and_counted() -> None:
    bad = [
        '<li class="row ad"><h2><a href="https://shop.example">Ad</a></h2></li>',
        '<li class="row"><h2><a href="/images?q=x">Images</a></h2></li>',
        '<li class="row"><h2><a href="https://www.bing.com/aclick?u=x">Ad</a></h2></li>',
        '<li class="row"><h2><a href="https://untitled.example"></a></h2></li>',
        '<li class="row"><h2><a href="javascript:alert(1)">Script</a></h2></li>',
        '<li class="row">no link</li>',
    ]
    found = parse(respond(page(*bad, row(1))))
    assert [r.url for r in found.results] == ["https://site1.example/p1"]
    assert found.extra["skipped_rows"] == 5


def test_one_row_that_raises_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Toy.fill

    def fill(self: Toy, found: Any, *more: Any) -> None:
        if found.title == "Title 2":
            raise KeyError("odd")
        real(self, found, *more)

    monkeypatch.setattr(Toy, "fill", fill)
    found = parse(respond(page(row(1), row(2), row(3))))
    assert [r.rank for r in found.results] == [1, 2]
    assert found.extra["skipped_rows"] == 1


@pytest.mark.parametrize(
    ("response", "outcome", "exit_code"),
    [
        (respond(b'<div id="wall">'), Outcome.CHALLENGE, 3),
        (respond(b'<div id="wall">', 403), Outcome.CHALLENGE, 3),
        (respond(b"<h1>no</h1>", 403), Outcome.BLOCKED, 3),
        (respond(b"slow down", 429), Outcome.RATE_LIMITED, 3),
        (respond(b"insufficient quota", 500), Outcome.UNAVAILABLE, 6),
        (respond(b"busy", 503), Outcome.UNAVAILABLE, 6),
        (respond(b"too long", 414), Outcome.INVALID_INPUT, 2),
        (respond(b"teapot", 418), Outcome.ERROR, 1),
        (respond(b"", 200), Outcome.UNAVAILABLE, 6),
        (respond(b'<p id="none">nothing'), Outcome.EMPTY, 0),
        (respond(b"<title>Toy</title><p>new design"), Outcome.LAYOUT_CHANGED, 5),
        (respond(b"", 302, Location="https://consent.google.com/m?continue=x"), Outcome.CONSENT, 3),
        (respond(b"x", url="https://guce.yahoo.com/consent?brand=x"), Outcome.CONSENT, 3),
        (respond(b"<title>Just a moment...</title>", 503), Outcome.CHALLENGE, 3),
    ],
)
def test_why_there_are_no_rows(response: Response, outcome: Outcome, exit_code: int) -> None:
    found = parse(response)
    assert (found.outcome, found.outcome.exit_code, found.results) == (outcome, exit_code, [])
    if outcome.failed:
        assert found.error.code == outcome.code
        assert found.error.message.startswith("Toy: ")
        assert "\n" not in found.error.message
        assert "<" not in found.error.message  # no markup of the page (BC052)


def test_a_result_that_talks_about_captchas_is_a_result() -> None:
    talk = row(1, "alpha: how to get past the captcha, unusual traffic and cf-turnstile")
    assert (
        parse(respond(page(talk, extra='<script src="https://challenges.cloudflare.com/x.js"></script>'))).outcome
        is Outcome.OK
    )


def test_a_no_results_page_that_repeats_a_query_about_walls_is_empty() -> None:
    body = b'<title>are you human - Toy</title><p id="none">Nothing found for "unusual traffic ip blocked"</p>'
    assert parse(respond(body), "unusual traffic ip blocked").outcome is Outcome.EMPTY
    assert parse(respond(body + b'<div id="wall">')).outcome is Outcome.CHALLENGE


def test_results_for_another_query_are_suspect() -> None:
    rows = [row(n, "love songs") for n in range(4)]
    assert parse(respond(page(*rows)), "weather hanoi").outcome is Outcome.SUSPECT
    echoed = parse(respond(page(row(1), extra='<input name="q" value="ERP software">')), "gezond eten")
    assert echoed.outcome is Outcome.SUSPECT
    assert len(echoed.results) == 1
    assert parse(respond(page(*rows, row(5, "weather hanoi today"))), "weather hanoi").outcome is Outcome.OK
    assert parse(respond(page(*rows)), "site:site1.example").outcome is Outcome.OK


def test_the_fallback_reads_an_unknown_layout_and_says_so() -> None:
    rows = "".join(
        f'<section><h3><a href="https://s{n}.example/x">A heading that is long enough {n}</a></h3>'
        f"<div>alpha and a description of forty characters or more, number {n}</div></section>"
        for n in range(5)
    )
    found = parse(respond(f"<main>{rows}</main>".encode()))
    assert (found.outcome, found.extra["layout"], len(found.results)) == (Outcome.OK, "fallback", 5)
    assert found.results[0].snippet.startswith("alpha and a description")


def test_the_fallback_leaves_ads_and_home_pages_alone() -> None:
    def block(number: int, **attributes: str) -> str:
        inside = (
            f'<h3><a href="https://s{number}.example/x">A heading that is long enough</a></h3><p>{"some text " * 8}</p>'
        )
        return f"<section {' '.join(f'{k}={v!r}' for k, v in attributes.items())}>{inside}</section>"

    ads = "".join(block(n, **{"class": "ad"}) for n in range(6))
    assert parse(respond(ads.encode()), "").outcome is Outcome.LAYOUT_CHANGED
    cards = "".join(block(n) for n in range(6))
    assert parse(respond(f"<input name='q' value=''>{cards}".encode()), "").outcome is Outcome.LAYOUT_CHANGED
    assert parse(respond(f"<input name='q' value='heading'>{cards}".encode()), "heading").outcome is Outcome.OK


@pytest.mark.parametrize(
    "body",
    [
        "<nav>"
        + "".join(f'<h3><a href="https://s{n}.example">A heading long enough</a></h3>' for n in range(9))
        + "</nav>",
        "".join(
            f'<p><h3><a href="https://one.example/{n}">A heading long enough</a></h3>{"text " * 20}</p>'
            for n in range(9)
        ),
        "".join(f'<div><h3><a href="https://s{n}.example">A heading long enough</a></h3></div>' for n in range(9)),
        "".join(f'<div><a href="https://s{n}.example">no heading</a> {"text " * 20}</div>' for n in range(9)),
    ],
    ids=["menu", "one host", "no text", "no headings"],
)
def test_the_fallback_takes_nothing_it_is_not_sure_of(body: str) -> None:
    assert parse(respond(f"<html><body>{body}</body></html>".encode())).outcome is Outcome.LAYOUT_CHANGED


def test_retry_after_reaches_the_error() -> None:
    assert parse(respond(b"no", 429, Retry_After="120")).error.retry_after == 120


def test_rows_outside_a_range_the_engine_cannot_express_are_left_out() -> None:
    dated = [f"{row(n)[:-5]}<time>{day}</time></li>" for n, day in ((1, "2026-01-05"), (2, "2025-01-05"))]
    found = parse(respond(page(*dated, row(3))), after="2026-01-01")
    assert [r.title for r in found.results] == ["Title 1", "Title 3"]
    assert found.filters == {"after": "approximated"}
    assert [r.published for r in found.results] == ["2026-01-05", None]


# --- filters and requests


def test_filters_say_what_became_of_each() -> None:
    query = SearchQuery(text="x", recency="year", safesearch="strict", region="us-en", after="2026-01-01")  # type: ignore[arg-type]
    filters = Toy().filters(query)
    assert filters.params == {"safe": "1"}
    assert filters.states == {
        "recency": "ignored", "safesearch": "applied", "region": "unsupported", "after": "approximated",
    }  # fmt: skip


def test_a_base_url_with_a_path_is_kept_and_relative_links_stay_the_engines() -> None:
    toy = Toy()
    toy.configure(Config(providers={"toy": ProviderConfig(base_url="http://127.0.0.1:9/gw/")}))
    request = toy.request(SearchQuery(text="a b&c"), 2)
    assert request.url == "http://127.0.0.1:9/gw/search?q=a+b%26c&page=2"
    body = page('<li class="row"><h2><a href="/go?to=https://a.example">Alpha</a></h2></li>')
    found = toy.parse(respond(body, url=request.url), SearchQuery(text="alpha"))
    assert [r.url for r in found.results] == ["https://a.example"]


def test_requests_stay_out_of_the_cache_of_other_queries_and_carry_no_secret() -> None:
    toy = Toy()
    toy.configure(Config(proxy="http://user:hunter2@127.0.0.1:1"))
    request = toy.request(SearchQuery(text="x", language="de", region="at-de"), 1)
    assert request.dont_filter
    assert request.meta["proxy"] == "http://user:hunter2@127.0.0.1:1"
    assert toy.route == "127.0.0.1:1"
    assert "hunter2" not in repr(request)


@pytest.mark.parametrize(
    ("fields", "header"),
    [
        ({}, "en-US,en;q=0.9"),
        ({"region": "de-de"}, "de-DE,de;q=0.9,en;q=0.5"),
        ({"language": "pt-br"}, "pt-BR,pt;q=0.9,en;q=0.5"),
        ({"language": "ja"}, "ja,en;q=0.5"),
        ({"region": "gb-en"}, "en-GB,en;q=0.9"),
    ],
)
def test_accept_language(fields: dict[str, str], header: str) -> None:
    assert accept_language(SearchQuery(text="x", **fields)) == header  # type: ignore[arg-type]


# --- the flow


def paged(pages: dict[int, bytes]) -> Callable[[Request], Response]:
    def download(request: Request) -> Response:
        number = int(request.url.partition("page=")[2] or 1)
        return respond(pages.get(number, b'<p id="none">'), url=request.url)

    return download


@deferred_f_from_coro_f
async def test_a_longer_list_comes_from_more_pages_and_no_row_comes_twice() -> None:
    pages = {1: page(*map(row, range(1, 11))), 2: page(*map(row, range(9, 19))), 3: page(row(19))}
    found = await spider(paged(pages)).search(SearchQuery(text="alpha", limit=50))
    assert [r.url for r in found.results] == [f"https://site{n}.example/p{n}" for n in range(1, 20)]
    assert [r.rank for r in found.results] == list(range(1, 20))
    assert [a.page for a in found.attempts] == [1, 2, 3, 4]
    assert found.outcome is Outcome.OK


@deferred_f_from_coro_f
async def test_the_limit_is_kept_and_saves_requests() -> None:
    found = await spider(paged({1: page(*map(row, range(1, 11)))})).search(SearchQuery(text="alpha", limit=3))
    assert (len(found.results), len(found.attempts)) == (3, 1)


@deferred_f_from_coro_f
async def test_a_repeated_page_ends_the_list_and_is_named() -> None:
    same = page(*map(row, range(1, 11)))
    found = await spider(paged({1: same, 2: same})).search(SearchQuery(text="alpha", limit=30))
    assert len(found.results) == 10
    assert found.attempts[-1].outcome is Outcome.SUSPECT
    assert "repeats page 1" in (found.attempts[-1].message or "")


@deferred_f_from_coro_f
async def test_a_page_asked_for_that_repeats_the_one_before_is_suspect() -> None:
    class Following(Toy):
        follows_pages = True

    same = page(*map(row, range(1, 11)))
    toy = spider(paged({1: same, 2: same}))
    toy.__class__ = Following
    found = await toy.search(SearchQuery(text="alpha", page=2))
    assert found.outcome is Outcome.SUSPECT


@deferred_f_from_coro_f
async def test_what_the_first_page_gave_survives_a_later_failure() -> None:
    def download(request: Request) -> Any:
        if "page=2" in request.url:
            return exceptions.DownloadTimeoutError("x")
        return respond(page(*map(row, range(1, 11))), url=request.url)

    found = await spider(download).search(SearchQuery(text="alpha", limit=20))
    assert (found.outcome, len(found.results)) == (Outcome.OK, 10)
    assert [a.outcome for a in found.attempts] == [Outcome.OK, Outcome.TIMEOUT]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (exceptions.DownloadTimeoutError("x"), Outcome.TIMEOUT),
        (exceptions.CannotResolveHostError("x"), Outcome.NETWORK_ERROR),
        (exceptions.DownloadConnectionRefusedError("x"), Outcome.NETWORK_ERROR),
        (exceptions.DownloadFailedError("http://user:hunter2@proxy failed"), Outcome.NETWORK_ERROR),
        (exceptions.ResponseDataLossError("x"), Outcome.NETWORK_ERROR),
        (exceptions.DownloadCancelledError("x"), Outcome.ERROR),
        (RuntimeError("http://user:hunter2@proxy"), Outcome.ERROR),
    ],
)
def test_exceptions_are_outcomes(error: Exception, outcome: Outcome) -> None:
    found = Toy().failure(SearchQuery(text="x"), error)
    assert found.outcome is outcome
    assert found.error is not None
    assert "hunter2" not in found.error.message


@deferred_f_from_coro_f
async def test_the_deadline_holds() -> None:
    async def never(request: Request) -> Response:
        await asyncio.sleep(60)
        raise AssertionError

    toy = spider(never)
    toy.configure(Config(timeout=0.1))
    found = await toy.search(SearchQuery(text="alpha"))
    assert found.outcome is Outcome.TIMEOUT
    assert found.elapsed_ms < 1000


@deferred_f_from_coro_f
async def test_cancelling_cancels() -> None:
    async def never(request: Request) -> Response:
        await asyncio.sleep(60)
        raise AssertionError

    task = asyncio.ensure_future(spider(never).search(SearchQuery(text="alpha")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@deferred_f_from_coro_f
async def test_a_provider_that_is_switched_off_says_so() -> None:
    toy = spider(paged({}))
    toy.configure(Config(providers={"toy": ProviderConfig(enabled=False)}))
    found = await toy.search(SearchQuery(text="alpha"))
    assert found.outcome is Outcome.INVALID_INPUT
    assert "providers.toy.enabled" in found.error.message  # type: ignore[union-attr]


# --- spider arguments


async def started(toy: Toy) -> list[Any]:
    return [item async for item in toy.start()]


@deferred_f_from_coro_f
async def test_one_response_for_each_query_also_for_the_bad_ones(tmp_path: Any) -> None:
    path = tmp_path / "queries.txt"
    path.write_text(
        'alpha\n\nbeta\u2028gamma\n{"query": "delta", "recency": "never"}\n{"query": "x", "limit": 1}\n', "utf-8"
    )
    items = await started(spider(paged({1: page(row(1), row(2))}), queries=str(path), concurrency="2"))
    outcomes = sorted((item.query.text, item.outcome.value) for item in items)
    assert [text for text, _ in outcomes] == ["alpha", "beta\u2028gamma", "x", '{"query": "delta", "recency": "never"}']
    assert outcomes[-1][1] == "invalid_input"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "give one of -a query"),
        ({"query": "x", "queries": "f"}, "give one of -a query"),
        ({"query": "x", "limt": "3"}, "limt: no such spider argument; there are query"),
        ({"query": "x", "recency": "hour"}, "day, week, month, year"),
        ({"query": "   "}, "empty"),
        ({"queries": "/no/such/file"}, "cannot be read"),
        ({"query": "a\0b"}, "NUL"),
    ],
)
def test_bad_arguments_say_what_to_change(given: dict[str, str], says: str) -> None:
    @deferred_f_from_coro_f
    async def run() -> None:
        (item,) = await started(spider(paged({}), **given))
        assert item.outcome is Outcome.INVALID_INPUT
        assert says in item.error.message

    run()


@deferred_f_from_coro_f
async def test_a_refusal_of_a_later_page_starts_a_cooldown(tmp_path: Any) -> None:
    def download(request: Request) -> Any:
        if "page=2" in request.url:
            return respond(b"slow down", 429, url=request.url)
        return respond(page(*map(row, range(1, 11))), url=request.url)

    toy = spider(download)
    toy.configure(Config(state_dir=str(tmp_path)))
    found = await toy.search(SearchQuery(text="alpha", limit=20))
    assert (found.outcome, len(found.results)) == (Outcome.OK, 10)
    assert "too many requests" in found.extra["incomplete"]
    assert toy.cooldown.resting("toy", "direct") is not None


@pytest.mark.parametrize("text", ["漢" * 10_000, "x" * 8_000])
def test_a_query_no_address_can_hold_is_refused(text: str) -> None:
    @deferred_f_from_coro_f
    async def run() -> None:
        found = await spider(paged({})).search(SearchQuery(text=text))
        assert found.outcome is Outcome.INVALID_INPUT
        assert "shorten" in found.error.message  # type: ignore[union-attr]

    run()


@deferred_f_from_coro_f
async def test_a_line_that_is_too_deep_to_read_is_a_query_like_others(tmp_path: Any) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("alpha\n" + '{"query":' + "[" * 100_000 + "\nalpha\n", "utf-8")
    items = await started(spider(paged({1: page(row(1))}), queries=str(path)))
    assert len(items) == 3


def test_the_name_is_no_spider_argument() -> None:
    toy = Toy(name="bing", query="x")
    assert toy.name == "toy"
    (item,) = list(toy._queries())
    assert item.outcome is Outcome.INVALID_INPUT  # type: ignore[union-attr]
