"""A refused provider rests. Kept on disk, so that the next process does not insist where this one was turned away.

The rest is per (provider, route): 60 s, doubled at each refusal after the last rest was over, at most 10 min; refusals
*during* a rest (searches that were already under way) do not lengthen it; a success clears it. All numbers are
configuration.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from websearch.config import Config
from websearch.fetching.statefile import StateFile
from websearch.model import Outcome, SearchResponse

#: Seconds after its end for which a rest is remembered, so that the next refusal doubles it.
MEMORY: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A provider at rest on one route: since when and until when (Unix time), how long in all (s), and why."""

    provider: str
    route: str
    outcome: Outcome
    since: float
    until: float
    length: float
    message: str | None = None


class Cooldown:
    """The book of rests. Reading never fails: a missing or damaged file is an empty book."""

    def __init__(
        self, path: Path | None, *, start: float = 60.0, maximum: float = 600.0, now: Callable[[], float] = time.time
    ) -> None:
        self.path, self.start, self.maximum, self._now = path, min(start, maximum), maximum, now
        self._file = StateFile(path) if path else None

    @classmethod
    def of(cls, config: Config) -> Cooldown:
        """The book of a configuration; `cooldown.start = 0` (or no state folder, or a replay) switches it off."""
        if not config.cooldown.start or not config.state_dir or config.replay:
            return cls.off()
        path = Path(config.state_dir) / "cooldown.json"
        return cls(path, start=config.cooldown.start, maximum=config.cooldown.maximum)

    @classmethod
    def off(cls) -> Cooldown:
        """A book in which nothing is ever written."""
        return cls(None)

    def note(self, provider: str, route: str, response: SearchResponse) -> None:
        """Take note of how a search ended: a refusal begins or lengthens a rest, an answer clears it."""
        key = f"{provider} {route}"
        if response.outcome.refused:
            with self._changing() as book:
                book[key] = self._refused(book.get(key), provider, route, response)
        elif not response.outcome.failed and key in self._read():
            with self._changing() as book:
                book.pop(key, None)

    def _refused(self, last: Rest | None, provider: str, route: str, response: SearchResponse) -> Rest:
        now = self._now()
        asked, message = (response.error.retry_after, response.error.message) if response.error else (None, None)
        # What the provider asked for counts when it is longer, within the limit: a hostile header must not park us for
        # years.
        wanted = now + min(asked, self.maximum) if asked and asked > 0 else now
        if last and now < last.until:
            return replace(last, outcome=response.outcome, until=max(last.until, wanted), message=message)
        length = min(last.length * 2, self.maximum) if last else self.start
        return Rest(
            provider=provider,
            route=route,
            outcome=response.outcome,
            since=now,
            until=max(now + length, wanted),
            length=length,
            message=message,
        )

    def resting(self, provider: str, route: str) -> Rest | None:
        """The rest this provider is in right now, or None."""
        rest = self._read().get(f"{provider} {route}")
        return rest if rest and rest.until > self._now() else None

    def remaining(self, rest: Rest) -> int:
        """Seconds left of a rest, rounded up."""
        return max(0, math.ceil(rest.until - self._now()))

    def all(self) -> list[Rest]:
        """Every rest that is not over, by provider and route."""
        return [rest for _, rest in sorted(self._read().items()) if rest.until > self._now()]

    def clear(self, provider: str | None = None) -> int:
        """Forget the rests of one provider, or all of them. Returns how many there were."""
        if not self._read():
            return 0
        with self._changing() as book:
            gone = [key for key, rest in book.items() if provider in (None, rest.provider)]
            for key in gone:
                del book[key]
        return len(gone)

    def _read(self) -> dict[str, Rest]:
        return self._rests(self._file.read()) if self._file else {}

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Rest]]:
        """The book, to be changed and written back, with other processes locked out."""
        if self._file is None:
            yield {}
            return
        with self._file.changing() as stored:
            book = self._rests(stored)
            yield book
            stored.clear()
            stored.update({key: asdict(rest) for key, rest in book.items()})

    def _rests(self, stored: dict[str, Any]) -> dict[str, Rest]:
        """The rests in a stored book, without those that are damaged or forgotten. One that ends later than a rest that
        begins now could was written by a clock that was wrong (or under a longer limit), and must not park a provider."""
        now, book = self._now(), {}
        for key, values in stored.items():
            with contextlib.suppress(TypeError, ValueError, KeyError, OverflowError):
                rest = _rest(values)
                if now - MEMORY < rest.until <= now + self.maximum + 1:
                    book[key] = rest
        return book


def _rest(values: dict[str, Any]) -> Rest:
    known = {f.name: values[f.name] for f in fields(Rest)}
    numbers = {name: float(known[name]) for name in ("since", "until", "length")}
    if not all(map(math.isfinite, numbers.values())) or numbers["length"] < 0:
        raise ValueError("not a time")
    texts: dict[str, str | None] = {name: str(known[name]) for name in ("provider", "route")}
    texts["message"] = str(known["message"] or "") or None
    return Rest(**(known | numbers | texts | {"outcome": Outcome(known["outcome"])}))
