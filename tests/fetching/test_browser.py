"""The browser rung with a real Chromium, against a server in the test's own event loop."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scrapy
from aiohttp import web
from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner, Crawler
from scrapy.http import Request
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f

from tests.conftest import ROOT
from websearch.config import BrowserConfig, Config, CooldownConfig, ProviderConfig
from websearch.fetching.browser import find_executable, playwright_settings, unwanted, why_not
from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery, SearchResponse
from websearch.providers.serp import Layout, SerpProvider
from websearch.settings import settings_for

pytestmark = pytest.mark.skipif(bool(why_not(Config())), reason=str(why_not(Config())))

#: Half the time of a whole Chromium; where there is none, the whole one does.
QUICK = shutil.which("chromium-headless-shell")

QUERY = SearchQuery(text="pour over coffee ratio")
RESULTS = """<!DOCTYPE html><html><head><title>Results</title></head><body><ul>
<li class="r"><a href="https://brew-guide.example/ratio">Pour over coffee ratio</a><p>One part coffee to sixteen.</p></li>
<li class="r"><a href="https://coffee-lab.example/1-16">The coffee ratio</a><p>Measured, with a pour over.</p></li>
</ul></body></html>"""
NOTHING = "<!DOCTYPE html><title>Results</title><p id='none'>Nothing found</p>"


def wall_page(script: str, body: str = "") -> str:
    return f"<!DOCTYPE html><title>Checking</title><div id='wall'>Please wait</div>{body}<script>{script}</script>"


SET_COOKIE = wall_page("document.cookie = 'pass=' + (6 * 7) + '; path=/; max-age=3600'; location.reload();")


class WalledSpider(SerpProvider):
    """An engine with every kind of wall."""

    name, label, index_family = "walled", "Walled", "walled"
    base_url, own_hosts = "http://127.0.0.1", ("127.0.0.1",)
    layouts = (Layout("1", rows="li.r", snippet="p"),)
    nothing = "#none"
    walls = (
        Wall(Outcome.CHALLENGE, "test wall", css="#wall"),
        Wall(Outcome.CONSENT, "test consent", css="#consent"),
        Wall(Outcome.BLOCKED, "test block", css="#blocked"),
    )
    clicks = ("#consent .reject", "proof-box input[type=checkbox]")

    def request(self, query: SearchQuery, page: int) -> Request:
        return self.get("/search", query, page, {"q": query.text})


class PostSpider(WalledSpider):
    """The same with a form; its GET twin has another path."""

    def request(self, query: SearchQuery, page: int) -> Request:
        return self.post("/search", query, page, {"q": query.text}, cookies={"filter": "strict"})


class HomeSpider(WalledSpider):
    """The same with a home page that a visitor comes from."""

    home = "/home"


class Site:
    """A server on loopback; `answer` makes the response, `seen` holds what was asked for."""

    def __init__(self) -> None:
        self.seen: list[web.Request] = []
        self.answer: Callable[[web.Request], Any] = lambda request: RESULTS
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        await request.read()
        answer = self.answer(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, web.StreamResponse):
            return answer
        return web.Response(text=answer, content_type="text/html")

    def paths(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in self.seen if request.path != "/favicon.ico"]

    def by(self, rung: str) -> list[web.Request]:
        """The requests for a search page of one rung."""
        pages = [request for request in self.seen if request.path == "/search"]
        return [request for request in pages if by_browser(request) == (rung == "browser")]


def by_browser(request: web.Request) -> bool:
    """Only a browser says that it takes pictures as well."""
    return "image/avif" in request.headers.get("Accept", "")


def page(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html")


@contextlib.asynccontextmanager
async def serving(site: Site | None = None) -> AsyncIterator[Any]:
    site = site or Site()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield site
    finally:
        await runner.cleanup()


class Host(scrapy.Spider):
    """Keeps a crawl open for the searches of a test."""

    name = "host"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.over = asyncio.Event()

    async def start(self) -> AsyncIterator[Any]:
        await self.over.wait()
        return
        yield


class Crawl:
    """A running crawl and a search engine in it."""

    def __init__(self, crawler: Crawler, spider: type[SerpProvider]) -> None:
        self.crawler = crawler
        self.provider = spider.from_crawler(crawler)

    async def search(self, query: SearchQuery = QUERY) -> SearchResponse:
        return await self.provider.search(query)

    def stat(self, name: str) -> int:
        return int(self.crawler.stats.get_value(f"websearch/{name}", 0))


@contextlib.asynccontextmanager
async def crawling(config: Config, spider: type[SerpProvider] = WalledSpider) -> AsyncIterator[Crawl]:
    settings = Settings()
    settings.setdict(settings_for(config) | {"ITEM_PIPELINES": {}, "LOG_ENABLED": False}, priority="project")
    runner = AsyncCrawlerRunner(settings)
    crawler = runner.create_crawler(Host)
    opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def note(spider: Host) -> None:
        opened.set_result(spider)

    crawler.signals.connect(note, signals.spider_opened)
    running = asyncio.ensure_future(runner.crawl(crawler))
    host = await opened
    try:
        yield Crawl(crawler, spider)
    finally:
        host.over.set()
        await asyncio.wait_for(running, 30)


def config_for(site: Site, state: Path | str = "", **browser: Any) -> Config:
    return Config(
        providers={"walled": ProviderConfig(base_url=site.url)},
        browser=BrowserConfig(**{"timeout": 10.0, "executable": QUICK} | browser),
        cooldown=CooldownConfig(start=0),
        rate=0,
        state_dir=str(state),
    )


# --- processes


def children() -> dict[int, str]:
    """Our descendants, alive or not yet reaped, by process id: what they were started as."""
    found: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            found[int(entry.name)] = (
                parent,
                (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"),
            )
    ours, grown = {os.getpid()}, 0
    while len(ours) > grown:
        grown = len(ours)
        ours |= {pid for pid, (parent, _) in found.items() if parent in ours}
    return {pid: found[pid][1] for pid in ours if pid != os.getpid() and pid in found}


def browsers() -> dict[str, list[int]]:
    """The browsers we started: main process, and the wrapper script some come in."""
    found: dict[str, list[int]] = {}
    for pid, line in children().items():
        if mark := re.search(rf"--websearch={os.getpid()}\.\d+", line):
            found.setdefault(mark[0], []).append(pid)
    return found


def kill(pids: Iterable[int], number: int = signal.SIGKILL) -> None:
    for pid in pids:
        os.kill(pid, number)


def main_processes() -> list[int]:
    return [pid for pids in browsers().values() for pid in pids]


def drivers() -> list[int]:
    return [pid for pid, line in children().items() if "run-driver" in line]


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """Whatever a test did: afterwards there is no browser, no driver, no zombie."""
    assert not children()
    yield
    deadline = time.monotonic() + 2
    while (left := children()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


# --- walls that are passed


@pytest.mark.parametrize(
    "executable", [None, *([QUICK] if QUICK else [])], ids=["default", "headless shell"][: 1 + bool(QUICK)]
)
@deferred_f_from_coro_f
async def test_script_that_sets_a_cookie_is_passed_and_the_next_query_is_plain(
    tmp_path: Path, executable: str | None
) -> None:
    async with serving() as site:
        site.answer = lambda r: RESULTS if r.cookies.get("pass") == "42" else page(SET_COOKIE, 429)
        async with crawling(config_for(site, tmp_path, executable=executable)) as crawl:
            first = await crawl.search()
            assert (first.outcome, first.rung, first.status) == (Outcome.OK, "browser", 200)
            assert [row.url for row in first.results] == [
                "https://brew-guide.example/ratio",
                "https://coffee-lab.example/1-16",
            ]
            assert [(a.rung, a.outcome, a.status) for a in first.attempts] == [
                ("http", "challenge", 429),
                ("browser", "ok", 200),
            ]
            visits = len(site.by("browser"))
            second = await crawl.search()
            assert (second.outcome, second.rung, len(second.attempts)) == (Outcome.OK, "http", 1)
            assert len(site.by("browser")) == visits
            assert {r.headers["User-Agent"] for r in site.seen} == {Config().user_agent}
            assert (crawl.stat("challenge/seen"), crawl.stat("challenge/passed"), crawl.stat("browser/pages")) == (
                1,
                1,
                1,
            )
        stored = tmp_path / "cookies.json"
        assert stored.stat().st_mode & 0o777 == 0o600
        # The next process profits.
        async with crawling(config_for(site, tmp_path)) as crawl:
            assert (await crawl.search()).rung == "http"


@deferred_f_from_coro_f
async def test_cookies_that_stopped_working_are_dropped_and_earned_anew() -> None:
    async with serving() as site:
        valid = "42"

        def answer(request: web.Request) -> web.Response:
            script = f"document.cookie = 'pass={valid}; path=/'; location.reload();"
            return page(RESULTS) if request.cookies.get("pass") == valid else page(wall_page(script), 403)

        site.answer = answer
        async with crawling(config_for(site)) as crawl:
            assert (await crawl.search()).rung == "browser"
            assert (await crawl.search()).rung == "http"
            valid = "43"
            assert (await crawl.search()).rung == "browser"
            assert (await crawl.search()).rung == "http"
            assert site.by("http")[-1].cookies["pass"] == "43"


@deferred_f_from_coro_f
async def test_status_of_a_wall_that_gave_way_without_a_reload_becomes_200() -> None:
    """A script puts the results into the page that came as a 503: what counts is what it shows. No results are results."""
    async with serving() as site, crawling(config_for(site)) as crawl:
        for shown, outcome in ((RESULTS, Outcome.OK), (NOTHING, Outcome.EMPTY)):
            fill = f"setTimeout(() => {{ document.documentElement.innerHTML = {json.dumps(shown)} }}, 150);"
            site.answer = lambda r, fill=fill: page(wall_page(fill), 503)
            found = await crawl.search()
            assert (found.outcome, found.rung, found.status) == (outcome, "browser", 200)


PROOF = """
customElements.define("proof-box", class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({mode: "open"});
    root.innerHTML = "<label><input type='checkbox'> I am a person</label>";
    root.querySelector("input").addEventListener("change", async () => {
      for (let n = 0; ; n++) {
        const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("salt" + n));
        if (Array.from(new Uint8Array(hash), b => b.toString(16).padStart(2, "0")).join("").startsWith("00")) {
          document.querySelector("input[name=proof]").value = n;
          document.querySelector("form").submit();
          return;
        }
      }
    });
  }
});"""


@deferred_f_from_coro_f
async def test_proof_of_work_behind_a_click() -> None:
    async with serving() as site:
        box = "<form id='wall' method='post' action='/verify'><input type='hidden' name='proof'><proof-box></proof-box></form>"

        async def answer(request: web.Request) -> web.Response:
            if request.path == "/verify":
                number = str((await request.post())["proof"])
                assert hashlib.sha256(f"salt{number}".encode()).hexdigest().startswith("00")
                done = web.Response(status=302, headers={"Location": "/search?q=x"})
                done.set_cookie("pass", "proven")
                return done
            return page(RESULTS) if request.cookies.get("pass") == "proven" else page(wall_page(PROOF, box), 403)

        site.answer = answer
        async with crawling(config_for(site)) as crawl:
            assert (await crawl.search()).outcome is Outcome.OK
            assert (await crawl.search()).rung == "http"


@deferred_f_from_coro_f
async def test_consent_is_rejected() -> None:
    async with serving() as site:
        answer = "document.cookie = 'consent=' + this.className + '; path=/'; location.reload()"
        dialog = "".join(f'<button class="{word}" onclick="{answer}">{word}</button>' for word in ("accept", "reject"))
        site.answer = lambda r: (
            RESULTS if "consent" in r.cookies else f"<title>Consent</title><div id='consent'>{dialog}</div>"
        )
        async with crawling(config_for(site)) as crawl:
            found = await crawl.search()
            assert (found.outcome, found.rung) == (Outcome.OK, "browser")
            assert [a.outcome for a in found.attempts] == [Outcome.CONSENT, Outcome.OK]
            assert site.by("browser")[-1].cookies["consent"] == "reject"


@deferred_f_from_coro_f
async def test_redirect_to_a_wall_is_visited_from_where_it_began() -> None:
    async with serving() as site:

        def answer(request: web.Request) -> web.Response:
            if request.path == "/search" and "pass" not in request.cookies:
                return web.Response(status=302, headers={"Location": "/sorry"})
            back = "document.cookie = 'pass=1; path=/'; location.href = '/search?q=' + encodeURIComponent('pour over');"
            return page(RESULTS if request.path == "/search" else wall_page(back))

        site.answer = answer
        async with crawling(config_for(site)) as crawl:
            assert (await crawl.search()).outcome is Outcome.OK
            # The browser went to the search, was sent to the wall, and came back.
            assert site.paths() == ["GET /search", "GET /sorry"] * 2 + ["GET /search"]


@deferred_f_from_coro_f
async def test_form_goes_to_its_get_twin_and_a_filter_cookie_stays_with_its_query() -> None:
    async with serving() as site:
        site.answer = lambda r: RESULTS if "pass" in r.cookies else page(SET_COOKIE, 429)
        async with crawling(config_for(site), PostSpider) as crawl:
            assert (await crawl.search()).outcome is Outcome.OK
            assert site.paths() == ["POST /search", "GET /search", "GET /search"]
            assert dict(site.by("browser")[0].query) == {"q": QUERY.text}
            assert site.by("browser")[0].cookies["filter"] == "strict"
            # Given by hand, so no part of what the visit earned.
            assert [c.name for c in _clearance(crawl).cookies] == ["pass"]


def _clearance(crawl: Crawl) -> Any:
    middlewares = crawl.crawler.engine.downloader.middleware.middlewares
    challenge = next(mw for mw in middlewares if type(mw).__name__ == "ChallengeMiddleware")
    return challenge.clearances.get("walled", "direct")


@deferred_f_from_coro_f
async def test_form_without_a_twin_is_posted_by_the_browser() -> None:
    async with serving() as site:

        async def answer(request: web.Request) -> web.Response:
            form = dict(await request.post())
            if "pass" not in request.cookies:
                return page(
                    wall_page("document.cookie = 'pass=1; path=/'; setTimeout(() => location.reload(), 50)"), 429
                )
            return page(RESULTS if form == {"q": QUERY.text} else "<p>no form</p>")

        site.answer = answer

        class TwinlessSpider(PostSpider):
            def request(self, query: SearchQuery, page: int) -> Request:
                request = super().request(query, page)
                fetch = request.meta["websearch"]
                fetch.browser = replace(fetch.browser, url=None)
                return request

        async with crawling(config_for(site), TwinlessSpider) as crawl:
            found = await crawl.search()
            assert (found.outcome, found.rung) == (Outcome.OK, "browser")
            assert site.paths() == ["POST /search"] * 3


@deferred_f_from_coro_f
async def test_home_is_visited_first() -> None:
    async with serving() as site:

        def answer(request: web.Request) -> web.Response:
            if request.path == "/home":
                home = page("<h1>Home</h1>")
                home.set_cookie("visitor", "1")
                return home
            return page(RESULTS if "visitor" in request.cookies else wall_page(""))

        site.answer = answer
        async with crawling(config_for(site), HomeSpider) as crawl:
            assert (await crawl.search()).outcome is Outcome.OK
            assert site.paths() == ["GET /search", "GET /home", "GET /search"]
            assert (await crawl.search()).rung == "http"


@deferred_f_from_coro_f
async def test_browser_brings_along_language_referer_and_cookies_and_loads_no_pictures() -> None:
    async with serving() as site:
        extras = (
            "<img src='/picture.png'><script src='/script.js'></script><iframe src='file:///etc/hostname'></iframe>"
        )
        socket = "const s = new WebSocket('ws://' + location.host + '/socket'); s.onclose = () => fetch('/closed');"

        def answer(request: web.Request) -> web.Response:
            if request.path == "/search":
                done = "pass" in request.cookies
                first = page(
                    RESULTS if done else wall_page(f"{socket} setTimeout(() => location.reload(), 400)", extras), 429
                )
                if by_browser(request):
                    first.set_cookie("pass", "1")
                else:
                    first.set_cookie("session", "plain")
                return first
            return page("")

        site.answer = answer

        class ShySpider(WalledSpider):
            def request(self, query: SearchQuery, page: int) -> Request:
                return self.get(
                    "/search", query, page, {"q": query.text}, referer=self.url + "/", cookies={"filter": "off"}
                )

        async with crawling(config_for(site), ShySpider) as crawl:
            found = await crawl.search(replace(QUERY, region="de-de"))
            assert (found.outcome, found.status) == (Outcome.OK, 200)
            visit = site.by("browser")[0]
            assert visit.headers["Accept-Language"] == "de-DE,de;q=0.9,en;q=0.5"
            assert visit.headers["Referer"] == site.url + "/"
            assert visit.cookies["filter"] == "off"
            others = {path for path in site.paths() if path != "GET /search"}
            assert others == {"GET /script.js", "GET /closed"}


class Proxy(Site):
    """A forward proxy with a password, and the engine behind it; names are its business."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Proxy-Authorization", "")
        if given != "Basic " + base64.b64encode(b"me:p@ss").decode():
            return web.Response(status=407, headers={"Proxy-Authenticate": 'Basic realm="proxy"'})
        return await super().handle(request)


@deferred_f_from_coro_f
async def test_proxy_with_a_password_on_both_rungs() -> None:
    """BC129; a wrong password is the proxy's refusal, not the engine's."""
    async with serving(Proxy()) as proxy:
        proxy.answer = lambda r: RESULTS if "pass" in r.cookies else page(SET_COOKIE, 429)
        config = config_for(proxy)
        for password, outcome in (("p%40ss", Outcome.OK), ("wrong", Outcome.NETWORK_ERROR)):
            address = proxy.url.replace("http://", f"http://me:{password}@")
            named = ProviderConfig(base_url="http://engine.example", proxy=address)
            async with crawling(replace(config, providers={"walled": named})) as crawl:
                found = await crawl.search()
                assert found.outcome is outcome
                assert found.error is None or "proxy" in found.error.message
        assert {r.headers["Host"] for r in proxy.seen} == {"engine.example"}
        assert len(proxy.by("browser")) == 2


# --- walls that are not


@deferred_f_from_coro_f
async def test_captcha_nobody_solves_ends_as_challenge_in_bounded_time() -> None:
    async with serving() as site:
        site.answer = lambda r: page(wall_page("setInterval(() => document.title += '.', 100)"), 403)
        async with crawling(config_for(site, timeout=1.0)) as crawl:
            await crawl.search()
            began = time.monotonic()
            found = await crawl.search()
            assert (found.outcome, found.rung, found.status) == (Outcome.CHALLENGE, "browser", 403)
            assert 0.9 < time.monotonic() - began < 3
            assert (crawl.stat("challenge/failed"), crawl.stat("browser/launches")) == (2, 1)


@deferred_f_from_coro_f
async def test_what_has_nothing_to_solve_is_not_waited_for() -> None:
    """A plain refusal, and a page behind the wall that nobody knows."""
    async with serving() as site, crawling(config_for(site, timeout=6.0)) as crawl:
        for kind, outcome in (("blocked", Outcome.BLOCKED), ("strange", Outcome.UNAVAILABLE)):
            behind = f"<title>Oops</title><p id='{kind}'>"
            site.answer = lambda r, behind=behind: page(behind if "pass" in r.cookies else SET_COOKIE, 500)
            found = await crawl.search()
            assert (found.outcome, found.rung, found.status) == (outcome, "browser", 500)
            assert found.elapsed_ms < 5000


@deferred_f_from_coro_f
async def test_wall_without_a_way_on_times_out_in_the_plain_rungs_words() -> None:
    """The browser gets no answer at all: neither a wall nor a crash."""
    async with serving() as site:

        async def answer(request: web.Request) -> web.Response:
            if by_browser(request):
                await asyncio.sleep(60)
            return page(wall_page(""), 403)

        site.answer = answer
        async with crawling(config_for(site, timeout=1.0)) as crawl:
            found = await crawl.search()
            assert found.outcome is Outcome.TIMEOUT
            assert found.error
            assert found.error.message == "Walled: the browser got no answer in 1 s"


@deferred_f_from_coro_f
async def test_connection_that_breaks_in_the_browser_is_a_network_error() -> None:
    async with serving() as site:

        def answer(request: web.Request) -> web.Response:
            if by_browser(request):
                assert request.transport
                request.transport.abort()
            return page(wall_page(""), 403)

        site.answer = answer
        async with crawling(config_for(site)) as crawl:
            found = await crawl.search()
            assert found.outcome is Outcome.NETWORK_ERROR
            assert found.error
            assert "\n" not in found.error.message
            assert found.error.evidence == "net::ERR_EMPTY_RESPONSE"


@deferred_f_from_coro_f
async def test_program_that_is_no_browser_says_so_in_one_line(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    async with serving() as site:
        site.answer = lambda r: page(SET_COOKIE, 429)
        async with crawling(config_for(site, executable=str(program))) as crawl:
            for _ in range(2):
                found = await crawl.search()
                assert found.outcome is Outcome.CHALLENGE
                assert found.error
                assert "the browser did not start" in found.error.message
                assert "\n" not in found.error.message


# --- browsers that go


@deferred_f_from_coro_f
async def test_browser_killed_in_mid_request_loses_nothing() -> None:
    """BC131: also the driver may go."""
    async with serving() as site:
        to_kill = [main_processes, drivers]

        async def answer(request: web.Request) -> web.Response:
            if by_browser(request) and to_kill:
                kill(to_kill.pop()())
                await asyncio.sleep(0.5)
            return page(RESULTS) if "pass" in request.cookies else page(SET_COOKIE, 429)

        site.answer = answer
        async with crawling(config_for(site)) as crawl:
            found = await crawl.search()
            assert (found.outcome, found.rung) == (Outcome.OK, "browser")
            assert (crawl.stat("browser/died"), crawl.stat("browser/launches")) == (2, 3)


@deferred_f_from_coro_f
async def test_browser_killed_between_two_searches_is_replaced() -> None:
    async with serving() as site:
        site.answer = lambda r: page(wall_page("setTimeout(() => { wall.outerHTML = '<p id=none>' }, 50)"), 403)
        async with crawling(config_for(site)) as crawl:
            assert (await crawl.search()).outcome is Outcome.EMPTY
            kill(main_processes())
            assert (await crawl.search()).outcome is Outcome.EMPTY
            assert crawl.stat("browser/launches") == 2


@deferred_f_from_coro_f
async def test_browser_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("websearch.fetching.browser._GRACE", 0.5)
    async with serving() as site:
        stop = True

        async def answer(request: web.Request) -> web.Response:
            if by_browser(request) and stop:
                kill(main_processes(), signal.SIGSTOP)
            return page(RESULTS) if "pass" in request.cookies else page(SET_COOKIE, 429)

        site.answer = answer
        async with crawling(config_for(site, timeout=1.0)) as crawl:
            began = time.monotonic()
            found = await crawl.search()
            assert found.outcome is Outcome.TIMEOUT
            assert time.monotonic() - began < 5
            stop = False
            assert (await crawl.search()).outcome is Outcome.OK


@deferred_f_from_coro_f
async def test_recycling_loses_no_request() -> None:
    async with serving() as site:
        most = 0

        async def answer(request: web.Request) -> web.Response:
            nonlocal most
            most = max(most, len(browsers()))
            await asyncio.sleep(0.05)
            return page(wall_page("setTimeout(() => { wall.outerHTML = '<p id=none>' }, 50)"), 403)

        site.answer = answer
        async with crawling(config_for(site, recycle_after=2)) as crawl:
            found = await asyncio.gather(*(crawl.search() for _ in range(5)))
            assert [response.outcome for response in found] == [Outcome.EMPTY] * 5
            assert crawl.stat("browser/launches") == 3
            assert most <= 2
            # Idle and used up: it ends by itself.
            await crawl.search()
            await until(lambda: not browsers())


@deferred_f_from_coro_f
async def test_burst_opens_no_more_pages_than_allowed() -> None:
    async with serving() as site:
        most = 0

        async def answer(request: web.Request) -> web.Response:
            nonlocal most
            most = max(most, open_pages())
            await asyncio.sleep(0.02)
            return page(wall_page("setTimeout(() => { wall.outerHTML = '<p id=none>' }, 50)"), 403)

        site.answer = answer
        async with crawling(config_for(site, max_pages=2)) as crawl:
            found = await asyncio.gather(*(crawl.search() for _ in range(12)))
            assert [response.outcome for response in found] == [Outcome.EMPTY] * 12
            assert most == 2


@deferred_f_from_coro_f
async def test_cancelled_search_leaves_no_page_behind() -> None:
    async with serving() as site:
        site.answer = lambda r: page(wall_page(""), 403)
        async with crawling(config_for(site)) as crawl:
            warm = asyncio.ensure_future(crawl.search())
            # At every stage: before there is a browser, a page, a document; and while waiting on it.
            for delay in (0.05, 0.3, 0.7, 0.05, 0.1, 0.2):
                search = asyncio.ensure_future(crawl.search())
                await asyncio.sleep(delay)
                search.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await search
            warm.cancel()
            await asyncio.wait({warm})
            await until(lambda: not open_pages())
            assert crawl.stat("browser/launches") == 1


def open_pages() -> int:
    from websearch.fetching.browser import _Chromium

    running = [chromium._browser for chromium in _Chromium._current.values() if chromium._browser]
    return sum(len(context.pages) for browser in running for context in browser.contexts)


async def until(holds: Callable[[], bool], seconds: float = 8) -> None:
    """Wait for what happens in the background."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        await asyncio.sleep(0.05)


# --- one browser, and only when it is needed


@deferred_f_from_coro_f
async def test_crawl_without_a_wall_starts_nothing() -> None:
    async with serving() as site, crawling(config_for(site)) as crawl:
        assert (await crawl.search()).rung == "http"
        assert not children()


def test_crawl_without_a_wall_imports_no_playwright(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from tests.fetching.test_browser import serving, crawling, config_for
from scrapy.utils.defer import deferred_f_from_coro_f
from twisted.internet.task import react
async def main():
    async with serving() as site, crawling(config_for(site)) as crawl:
        assert (await crawl.search()).rung == "http"
react(deferred_f_from_coro_f(lambda _: main()))
"""
    head = "from scrapy.utils.reactor import install_reactor\n"
    head += "install_reactor('twisted.internet.asyncioreactor.AsyncioSelectorReactor')\nimport atexit, sys\n"
    head += "atexit.register(lambda: print(*sys.modules))\n"
    done = subprocess.run([sys.executable, "-c", head + script], capture_output=True, text=True, cwd=ROOT, timeout=30)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "websearch.fetching.challenge" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in ("playwright", "scrapy_playwright")}


@deferred_f_from_coro_f
async def test_both_schemes_and_two_crawls_share_one_browser() -> None:
    async with serving() as site:
        site.answer = lambda r: page(wall_page("setTimeout(() => { wall.outerHTML = '<p id=none>' }, 50)"), 403)

        class SecureSpider(WalledSpider):
            """The wall sends on to https, which nobody speaks there."""

            def request(self, query: SearchQuery, page: int) -> Request:
                request = super().request(query, page)
                fetch = request.meta["websearch"]
                url = site.url.replace("http:", "https:")
                fetch.browser = replace(fetch.browser, url=f"{url}/search")
                return request

        async with crawling(config_for(site)) as one:
            assert (await one.search()).outcome is Outcome.EMPTY
            secure = SecureSpider.from_crawler(one.crawler)
            found = await secure.search(QUERY)
            assert (found.outcome, found.error.evidence) == (Outcome.NETWORK_ERROR, "net::ERR_SSL_PROTOCOL_ERROR")  # type: ignore[union-attr]
            assert (len(browsers()), len(drivers())) == (1, 1)
            async with crawling(config_for(site)) as two:
                assert (await two.search()).outcome is Outcome.EMPTY
                assert (len(browsers()), len(drivers())) == (1, 1)
            # The end of one crawl is not the end of the other's browser.
            assert (await one.search()).outcome is Outcome.EMPTY
            assert one.stat("browser/launches") + two.stat("browser/launches") == 1


@deferred_f_from_coro_f
async def test_crawl_that_is_over_is_forgotten() -> None:
    """One process runs many crawls: nothing of one may stay for the next."""
    from websearch.fetching.browser import _Chromium, _Visits

    async with serving() as site:
        site.answer = lambda r: page(wall_page("setTimeout(() => { wall.outerHTML = '<p id=none>' }, 50)"), 403)
        async with crawling(config_for(site)) as crawl:
            assert (await crawl.search()).outcome is Outcome.EMPTY
            assert crawl.crawler in _Visits._of
        del crawl
    gc.collect()
    assert not list(_Visits._of)
    assert not _Chromium._current


def test_first_process_of_a_container_leaves_no_zombies() -> None:
    """BC135: what a killed browser leaves behind falls to process 1, which is us."""
    script = """
from scrapy.utils.reactor import install_reactor
install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from tests.fetching.test_browser import *
from twisted.internet.task import react
async def main():
    for killed in (False, True):
        async with serving() as site, crawling(config_for(site, executable=None)) as crawl:
            site.answer = lambda r: page(wall_page("setTimeout(() => { wall.outerHTML = '<p id=none>' }, 50)"), 403)
            for _ in range(1 + killed):
                assert (await crawl.search()).outcome is Outcome.EMPTY
                kill(main_processes() if killed else ())
    await asyncio.sleep(0.1)
    print(os.getpid(), len(children()))
react(deferred_f_from_coro_f(lambda _: main()))
"""
    container = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run([*container, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespace can be made here")
    done = subprocess.run(
        [*container, sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=40
    )
    assert done.stdout.split() == ["1", "0"], done.stderr


def test_works_in_a_crawl_of_another_thread() -> None:
    """BC137: as the Python API runs it, in a reactor that is not in the main thread."""
    script = """
import asyncio, threading, concurrent.futures
from scrapy.utils.reactor import install_reactor
asked = concurrent.futures.Future()
def run():
    asyncio.set_event_loop(asyncio.new_event_loop())
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor
    reactor.callWhenRunning(lambda: asked.set_result(asyncio.get_event_loop()))
    reactor.run(installSignalHandlers=False)
threading.Thread(target=run, daemon=True).start()
loop = asked.result()
from tests.fetching.test_browser import *
async def main():
    async with serving() as site, crawling(config_for(site)) as crawl:
        site.answer = lambda r: RESULTS if "pass" in r.cookies else page(SET_COOKIE, 429)
        found = await crawl.search()
        return found.outcome, found.rung
print(*asyncio.run_coroutine_threadsafe(main(), loop).result(20), "left:", len(children()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=40)
    assert done.stdout.split() == ["ok", "browser", "left:", "0"], done.stderr


SCRIPT = """
import sys
from tests.fetching.test_browser import *
class Crawling(WalledSpider):
    async def start(self):
        async with serving() as site:
            site.answer = lambda r: (print("visited", flush=True) if by_browser(r) else None) or page(wall_page(""), 403)
            self.configure(config_for(site))
            yield await self.search(QUERY)
from scrapy.crawler import AsyncCrawlerProcess
process = AsyncCrawlerProcess(settings_for(Config(browser=BrowserConfig(timeout=15, executable=QUICK), rate=0)) | {"ITEM_PIPELINES": {}})
process.crawl(Crawling)
process.start()
"""


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT to the group", "SIGKILL"])
def test_signal_ends_crawl_and_browser(how: str) -> None:
    """BC134."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "visited\n"
    family = children()
    assert any("--type=renderer" in line for line in family.values())
    began = time.monotonic()
    number = getattr(signal, how.split(maxsplit=1)[0])
    os.killpg(process.pid, number) if "group" in how else os.kill(process.pid, number)
    _, errors = process.communicate(timeout=15)
    assert time.monotonic() - began < 6
    assert "Traceback" not in errors
    while (left := [pid for pid in family if _alive(pid)]) and time.monotonic() - began < 6:
        time.sleep(0.05)
    assert not left


def _alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- what there is


def test_no_extra_or_switched_off_means_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    off = Config(browser=BrowserConfig(enabled=False))
    assert playwright_settings(off) == {}
    assert why_not(off) == "the browser is switched off: set browser.enabled to true"
    monkeypatch.setitem(sys.modules, "scrapy_playwright", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert playwright_settings(Config()) == {}
    assert "pip install 'websearch[browser]'" in (why_not(Config()) or "")


def test_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BC139: the configured one, else the first on PATH, else the newest of Playwright's own."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "own"))
    assert find_executable(Config()) is None
    assert "playwright install chromium" in (why_not(Config()) or "")
    own = _program(tmp_path / "own" / "chromium-1200" / "chrome-linux" / "chrome")
    assert find_executable(Config()) == own
    shell = _program(tmp_path / "bin" / "chromium-headless-shell")
    assert find_executable(Config()) == shell
    chromium = _program(tmp_path / "bin" / "chromium")
    assert find_executable(Config()) == chromium
    assert find_executable(Config(browser=BrowserConfig(executable=own))) == own
    gone = Config(browser=BrowserConfig(executable=str(tmp_path / "gone")))
    assert find_executable(gone) is None
    assert str(tmp_path / "gone") in (why_not(gone) or "")


def _program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("kind", "url", "aborted"),
    [
        ("document", "https://a.example/", False),
        ("script", "https://a.example/x.js", False),
        ("xhr", "blob:https://a.example/1", False),
        ("document", "about:blank", False),
        ("image", "https://a.example/x.png", True),
        ("font", "https://a.example/x.woff2", True),
        ("media", "https://a.example/x.mp4", True),
        ("document", "file:///etc/passwd", True),
        ("document", "chrome://settings", True),
        ("fetch", "ftp://a.example/x", True),
    ],
)
def test_unwanted(kind: str, url: str, aborted: bool) -> None:
    class Asked:
        resource_type = kind

    Asked.url = url  # type: ignore[attr-defined]
    assert unwanted(Asked()) is aborted
