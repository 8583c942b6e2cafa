"""The Python API: one warm crawler per process, for scripts, notebooks and running event loops alike.

The crawler lives in the event loop that is running already when that is Twisted's asyncio reactor (inside a spider, a
test), else in a background thread of its own, so that `search` blocks only its caller and Jupyter's loop is left alone.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import threading
from collections.abc import AsyncIterator
from dataclasses import fields
from typing import Any

import scrapy

# First, while few modules are loaded and the stack is shallow: it defines deprecated classes, which looks at the source of
# every frame above (0.1 s when Scrapy imports it in the middle of a crawl's start).
import scrapy.core.downloader.contextfactory
from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.settings import Settings
from scrapy.utils.reactor import install_reactor, is_reactor_installed

from websearch.config import Config, load
from websearch.model import InvalidInput, Outcome, SearchQuery, SearchResponse
from websearch.providers.base import Provider
from websearch.providers.registry import provider_class

REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
_QUERY_FIELDS = frozenset(f.name for f in fields(SearchQuery)) - {"text"}


def crawler_settings(config: Config) -> Settings:
    """The settings of `websearch.settings` with a given configuration."""
    from websearch.settings import settings_for  # noqa: PLC0415 - reads the environment when imported

    settings = Settings()
    settings.setdict(settings_for(config), priority="project")
    # Providers come from our registry, one at a time; Scrapy's loader would import every spider. And nothing is imported that
    # only `scrapy crawl` has a use for: feeds, progress in the log, a cache.
    settings.set("SPIDER_MODULES", [], priority="project")
    settings.set("EXTENSIONS_BASE", {"scrapy.extensions.throttle.AutoThrottle": 0}, priority="project")
    middlewares = dict(settings["DOWNLOADER_MIDDLEWARES_BASE"])
    for name in (
        "httpauth.HttpAuthMiddleware",
        "defaultheaders.DefaultHeadersMiddleware",
        "httpcache.HttpCacheMiddleware",
    ):
        middlewares.pop(f"scrapy.downloadermiddlewares.{name}", None)
    settings.set("DOWNLOADER_MIDDLEWARES_BASE", middlewares, priority="project")
    return settings


class SessionSpider(scrapy.Spider):
    """Hosts the searches of a session: stays open, runs what `submit` hands it, sends every response down the
    pipelines."""

    name = "session"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.finished: asyncio.Queue[SearchResponse | None] = asyncio.Queue()
        self.waiting: dict[int, asyncio.Future[SearchResponse]] = {}
        self.providers: dict[tuple[Any, ...], Provider] = {}
        self.running: set[asyncio.Task[SearchResponse]] = set()
        self.closing = False

    @classmethod
    def from_crawler(cls, crawler: scrapy.crawler.Crawler, *args: Any, **kwargs: Any) -> SessionSpider:
        """Listen to what becomes of the items."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(spider.settled, signal=signal)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield responses as they come, until the session closes."""
        while (response := await self.finished.get()) is not None:
            yield response

    def settled(self, item: Any) -> None:
        """An item has left the pipelines: hand it to whoever waits for it."""
        future = self.waiting.pop(id(item), None)
        if future is not None and not future.done():
            future.set_result(item)

    async def run(self, provider: str, query: SearchQuery, arguments: dict[str, Any]) -> SearchResponse:
        """Search, pass the pipelines, return."""
        key = (provider, *sorted(arguments.items()))
        if key not in self.providers:
            self.providers[key] = provider_class(provider).from_crawler(self.crawler, **arguments)
        task = asyncio.ensure_future(self.providers[key].search(query))
        self.running.add(task)
        try:
            response = await task
        except asyncio.CancelledError:
            task.cancel()
            if not self.closing:
                raise
            return self._cancelled(provider, query)
        finally:
            self.running.discard(task)
        if self.closing:
            return self._cancelled(provider, query)
        done: asyncio.Future[SearchResponse] = asyncio.get_running_loop().create_future()
        self.waiting[id(response)] = done
        self.finished.put_nowait(response)
        return await done

    @staticmethod
    def _cancelled(provider: str, query: SearchQuery) -> SearchResponse:
        return SearchResponse.failure(provider, query, Outcome.CANCELLED, f"{provider}: the session was closed")

    def abandon(self) -> None:
        """The crawl is over: who still waits for an item to pass the pipelines waits in vain."""
        while self.waiting:
            self.waiting.popitem()[1].cancel()

    async def finish(self) -> None:
        """Cancel what runs and end the crawl."""
        self.closing = True
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
        self.finished.put_nowait(None)


class Session:
    """A warm crawler. `search` from any thread, `asearch` from any event loop; `close` when done (or at exit)."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or load()
        self._spider: SessionSpider | None = None
        self._opening = asyncio.Lock()
        self._crawl: asyncio.Task[None] | None = None

    # --- in the crawler's loop

    async def _open(self) -> SessionSpider:
        if self._spider is not None:
            return self._spider
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        runner = AsyncCrawlerRunner(crawler_settings(self.config))
        crawler = runner.create_crawler(SessionSpider)

        def is_open(spider: scrapy.Spider) -> None:
            opened.set_result(spider)

        crawler.signals.connect(is_open, signals.spider_opened, weak=False)
        self._crawl = asyncio.ensure_future(runner.crawl(crawler))
        await asyncio.wait({self._crawl, opened}, return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            self._crawl.result()
            raise RuntimeError("the crawler did not start")
        self._spider = opened.result()
        return self._spider

    async def run(self, provider: str, query: SearchQuery, arguments: dict[str, Any]) -> SearchResponse:
        """One search, in the crawler's own event loop."""
        async with self._opening:
            spider = await self._open()
        return await spider.run(provider, query, arguments)

    async def aclose(self) -> None:
        """End the crawl, in the crawler's own event loop. A search that begins from here on opens a new one."""
        async with self._opening:
            spider, crawl = self._spider, self._crawl
            self._spider = self._crawl = None
        if spider is not None and crawl is not None:
            await spider.finish()
            await asyncio.wait({crawl}, timeout=10)
            spider.abandon()

    # --- from anywhere

    def submit(
        self, provider: str, query: SearchQuery, arguments: dict[str, Any]
    ) -> concurrent.futures.Future[SearchResponse]:
        """Start a search in the background loop. Cancelling the future cancels the search."""
        return asyncio.run_coroutine_threadsafe(self.run(provider, query, arguments), _background_loop())

    def search(self, text: str, *, provider: str = "auto", **fields: Any) -> SearchResponse:
        """One query, one response; blocks. See `websearch.search`."""
        request = _request(text, provider, fields)
        if isinstance(request, SearchResponse):
            return request
        future = self.submit(provider, *request)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def asearch(self, text: str, *, provider: str = "auto", **fields: Any) -> SearchResponse:
        """One query, one response; does not block the event loop. Cancelling the task cancels the search."""
        request = _request(text, provider, fields)
        if isinstance(request, SearchResponse):
            return request
        if _in_reactor_loop():
            return await self.run(provider, *request)
        return await asyncio.wrap_future(self.submit(provider, *request))

    def close(self, timeout: float = 15.0) -> None:
        """End the crawl and its browser. The next search opens a new one."""
        if self._spider is not None:
            with contextlib.suppress(concurrent.futures.TimeoutError):
                asyncio.run_coroutine_threadsafe(self.aclose(), _background_loop()).result(timeout)


def _request(text: str, provider: str, given: dict[str, Any]) -> tuple[SearchQuery, dict[str, Any]] | SearchResponse:
    """Split keyword arguments into the query's and the provider's own; what is wrong comes out as a response."""
    query = {name: value for name, value in given.items() if name in _QUERY_FIELDS}
    own = {name: value for name, value in given.items() if name not in _QUERY_FIELDS and value is not None}
    own = {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple | set | frozenset) else str(value)
        for name, value in own.items()
    }
    provider = str(provider)
    try:
        spider = provider_class(provider)
        if unknown := sorted(set(own) - {*spider.arguments, "raw"}):
            known = ", ".join((*spider.arguments, *sorted(_QUERY_FIELDS)))
            raise InvalidInput(f"{spider.label} takes no {', '.join(unknown)}; there are {known}")
        return SearchQuery(text=text, **query), own
    except (InvalidInput, TypeError) as error:
        return SearchResponse.failure(provider, SearchQuery.unchecked(text), Outcome.INVALID_INPUT, str(error))


def _in_reactor_loop() -> bool:
    """True inside the event loop of a running Twisted asyncio reactor."""
    if not is_reactor_installed():
        return False
    from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

    loop = getattr(reactor, "_asyncioEventloop", None)
    with contextlib.suppress(RuntimeError):
        return loop is not None and asyncio.get_running_loop() is loop
    return False


_background: asyncio.AbstractEventLoop | None = None
_background_lock = threading.Lock()


def _background_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the reactor thread, started on first use. Twisted has one reactor a process, so there is
    one."""
    global _background  # noqa: PLW0603 - as the reactor is, so is its thread
    with _background_lock:
        if _background is None:
            if is_reactor_installed():
                raise RuntimeError(
                    "a Twisted reactor runs in this process already: use `await asearch(…)` inside its event loop"
                )
            started: concurrent.futures.Future[asyncio.AbstractEventLoop] = concurrent.futures.Future()
            threading.Thread(target=_run_reactor, args=(started,), name="websearch", daemon=True).start()
            _background = started.result()
        return _background


def _run_reactor(started: concurrent.futures.Future[asyncio.AbstractEventLoop]) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    install_reactor(REACTOR)
    from twisted.internet import reactor as installed  # noqa: PLC0415 - importing it before would install another one

    reactor: Any = installed  # a module to the type checker
    reactor.callWhenRunning(started.set_result, loop)
    reactor.run(installSignalHandlers=False)


_session: Session | None = None


def _default() -> Session:
    global _session  # noqa: PLW0603 - one warm crawler a process
    if _session is None:
        _session = Session()
        atexit.register(_session.close)
    return _session


def search(text: str, *, provider: str = "auto", **fields: Any) -> SearchResponse:
    """Search and block until the response is there; never raises for bad input or provider trouble: see `outcome`.

    `fields` are those of SearchQuery (`limit`, `recency`, `region` …) and the provider's own arguments (`engines`,
    `mode`
    for `public`, `frontend` for `duckduckgo`). Keeps one warm crawler per process.
    """
    return _default().search(text, provider=provider, **fields)


async def asearch(text: str, *, provider: str = "auto", **fields: Any) -> SearchResponse:
    """`search` for a running event loop."""
    return await _default().asearch(text, provider=provider, **fields)
