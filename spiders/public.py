"""The Public Web aggregate: every free engine at once, one ranked list, every engine's outcome named."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from websearch.model import BEST_FIRST, EngineReport, InvalidInput, Outcome, SearchQuery, SearchResponse, clamp, reasons
from websearch.providers.base import Provider
from websearch.providers.registry import engine_names, provider_class
from websearch.providers.serp import SerpProvider
from websearch.results.consensus import DEFAULT_FAMILIES, MODES
from websearch.results.pipelines import Parts


class PublicSpider(Provider):
    """Fan-out over the engines (facts §8): all settled, or the soft deadline with one success, or the hard deadline.

    Engines at rest stand behind the healthy ones: they are asked only when no healthy one gave an answer. Ranking is
    the
    item pipeline's. Arguments: `engines`, `exclude` (comma lists), `mode`.
    """

    name, label, kind = "public", "Public Web", "aggregate"
    default_limit, max_limit = 15, 30
    arguments = ("engines", "exclude", "mode")

    async def answer(self, query: SearchQuery) -> SearchResponse:
        """Ask, wait, name every engine. The rows are merged by the pipeline."""
        mode = self.given.get("mode") or self.config.public.mode
        if mode not in MODES:
            raise InvalidInput(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        engines = self._engines()
        rests = {e.name: rest for e in engines if (rest := e.cooldown.resting(e.name, e.route))}
        healthy = [engine for engine in engines if engine.name not in rests]
        resting = [engine for engine in engines if engine.name in rests]
        start = asyncio.get_running_loop().time()
        found = await self._ask(healthy, query, start)
        if not any(_answered(response) for response in found.values()) and self._left(start) > 0:
            found |= await self._ask(resting, query, start)
        for engine in resting:
            if engine.name not in found:
                rest = rests[engine.name]
                left = engine.cooldown.remaining(rest)
                message = f"{engine.label}: not asked, it rests {left} s more (last time: {rest.outcome})"
                found[engine.name] = SearchResponse.failure(
                    engine.name, query, rest.outcome, message, evidence="cooldown"
                )
        return self._response(query, engines, [found[engine.name] for engine in engines], mode)

    def _engines(self) -> list[SerpProvider]:
        def split(text: str) -> list[str]:
            return [name.strip().lower() for name in text.split(",") if name.strip()]

        wanted = split(self.given.get("engines") or "") or list(self.config.public.engines)
        excluded = {*split(self.given.get("exclude") or ""), *self.config.public.exclude}
        for name in dict.fromkeys((*wanted, *sorted(excluded))):
            if name not in engine_names():
                raise InvalidInput(f"there is no engine {name!r}; there are {', '.join(engine_names())}")
        names = [name for name in dict.fromkeys(wanted) if name not in excluded]
        if not names:
            raise InvalidInput("every engine is excluded: leave at least one")
        return [self._engine(name) for name in names]

    def _engine(self, name: str) -> SerpProvider:
        spider = provider_class(name).from_crawler(self.crawler)
        assert isinstance(spider, SerpProvider)  # engine_names() lists nothing else
        spider.max_pages = 1  # breadth instead of depth, and one request each
        return spider

    async def _ask(self, engines: list[SerpProvider], query: SearchQuery, start: float) -> dict[str, SearchResponse]:
        """Ask engines at the same time until one of the deadlines (seconds from `start`); stragglers are cancelled."""
        if not engines:
            return {}
        loop = asyncio.get_running_loop()
        soft = min(self.config.public.soft_deadline, max(0.0, self.state.deadline - start))
        tasks = {asyncio.create_task(engine.search(_whole_page(engine, query))): engine for engine in engines}
        try:
            done, pending = await asyncio.wait(tasks, timeout=max(0.0, start + soft - loop.time()))
            while pending and not any(_answered(task.result()) for task in done):
                if (left := self._left(start)) <= 0:
                    break
                finished, pending = await asyncio.wait(pending, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                done |= finished
        finally:
            for task in tasks:
                task.cancel()
            late = [task for task in tasks if not task.done()]
            await asyncio.gather(*late, return_exceptions=True)
        waited = loop.time() - start
        found = {}
        for task, engine in tasks.items():
            if task in done:
                found[engine.name] = task.result()
            else:
                found[engine.name] = self._late(engine, query, waited)
        return found

    def _left(self, start: float) -> float:
        """Seconds to the hard deadline, or to the end of this search's own time."""
        hard = min(start + self.config.public.hard_deadline, self.state.deadline)
        return hard - asyncio.get_running_loop().time()

    def _late(self, engine: SerpProvider, query: SearchQuery, waited: float) -> SearchResponse:
        """What is said of an engine that was given up: that it was late, or that it had refused us before (and the browser
        was still at it)."""
        attempts = engine.last.attempts if engine.last else []
        refused = next((attempt for attempt in reversed(attempts) if attempt.outcome.refused), None)
        outcome = refused.outcome if refused else Outcome.TIMEOUT
        message = f"{engine.label}: no answer within {waited:.1f} s, given up"
        if refused and refused.message:
            message = f"{refused.message}; given up after {waited:.1f} s"
        late = SearchResponse.failure(
            engine.name, query, outcome, message, evidence="deadline", elapsed_ms=round(waited * 1000)
        )
        late.attempts = attempts
        return late

    def _response(
        self, query: SearchQuery, engines: list[SerpProvider], responses: list[SearchResponse], mode: str
    ) -> SearchResponse:
        families = {e.name: e.settings_of.family or DEFAULT_FAMILIES.get(e.name, e.index_family) for e in engines}
        best = min((r.outcome for r in responses), key=BEST_FIRST.index)
        if best.failed:
            response = SearchResponse.failure(
                self.name, query, best, f"All public engines failed: {reasons(responses)}"
            )
        else:
            response = SearchResponse(provider=self.name, query=query, outcome=best)
        response.engines = [_report(r, families[r.provider]) for r in responses]
        response.attempts = [attempt for r in responses for attempt in r.attempts]
        response.filters = _filters(responses)
        response.raw = Parts(
            responses=responses,
            limit=clamp(query.limit, self.default_limit, self.max_limit),
            mode=mode,  # type: ignore[arg-type]  # checked against MODES
            order=tuple(e.name for e in engines),
            weights=self.config.public.weights if mode == "rrf" else {},
            families=families,
            keep=bool(self.given.get("raw")),
        )
        return response


def _answered(response: SearchResponse) -> bool:
    return not response.outcome.failed


def _whole_page(engine: SerpProvider, query: SearchQuery) -> SearchQuery:
    """A short list is cut after the merge: an engine's tenth row may be the one that makes agreement. A long one makes the
    engines' pages longer where they can be."""
    longer = engine.asks_count and (query.limit or 0) > engine.page_size
    return query if longer else replace(query, limit=None)


def _report(response: SearchResponse, family: str) -> EngineReport:
    return EngineReport(
        name=response.provider,
        outcome=response.outcome,
        results=len(response.results),
        family=family,
        rung=response.rung,
        status=response.status,
        elapsed_ms=response.elapsed_ms,
        message=response.error.message if response.error else None,
        filters=response.filters,
    )


def _filters(responses: list[SearchResponse]) -> dict[str, str]:
    """A filter of the aggregate is `applied` when every engine that answered applied it, `unsupported` when none did
    anything about it, else `approximated`: some rows obey it, some do not."""
    states: dict[str, set[str]] = {}
    for response in responses:
        if _answered(response):
            for name, state in response.filters.items():
                states.setdefault(name, set()).add(state)
    merged = {}
    for name, seen in states.items():
        merged[name] = (
            next(iter(seen)) if len(seen) == 1 else "approximated" if seen & {"applied", "approximated"} else "ignored"
        )
    return merged
