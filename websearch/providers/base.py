"""What every provider is: a spider whose `search` turns one query into one response, and never raises for its
trouble."""

from __future__ import annotations

import asyncio
import contextvars
import json
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

import scrapy
from scrapy import exceptions
from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from websearch.config import Config, ProviderConfig, load
from websearch.fetching.context import FetchFailed, fetch_of, route_of
from websearch.fetching.cooldown import Cooldown
from websearch.model import Attempt, InvalidInput, Kind, Outcome, SearchQuery, SearchResponse

#: Spider arguments every provider takes (`scrapy crawl NAME -a query=…`), beside its own `arguments`.
QUERY_ARGUMENTS = (
    "limit", "page", "recency", "after", "before", "region", "language", "safesearch", "max_tokens", "temperature",
    "urls",
)  # fmt: skip
COMMON_ARGUMENTS = ("query", "queries", "concurrency", "raw", *QUERY_ARGUMENTS)


@dataclass(slots=True)
class SearchState:
    """What belongs to one running search: its log of attempts, and when it must end (event loop time)."""

    deadline: float
    attempts: list[Attempt] = field(default_factory=list)


#: One spider runs many searches at a time; each runs in its own task, so a context variable keeps their states apart.
_STATE: contextvars.ContextVar[SearchState] = contextvars.ContextVar("search_state")


class Provider(scrapy.Spider):
    """Anything that answers a query.

    A subclass states `name`, `label`, `kind`, `base_url` and its caps, and implements `answer`. Spider arguments
    become queries;
    each gives exactly one response, also when it fails.
    """

    label: ClassVar[str]
    kind: ClassVar[Kind]
    base_url: ClassVar[str] = ""
    default_limit: ClassVar[int] = 10
    max_limit: ClassVar[int] = 100
    page_size: ClassVar[int] = 10
    timeout: ClassVar[float | None] = None  # seconds; None: the configuration's
    arguments: ClassVar[tuple[str, ...]] = ()  # spider arguments of this provider's own

    def __init__(self, name: str | None = None, **given: Any) -> None:
        super().__init__()
        # The name is the class's: as a spider argument it would only make responses lie about who gave them.
        self.given = given if name is None else {"name": name, **given}
        #: The state of the search begun last: who cancels a search learns from it how far that was.
        self.last: SearchState | None = None
        self.config = Config()
        self.cooldown = Cooldown.off()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Build the spider with the configuration of the crawler's settings (`WEBSEARCH`)."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        config = crawler.settings.get("WEBSEARCH")
        spider.configure(config if isinstance(config, Config) else load())
        return spider

    def configure(self, config: Config) -> None:
        """Take over a configuration."""
        self.config = config
        self.cooldown = Cooldown.of(config)

    # --- what a subclass implements ----------------------------------------------------------------------------------

    @abstractmethod
    async def answer(self, query: SearchQuery) -> SearchResponse:
        """Get and read the answer. May raise anything: `search` turns it into a response."""

    def check(self, query: SearchQuery) -> None:
        """Raise InvalidInput for a query this provider cannot take."""

    # --- what it may use ---------------------------------------------------------------------------------------------

    @property
    def settings_of(self) -> ProviderConfig:
        """The user's section for this provider."""
        return self.config.provider(self.name)

    @property
    def url(self) -> str:
        """The configured base URL without a slash at its end."""
        return (self.settings_of.base_url or self.base_url).rstrip("/")

    @property
    def proxy(self) -> str | None:
        """The proxy this provider's requests go through."""
        return self.settings_of.proxy or self.config.proxy

    @property
    def route(self) -> str:
        """The way out, as cooldowns and reports name it."""
        return route_of(self.proxy)

    @property
    def seconds(self) -> float:
        """How long one search may take."""
        return self.settings_of.timeout or self.timeout or self.config.timeout

    @property
    def attempts(self) -> list[Attempt]:
        """The log of the search that is running in this task."""
        return self.state.attempts

    @property
    def state(self) -> SearchState:
        """The state of the search that is running in this task."""
        try:
            return _STATE.get()
        except LookupError:
            state = SearchState(deadline=float("inf"))
            _STATE.set(state)
            return state

    async def download(self, request: Request) -> Response:
        """Send a request through all downloader middlewares; every try lands in `attempts`.

        Raises what the download raised (Scrapy's exceptions, FetchFailed).
        """
        fetch = fetch_of(request)
        try:
            response = await self.crawler.engine.download_async(request)
        except Exception as error:
            if fetch:
                fetch.log(self.failure(fetch.query, error), None)
            raise
        if fetch:
            fetch.log(fetch.judged(response), response.status)
        return response

    def failure(self, query: SearchQuery, error: BaseException) -> SearchResponse:
        """The response for an exception: which outcome it is, in one line that names the provider and leaks nothing."""
        outcome, reason, evidence = _read_exception(error)
        return SearchResponse.failure(self.name, query, outcome, f"{self.label}: {reason}", evidence=evidence)

    # --- the contract ------------------------------------------------------------------------------------------------

    async def search(self, query: SearchQuery) -> SearchResponse:
        """One query, one response. Never raises for provider trouble; cancelling the task cancels the search."""
        started_at, clock = datetime.now(UTC), time.monotonic()
        loop = asyncio.get_running_loop()
        state = SearchState(deadline=loop.time() + self.seconds)
        token, self.last = _STATE.set(state), state
        try:
            self._check_usable()
            self.check(query)
            # The subclass keeps to the deadline where it has something to save (pages it got so far); this is the
            # backstop.
            async with asyncio.timeout_at(state.deadline + 0.2):
                response = await self.answer(query)
        except asyncio.CancelledError:
            # A refusal that was met before the caller lost patience is a refusal all the same.
            self._rest_after(query, state)
            raise
        except Exception as error:
            response = self.failure(query, error)
            if response.outcome is Outcome.ERROR:
                self.logger.error("%s failed unexpectedly", self.label, exc_info=error)
        finally:
            _STATE.reset(token)
        response.attempts = response.attempts or state.attempts
        response.started_at = started_at.isoformat(timespec="milliseconds")
        response.elapsed_ms = round((time.monotonic() - clock) * 1000)
        if self.kind != "aggregate":
            if response.outcome.refused or not self._rest_after(query, state):
                self.cooldown.note(self.name, self.route, response)
            elif not response.outcome.failed:
                response.extra["incomplete"] = state.attempts[-1].message
        return response

    def _rest_after(self, query: SearchQuery, state: SearchState) -> bool:
        """Let the provider rest if the last thing it said was a refusal (to page 2, say). True when it was."""
        last = state.attempts[-1] if state.attempts else None
        if last is None or not last.outcome.refused:
            return False
        refusal = SearchResponse.failure(self.name, query, last.outcome, last.message or last.outcome.value)
        self.cooldown.note(self.name, self.route, refusal)
        return True

    def _check_usable(self) -> None:
        if not self.settings_of.enabled:
            raise InvalidInput(f"it is switched off: set providers.{self.name}.enabled to true")

    def describe(self, config: Config, book: Cooldown) -> dict[str, Any]:
        """What `websearch providers` shows of this provider; plain values."""
        section = config.provider(self.name)
        why_not = None if section.enabled else f"providers.{self.name}.enabled is false"
        return {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "family": section.family or getattr(self, "index_family", None),
            "available": why_not is None,
            "why_not": why_not,
            "base_url": (section.base_url or self.base_url) or None,
            "default_limit": self.default_limit,
            "page_size": self.page_size,
            "max_limit": self.max_limit,
            "filters": self.supported_filters(),
            "cooldown": [
                {"route": rest.route, "seconds": book.remaining(rest), "outcome": rest.outcome.value}
                for rest in book.all()
                if rest.provider == self.name
            ],
        }

    def supported_filters(self) -> list[str]:
        """Names of the filters this provider can apply."""
        return []

    # --- spider arguments --------------------------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Any]:
        """Turn the spider arguments into queries and yield one response each, in order of completion."""
        running: set[asyncio.Task[SearchResponse]] = set()
        try:
            queries = self._queries()
            width = self._concurrency()
            for query in queries:
                if isinstance(query, SearchResponse):
                    self.logger.error("%s", query.error.message if query.error else query.outcome)
                    yield query
                    continue
                running.add(asyncio.ensure_future(self.search(query)))
                if len(running) >= width:
                    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
            for next_done in asyncio.as_completed(running):
                yield await next_done
        finally:
            for task in running:
                task.cancel()

    def _concurrency(self) -> int:
        """How many searches run at a time: what was asked for, but no more than the pace lets through well in time, for the
        clock of a search runs while it waits for its turn."""
        try:
            wanted = max(1, int(self.given.get("concurrency", 4)))
        except ValueError:
            wanted = 4
        own = self.settings_of.rate
        rate = self.config.rate if own is None else own
        return min(wanted, max(1, int(rate * self.seconds / 2))) if rate else wanted

    def _queries(self) -> Iterator[SearchQuery | SearchResponse]:
        """The queries of the spider arguments; a bad one comes out as the response that says what to change."""

        def rejected(text: object, error: Exception) -> SearchResponse:
            return SearchResponse.failure(
                self.name, SearchQuery.unchecked(text), Outcome.INVALID_INPUT, f"{self.label}: {error}"
            )

        given = self.given
        known = (*COMMON_ARGUMENTS, *self.arguments)
        if unknown := sorted(set(given) - set(known)):
            names = ", ".join(unknown)
            error = InvalidInput(f"{names}: no such spider argument; there are {', '.join(known)}")
            yield rejected(given.get("query"), error)
            return
        if bool(given.get("query")) == bool(given.get("queries")):
            yield rejected("", InvalidInput("give one of -a query=… and -a queries=FILE (one query a line)"))
            return
        shared = {name: given[name] for name in QUERY_ARGUMENTS if name in given}
        if isinstance(shared.get("urls"), str):
            shared["urls"] = tuple(url.strip() for url in shared["urls"].split(",") if url.strip())
        try:
            lines = [given["query"]] if given.get("query") else _lines(given["queries"])
        except InvalidInput as error:
            yield rejected(given.get("queries"), error)
            return
        for line in lines:
            try:
                own = {"text": line} if given.get("query") else _read_line(line)
                yield SearchQuery(**(shared | own))
            except (InvalidInput, TypeError, AttributeError) as error:
                yield rejected(line, error)


def _lines(path: str) -> list[str]:
    try:
        # Split on \n alone: U+2028 and friends may stand in a query.
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"queries={path} cannot be read: {error}") from None
    lines = [line.strip("\r") for line in text.split("\n")]
    if not (lines := [line for line in lines if line.strip()]):
        raise InvalidInput(f"queries={path} holds no query: write one a line")
    return lines


def _read_line(line: str) -> dict[str, Any]:
    """A line of a queries file: plain text, or a JSON object with the fields of SearchQuery (`query` for `text`)."""
    if not line.lstrip().startswith("{"):
        return {"text": line}
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {"text": line}
    if "query" in fields:
        fields["text"] = fields.pop("query")
    if "text" not in fields:
        raise InvalidInput('a JSON line needs a "query"')
    return dict(fields)


def _read_exception(error: BaseException) -> tuple[Outcome, str, str | None]:
    """Outcome, reason in words and evidence of an exception. The text of a foreign exception is never passed on:
    it may hold an address with a password."""
    kind = type(error).__name__
    match error:
        case FetchFailed():
            return error.outcome, str(error), error.evidence
        case InvalidInput():
            return Outcome.INVALID_INPUT, str(error), None
        case TimeoutError() | exceptions.DownloadTimeoutError():
            return Outcome.TIMEOUT, "no answer in time", kind
        case exceptions.CannotResolveHostError():
            return Outcome.NETWORK_ERROR, "the host name cannot be resolved (no network, or no DNS)", kind
        case exceptions.DownloadConnectionRefusedError() | ConnectionRefusedError():
            return Outcome.NETWORK_ERROR, "the connection was refused", kind
        case exceptions.ResponseDataLossError():
            return Outcome.NETWORK_ERROR, "the connection broke off in mid-answer", kind
        case exceptions.DownloadCancelledError():
            return Outcome.ERROR, "the answer is larger than the size limit", kind
        case exceptions.UnsupportedURLSchemeError():
            return Outcome.INVALID_INPUT, "base_url must begin with http:// or https://", kind
        case exceptions.DownloadFailedError() | OSError():
            return Outcome.NETWORK_ERROR, "the connection failed", kind
        case _:
            return Outcome.ERROR, f"unexpected {kind}", kind
