"""Stored result pages as test cases: the request, the page, the expected response (README, "Fixtures").

A case is a folder `fixtures/<provider>/<case>/` with `case.toml`, `page.html` and `expected.json`. The same folders
answer
`--replay`, feed the lab, and are what `websearch record` writes and `websearch check` runs.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Literal, get_args

from scrapy.http import HtmlResponse

from websearch.model import InvalidInput, Outcome, SearchQuery, SearchResponse, to_dict

CaseKind = Literal["results", "empty", "challenge", "consent", "blocked", "shell"]
PAGE, CASE, EXPECTED = "page.html", "case.toml", "expected.json"

#: Fields of a response that say how it was had, not what it says: they are no part of an expectation.
VOLATILE = ("started_at", "elapsed_ms", "attempts", "rung", "raw")

#: What a page of a kind may come out as.
OUTCOMES: dict[str, tuple[Outcome, ...]] = {
    "results": (Outcome.OK, Outcome.SUSPECT),
    "empty": (Outcome.EMPTY, Outcome.SUSPECT),
    "challenge": (Outcome.CHALLENGE,),
    "consent": (Outcome.CONSENT,),
    "blocked": (Outcome.BLOCKED, Outcome.RATE_LIMITED),
    "shell": (Outcome.LAYOUT_CHANGED, Outcome.CHALLENGE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One stored page. `captured` is the day relative dates in it count from; `floors` are the least number of results
    (`results`) and the least share of rows with a snippet (`snippets`, 0..1)."""

    folder: Path
    engine: str
    captured: date
    kind: CaseKind
    query: str
    url: str
    status: int = 200
    page: int = 1
    language: str | None = None
    region: str | None = None
    variant: str | None = None
    floors: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`bing/results-en`."""
        return f"{self.engine}/{self.folder.name}"

    @property
    def search_query(self) -> SearchQuery:
        """The query of the request, filters left out."""
        return SearchQuery(text=self.query, page=self.page)

    def response(self, url: str | None = None) -> HtmlResponse:
        """The stored page as the downloader would hand it over, dated with the day of capture."""
        noon = datetime.combine(self.captured, time(12), UTC)
        headers = {"Content-Type": "text/html; charset=utf-8", "Date": format_datetime(noon, usegmt=True)}
        body = (self.folder / PAGE).read_bytes()
        return HtmlResponse(url or self.url, status=self.status, headers=headers, body=body)

    def expected(self) -> dict[str, Any] | None:
        """The stored expectation; None when there is none yet."""
        path = self.folder / EXPECTED
        try:
            return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise InvalidInput(f"{path} cannot be read: {error}") from None

    def faults(self, got: SearchResponse) -> list[str]:
        """What is wrong with a response to this case, one line a fault; empty when it passes."""
        faults = []
        if got.outcome not in OUTCOMES[self.kind]:
            faults.append(f"outcome is {got.outcome}, a page of kind {self.kind} must be {OUTCOMES[self.kind][0]}")
        rows = len(got.results)
        if rows < (least := self.floors.get("results", 0)):
            faults.append(f"{rows} results, at least {least:g} expected")
        share = sum(bool(row.snippet) for row in got.results) / rows if rows else 0.0
        if rows and share < (least := self.floors.get("snippets", 0)):
            faults.append(f"{share:.0%} of the rows have a snippet, at least {least:.0%} expected")
        expected = self.expected()
        if expected is None:
            faults.append(f"no {EXPECTED}: accept the response with `websearch check --update`")
        else:
            faults += _differences(expected, stable(got))
        return faults


def stable(response: SearchResponse) -> dict[str, Any]:
    """A response as `expected.json` holds it: plain, without what differs between two runs."""
    return {name: value for name, value in to_dict(response).items() if name not in VOLATILE}


def write_expected(case: Case, response: SearchResponse) -> None:
    """Store a response as the expectation of a case."""
    text = json.dumps(stable(response), ensure_ascii=False, indent=1)
    (case.folder / EXPECTED).write_text(text + "\n", encoding="utf-8")


def write_case(
    folder: Path, *, engine: str, query: str, page: int, url: str, status: int, html: str, response: SearchResponse
) -> None:
    """Store a page as a case; floors are set a little below what the page gave. Overwrites the page, not the
    expectation."""
    rows = len(response.results)
    snippets = sum(bool(row.snippet) for row in response.results) / rows if rows else 0.0
    kind = next((kind for kind, outcomes in OUTCOMES.items() if response.outcome in outcomes), "shell")
    values = {
        "engine": engine, "captured": datetime.now(UTC).date(), "kind": kind, "query": query, "page": page, "url": url,
        "status": status,
    }  # fmt: skip
    # JSON writes strings, numbers and escapes as TOML takes them; a date stands bare.
    lines = [f"{name} = {value if isinstance(value, date) else json.dumps(value)}" for name, value in values.items()]
    if rows:
        lines += ["", "[floors]", f"results = {max(1, int(rows * 0.8))}", f"snippets = {max(0.0, snippets - 0.1):.2f}"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CASE).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / PAGE).write_text(html, encoding="utf-8")


def load_case(folder: Path) -> Case:
    """Read one case folder. Raises InvalidInput naming the file and what is wrong with it."""
    path = folder / CASE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    if values.get("kind") not in get_args(CaseKind):
        raise InvalidInput(f"{path}: kind must be one of {', '.join(get_args(CaseKind))}, not {values.get('kind')!r}")
    if not isinstance(values.get("captured"), date) or isinstance(values["captured"], datetime):
        raise InvalidInput(f"{path}: captured must be a date such as 2026-01-31")
    if not (folder / PAGE).is_file():
        raise InvalidInput(f"{folder} has no {PAGE}")
    kinds = {"engine": str, "query": str, "url": str, "status": int, "page": int, "floors": dict}
    for name, kind in kinds.items():
        if name in values and not isinstance(values[name], kind):
            raise InvalidInput(f"{path}: {name} must be of type {kind.__name__}, not {values[name]!r}")
    if values.get("query") == "":
        raise InvalidInput(f"{path}: query must not be empty")
    try:
        return Case(folder=folder, **values)
    except TypeError as error:
        raise InvalidInput(f"{path}: {error}") from None


def load_cases(root: Path, engine: str | None = None) -> Iterator[Case]:
    """All cases below a fixtures folder (`root/<provider>/<case>/`), by name; those of one engine where it is named.

    Raises InvalidInput for a folder that is none, or a damaged case.
    """
    try:
        found = (
            sorted(path for path in root.glob(f"*/*/{CASE}") if engine in (None, path.parts[-3]))
            if root.is_dir()
            else None
        )
    except OSError as error:
        raise InvalidInput(f"{root} cannot be read: {error.strerror}") from None
    if found is None:
        raise InvalidInput(f"{root} is no folder of cases")
    for path in found:
        yield load_case(path.parent)


def _differences(expected: object, got: object, path: str = "") -> list[str]:
    """Where two plain values differ, one line a place."""
    if isinstance(expected, dict) and isinstance(got, dict):
        names = dict.fromkeys((*expected, *got))
        return [
            d for name in names for d in _differences(expected.get(name), got.get(name), f"{path}.{name}".lstrip("."))
        ]
    if isinstance(expected, list) and isinstance(got, list):
        found = [
            d for i, (a, b) in enumerate(zip(expected, got, strict=False)) for d in _differences(a, b, f"{path}[{i}]")
        ]
        if len(expected) != len(got):
            found.append(f"{path}: {len(got)} entries, {len(expected)} expected")
        return found
    return [] if expected == got else [f"{path}: {got!r}, expected {expected!r}"]
