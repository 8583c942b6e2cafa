"""Answer requests from stored cases instead of the network: `--replay DIR`, `WEBSEARCH_REPLAY=DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request, Response

from websearch.fetching.cases import Case, load_cases
from websearch.fetching.context import FetchFailed, fetch_of
from websearch.model import Outcome


class ReplayMiddleware:
    """Takes the place of the downloader: the case of the same engine, query and page, or an honest failure. No socket
    is
    opened, whatever is asked."""

    def __init__(self, root: Path) -> None:
        self.cases: dict[tuple[str, str, int], Case] = {}
        # Several cases may answer one query: the engine's results before its no-results page, and that before its walls.
        order = {"results": 0, "empty": 1}
        for case in sorted(load_cases(root), key=lambda case: order.get(case.kind, 2)):
            self.cases.setdefault((case.engine, _fold(case.query), case.page), case)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Only there when a replay folder is configured. Raises InvalidInput for a folder that holds no cases."""
        folder = crawler.settings["WEBSEARCH"].replay
        if not folder:
            raise NotConfigured
        return cls(Path(folder))

    def process_request(self, request: Request) -> Response:
        """The stored page. Raises FetchFailed when there is none."""
        fetch = fetch_of(request)
        if fetch is None or fetch.prelude:
            raise FetchFailed(Outcome.NETWORK_ERROR, "a replay has no page for this step")
        fetch.rung = "replay"
        case = self.cases.get((fetch.provider, _fold(fetch.query.text), fetch.page))
        if case is None:
            stored = sorted({c.query for c in self.cases.values() if c.engine == fetch.provider})
            known = f"there are {', '.join(map(repr, stored))}" if stored else "there are none of this engine"
            raise FetchFailed(
                Outcome.NETWORK_ERROR, f"no stored page for {fetch.query.text!r}, page {fetch.page}; {known}"
            )
        return case.response().replace(request=request)


def _fold(query: str) -> str:
    return " ".join(query.casefold().split())
