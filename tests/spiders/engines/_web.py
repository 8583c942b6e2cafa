"""A web of our own for flow tests: a spider's requests are answered by a function, no crawler and no socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

from scrapy.http import HtmlResponse, Request

from websearch.config import Config
from websearch.model import SearchQuery, SearchResponse
from websearch.providers.serp import SerpProvider


def form(request: Request) -> list[tuple[str, str]]:
    """The fields of a POST, in order."""
    return parse_qsl(request.body.decode(), keep_blank_values=True)


class Web:
    """Stands for the crawler. `answer` gives a body, a body and a status, a whole response, or an exception to raise."""

    def __init__(self, answer: Callable[[Request], Any]) -> None:
        self.requests: list[Request] = []
        self.answer = answer
        self.engine = SimpleNamespace(download_async=self.download)

    async def download(self, request: Request) -> HtmlResponse:
        self.requests.append(request)
        answer = self.answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, HtmlResponse):
            return answer.replace(request=request)
        body, status = answer if isinstance(answer, tuple) else (answer, 200)
        data = body.encode() if isinstance(body, str) else body
        return HtmlResponse(request.url, status=status, body=data, request=request)

    def search(self, spider: SerpProvider, query: SearchQuery, config: Config | None = None) -> SearchResponse:
        """One search, in a loop of its own: the tests' loop is the reactor's."""
        spider.configure(config or Config())
        spider.crawler = self  # type: ignore[assignment]
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(spider.search(query))).result()

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.requests]
