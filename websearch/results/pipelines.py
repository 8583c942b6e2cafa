"""The item pipeline: the responses of several engines become one ranked list, without duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from websearch.model import SearchResponse, to_dict
from websearch.results.consensus import DEFAULT_ORDER, Mode, merge


@dataclass(slots=True, kw_only=True)
class Parts:
    """What an aggregate gathered and how it is to be merged; rides in `SearchResponse.raw` until the pipeline ranks it.

    `limit` is the number of merged rows wanted; `keep` leaves the engines' own responses in `raw`.
    """

    responses: list[SearchResponse]
    limit: int
    mode: Mode = "consensus"
    order: Sequence[str] = DEFAULT_ORDER
    weights: Mapping[str, float] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False


def aggregate(response: SearchResponse) -> SearchResponse:
    """Rank the parts of an aggregate into `results`; any other response is returned as it is.

    Answers and related queries are taken over in engine order: the first answer, every related query once.
    """
    parts = response.raw
    if not isinstance(parts, Parts):
        return response
    response.raw = None  # whatever happens below: parts are no data of a provider
    response.results = merge(
        parts.responses,
        mode=parts.mode,
        limit=parts.limit,
        order=parts.order,
        weights=parts.weights or None,
        families=parts.families or None,
    )
    place = {name: index for index, name in enumerate(parts.order)}
    for part in sorted(parts.responses, key=lambda part: place.get(part.provider, len(place))):
        if part.outcome.failed:
            continue
        if part.answer and not response.answer:
            response.answer = part.answer
            response.extra["answer_from"] = part.provider
        response.related += [text for text in part.related if text not in response.related]
    response.raw = [to_dict(part) for part in parts.responses] if parts.keep else None
    return response


class ConsensusPipeline:
    """Ranks aggregates (`aggregate`); the responses of single providers pass unchanged."""

    def process_item(self, item: Any) -> Any:
        """Take any item; responses that carry parts come out merged."""
        return aggregate(item) if isinstance(item, SearchResponse) else item
