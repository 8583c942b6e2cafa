"""From a wall to the browser, and back to plain requests with what the browser earned there.

Stands at 560: after decompression and redirects, so that it reads what a page says, and before Retry (550), which would
insist where a refusal was meant (BC056).
"""

from __future__ import annotations

import asyncio
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from websearch.config import Config
from websearch.fetching.browser import why_not
from websearch.fetching.clearance import CLEARED, Clearance, Clearances, Cleared
from websearch.fetching.context import Fetch, fetch_of
from websearch.fetching.redaction import register_url
from websearch.fetching.visit import VISIT, Visit, answered, failure, is_playwright, passable, visit_request


class ChallengeMiddleware:
    """Moves a request that met a wall to the browser rung, judges what comes back by its content, and lends plain requests
    the cookies that a visit earned, until they stop working."""

    def __init__(self, crawler: Crawler) -> None:
        self.config: Config = crawler.settings["WEBSEARCH"]
        self.stats = crawler.stats
        self.clearances = Clearances.of(self.config)
        self._no_browser = why_not(self.config)
        for proxy in (self.config.proxy, *(provider.proxy for provider in self.config.providers.values())):
            register_url(proxy)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build with the configuration of the crawler's settings (`WEBSEARCH`)."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Lend a plain request the clearance of its provider and route."""
        fetch, visit = fetch_of(request), request.meta.get(VISIT)
        if isinstance(visit, Visit):
            # The middlewares of a download run in one task, which is cancelled with the search; its handler is not.
            visit.waiter = asyncio.current_task()
        elif fetch is not None and fetch.rung == "http":
            _lend(self.clearances.get(fetch.provider, fetch.route), request, self.clearances.now())

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """A response that answers, or that no browser helps with, passes; a wall becomes a visit of the browser.

        Raises FetchFailed when the browser cannot use the request's proxy.
        """
        fetch = fetch_of(request)
        if fetch is None or fetch.rung not in ("http", "browser"):
            return response
        visit = request.meta.get(VISIT)
        if isinstance(visit, Visit):
            return self._came_back(fetch, visit, response)
        verdict = fetch.judged(response)
        if not passable(verdict):
            return response
        self._count("seen")
        carried = request.meta[CLEARED].id if CLEARED in request.meta else None
        known = self.clearances.get(fetch.provider, fetch.route)
        if known is not None and known.id != carried and _serves(known, request, self.clearances.now()):
            # Another search has earned it meanwhile.
            fetch.log(verdict, response.status)
            return request.replace(dont_filter=True)
        if carried:
            self.clearances.drop(fetch.provider, fetch.route, carried)
        if fetch.browser is None:
            return response
        if self._no_browser:
            if verdict.error:
                verdict.error.message += f"; {self._no_browser}"
            return response
        fetch.log(verdict, response.status)
        fetch.rung, fetch.verdict = "browser", None
        return visit_request(request, fetch, self.config, wall=verdict.outcome)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Raises FetchFailed, in one line, for an error of the browser's."""
        visit = request.meta.get(VISIT)
        if isinstance(visit, Visit) and is_playwright(exception):
            raise failure(exception, visit) from None

    def _came_back(self, fetch: Fetch, visit: Visit, response: Response) -> Response:
        """Judge by what the page shows: a wall that was passed by a script may still have the status of the wall."""
        verdict = fetch.judged(response)
        if not answered(verdict) and response.status != 200:
            copy = response.replace(status=200)
            before, verdict = fetch.verdict, fetch.judged(copy)
            if answered(verdict):
                response = copy
            else:
                fetch.verdict = before
        if not answered(verdict):
            self._count("failed")
            return response
        self._count("passed")
        self.clearances.keep(fetch.provider, fetch.route, visit.user_agent, visit.earned)
        return response

    def _count(self, what: str) -> None:
        if self.stats:
            self.stats.inc_value(f"websearch/challenge/{what}")


def _serves(clearance: Clearance, request: Request, now: float) -> bool:
    """True when a request may be sent again with a clearance; not from the wall that it was redirected to."""
    return "redirect_urls" not in request.meta and bool(clearance.cookies_for(request.url, now))


def _lend(clearance: Clearance | None, request: Request, now: float) -> None:
    """Give a request the cookies of a clearance and the user agent they are tied to; take back those it had before.

    What the request brings of its own (its filters) comes first. There is a cookie jar for each clearance, so that what
    stopped working stays behind in its jar.
    """
    before: Cleared | None = request.meta.pop(CLEARED, None)
    fitting = clearance.cookies_for(request.url, now) if clearance else []
    if before is None and not fitting:
        return
    given: Any = request.cookies
    given = [{"name": n, "value": v} for n, v in given.items()] if isinstance(given, dict) else given
    own = [cookie for cookie in given if before is None or cookie["name"] not in before.names]
    taken = {cookie["name"] for cookie in own}
    lent = [cookie for cookie in fitting if cookie.name not in taken]
    jar = before.jar if before else request.meta.get("cookiejar")
    agent = before.user_agent if before else request.headers.get("User-Agent")
    if clearance and fitting:
        request.meta[CLEARED] = Cleared(clearance.id, tuple(cookie.name for cookie in lent), jar, agent)
        jar, agent = f"{jar} #{clearance.id}", clearance.user_agent.encode()
    request.meta["cookiejar"] = jar
    if agent is not None:
        request.headers["User-Agent"] = agent
    given = [*own, *(cookie.for_scrapy() for cookie in lent)]
    request.cookies = given
