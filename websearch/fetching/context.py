"""What a provider tells the downloader middlewares about one request: `request.meta["websearch"]`.

The middlewares are common to all providers and know none by name; all that is particular travels here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from scrapy.http import Request, Response

from websearch.model import Attempt, Outcome, Rung, SearchQuery, SearchResponse

META: Final = "websearch"


@dataclass(frozen=True, slots=True)
class BrowserPlan:
    """How the browser rung gets the page of a request that met a wall.

    `url`: where to go instead of the request's own URL (a POST form has a GET twin); `home`: page to visit first;
    `ready`: selector of results; `nothing`: selector of the engine's no-results marker; `clicks`: selectors of what a
    person
    would click on the way (reject a consent dialog, the box of a proof of work), in order, each at most twice.
    """

    ready: str
    url: str | None = None
    home: str | None = None
    nothing: str | None = None
    clicks: tuple[str, ...] = ()


@dataclass(slots=True)
class Fetch:
    """One request of one search.

    `judge` reads a response (pure, no I/O) and says what it is; the verdict is kept in `verdict`, so that nobody
    parses a page
    twice. `browser` is None where a browser cannot help (a token request). `attempts` is the search's shared log:
    everyone who
    gets a response or an exception for this request appends one Attempt to it.
    """

    provider: str
    query: SearchQuery
    page: int
    judge: Callable[[Response], SearchResponse]
    browser: BrowserPlan | None = None
    route: str = "direct"
    rung: Rung = "http"
    prelude: bool = False  # a step before the search itself: home page, token
    attempts: list[Attempt] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    verdict: tuple[Response, SearchResponse] | None = None

    def judged(self, response: Response) -> SearchResponse:
        """The verdict on a response, from memory when it is the one judged last."""
        if self.verdict is None or self.verdict[0] is not response:
            self.verdict = (response, self.judge(response))
        return self.verdict[1]

    def log(self, outcome: SearchResponse, status: int | None) -> None:
        """Append one attempt and restart the clock for the next."""
        now = time.monotonic()
        self.attempts.append(
            Attempt(
                provider=self.provider,
                rung=self.rung,
                outcome=outcome.outcome,
                status=status,
                elapsed_ms=round((now - self.started) * 1000),
                page=self.page,
                message=outcome.error.message if outcome.error else None,
            )
        )
        self.started = now


def fetch_of(request: Request) -> Fetch | None:
    """The Fetch a request belongs to; None for requests that are not of a search."""
    found = request.meta.get(META)
    return found if isinstance(found, Fetch) else None


def route_of(proxy: str | None) -> str:
    """The name of the way out: `direct`, or the proxy's host and port without its password."""
    if not proxy:
        return "direct"
    parts = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


class FetchFailed(Exception):
    """A rung could not get the page, for a reason that is no plain network error. Carries the outcome to report."""

    def __init__(self, outcome: Outcome, message: str, evidence: str | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.evidence = evidence
