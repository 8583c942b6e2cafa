"""A refused provider rests. Kept on disk, so that the next process does not insist where this one was turned away.

The rest is per (provider, route): 60 s, doubled at each refusal after the last rest was over, at most 10 min; refusals
*during* a
rest (searches that were already under way) do not lengthen it; a success clears it. All numbers are configuration.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from websearch.config import Config
from websearch.model import Outcome, SearchResponse


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
        self.path, self.start, self.maximum, self._now = path, start, maximum, now

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
        if self.path is None:
            return
        key = f"{provider} {route}"
        if response.outcome.refused:
            asked = response.error.retry_after if response.error else None
            with self._changing() as book:
                book[key] = self._refused(book.get(key), provider, route, response, asked or 0.0)
        elif not response.outcome.failed and key in self._read():
            with self._changing() as book:
                book.pop(key, None)

    def _refused(self, last: Rest | None, provider: str, route: str, response: SearchResponse, asked: float) -> Rest:
        now = self._now()
        message = response.error.message if response.error else None
        if last and now < last.until:
            since, length = last.since, last.length
        else:
            since, length = now, min(last.length * 2, self.maximum) if last else self.start
        # What the provider asked for counts when it is longer, within the limit: a hostile header must not park us for
        # years.
        until = max(since + length, now + min(asked, self.maximum))
        return Rest(
            provider=provider,
            route=route,
            outcome=response.outcome,
            since=since,
            until=until,
            length=length,
            message=message,
        )

    def resting(self, provider: str, route: str) -> Rest | None:
        """The rest this provider is in right now, or None."""
        rest = self._read().get(f"{provider} {route}") if self.path else None
        return rest if rest and rest.until > self._now() else None

    def remaining(self, rest: Rest) -> int:
        """Seconds left of a rest, rounded up."""
        return max(0, math.ceil(rest.until - self._now()))

    def all(self) -> list[Rest]:
        """Every rest that is not over, by provider and route."""
        return [rest for _, rest in sorted(self._read().items()) if rest.until > self._now()]

    def clear(self, provider: str | None = None) -> int:
        """Forget the rests of one provider, or all of them. Returns how many there were."""
        if self.path is None or not self.path.exists():
            return 0
        with self._changing() as book:
            gone = [key for key, rest in book.items() if provider in (None, rest.provider)]
            for key in gone:
                del book[key]
        return len(gone)

    def _read(self) -> dict[str, Rest]:
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8")) if self.path else {}
        except (OSError, ValueError):
            return {}
        book = {}
        for key, values in stored.items() if isinstance(stored, dict) else ():
            with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError):
                book[key] = _rest(values)
        return book

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Rest]]:
        """Read, let the caller change, write back, with other processes locked out. A full or read-only disk costs the
        memory of the cooldown, never the search."""
        assert self.path is not None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            yield {}
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            book = self._read()
            yield book
            kept = {key: rest for key, rest in book.items() if rest.until + self.maximum > self._now()}
            with contextlib.suppress(OSError):
                self._write({key: asdict(rest) for key, rest in kept.items()})
        finally:
            os.close(lock)

    def _write(self, book: dict[str, Any]) -> None:
        assert self.path is not None
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".cooldown-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(book, file, indent=1)
        Path(name).replace(self.path)


def _rest(values: Any) -> Rest:
    known = {f.name: values[f.name] for f in fields(Rest)}
    numbers = {name: float(known[name]) for name in ("since", "until", "length")}
    return Rest(**(known | numbers | {"outcome": Outcome(known["outcome"])}))
