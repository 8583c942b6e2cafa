"""The first provider that answers."""

from __future__ import annotations

import asyncio

from websearch.model import BEST_FIRST, InvalidInput, Outcome, SearchQuery, SearchResponse, reasons
from websearch.providers.base import Provider
from websearch.providers.registry import names, provider_class

#: The keyless tail of the chain (facts §1.2).
ORDER = ("duckduckgo", "bing", "yahoo", "startpage", "google", "ecosia", "mojeek")


class AutoSpider(Provider):
    """Asks one provider after the other until one gives something to show; those at rest come last.

    Argument: `order`, a comma list of providers to try instead of the built-in one.
    """

    name, label, kind = "auto", "Auto", "aggregate"
    arguments = ("order",)
    timeout = 60.0

    async def answer(self, query: SearchQuery) -> SearchResponse:
        """The response of the first that answered, with everybody's attempts; if none did, the best failure."""
        wanted = [name.strip() for name in (self.given.get("order") or "").split(",") if name.strip()] or list(ORDER)
        if unknown := [name for name in wanted if name not in names() or name == self.name]:
            raise InvalidInput(f"order: there is no provider {unknown[0]!r}; there are {', '.join(names())}")
        raw = {"raw": self.given["raw"]} if "raw" in self.given else {}
        providers = [provider_class(name).from_crawler(self.crawler, **raw) for name in dict.fromkeys(wanted)]
        providers = [provider for provider in providers if provider.settings_of.enabled]
        if not providers:
            raise InvalidInput("No web search provider configured.")
        providers.sort(key=lambda provider: provider.cooldown.resting(provider.name, provider.route) is not None)
        tried: list[SearchResponse] = []
        for provider in providers:
            try:
                async with asyncio.timeout_at(self.state.deadline):
                    response = await provider.search(query)
            except TimeoutError as error:
                response = provider.failure(query, error)
                response.attempts = provider.last.attempts if provider.last else []
                tried.append(response)
                break
            tried.append(response)
            if response.outcome is Outcome.INVALID_INPUT or (response.outcome is Outcome.OK and response.renderable()):
                break
        if not (response.outcome is Outcome.INVALID_INPUT or response.renderable()):
            response = min(tried, key=lambda one: BEST_FIRST.index(one.outcome))
            if response.error and len(tried) > 1:
                response.error.message = f"All web search providers failed: {reasons(tried)}"
        response.attempts = [attempt for one in tried for attempt in one.attempts]
        return response
