"""The challenge middleware among Scrapy's own, with a downloader that makes things up."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.http import HtmlResponse, Request, Response
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.test import get_crawler

from tests.conftest import ROOT
from websearch.config import BrowserConfig, Config, ProviderConfig
from websearch.fetching import challenge
from websearch.fetching.clearance import CLEARED, SESSION_AGE, Clearances
from websearch.fetching.context import META, BrowserPlan, Fetch, FetchFailed
from websearch.fetching.visit import SLOT, VISIT, Visit, browser_proxy, failure, visit_request
from websearch.model import Outcome, SearchQuery, SearchResponse

QUERY = SearchQuery(text="pour over coffee ratio")
URL = "http://engine.example/search?q=x"
WALLS = {
    "wall": (Outcome.CHALLENGE, "a wall"),
    "consent": (Outcome.CONSENT, "a consent page"),
    "blocked": (Outcome.BLOCKED, "status 403"),
    "too many": (Outcome.RATE_LIMITED, "status 429"),
    "soft": (Outcome.SUSPECT, "soft block"),
    "other words": (Outcome.SUSPECT, "no result shares a word with the query"),
    "strange": (Outcome.LAYOUT_CHANGED, "12 characters"),
    "broken": (Outcome.UNAVAILABLE, "status 500"),
}


#: Those of websearch.settings that see these requests.
MIDDLEWARES = {
    "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": 500,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": 550,
    challenge.ChallengeMiddleware: 560,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": 580,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": 700,
    "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": 750,
}


class Judge:
    """Reads the made-up pages: the body says what they are. Like a real one it finds results in successes only."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, response: Response) -> SearchResponse:
        self.calls += 1
        word = response.body.decode()
        if word in WALLS:
            outcome, evidence = WALLS[word]
            return SearchResponse.failure("walled", QUERY, outcome, f"Walled: {word}", evidence=evidence)
        if response.status >= 300:
            return SearchResponse.failure("walled", QUERY, Outcome.UNAVAILABLE, "Walled: HTTP", evidence="status")
        return SearchResponse(
            provider="walled", query=QUERY, outcome=Outcome.EMPTY if word == "nothing" else Outcome.OK
        )


Answer = Callable[[Request], Response | Exception]


class World:
    """The middlewares of a crawl, and what the downloader was asked for."""

    def __init__(self, answer: Answer, config: Config | None = None, **settings: Any) -> None:
        base = {"WEBSEARCH": config or Config(), "RETRY_TIMES": 2, "DOWNLOADER_MIDDLEWARES_BASE": MIDDLEWARES}
        self.crawler = get_crawler(settings_dict=base | settings)
        self.crawler.spider = Spider.from_crawler(self.crawler, name="walled")
        self.manager = DownloaderMiddlewareManager.from_crawler(self.crawler)
        self.middleware = next(m for m in self.manager.middlewares if isinstance(m, challenge.ChallengeMiddleware))
        self.answer = answer
        self.sent: list[Request] = []
        self.judge = Judge()

    def request(self, url: str = URL, plan: BrowserPlan | None = BrowserPlan(ready="li"), **more: Any) -> Request:  # noqa: B008
        self.fetch = Fetch(
            provider=more.pop("provider", "walled"), query=QUERY, page=1, judge=self.judge, browser=plan,
            route=more.pop("route", "direct"), rung=more.pop("rung", "http"),
        )  # fmt: skip
        meta = {META: self.fetch, "cookiejar": "walled direct", **more.pop("meta", {})}
        return Request(url, meta=meta, dont_filter=True, **more)

    async def download(self, request: Request) -> Response:
        """As the engine does: again while a middleware answers with a request."""

        async def downloader(request: Request) -> Response:
            self.sent.append(request.copy())
            answer = self.answer(request)
            if isinstance(answer, Exception):
                raise answer
            return answer.replace(request=request)

        result: Request | Response = request
        while isinstance(result, Request):
            result = await self.manager.download_async(downloader, result)
        return result

    def stat(self, name: str) -> int:
        assert self.crawler.stats
        return int(self.crawler.stats.get_value(f"websearch/challenge/{name}", 0))


def page(body: str, status: int = 200, url: str = URL, **headers: str) -> HtmlResponse:
    return HtmlResponse(url, status=status, body=body.encode(), headers={"Content-Type": "text/html", **headers})


def cookie(name: str = "pass", value: str = "1", **more: Any) -> dict[str, Any]:
    """A cookie as Playwright gives it."""
    return {
        "name": name,
        "value": value,
        "domain": "engine.example",
        "path": "/",
        "expires": -1,
        "secure": False,
    } | more


def passing(*earned: dict[str, Any], body: str = "results", status: int = 200) -> Answer:
    """Plain requests meet a wall until they carry the cookie that the browser earns."""

    def answer(request: Request) -> Response:
        visit = request.meta.get(VISIT)
        if isinstance(visit, Visit):
            visit.earned = list(earned or (cookie(),))
            return page(body, status)
        return page("results") if b"pass=1" in (request.headers.get("Cookie") or b"") else page("wall", 429)

    return answer


@pytest.fixture(autouse=True)
def _a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(challenge, "why_not", lambda config: None)


# --- up


@deferred_f_from_coro_f
async def test_answer_passes_and_is_judged_once() -> None:
    world = World(lambda request: page("results"))
    request = world.request()
    response = await world.download(request)
    assert world.fetch.judged(response).outcome is Outcome.OK
    assert (len(world.sent), world.judge.calls, world.fetch.attempts) == (1, 1, [])


@pytest.mark.parametrize(
    ("body", "status", "visited"),
    [
        ("wall", 429, True),
        ("wall", 202, True),
        ("wall", 200, True),
        ("wall", 503, True),
        ("consent", 200, True),
        ("blocked", 403, True),
        ("soft", 200, True),
        ("too many", 429, False),
        ("other words", 200, False),
        ("strange", 200, False),
        ("nothing", 200, False),
        ("results", 200, False),
    ],
)
@deferred_f_from_coro_f
async def test_what_a_browser_may_pass_goes_to_it(body: str, status: int, visited: bool) -> None:
    """BC056: also before Retry has its way."""
    settings = {"RETRY_HTTP_CODES": [429, 403, 503, 202]} if visited else {}
    world = World(lambda request: page("results") if VISIT in request.meta else page(body, status), **settings)
    await world.download(world.request())
    plain = sum(VISIT not in request.meta for request in world.sent)
    assert [VISIT in request.meta for request in world.sent][-1] is visited
    assert plain == 1 or not visited
    assert world.fetch.rung == ("browser" if visited else "http")
    assert [(a.rung, a.status) for a in world.fetch.attempts] == ([("http", status)] if visited else [])
    assert world.stat("seen") == world.stat("passed") == int(visited)


@pytest.mark.parametrize("kind", ["no fetch", "no plan", "replay", "api"])
@deferred_f_from_coro_f
async def test_what_a_browser_has_no_part_in_passes(kind: str) -> None:
    world = World(lambda request: page("wall", 403))
    request = world.request(plan=None if kind == "no plan" else BrowserPlan(ready="li"))
    world.fetch.rung = kind if kind in ("replay", "api") else "http"  # type: ignore[assignment]
    if kind == "no fetch":
        del request.meta[META]
    assert (await world.download(request)).status == 403
    assert len(world.sent) == 1


@deferred_f_from_coro_f
async def test_the_visit() -> None:
    world = World(passing())
    plan = BrowserPlan(ready="li", home="http://engine.example/", clicks=("#no",))
    headers = {"Accept-Language": "de-AT,de;q=0.9", "Referer": "http://engine.example/", "X-Mine": "1"}
    request = world.request(
        plan=plan, headers=headers, cookies={"filter": "strict"}, meta={"retry_times": 1, "download_slot": "walled"}
    )
    await world.download(request)
    asked = world.sent[-1]
    assert (asked.method, asked.url, asked.body, asked.dont_filter) == ("GET", URL, b"", True)
    expected = {"playwright": True, "download_slot": SLOT, "dont_cache": True, "dont_retry": True, "dont_merge_cookies": True,
                "autothrottle_dont_adjust_delay": True}  # fmt: skip
    assert {name: asked.meta.get(name) for name in expected} == expected
    assert not {"retry_times", "redirect_times", "cookiejar", "proxy"} & set(asked.meta)
    visit = asked.meta[VISIT]
    assert (visit.plan, visit.wall, visit.seconds, visit.proxy) == (
        plan,
        Outcome.CHALLENGE,
        Config().browser.timeout,
        None,
    )
    assert visit.user_agent == Config().user_agent
    assert visit.headers == {"Accept-Language": "de-AT,de;q=0.9", "Referer": "http://engine.example/"}
    assert visit.cookies == [{"name": "filter", "value": "strict", "url": URL}]
    assert visit.own == ("filter",)
    assert "strict" not in repr(visit)
    assert isinstance(visit.waiter, asyncio.Task)


@deferred_f_from_coro_f
async def test_cookies_of_the_plain_request_go_along() -> None:
    """Those that earlier answers set, too."""

    def answer(request: Request) -> Response:
        if VISIT in request.meta:
            return page("results")
        return (
            page("wall", 403)
            if b"session" in (request.headers.get("Cookie") or b"")
            else page("results", **{"Set-Cookie": "session=s1"})
        )

    world = World(answer)
    await world.download(world.request())
    await world.download(world.request(cookies={"filter": "off"}))
    visit = world.sent[-1].meta[VISIT]
    assert {c["name"]: c["value"] for c in visit.cookies} == {"filter": "off", "session": "s1"}
    assert visit.own == ("filter",)


@deferred_f_from_coro_f
async def test_form_becomes_its_get_twin() -> None:
    world = World(passing())
    twin = "http://engine.example/search?q=twin"
    await world.download(world.request(plan=BrowserPlan(ready="li", url=twin), method="POST", body=b"q=twin"))
    assert (world.sent[-1].method, world.sent[-1].url, world.sent[-1].body) == ("GET", twin, b"")


@deferred_f_from_coro_f
async def test_form_without_a_twin_stays_a_form() -> None:
    world = World(passing())
    await world.download(
        world.request(method="POST", body=b"q=x", headers={"Content-Type": "application/x-www-form-urlencoded"})
    )
    asked = world.sent[-1]
    assert (asked.method, asked.body, asked.meta[VISIT].headers["Content-Type"]) == (
        "POST",
        b"q=x",
        "application/x-www-form-urlencoded",
    )


@deferred_f_from_coro_f
async def test_redirect_to_the_wall_is_undone() -> None:
    def answer(request: Request) -> Response:
        if VISIT in request.meta:
            return page("results")
        if request.url == URL:
            return Response(URL, status=302, headers={"Location": "http://consent.example/ask"})
        return page("consent", url=request.url)

    world = World(answer)
    await world.download(world.request())
    assert [request.url for request in world.sent] == [URL, "http://consent.example/ask", URL]
    assert not {"redirect_times", "redirect_urls", "redirect_ttl"} & set(world.sent[-1].meta)


@pytest.mark.parametrize(
    ("proxy", "expected"),
    [
        ("http://127.0.0.1:8888", {"server": "http://127.0.0.1:8888"}),
        ("http://me:p%40ss@127.0.0.1:8888", {"server": "http://127.0.0.1:8888", "username": "me", "password": "p@ss"}),
        ("socks5h://127.0.0.1:9050", {"server": "socks5://127.0.0.1:9050"}),
        ("HTTP://[::1]:8888", {"server": "http://[::1]:8888"}),
        ("127.0.0.1:8888", {"server": "http://127.0.0.1:8888"}),
    ],
)
@deferred_f_from_coro_f
async def test_proxy_is_told_to_the_browser_in_parts(proxy: str, expected: dict[str, str]) -> None:
    """BC128, BC129: Scrapy's own middleware has moved the password to a header by then."""
    world = World(passing(), Config(proxy="http://me:p%40ss@127.0.0.1:8888"))
    await world.download(world.request(meta={"proxy": proxy}))
    visit = world.sent[-1].meta[VISIT]
    assert visit.proxy == expected
    assert "p@ss" not in repr(visit)


@deferred_f_from_coro_f
async def test_socks_proxy_with_a_password_is_refused_clearly() -> None:
    world = World(passing())
    with pytest.raises(FetchFailed, match="SOCKS proxy with a password") as failed:
        await world.download(world.request(meta={"proxy": "socks5://me:secret@127.0.0.1:9050"}))
    assert failed.value.outcome is Outcome.CHALLENGE
    assert "secret" not in str(failed.value)


def test_request_without_a_proxy_has_none() -> None:
    assert browser_proxy(Request(URL)) is None


@pytest.mark.parametrize("given", [{"a": "1"}, [{"name": "a", "value": "1"}]])
def test_request_cookies_in_both_of_scrapys_forms(given: Any) -> None:
    world = World(passing())
    made = visit_request(world.request(cookies=given), world.fetch, Config(), wall=Outcome.CHALLENGE)
    assert made.meta[VISIT].cookies == [{"name": "a", "value": "1", "url": URL}]


# --- without a browser


@deferred_f_from_coro_f
async def test_no_browser_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """BC139."""
    monkeypatch.undo()
    off = Config(browser=BrowserConfig(enabled=False))
    world = World(lambda request: page("wall", 429), off, RETRY_HTTP_CODES=[])
    response = await world.download(world.request())
    verdict = world.fetch.judged(response)
    assert (response.status, verdict.outcome, world.fetch.rung) == (429, Outcome.CHALLENGE, "http")
    assert verdict.error
    assert verdict.error.message == "Walled: wall; the browser is switched off: set browser.enabled to true"
    assert len(world.sent) == 1


# --- back


@deferred_f_from_coro_f
async def test_status_of_the_wall_gives_way_to_what_the_page_shows() -> None:
    for body, status, expected, outcome in (
        ("results", 429, 200, Outcome.OK),
        ("nothing", 503, 200, Outcome.EMPTY),
        ("results", 200, 200, Outcome.OK),
        ("wall", 403, 403, Outcome.CHALLENGE),
        ("blocked", 403, 403, Outcome.BLOCKED),
    ):
        world = World(passing(body=body, status=status), RETRY_HTTP_CODES=[429, 503, 403])
        response = await world.download(world.request())
        assert (response.status, world.fetch.judged(response).outcome) == (expected, outcome)
        assert len(world.sent) == 2
        passed = outcome in (Outcome.OK, Outcome.EMPTY)
        assert (world.stat("passed"), world.stat("failed")) == (int(passed), int(not passed))
        judged = world.judge.calls
        world.fetch.judged(response)
        assert world.judge.calls == judged


@deferred_f_from_coro_f
async def test_next_request_is_plain_with_cookies_and_user_agent() -> None:
    world = World(passing(), Config(user_agent="Agent/1"))
    await world.download(world.request())
    await world.download(world.request(headers={"User-Agent": "Other/2"}))
    assert [VISIT in request.meta for request in world.sent] == [False, True, False]
    last = world.sent[-1]
    assert (last.headers["Cookie"], last.headers["User-Agent"]) == (b"pass=1", b"Agent/1")
    assert last.meta["cookiejar"] != "walled direct"


@deferred_f_from_coro_f
async def test_clearance_is_for_its_provider_route_and_host() -> None:
    """BC057: a block on one way out is none on the other; and no cookie goes to another host."""
    world = World(
        passing(cookie(), cookie("wide", domain=".engine.example"), cookie("other", domain="tracker.example"))
    )
    await world.download(world.request())
    await world.download(world.request())
    assert sorted(world.sent[-1].headers["Cookie"].split(b"; ")) == [b"pass=1", b"wide=1"]
    for different in ({"provider": "else"}, {"route": "proxy:80"}, {"url": "http://evil-engine.example/"}):
        world.answer = lambda request: page("results")
        await world.download(world.request(**different))
        assert b"Cookie" not in world.sent[-1].headers
        assert CLEARED not in world.sent[-1].meta


@deferred_f_from_coro_f
async def test_clearance_does_not_follow_a_redirect_to_another_host() -> None:
    world = World(passing())
    await world.download(world.request())

    def answer(request: Request) -> Response:
        there = Response(URL, status=302, headers={"Location": "http://else.example/"})
        return there if request.url == URL else page("results", url=request.url)

    world.answer = answer
    await world.download(world.request())
    assert b"Cookie" in world.sent[-2].headers
    assert (world.sent[-1].url, world.sent[-1].headers.get("Cookie")) == ("http://else.example/", None)


@deferred_f_from_coro_f
async def test_what_the_query_brings_of_its_own_comes_first() -> None:
    world = World(passing(cookie(), cookie("filter", "off")))
    await world.download(world.request())
    await world.download(world.request(cookies={"filter": "strict"}))
    assert sorted(world.sent[-1].headers["Cookie"].split(b"; ")) == [b"filter=strict", b"pass=1"]
    assert world.sent[-1].meta[CLEARED].names == ("pass",)


@deferred_f_from_coro_f
async def test_clearance_that_stopped_working_is_dropped_with_its_jar() -> None:
    world = World(passing())
    await world.download(world.request())
    world.answer = lambda request: page("wall", 403)
    await world.download(world.request())
    assert [VISIT in request.meta for request in world.sent[-2:]] == [False, True]
    assert world.middleware.clearances.get("walled", "direct") is None
    await world.download(world.request())
    assert b"Cookie" not in world.sent[-2].headers
    assert world.sent[-2].meta["cookiejar"] == "walled direct"


@deferred_f_from_coro_f
async def test_prelude_that_meets_the_wall_drops_the_clearance_too() -> None:
    world = World(passing())
    await world.download(world.request())
    world.answer = lambda request: page("wall", 403)
    await world.download(world.request(plan=None))
    assert world.middleware.clearances.get("walled", "direct") is None


@deferred_f_from_coro_f
async def test_clearance_earned_meanwhile_spares_the_visit() -> None:
    """Two searches meet the wall at a time; the second is answered when the first has passed."""
    plain = passing()

    def answer(request: Request) -> Response:
        if not world.sent[:-1]:
            world.middleware.clearances.keep("walled", "direct", "Agent/1", [cookie()])
        response = plain(request)
        assert isinstance(response, Response)
        return response

    world = World(answer)
    response = await world.download(world.request())
    assert [VISIT in request.meta for request in world.sent] == [False, False]
    assert (response.status, world.fetch.rung, len(world.fetch.attempts)) == (200, "http", 1)


@deferred_f_from_coro_f
async def test_clearance_earned_meanwhile_is_not_tried_on_the_wall_itself() -> None:
    def answer(request: Request) -> Response:
        if VISIT in request.meta:
            return page("results")
        if request.url == URL:
            return Response(URL, status=302, headers={"Location": "http://engine.example/sorry"})
        world.middleware.clearances.keep("walled", "direct", "Agent/1", [cookie()])
        return page("wall", url=request.url)

    world = World(answer)
    await world.download(world.request())
    assert [(request.url[-5:], VISIT in request.meta) for request in world.sent] == [
        ("h?q=x", False),
        ("sorry", False),
        ("h?q=x", True),
    ]


@pytest.mark.parametrize("jar", [None, 7, "walled direct"])
@deferred_f_from_coro_f
async def test_request_gets_its_own_jar_and_user_agent_back(jar: Any) -> None:
    """Where a clearance ends between two tries."""
    world = World(passing(), RETRY_HTTP_CODES=[500])
    await world.download(world.request())

    def answer(request: Request) -> Response:
        known = world.middleware.clearances.get("walled", "direct")
        if known is None:
            return page("results")
        world.middleware.clearances.drop("walled", "direct", known.id)
        return page("broken", 500)

    world.answer = answer
    request = world.request(headers={"User-Agent": "Own/1"})
    request.meta["cookiejar"] = jar
    await world.download(request)
    assert world.sent[-2].headers["User-Agent"] == Config().user_agent.encode()
    assert (world.sent[-1].meta["cookiejar"], world.sent[-1].headers["User-Agent"]) == (jar, b"Own/1")
    assert b"Cookie" not in world.sent[-1].headers


@deferred_f_from_coro_f
async def test_retry_carries_what_holds_now() -> None:
    world = World(passing(cookie("old", "1")), RETRY_HTTP_CODES=[500])
    await world.download(world.request())

    def answer(request: Request) -> Response:
        if b"old" in request.headers["Cookie"]:
            world.middleware.clearances.keep("walled", "direct", "Agent/2", [cookie("new", "2")])
            return page("broken", 500)
        return page("results")

    world.answer = answer
    await world.download(world.request())
    assert (world.sent[-1].headers["Cookie"], world.sent[-1].headers["User-Agent"]) == (b"new=2", b"Agent/2")


# --- what goes wrong


def playwright_error(name: str, text: str) -> Exception:
    kind: type[Exception] = type(name, (Exception,), {"__module__": "playwright._impl._errors"})
    return kind(text)


@pytest.mark.parametrize(
    ("name", "text", "outcome", "message"),
    [
        ("TimeoutError", "Timeout 9000ms exceeded.\nCall log:\n  - x", Outcome.TIMEOUT, "the browser got no answer in 20 s"),
        ("Error", "Page.goto: net::ERR_NAME_NOT_RESOLVED at http://secret/", Outcome.NETWORK_ERROR,
         "the browser could not load the page (net::ERR_NAME_NOT_RESOLVED)"),
        ("Error", "Page.goto: net::ERR_CONNECTION_TIMED_OUT at x", Outcome.TIMEOUT,
         "the browser could not load the page (net::ERR_CONNECTION_TIMED_OUT)"),
        ("Error", "net::ERR_PROXY_CONNECTION_FAILED", Outcome.NETWORK_ERROR,
         "the proxy did not let the browser through (net::ERR_PROXY_CONNECTION_FAILED)"),
        ("TargetClosedError", "Target page, context or browser has been closed", Outcome.CONSENT,
         "there is a wall, and the browser died before it was passed (TargetClosedError)"),
        ("Error", "something else\nsecret", Outcome.CONSENT, "there is a wall, and the browser failed to pass it (Error)"),
    ],
)  # fmt: skip
@deferred_f_from_coro_f
async def test_errors_of_the_browser_become_outcomes_in_one_line(
    name: str, text: str, outcome: Outcome, message: str
) -> None:
    world = World(lambda r: playwright_error(name, text) if VISIT in r.meta else page("consent"))
    with pytest.raises(FetchFailed) as failed:
        await world.download(world.request())
    assert (failed.value.outcome, str(failed.value)) == (outcome, message)
    assert len(world.sent) == 2


@deferred_f_from_coro_f
async def test_other_errors_are_left_alone() -> None:
    for error in (OSError("x"), FetchFailed(Outcome.TIMEOUT, "x")):
        world = World(lambda r, error=error: error if VISIT in r.meta else page("wall"))
        with pytest.raises(type(error)) as failed:
            await world.download(world.request())
        assert failed.value is error
    world = World(lambda r: playwright_error("Error", "x"))
    with pytest.raises(Exception, match=r"^x$"):
        await world.download(world.request())


def test_failure_takes_any_error() -> None:
    world = World(passing())
    visit = visit_request(world.request(), world.fetch, Config(), wall=Outcome.BLOCKED).meta[VISIT]
    assert failure(Exception(), visit).outcome is Outcome.BLOCKED


def test_import_loads_no_playwright() -> None:
    code = "import websearch.fetching.challenge, websearch.fetching.browser, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"playwright", "scrapy_playwright"}
    assert "twisted.internet.reactor" not in done.stdout.split()


# --- the book of clearances


class Clock:
    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


def test_clearance_outlives_the_process_and_ends(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "state" / "cookies.json"
    book = Clearances(path, clock)
    kept = book.keep("a", "direct", "Agent", [cookie("long", expires=clock.time + 7200), cookie("session")])
    assert kept
    assert path.stat().st_mode & 0o777 == 0o600
    assert Clearances(path, clock).get("a", "direct") == kept
    assert Clearances(path, clock).get("a", "else") is None
    clock.time += SESSION_AGE + 1
    later = Clearances(path, clock).get("a", "direct")
    assert later
    assert [c.name for c in later.cookies_for(URL, clock.time)] == ["long"]
    clock.time += 7200
    assert book.get("a", "direct") is None
    assert json.loads(path.read_text()) == {}


def test_cookie_lasts_a_day_at_most_and_a_dead_one_is_not_kept(tmp_path: Path) -> None:
    clock = Clock()
    book = Clearances(tmp_path / "cookies.json", clock)
    assert book.keep("a", "direct", "Agent", [cookie(expires=clock.time - 1), cookie("")]) is None
    book.keep("a", "direct", "Agent", [cookie(expires=clock.time + 1e9)])
    clock.time += 24 * 3600 + 1
    assert book.get("a", "direct") is None


def test_value_of_a_cookie_is_in_no_repr() -> None:
    kept = Clearances(None).keep("a", "direct", "Agent", [cookie(value="s3cret")])
    assert "s3cret" not in repr(kept)


def test_books_of_two_processes_do_not_overwrite_each_other(tmp_path: Path) -> None:
    path = tmp_path / "cookies.json"
    one, two = Clearances(path), Clearances(path)
    first = one.keep("a", "direct", "Agent", [cookie()])
    second = two.keep("b", "direct", "Agent", [cookie()])
    assert first
    assert second
    assert set(json.loads(path.read_text())) == {"a direct", "b direct"}
    assert one.get("b", "direct") == second
    # What another process has earned since is not dropped along with our own.
    newer = two.keep("a", "direct", "Agent", [cookie()])
    one.drop("a", "direct", first.id)
    assert one.get("a", "direct") == newer


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"a direct": 1}', '{"a direct": {"id": 1, "user_agent": "x", "cookies": []}}',
     '{"a direct": {"id": "1", "user_agent": "x", "cookies": [{"name": "a"}]}}', "[" * 100_000, "\udcff",
     '{"a direct": {"id": "1", "user_agent": "x", "cookies": [{"name": "a", "value": "b", "domain": "c", "until": "x"}]}}',
     '{"a direct": {"id": "1", "user_agent": "x", "cookies": [{"name": "a", "value": "b", "domain": "c", "until": NaN}]}}'],
)  # fmt: skip
def test_damaged_book_is_an_empty_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cookies.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    book = Clearances(path)
    assert book.get("a", "direct") is None
    assert book.keep("a", "direct", "Agent", [cookie()])
    assert Clearances(path).get("a", "direct")


def test_without_a_place_to_write_it_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for book in (Clearances(tmp_path / "file" / "cookies.json"), Clearances.of(Config())):
        book.keep("a", "direct", "Agent", [cookie()])
        assert book.get("a", "direct")


def test_replay_leaves_stored_cookies_alone(tmp_path: Path) -> None:
    config = Config(state_dir=str(tmp_path), replay="fixtures")
    Clearances.of(config).keep("a", "direct", "Agent", [cookie()])
    assert not list(tmp_path.iterdir())
    Clearances.of(replace(config, replay=None)).keep("a", "direct", "Agent", [cookie()])
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["cookies.json", "cookies.lock"]


def test_passwords_of_configured_proxies_are_known_secrets() -> None:
    from websearch.fetching.redaction import redact

    World(
        passing(),
        Config(proxy="http://me:gl0bal-pw@h:1", providers={"b": ProviderConfig(proxy="http://me:0wn%2Dpw@h:1")}),
    )
    assert redact("gl0bal-pw 0wn-pw 0wn%2Dpw") == "*** *** ***"
