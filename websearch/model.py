"""The vocabulary: query, result, response, outcome. No I/O, no import of anything of ours.

Everything that enters or leaves a provider is one of these dataclasses, so `itemadapter` and every Scrapy exporter
take them as items. Field names and outcomes are a contract (README, "Outcomes").
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Literal

Kind = Literal["engine", "api", "aggregate"]
Recency = Literal["day", "week", "month", "year"]
SafeSearch = Literal["off", "moderate", "strict"]
FilterState = Literal["applied", "approximated", "ignored", "unsupported"]
Rung = Literal["http", "browser", "api", "replay"]

RECENCIES: tuple[Recency, ...] = ("day", "week", "month", "year")
SAFESEARCHES: tuple[SafeSearch, ...] = ("off", "moderate", "strict")
FILTERS = ("recency", "after", "before", "region", "language", "safesearch")


class Outcome(StrEnum):
    """Why a response looks as it does. Blocked, broken and truly empty never share a value.

    `code` is the machine-readable error code (None when nothing went wrong), `exit_code` the process exit status.
    """

    OK = "ok"
    EMPTY = "empty"
    INVALID_INPUT = "invalid_input"
    CHALLENGE = "challenge"
    RATE_LIMITED = "rate_limited"
    BLOCKED = "blocked"
    CONSENT = "consent"
    AUTH_FAILED = "auth_failed"
    LAYOUT_CHANGED = "layout_changed"
    SUSPECT = "suspect"
    UNAVAILABLE = "unavailable"
    NETWORK_ERROR = "network_error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    ERROR = "error"

    @property
    def code(self) -> str | None:
        """The error code of the outcome, e.g. `PROVIDER_RATE_LIMITED`; None for `ok`, `empty`, `cancelled`."""
        return _CODES[self][0]

    @property
    def exit_code(self) -> int:
        """The exit status a command ends with when this is its best outcome."""
        return _CODES[self][1]

    @property
    def failed(self) -> bool:
        """True unless the provider answered the question (`ok`) or said that there is nothing (`empty`)."""
        return self not in (Outcome.OK, Outcome.EMPTY)

    @property
    def refused(self) -> bool:
        """True when the provider turned the client away: these start a cooldown."""
        return self in (Outcome.CHALLENGE, Outcome.RATE_LIMITED, Outcome.BLOCKED, Outcome.CONSENT)


_CODES: dict[Outcome, tuple[str | None, int]] = {
    Outcome.OK: (None, 0),
    Outcome.EMPTY: (None, 0),
    Outcome.INVALID_INPUT: ("INVALID_INPUT", 2),
    Outcome.CHALLENGE: ("PROVIDER_RATE_LIMITED", 3),
    Outcome.RATE_LIMITED: ("PROVIDER_RATE_LIMITED", 3),
    Outcome.BLOCKED: ("PROVIDER_RATE_LIMITED", 3),
    Outcome.CONSENT: ("PROVIDER_RATE_LIMITED", 3),
    Outcome.AUTH_FAILED: ("PROVIDER_AUTH_FAILED", 4),
    Outcome.LAYOUT_CHANGED: ("PARSE_ERROR", 5),
    Outcome.SUSPECT: ("PARSE_ERROR", 5),
    Outcome.UNAVAILABLE: ("PROVIDER_UNAVAILABLE", 6),
    Outcome.NETWORK_ERROR: ("NETWORK_ERROR", 6),
    Outcome.TIMEOUT: ("WEB_SEARCH_TIMEOUT", 6),
    Outcome.CANCELLED: (None, 130),
    Outcome.ERROR: ("WEB_SEARCH_FAILED", 1),
}

#: Best first. `search` exits with the best outcome of its attempts, a failed aggregate takes the best of its engines:
#: what came closest to an answer says most about what to do next.
BEST_FIRST: tuple[Outcome, ...] = (
    Outcome.OK,
    Outcome.EMPTY,
    Outcome.SUSPECT,
    Outcome.LAYOUT_CHANGED,
    Outcome.CONSENT,
    Outcome.CHALLENGE,
    Outcome.RATE_LIMITED,
    Outcome.BLOCKED,
    Outcome.AUTH_FAILED,
    Outcome.TIMEOUT,
    Outcome.UNAVAILABLE,
    Outcome.NETWORK_ERROR,
    Outcome.INVALID_INPUT,
    Outcome.ERROR,
    Outcome.CANCELLED,
)


class InvalidInput(ValueError):
    """Something the caller passed cannot be used. The message names what to change."""


_LOCALE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*\Z")


def _utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _count(value: object) -> int | None:
    """Read a count as given by a human: missing, 0 or no number is None, everything else an int (2.7 → 2, "5" → 5)."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = int(float(value)) if not isinstance(value, int) else value  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number or None


def _day(value: object, name: str) -> date | None:
    if value is None or value == "":
        return None
    if isinstance(value, date):
        return value if type(value) is date else date(value.year, value.month, value.day)
    try:
        return date.fromisoformat(str(value).strip())
    except ValueError:
        raise InvalidInput(f"{name} must be a date such as 2026-01-31, not {str(value)!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """One question, as every provider takes it.

    `text` is passed on unchanged apart from outer white space. `limit` is the number of results wanted (None: the
    provider's default), `page` the first page, 1-based. `after`/`before` are inclusive days. `region` is
    country-language as in `us-en`, `language` a code such as `en` or `pt-br`.

    Raises InvalidInput for an empty text, NUL, a lone surrogate, an unknown word, or a date that is none.
    """

    text: str
    limit: int | None = None
    page: int = 1
    recency: Recency | None = None
    after: date | None = None
    before: date | None = None
    region: str | None = None
    language: str | None = None
    safesearch: SafeSearch | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    urls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        if not isinstance(self.text, str):
            raise InvalidInput(f"the query must be text, not {type(self.text).__name__}")
        text = self.text.strip().strip("\ufeff").strip()
        if not text and not self.urls:
            raise InvalidInput("the query is empty: give at least one word to search for")
        if "\0" in text:
            raise InvalidInput("the query holds a NUL character: remove it")
        if not _utf8(text):
            raise InvalidInput("the query holds a lone surrogate, which no encoding can carry: remove it")
        put("text", text)
        put("limit", _count(self.limit))
        page = _count(self.page)
        if page is not None and page < 1:
            raise InvalidInput(f"page must be 1 or more, not {page}")
        put("page", page or 1)
        put("recency", self._word("recency", RECENCIES))
        put("safesearch", self._word("safesearch", SAFESEARCHES))
        put("after", _day(self.after, "after"))
        put("before", _day(self.before, "before"))
        if self.after and self.before and self.after > self.before:
            raise InvalidInput(f"after ({self.after}) lies behind before ({self.before}): swap them")
        put("region", self._locale("region", "us-en"))
        put("language", self._locale("language", "en"))
        put("urls", tuple(self.urls))

    @classmethod
    def unchecked(cls, text: object) -> SearchQuery:
        """A query past the checks: one that failed them and is still to be reported, or an unknown one (""). Not to be
        sent."""
        query = object.__new__(cls)
        for spec in dataclasses.fields(cls):
            object.__setattr__(query, spec.name, None if spec.default is dataclasses.MISSING else spec.default)
        object.__setattr__(query, "text", str(text or "").encode("utf-8", "replace").decode().replace("\0", "\ufffd"))
        return query

    def _word(self, name: str, allowed: tuple[str, ...]) -> str | None:
        value = getattr(self, name)
        if value is None or value == "":
            return None
        word = str(value).strip().lower()
        if word not in allowed:
            raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, not {str(value)!r}")
        return word

    def _locale(self, name: str, example: str) -> str | None:
        value = getattr(self, name)
        if value is None or value == "":
            return None
        code = str(value).strip().lower().replace("_", "-")
        # These reach headers, cookies and host names: nothing but a plain code may pass.
        if not _LOCALE.match(code):
            raise InvalidInput(f"{name} must be a code such as {example!r}, not {str(value)!r}")
        return code

    @property
    def country(self) -> str | None:
        """The country half of `region` (`us` of `us-en`), lower case."""
        return self.region.split("-")[0] if self.region else None

    @property
    def locale_language(self) -> str | None:
        """`language`, else the language half of `region`."""
        if self.language:
            return self.language
        return self.region.split("-", 1)[1] if self.region and "-" in self.region else None

    def asked_filters(self) -> tuple[str, ...]:
        """Names of the filters this query asks for, in the order of FILTERS."""
        return tuple(name for name in FILTERS if getattr(self, name) is not None)


def clamp(limit: int | None, default: int, maximum: int) -> int:
    """How many results to return: the default when nothing usable was asked for, else `limit` held to 1..maximum."""
    return default if not limit else max(1, min(limit, maximum))


@dataclass(slots=True, kw_only=True)
class SearchResult:
    """One organic row.

    `rank` is 1-based and contiguous. `url` is the target byte for byte as the engine gave it, unwrapped once.
    `published` is ISO 8601 (a date, or a date and time) or None; `age` keeps the text as shown ("3 days ago").
    `kind` is `web`, or `video`, `news` … where the engine marks the row so. In a merged list `engines` holds the
    engines that returned the row in configured order, `ranks` their best rank each, `votes` how many engines,
    `score` the number the mode sorted by, `explain` the same in words. `extra` holds what has no field
    (`sitelinks`, `families`, `breadcrumb` …).
    """

    rank: int
    title: str
    url: str
    snippet: str = ""
    published: str | None = None
    age: str | None = None
    author: str | None = None
    site_name: str | None = None
    kind: str = "web"
    engines: list[str] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    votes: int = 1
    score: float | None = None
    explain: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Problem:
    """What went wrong, for a human (`message`: one line, says what to change) and for a program (`code`).

    `evidence` is what the verdict rests on, e.g. the name of the wall. Never page text, never a secret.
    """

    code: str | None
    message: str
    evidence: str | None = None
    retry_after: float | None = None  # seconds, as the provider asked


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One try at getting a page or an answer: which provider and rung, how it ended, how long it took (ms)."""

    provider: str
    rung: Rung
    outcome: Outcome
    status: int | None = None
    elapsed_ms: int = 0
    page: int | None = None
    message: str | None = None


@dataclass(slots=True, kw_only=True)
class EngineReport:
    """What one engine contributed to an aggregate: every engine that was configured is named, also when not asked."""

    name: str
    outcome: Outcome
    results: int = 0
    family: str | None = None
    rung: Rung | None = None
    status: int | None = None
    elapsed_ms: int = 0
    message: str | None = None
    filters: dict[str, FilterState] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class SearchResponse:
    """What one provider said to one query. There is one for each (query, provider, page), also when it failed.

    `filters` says for every filter asked for what became of it. `rung` is how the page was had. `started_at` is UTC
    ISO 8601, `elapsed_ms` wall time. `engines` is filled by aggregates. `raw` is the provider's own data, unchanged,
    kept only where it was asked for (an aggregate keeps its engines' responses there until they are merged).
    `extra` holds `layout` (which known layout matched, or "fallback"), `skipped_rows`, `panels` and the like.
    """

    provider: str
    query: SearchQuery
    outcome: Outcome
    results: list[SearchResult] = field(default_factory=list)
    answer: str | None = None
    citations: list[dict[str, Any]] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    search_queries: list[str] = field(default_factory=list)
    filters: dict[str, FilterState] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    model: str | None = None
    request_id: str | None = None
    auth_mode: str | None = None
    rung: Rung | None = None
    attempts: list[Attempt] = field(default_factory=list)
    status: int | None = None
    error: Problem | None = None
    started_at: str | None = None
    elapsed_ms: int = 0
    engines: list[EngineReport] = field(default_factory=list)
    raw: Any = field(default=None, repr=False)
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def failure(
        cls,
        provider: str,
        query: SearchQuery,
        outcome: Outcome,
        message: str,
        *,
        evidence: str | None = None,
        **more: Any,
    ) -> SearchResponse:
        """Build a response that failed: `message` is one line that names provider and reason."""
        problem = Problem(
            code=outcome.code, message=message, evidence=evidence, retry_after=more.pop("retry_after", None)
        )
        return cls(provider=provider, query=query, outcome=outcome, error=problem, **more)

    def renderable(self) -> bool:
        """True when there is anything to show: a non-blank answer, a result, a citation, a related or search query."""
        texts = (self.answer or "", *self.related, *self.search_queries)
        return bool(self.results or self.citations or any(text.strip() for text in texts))


def reasons(responses: Iterable[SearchResponse]) -> str:
    """Why each of them failed, in one line: `bing: message; mojeek: message`."""
    return "; ".join(f"{one.provider}: {one.error.message if one.error else one.outcome}" for one in responses)


def to_dict(response: SearchResponse) -> dict[str, Any]:
    """Plain JSON-able form of a response, fields in declared order: `--format json`, JSONL files, `expected.json`."""
    plain: dict[str, Any] = _plain(response)
    if plain.get("raw") is None:
        plain.pop("raw", None)
    return plain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Outcome):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, date):
        return value.isoformat()
    return value


def _check_kinds(
    values: Mapping[str, Any], always: Mapping[str, type], optional: Mapping[str, type], where: str
) -> None:
    """Raise InvalidInput when a value is not of its kind; those of `optional` may be None."""
    for name, kind in {**always, **optional}.items():
        value = values.get(name)
        if name in values and not isinstance(value, kind) and not (name in optional and value is None):
            raise InvalidInput(f"{where}.{name} must be of type {kind.__name__}, not {type(value).__name__}")


def _texts(values: list[Any], name: str) -> list[str]:
    if not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"response.{name} must be a list of texts")
    return values


def _result(values: dict[str, Any]) -> SearchResult:
    """A stored row; what is merged and shown later must be of the right kind."""
    always = dict.fromkeys(("title", "url", "snippet", "kind"), str)
    optional = dict.fromkeys(("published", "age", "author", "site_name", "explain"), str)
    _check_kinds(values, always | {"rank": int, "extra": dict, "ranks": dict, "engines": list}, optional, "result")
    return SearchResult(**values)


def from_dict(data: Mapping[str, Any]) -> SearchResponse:
    """Read a response back from `to_dict` output (JSONL files, fixtures). Unknown keys are ignored.

    Raises InvalidInput when it is not the shape of a response: the message names the field.
    """

    def known(cls: type, values: object, where: str) -> dict[str, Any]:
        if not isinstance(values, Mapping):
            raise InvalidInput(f"{where} must be an object, not {type(values).__name__}")
        names = {f.name for f in dataclasses.fields(cls)}
        return {k: v for k, v in values.items() if k in names}

    def outcome(values: dict[str, Any], where: str) -> dict[str, Any]:
        try:
            values["outcome"] = Outcome(str(values.get("outcome")))
        except ValueError:
            raise InvalidInput(f"{where}.outcome {values.get('outcome')!r} is no known outcome") from None
        return values

    def many(key: str) -> list[Any]:
        values = data.get(key) or []
        if not isinstance(values, list):
            raise InvalidInput(f"response.{key} must be a list, not {type(values).__name__}")
        return values

    try:
        fields = outcome(known(SearchResponse, data, "response"), "response")
        query = data.get("query")
        asked = known(SearchQuery, {"text": query} if isinstance(query, str) else query, "query")
        # A page parsed without its query, or the report of a bad query, has none that would pass the checks.
        try:
            fields["query"] = SearchQuery(**asked)
        except InvalidInput:
            fields["query"] = SearchQuery.unchecked(asked.get("text"))
        _check_kinds(fields, {"provider": str}, {"answer": str, "model": str}, "response")
        fields |= {name: _texts(many(name), name) for name in ("related", "search_queries")}
        fields["citations"] = [
            known_citation for known_citation in many("citations") if isinstance(known_citation, Mapping)
        ]
        fields["results"] = [_result(known(SearchResult, row, "result")) for row in many("results")]
        fields["attempts"] = [Attempt(**outcome(known(Attempt, row, "attempt"), "attempt")) for row in many("attempts")]
        fields["engines"] = [
            EngineReport(**outcome(known(EngineReport, row, "engine"), "engine")) for row in many("engines")
        ]
        if data.get("error") is not None:
            fields["error"] = Problem(**known(Problem, data["error"], "error"))
        return SearchResponse(**fields)
    except TypeError as error:
        raise InvalidInput(f"this is not a stored response: {error}") from None
