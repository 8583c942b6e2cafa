"""What a passed wall gave: cookies, and the user agent they are tied to. Kept per (provider, route), so that the next
query is a plain request again, also in the next process.

Cookies are secrets: they are stored with mode 600 in the state folder, and never logged.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from websearch.config import Config
from websearch.fetching.statefile import StateFile

#: Seconds a clearance is kept at most, and a cookie without an end of its own (it would end with the browser).
MAX_AGE: Final = 24 * 3600.0
SESSION_AGE: Final = 3600.0

#: The key of a request's meta that holds the Cleared it was given.
CLEARED: Final = "websearch_clearance"


class Cleared(NamedTuple):
    """Which clearance a request carries, the names of the cookies that are the clearance's, and the request's own cookie
    jar and user agent, which wait until it is given back."""

    id: str
    names: tuple[str, ...]
    jar: Any
    user_agent: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cookie:
    """One cookie. `domain` begins with a dot when it holds for subdomains too; `until` is Unix time."""

    name: str
    value: str = field(repr=False)
    domain: str
    path: str = "/"
    secure: bool = False
    until: float

    def fits(self, host: str) -> bool:
        """True for a host this cookie is for."""
        domain = self.domain.lower()
        return host == domain.lstrip(".") or (domain.startswith(".") and host.endswith(domain))

    def for_scrapy(self) -> dict[str, Any]:
        """The cookie as an entry of `Request.cookies`."""
        cookie: dict[str, Any] = {"name": self.name, "value": self.value, "path": self.path, "secure": self.secure}
        # Without a domain it stays with the very host of the request, as it came.
        return cookie | ({"domain": self.domain} if self.domain.startswith(".") else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """`id` tells one clearance from the next of the same provider."""

    user_agent: str
    cookies: tuple[Cookie, ...]
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    def cookies_for(self, url: str, now: float) -> list[Cookie]:
        """The cookies that a request to `url` may carry now."""
        host = (urlsplit(url).hostname or "").lower()
        return [cookie for cookie in self.cookies if cookie.until > now and cookie.fits(host)]


class Clearances:
    """The book of clearances. Reading never fails: a missing or damaged file is an empty book."""

    def __init__(self, path: Path | None, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._file = StateFile(path) if path else None
        self._book: dict[str, Clearance] = {}

    @classmethod
    def of(cls, config: Config) -> Clearances:
        """The book of a configuration; without a state folder it lives in memory alone."""
        return cls(Path(config.state_dir) / "cookies.json" if config.state_dir and not config.replay else None)

    def get(self, provider: str, route: str) -> Clearance | None:
        """The clearance of a provider on a route, also one that another process earned; None when there is none."""
        key = f"{provider} {route}"
        if key not in self._book and self._file and (stored := _read(self._file.read().get(key))):
            self._book[key] = stored
        clearance = self._book.get(key)
        if clearance is not None and not self._alive(clearance):
            self.drop(provider, route, clearance.id)
            return None
        return clearance

    def keep(self, provider: str, route: str, user_agent: str, earned: Iterable[Mapping[str, Any]]) -> Clearance | None:
        """Keep what the browser earned (cookies as Playwright gives them). None when that is nothing."""
        cookies = tuple(cookie for raw in earned if (cookie := self._cookie(raw)))
        if not cookies:
            return None
        key = f"{provider} {route}"
        clearance = self._book[key] = Clearance(user_agent=user_agent, cookies=cookies)
        if self._file:
            with self._file.changing() as stored:
                dead = [k for k, v in stored.items() if (c := _read(v)) is None or not self._alive(c)]
                for k in dead:
                    del stored[k]
                stored[key] = asdict(clearance)
        return clearance

    def drop(self, provider: str, route: str, id_: str) -> None:
        """Forget a clearance that did not clear. A newer one of the same provider stays."""
        key = f"{provider} {route}"
        if (known := self._book.get(key)) and known.id == id_:
            del self._book[key]
        if self._file and (stored := _read(self._file.read().get(key))) and stored.id == id_:
            with self._file.changing() as book:
                book.pop(key, None)

    def _alive(self, clearance: Clearance) -> bool:
        return any(cookie.until > self.now() for cookie in clearance.cookies)

    def _cookie(self, raw: Mapping[str, Any]) -> Cookie | None:
        now, expires = self.now(), float(raw.get("expires") or -1)
        until = now + SESSION_AGE if expires < 0 else min(expires, now + MAX_AGE)
        if not raw.get("name") or until <= now:
            return None
        return Cookie(
            name=str(raw["name"]),
            value=str(raw.get("value") or ""),
            domain=str(raw.get("domain") or ""),
            path=str(raw.get("path") or "/"),
            secure=bool(raw.get("secure")),
            until=until,
        )


def _read(stored: Any) -> Clearance | None:
    """A stored clearance; None for anything else."""
    with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError):
        cookies = tuple(Cookie(**cookie) for cookie in stored["cookies"])
        texts = [text for c in cookies for text in (c.name, c.value, c.domain, c.path)]
        if all(isinstance(text, str) for text in (*texts, stored["id"], stored["user_agent"])) and all(
            math.isfinite(cookie.until) for cookie in cookies
        ):
            return Clearance(user_agent=stored["user_agent"], cookies=cookies, id=stored["id"])
    return None
