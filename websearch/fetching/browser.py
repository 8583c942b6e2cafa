"""The browser rung: a real Chromium visits a page that met a wall, and passes what a page solves by itself.

The only file that imports Playwright, and it does so at the first visit: a crawl that needs no browser starts none, nor
Playwright's driver. How the pieces hang together:

- `BrowserDownloadHandler` sends plain requests to Scrapy's own handler and visits (`websearch.fetching.visit`) to the
  crawl's `_Visits`;
- `_Visits` runs them on a scrapy-playwright handler and the `_Chromium` behind it, which live and die together
  (`_Generation`): after so many pages, a crash or a hang a new pair takes over, and a visit that died with the old one
  is begun again;
- what happens on a page is below "the page";
- `_Chromium` is one per process, however many crawls and schemes use it, and ends with the last of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import itertools
import json
import logging
import math
import os
import re
import shutil
import signal
import sys
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exceptions import NotSupported
from scrapy.http import Request, Response
from scrapy.signalmanager import SignalManager
from scrapy.utils.misc import build_from_crawler, load_object

from websearch.config import Config
from websearch.fetching.context import FetchFailed
from websearch.fetching.visit import VISIT, Visit, answered, died, passable
from websearch.model import Outcome

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

HANDLER: Final = "websearch.fetching.browser.BrowserDownloadHandler"
PLAIN_HANDLER: Final = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"

#: Looked for on PATH in this order. Debian's headless shell is quicker, but easier to recognise.
EXECUTABLES: Final = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chromium-headless-shell",
)  # fmt: skip

#: Where Playwright keeps the browsers it installs, below its browsers folder.
_INSTALLED: Final = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium_headless_shell-*/chrome-*/*headless*shell*",
)

#: No request of its own, no field trial, no sound, no prompt; and no flag that tells every page it is driven.
_ARGUMENTS: Final = (
    "--disable-background-networking",
    "--disable-blink-features=AutomationControlled",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-quic",  # it would pass by a proxy
    "--disable-sync",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
)

#: Seconds for what the configuration does not speak of: starting the browser, closing anything, and how long after its
#: time a visit is taken for hung.
_LAUNCH, _CLOSE, _GRACE = 20.0, 3.0, 5.0
#: How often one visit may be begun: a browser that dies takes no request with it.
_TRIES: Final = 3
#: Seconds after which a refusal on which nothing moves is taken for final; and the share of a visit's time after which
#: any other page is that is neither a wall nor an answer (an error, a layout nobody knows).
_REFUSED, _STILL = 1.5, 0.25
#: Clicks on one selector, and seconds between them: the first one may still be at work (a proof of work).
_CLICKS, _CLICK_PAUSE = 2, 4.0

_UNWANTED: Final = frozenset({"image", "media", "font"})
_SCHEMES: Final = frozenset({"http", "https", "data", "blob", "about"})


# --- what there is ---------------------------------------------------------------------------------------------------


def find_executable(config: Config) -> str | None:
    """The Chromium to start: the configured one, the first on PATH, else the newest that Playwright installed."""
    if config.browser.executable:
        return shutil.which(config.browser.executable)
    on_path = (found for name in EXECUTABLES if (found := shutil.which(name)))
    return next(on_path, None) or _installed_by_playwright()


def _installed_by_playwright() -> str | None:
    cache = "Library/Caches" if sys.platform == "darwin" else ".cache"
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    folder = Path(named) if named not in ("", "0") else Path.home() / cache / "ms-playwright"
    if named == "0" and (spec := importlib.util.find_spec("playwright")) and spec.origin:
        folder = Path(spec.origin).parent / "driver" / "package" / ".local-browsers"
    for pattern in _INSTALLED:
        found = [path for path in folder.glob(pattern) if path.is_file() and os.access(path, os.X_OK)]
        if found:
            return str(max(found, key=lambda path: path.stat().st_mtime))
    return None


def why_not(config: Config) -> str | None:
    """Why there is no browser rung, as a hint what to do about it; None when there is one."""
    if not config.browser.enabled:
        return "the browser is switched off: set browser.enabled to true"
    if sys.platform == "win32":
        # Playwright needs another event loop there than Twisted's.
        return "the browser runs on Linux and macOS only"
    if not _extra_installed():
        return "no browser is installed: pip install 'websearch[browser]' and a Chromium, see `websearch doctor`"
    if find_executable(config) is None:
        if config.browser.executable:
            return f"browser.executable {config.browser.executable} is no program: correct it, see `websearch doctor`"
        return "no browser is installed: install Chromium or run `playwright install chromium`, see `websearch doctor`"
    return None


def _extra_installed() -> bool:
    return all(importlib.util.find_spec(name) for name in ("scrapy_playwright", "playwright"))


def playwright_settings(config: Config) -> dict[str, Any]:
    """The Scrapy settings for the browser rung; empty when it is off or not installed. Imports no Playwright."""
    if why_not(config):
        return {}
    browser = config.browser
    milliseconds = round(browser.timeout * 1000)
    return {
        "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
        "PLAYWRIGHT_BROWSER_PROVIDER": "websearch.fetching.browser.LazyBrowserProvider",
        "PLAYWRIGHT_LAUNCH_OPTIONS": {
            "executable_path": find_executable(config),
            "headless": browser.headless,
            "args": list(_ARGUMENTS),
            # Chromium refuses its sandbox to root, and to nobody else; Playwright would leave it off for all.
            "chromium_sandbox": not _is_root(),
            "timeout": _LAUNCH * 1000,
            # Signals are ours to answer: the driver would kill the browser while its page is still wanted.
            "handle_sigint": False,
            "handle_sigterm": False,
            "handle_sighup": False,
        },
        # The browser sends its own headers: those of a navigation would be wrong on what a page loads.
        "PLAYWRIGHT_PROCESS_REQUEST_HEADERS": None,
        "PLAYWRIGHT_ABORT_REQUEST": "websearch.fetching.browser.unwanted",
        "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": milliseconds,
        "PLAYWRIGHT_DOWNLOAD_TIMEOUT": 500,  # what scrapy-playwright waits for a file where a page was expected
        # A browser that is gone is replaced together with its handler (_Generation).
        "PLAYWRIGHT_RESTART_DISCONNECTED_BROWSER": False,
        # `_Visits` limits the pages. A limit here as well would leak a place at each cancelled search.
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 10_000,
    }


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def unwanted(request: Any) -> bool:
    """True for what the browser must not load: pictures, sound, fonts, and any scheme that reads something local."""
    return request.resource_type in _UNWANTED or urlsplit(request.url).scheme not in _SCHEMES


# --- the handler -----------------------------------------------------------------------------------------------------


class BrowserDownloadHandler:
    """Download handler for http and https: visits go to the browser, everything else to Scrapy's own handler."""

    lazy: ClassVar[bool] = True

    def __init__(self, crawler: Crawler) -> None:
        self._plain = build_from_crawler(load_object(PLAIN_HANDLER), crawler)
        self._visits = _Visits.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the handler; starts nothing."""
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        """Download. Raises Scrapy's download errors, Playwright's, and FetchFailed."""
        visit = request.meta.get(VISIT)
        if request.meta.get("playwright") and isinstance(visit, Visit):
            return await self._visits.fetch(request, visit)
        response: Response = await self._plain.download_request(request)
        return response

    async def close(self) -> None:
        """End what was started, within bounds."""
        await self._visits.close()
        await self._plain.close()


class _Visits:
    """All visits of one crawl, whatever their scheme."""

    _of: ClassVar[weakref.WeakKeyDictionary[Crawler, _Visits]] = weakref.WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        # The crawler holds the handler that holds this: no circle, so that the dictionary lets go of both.
        self._crawler = weakref.ref(crawler)
        self._generations: set[_Generation] = set()
        self._current: _Generation | None = None
        self._opening = asyncio.Lock()
        # The download slot has the same limit, but Scrapy lets a burst pass: it counts a request when its task begins.
        self._places = asyncio.Semaphore(max(1, crawler.settings["WEBSEARCH"].browser.max_pages))

    @classmethod
    def of(cls, crawler: Crawler) -> _Visits:
        """The visits of a crawl: the handlers of both schemes share them."""
        return cls._of.setdefault(crawler, cls(crawler))

    @property
    def crawler(self) -> Crawler:
        crawler = self._crawler()
        assert crawler is not None
        return crawler

    def count(self, what: str) -> None:
        self.crawler.stats.inc_value(f"websearch/browser/{what}")

    async def fetch(self, request: Request, visit: Visit) -> Response:
        """Visit a page, as soon as there is a place."""
        async with self._places:
            return await self._fetch(request, visit)

    async def _fetch(self, request: Request, visit: Visit) -> Response:
        """A visit that the browser did not survive is begun again with a new one."""
        clock, ends = asyncio.get_running_loop().time, 0.0
        for tries_left in range(_TRIES - 1, -1, -1):
            if not self._wanted(visit):
                break
            generation = await self._open(visit)
            if not self._wanted(visit):
                break
            # All tries share the time (starting a browser aside), but a later one gets its chance.
            ends = max(ends or clock() + visit.seconds, clock() + visit.seconds / 2)
            try:
                return await self._attend(generation, _Tab(request, visit, ends))
            except _error() as error:
                if not died(error):
                    raise
                self.count("died")
                generation.chromium.retire()
                if not (tries_left and self._wanted(visit)):
                    raise
        raise _stopped()

    async def _open(self, visit: Visit) -> _Generation:
        """The pair of handler and browser that takes new visits, running."""
        async with self._opening:
            if self._current is None or self._current.chromium.retired:
                self._current = await _Generation.open(self)
                self._generations.add(self._current)
            generation = self._current
            try:
                if await generation.chromium.launch():
                    self.count("launches")
            except (_error(), OSError, TimeoutError) as error:
                generation.chromium.retire()
                reason = f"there is a wall, and the browser did not start: {_reason(error)}"
                raise FetchFailed(visit.wall, reason, type(error).__name__) from None
            return generation

    async def _attend(self, generation: _Generation, tab: _Tab) -> Response:
        """Wait for a visit, but not for ever, and not when nobody wants it any more."""
        self.count("pages")
        task = generation.begin(tab)
        clock = asyncio.get_running_loop().time
        waiting = {task} | ({tab.visit.waiter} if tab.visit.waiter else set())
        try:
            # A page is left when its time is up. That much later the browser has to be taken for dead.
            while self._wanted(tab.visit) and not task.done() and (left := tab.ends + _GRACE - clock()) > 0:
                await asyncio.wait(waiting, timeout=min(left, 0.25), return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not task.cancelled():
                return task.result()
            if task.cancelled() or not self._wanted(tab.visit):
                raise _stopped()
            generation.chromium.condemn()
            seconds = tab.visit.seconds + _GRACE
            raise FetchFailed(Outcome.TIMEOUT, f"the browser gave no sign of life in {seconds:g} s", "hang")
        finally:
            if not task.done():
                generation.abandon(task, tab)

    def _wanted(self, visit: Visit) -> bool:
        """False when the crawl is being stopped, or the search was cancelled: Scrapy does not tell a handler."""
        engine = self.crawler.engine
        return bool(engine and engine.running) and not (visit.waiter and visit.waiter.done())

    def gone(self, generation: _Generation) -> None:
        """Take note that a pair has ended."""
        self._generations.discard(generation)
        if self._current is generation:
            self._current = None  # it leads back to the crawler, which would live on for it

    async def close(self) -> None:
        """End every visit and give up the browser. May be called twice: by the handler of each scheme."""
        await asyncio.gather(*(generation.end() for generation in tuple(self._generations)))


class _LateCrawler:
    """The crawler as scrapy-playwright's handler sees it. That handler gets going when the engine starts, but it is built
    at the first visit, when that is long past: it hears the signal again, in private."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.signals = SignalManager(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawler, name)


class _Generation:
    """scrapy-playwright's handler and the browser it got. Ends when the browser is retired and the last visit over."""

    def __init__(self, visits: _Visits, handler: Any) -> None:
        self._visits, self._handler = visits, handler
        self._running: set[asyncio.Task[Any]] = set()
        self._ending: asyncio.Task[None] | None = None
        self._provider: LazyBrowserProvider = handler.browser_provider
        self._provider.on_retired = self._end_if_idle
        self.chromium = self._provider.chromium
        self.chromium.recycle_after = visits.crawler.settings["WEBSEARCH"].browser.recycle_after

    @classmethod
    async def open(cls, visits: _Visits) -> _Generation:
        """Build the handler. The browser starts later."""
        # Not typed; and imported on the first need.
        from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler  # type: ignore[import-untyped]  # noqa: PLC0415

        crawler = _LateCrawler(visits.crawler)
        handler = ScrapyPlaywrightDownloadHandler.from_crawler(crawler)
        await crawler.signals.send_catch_log_async(signals.engine_started)
        return cls(visits, handler)

    def begin(self, tab: _Tab) -> asyncio.Task[Response]:
        """Start a visit, in a task of its own: a search that is cancelled must not tear it from the middle of opening a
        page, which nobody would close then."""
        task: asyncio.Task[Response] = self._track(self._visit(tab))
        self.chromium.count_page()
        return task

    def _track(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # whoever abandoned it does not ask
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self.chromium.retired and not self._running:
            self._begin_to_end()

    def _begin_to_end(self) -> asyncio.Task[None]:
        self._ending = self._ending or asyncio.ensure_future(self._give_up())
        return self._ending

    async def _visit(self, tab: _Tab) -> Response:
        try:
            try:
                await self._handler.download_request(tab.prepared())
            except _error() as error:
                # A page that goes on by itself before it was read is what is wanted of a challenge.
                if died(error) or tab.visit.status is None:
                    raise
            html = await tab.get_past()
            response = tab.visit.response(tab.request, tab.page.url, html)
            await tab.collect()
            return response
        finally:
            # A page that cannot be closed belongs to a browser that cannot be used.
            if not await asyncio.shield(tab.close()):
                self.chromium.condemn()

    def abandon(self, task: asyncio.Task[Any], tab: _Tab) -> None:
        """Nobody waits for this visit any more: end it as soon as that can be done tidily."""
        tab.abandoned = True
        if tab.opened:
            task.cancel()
        self._track(self._watch(task))

    async def _watch(self, task: asyncio.Task[Any]) -> None:
        await asyncio.wait({task}, timeout=2 * _CLOSE)
        if not task.done():
            self.chromium.condemn()
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSE)

    async def end(self) -> None:
        """Cancel what runs and give up the browser."""
        for task in tuple(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=_CLOSE)
        await asyncio.shield(self._begin_to_end())

    async def _give_up(self) -> None:
        if not self.chromium.condemned:
            await _within(_CLOSE, self._handler.close())
        await self._provider.close()
        self._visits.gone(self)


# --- the page --------------------------------------------------------------------------------------------------------


class _Tab:
    """One try at a visit, and its page once that is open. `ends` is in the event loop's time."""

    def __init__(self, request: Request, visit: Visit, ends: float) -> None:
        self.request, self.visit, self.ends = request, visit, ends
        self.abandoned = False
        self._page: Page | None = None
        self._patience = math.inf
        self._clicks: Counter[str] = Counter()
        self._clicked: dict[str, float] = {}

    @property
    def opened(self) -> bool:
        return self._page is not None

    @property
    def page(self) -> Page:
        assert self._page is not None
        return self._page

    @property
    def left(self) -> float:
        """Milliseconds left; not 0, which Playwright takes for no limit."""
        return max(1.0, (self.ends - asyncio.get_running_loop().time()) * 1000)

    def prepared(self) -> Request:
        """The request with what scrapy-playwright wants to know in its meta."""
        visit, meta = self.visit, self.request.meta
        visit.status, visit.received = None, {}
        # A service worker's requests would pass by the rule of what is unwanted.
        context: dict[str, Any] = {
            "service_workers": "block",
            "accept_downloads": False,
            "user_agent": visit.user_agent,
        }
        # One context per provider and route. A route does not tell the users of one proxy apart: the digest does.
        name = f"{visit.fetch.provider} {visit.fetch.route}"
        if visit.proxy:
            context["proxy"] = visit.proxy
            name += " " + hashlib.sha256(json.dumps(visit.proxy, sort_keys=True).encode()).hexdigest()[:8]
        self._goto: dict[str, Any] = {"wait_until": "domcontentloaded", "timeout": self.left}
        if "Referer" in visit.headers:
            self._goto["referer"] = visit.headers["Referer"]
        meta |= {
            "playwright_context": name,
            "playwright_context_kwargs": context,
            "playwright_include_page": True,  # it is read, and closed, here
            "playwright_page_goto_kwargs": self._goto,
            "playwright_page_init_callback": self._prepare,
        }
        meta.pop("playwright_page", None)
        return self.request

    async def _prepare(self, page: Page, _: Request) -> None:
        """What is done to a new page before it goes anywhere. Of what goes wrong here, what matters goes wrong again when
        the page is loaded."""
        self._page, visit = page, self.visit
        if self.abandoned and (task := asyncio.current_task()):
            task.cancel()
            await asyncio.sleep(0)
        page.on("response", self._note_status)
        page.on("popup", _shut)
        with contextlib.suppress(_error()):
            if language := visit.headers.get("Accept-Language"):
                await page.set_extra_http_headers({"Accept-Language": language})
            for cookie in visit.cookies:
                # One by one: a cookie that Chromium does not take must not cost the others.
                with contextlib.suppress(_error()):
                    await page.context.add_cookies([cast("Any", cookie)])
            if visit.plan.home:
                await self._call_at_home(visit.plan.home)
            if self.request.method == "POST":
                await page.route(self.request.url, self._as_post)
        visit.status, visit.received = None, {}
        self._goto["timeout"] = self.left

    def _note_status(self, response: Any) -> None:
        # A document in a frame of a page that is closing has no frame any more.
        with contextlib.suppress(_error()):
            if response.request.is_navigation_request() and response.frame == self.page.main_frame:
                self.visit.status, self.visit.received = response.status, dict(response.headers)

    async def _call_at_home(self, home: str) -> None:
        """Look in at the home page first: it sets the cookies a visitor comes with."""
        with contextlib.suppress(_error()):
            await self.page.goto(home, wait_until="domcontentloaded", timeout=self.left / 3)
            await self._click()

    async def _as_post(self, route: Any) -> None:
        """Send what navigates to the request's URL (a wall reloads it) as the POST it is."""
        with contextlib.suppress(_error()):
            if not route.request.is_navigation_request():
                await route.fallback()
                return
            headers = await route.request.all_headers()
            headers["content-type"] = self.visit.headers.get("Content-Type", "application/x-www-form-urlencoded")
            await route.continue_(method="POST", headers=headers, post_data=bytes(self.request.body))

    async def get_past(self) -> str:
        """Stay until the page shows an answer or time is up; click on the way what a person would. Returns the HTML it
        shows then. Waits for the page, not for a quiet network: some never fall quiet."""
        clock = asyncio.get_running_loop().time
        html, seen, pause, quiet_since = "", None, 0.1, clock()
        while True:
            html = await self._content() or html
            changed, seen = html != seen, html
            quiet_since = clock() if changed else quiet_since
            if changed and self._answers(html):
                # It may have been read in the middle of its arrival.
                with contextlib.suppress(_error()):
                    await self.page.wait_for_load_state("domcontentloaded", timeout=self.left)
                seen = await self._content() or html
                if seen == html or self._answers(seen):
                    return seen
            if self.left <= 1 or clock() - quiet_since > self._patience:
                return seen
            pause = 0.1 if changed else min(pause * 1.5, 0.5)
            await self._click()
            await self._change(min(pause, self.left / 1000))

    def _answers(self, html: str) -> bool:
        verdict = self.visit.verdict(self.request, self.page.url, html)
        # A challenge may solve itself, however long it takes; a plain refusal has nothing to solve.
        if verdict.outcome is Outcome.BLOCKED:
            self._patience = _REFUSED
        else:
            self._patience = math.inf if passable(verdict) else self.visit.seconds * _STILL
        return answered(verdict)

    async def _content(self) -> str | None:
        """The page's HTML; None while it is on its way from one document to the next."""
        if self.page.url.startswith("chrome-error:"):
            raise FetchFailed(Outcome.NETWORK_ERROR, "the browser could not load the page", "chrome-error")
        try:
            return await self.page.content()
        except _error() as error:
            if died(error):
                raise
            return None

    async def _click(self) -> None:
        """Click what is visible of the plan's selectors, once what the page loads is there to notice it."""
        clock = asyncio.get_running_loop().time
        for selector in self.visit.plan.clicks:
            if self._clicks[selector] >= _CLICKS or clock() < self._clicked.get(selector, 0.0) + _CLICK_PAUSE:
                continue
            try:
                # The first: a page may have two such buttons. CSS pierces open shadow roots.
                target = self.page.locator(selector).first
                if not await target.is_visible():
                    continue
                with contextlib.suppress(_error()):
                    await self.page.wait_for_load_state("load", timeout=min(3000, self.left))
                self._clicks[selector] += 1
                self._clicked[selector] = clock()
                await target.click(timeout=min(2000, self.left))
            except _error() as error:
                if died(error):
                    raise

    async def _change(self, seconds: float) -> None:
        """Wait a little, but no longer than until results or the no-results marker appear."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        plan = self.visit.plan
        try:
            awaited = ", ".join(filter(None, (plan.ready, plan.nothing)))
            await self.page.wait_for_selector(awaited, state="attached", timeout=seconds * 1000)
            until = min(until, clock() + 0.05)  # there they are; or the page has such elements and is no answer
        except _error() as error:
            # A selector that the browser does not take, or a page that went away.
            if died(error):
                raise
        await asyncio.sleep(max(0.0, until - clock()))

    async def collect(self) -> None:
        """Take what the browser holds for the site, and out of it what was meant for this visit alone."""
        visit, context = self.visit, self.page.context
        with contextlib.suppress(_error()):
            urls = {self.page.url, self.request.url, *(c["url"] for c in visit.cookies if "url" in c)}
            visit.earned = [dict(c) for c in await context.cookies(list(urls)) if c.get("name") not in visit.own]
            for name in visit.own:
                await context.clear_cookies(name=name)

    async def close(self) -> bool:
        """Close the page. False when the browser did not answer."""
        self.request.meta.pop("playwright_page", None)
        self.request.meta.pop("playwright_page_init_callback", None)
        return self._page is None or await _within(_CLOSE, self._page.close())


def _stopped() -> FetchFailed:
    return FetchFailed(Outcome.CANCELLED, "the search was stopped")


async def _shut(page: Page) -> None:
    await _within(_CLOSE, page.close())


def _error() -> type[Exception]:
    """Playwright's base error."""
    from playwright.async_api import Error  # noqa: PLC0415 - only ever called during a visit

    return Error


# --- the process -----------------------------------------------------------------------------------------------------


class LazyBrowserProvider:
    """`PLAYWRIGHT_BROWSER_PROVIDER`: hands out the process's browser, and starts it, with its driver, when it is first
    asked for one."""

    def __init__(self, config: Any) -> None:
        self.chromium = _Chromium.current(config.launch_options)
        self.chromium.holders.add(self)
        self.on_retired: Callable[[], object] = lambda: None
        self._lease: _Lease | None = None

    async def start(self) -> None:
        """Nothing yet."""

    async def launch_browser(self) -> Browser:
        """The browser, running."""
        await self.chromium.launch()
        self._lease = _Lease(self.chromium.browser)
        return cast("Browser", self._lease)

    async def launch_persistent_context(self, context_kwargs: dict[str, Any]) -> BrowserContext:
        """Raises NotSupported: a visit leaves nothing on disk."""
        raise NotSupported(f"no persistent browser context ({', '.join(context_kwargs)})")

    async def close(self) -> None:
        """Give the browser back; the last one to do so ends it."""
        if self._lease:
            await self._lease.close()
        self.chromium.holders.discard(self)
        if not self.chromium.holders:
            await self.chromium.close()


class _Lease:
    """The shared browser in the eyes of one handler, which closes it when its crawl is over: that ends the lease only."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._listeners: list[tuple[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._browser, name)

    def on(self, event: Any, listener: Any) -> None:
        self._listeners.append((event, listener))
        self._browser.on(event, listener)

    async def new_context(self, **options: Any) -> BrowserContext:
        context = await self._browser.new_context(**options)
        # Web sockets pass by the rule of what is unwanted, and no result page needs one.
        await context.route_web_socket("**", lambda socket: socket.close())
        return context

    async def close(self) -> None:
        while self._listeners:
            with contextlib.suppress(KeyError, ValueError):
                self._browser.remove_listener(*self._listeners.pop())


class _Chromium:
    """One browser process and its driver, for all crawls of an event loop that want the same.

    A `retired` one takes no new visits and ends when the running ones are over; a `condemned` one was killed.
    """

    _current: ClassVar[dict[tuple[int, str], _Chromium]] = {}
    _numbers: ClassVar[itertools.count[int]] = itertools.count(1)

    def __init__(self, key: tuple[int, str], options: Mapping[str, Any]) -> None:
        self._key = key
        # An argument that Chromium ignores, by which its process is found again.
        self._mark = f"--websearch={os.getpid()}.{next(self._numbers)}"
        self._options = {**options, "args": [*options.get("args", ()), self._mark]}
        self.holders: set[LazyBrowserProvider] = set()
        self.retired = self.condemned = False
        self.recycle_after = 0
        self._pages = 0
        self._browser: Browser | None = None
        self._driver: Any = None
        self._driver_pids: set[int] = set()
        self._launching: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def current(cls, options: Mapping[str, Any]) -> _Chromium:
        """The browser that takes visits now; not necessarily running yet."""
        # What Playwright gives is bound to the event loop it was made in (BC137).
        key = (id(asyncio.get_running_loop()), json.dumps(options, sort_keys=True))
        return cls._current.setdefault(key, cls(key, options))

    @property
    def browser(self) -> Browser:
        """The browser, once `launch` has returned."""
        assert self._browser is not None
        return self._browser

    async def launch(self) -> bool:
        """Start the browser, if it is not running. True for the one call that did."""
        first = self._launching is None
        self._launching = self._launching or asyncio.ensure_future(self._launch())
        # Others wait for it as well: a search that is cancelled does not take it along.
        await asyncio.shield(self._launching)
        return first

    async def _launch(self) -> None:
        from playwright.async_api import async_playwright  # noqa: PLC0415 - on first need

        self._driver = async_playwright()
        others = _drivers()
        async with asyncio.timeout(_LAUNCH):
            playwright = await self._driver.start()
            self._driver_pids = _drivers() - others
            self._browser = await playwright.chromium.launch(**self._options)
        # Surer than what is new, among which may be the driver of a browser that starts at the same time.
        self._driver_pids = _drivers_of(self._mark) or self._driver_pids

    def count_page(self) -> None:
        """Take note of one more page; the one that fills the measure is the last."""
        self._pages += 1
        if self.recycle_after and self._pages >= self.recycle_after:
            self.retire()

    def retire(self) -> None:
        """No new visits."""
        if not self.retired:
            self.retired = True
            self._current.pop(self._key, None)
            for holder in tuple(self.holders):
                holder.on_retired()

    def condemn(self) -> None:
        """It hangs: kill it. What runs on it fails, and may begin again elsewhere."""
        self.condemned = True
        _kill(_family(self._mark))
        self.retire()

    async def close(self) -> None:
        """End browser and driver, within bounds; what does not end is killed."""
        self.retire()
        self._closing = self._closing or asyncio.ensure_future(self._end())
        await asyncio.shield(self._closing)

    async def _end(self) -> None:
        if self._launching is None:
            return
        await asyncio.wait({self._launching}, timeout=_LAUNCH)
        if self._browser is not None and not self.condemned:
            await _within(_CLOSE, self._browser.close())
        _kill(_family(self._mark))
        await _within(_CLOSE, self._driver.__aexit__())
        # It may have closed the connection and stayed: when the browser was killed under it, say.
        for _ in range(10):
            if not self._driver_pids & _drivers():
                break
            await asyncio.sleep(0.05)
        _kill(self._driver_pids & _drivers())
        _reap()


async def _within(seconds: float, work: Awaitable[object]) -> bool:
    """Wait for something that closes. True when it was done in time, with or without an error."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        return False
    except Exception as error:  # noqa: BLE001 - it is gone already, or is ended by force
        logger.debug("closing the browser: %s", type(error).__name__)
    return True


def _reason(error: BaseException) -> str:
    """Why a browser did not start, in one line: what it said itself, how it ended, else what Playwright says."""
    text = str(error)
    said = re.findall(r"\[err\] (.*)", text)
    ended = re.search(r"exitCode=(\d+)", text)
    if any("sandbox" in line for line in said):
        return "it found no sandbox that it can use (no user namespaces here?)"
    if said:
        return str(said[-1]).strip()[:200]
    if ended:
        return f"it ended with exit code {ended[1]}"
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)[:200]


def _processes(mark: str) -> tuple[dict[int, int], list[int]]:
    """The parent of every process, and those that were started with `mark`. Empty where there is no /proc."""
    parents: dict[int, int] = {}
    marked: list[int] = []
    for entry in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[int(entry.name)] = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            if mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                marked.append(int(entry.name))
    return parents, marked


def _family(mark: str) -> list[int]:
    """The process ids of a browser and of everything it started."""
    parents, family = _processes(mark)
    for pid in family:  # it grows
        family.extend(child for child, parent in parents.items() if parent == pid and child not in family)
    return family


def _drivers_of(mark: str) -> set[int]:
    """The process id of the driver that started a browser, if it can be told."""
    parents, marked = _processes(mark)
    return {parents.get(pid, 0) for pid in marked if parents.get(parents.get(pid, 0)) == os.getpid()}


def _drivers() -> set[int]:
    """The process ids of the Playwright drivers this process has started and that run."""
    parents, drivers = _processes("run-driver")
    return {pid for pid in drivers if parents.get(pid) == os.getpid()}


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _reap() -> None:
    """Where we are the first process of a container, a browser's orphans fall to us, and nobody else waits for them
    (BC135)."""
    if os.getpid() != 1:
        return
    parents, _ = _processes("")
    for pid in (pid for pid, parent in parents.items() if parent == 1):
        with contextlib.suppress(OSError):
            state = (Path("/proc") / str(pid) / "stat").read_text(errors="replace")
            if re.search(r"\((?:headless|chrom)[^)]*\) Z", state):
                os.waitpid(pid, os.WNOHANG)
