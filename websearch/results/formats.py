"""Responses as text, JSON, JSON lines, Markdown and CSV. Pure: a response in, text out; page text cannot break out of
any."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from websearch.model import SearchResponse, SearchResult, to_dict
from websearch.results.text import csv_cell, markdown, terminal, truncate

Format = Literal["text", "json", "jsonl", "markdown", "csv"]
FORMATS: tuple[Format, ...] = ("text", "json", "jsonl", "markdown", "csv")

#: Columns of the CSV form: a row per result; a response without results is one row, so that none is lost.
COLUMNS = (
    "provider", "query", "page", "outcome", "rank", "title", "url", "snippet", "published", "age", "author",
    "site_name",
    "kind", "engines", "ranks", "votes", "score", "families", "error",
)  # fmt: skip

_SNIPPET, _QUERY, _QUERIES = 240, 120, 3


def as_json(response: SearchResponse, *, indent: int | None = None, **more: Any) -> str:
    """A response as one JSON value; `more` is put before its fields. Without `indent` it is one line."""
    return json.dumps({**more, **to_dict(response)}, ensure_ascii=False, indent=indent)


def as_text(response: SearchResponse, *, explain: bool = False, now: datetime | None = None) -> str:
    """The text form for readers and language models (facts §1.6), without control characters and escape sequences.

    Answer, sources as `[n] title (age)` with the URL below, citations, related questions, search queries; empty text
    when there
    is nothing to show.
    """
    moment = now or datetime.now(UTC)
    lines: list[str] = []
    if response.answer:
        # An answer keeps its line breaks; each line is made safe by itself.
        lines += [terminal(line) for line in response.answer.strip().split("\n")]
        if response.results:
            lines += ["", "## Sources", _count(len(response.results), "source")]
    for number, row in enumerate(response.results, 1):
        lines += _source(number, row, moment)
        if explain and row.explain:
            lines.append(f"    {terminal(row.explain)}")
    if response.citations:
        lines += ["", "## Citations", _count(len(response.citations), "citation")]
        for number, citation in enumerate(response.citations, 1):
            url, title = str(citation.get("url") or ""), str(citation.get("title") or "")
            lines += [f"[{number}] {terminal(title or url)}", f"    {terminal(url)}"]
            if cited := terminal(str(citation.get("cited_text") or "")):
                lines.append(f"    {truncate(cited, _SNIPPET)}")
    if response.related:
        lines += ["", "## Related", _count(len(response.related), "question")]
        lines += [f"- {terminal(text)}" for text in response.related]
    if response.search_queries:
        lines.append(f"Search queries: {len(response.search_queries)}")
        lines += [f"- {truncate(terminal(text), _QUERY)}" for text in response.search_queries[:_QUERIES]]
    return "\n".join(lines)


def _source(number: int, row: SearchResult, now: datetime) -> Iterator[str]:
    shown = _age(row.published, now) or row.age or row.published
    yield f"[{number}] {terminal(row.title)}" + (f" ({terminal(shown)})" if shown else "")
    yield f"    {terminal(row.url)}"
    if snippet := terminal(row.snippet):
        yield f"    {truncate(snippet, _SNIPPET)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _age(published: str | None, now: datetime) -> str:
    """`3mo ago`, `2w ago`, `5d ago`, `4h ago`, `7m ago`, `just now`; empty for no date and for no age at all."""
    if not published:
        return ""
    try:
        then = datetime.fromisoformat(published)
    except ValueError:
        return ""
    seconds = int((now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds())
    if seconds == 0:
        return ""
    days = seconds // 86400
    for amount, unit in (
        (days // 30, "mo"),
        (days // 7, "w"),
        (days, "d"),
        (seconds // 3600, "h"),
        (seconds // 60, "m"),
    ):
        if amount >= 1:
            return f"{amount}{unit} ago"
    return "just now"


def as_markdown(response: SearchResponse, *, explain: bool = False) -> str:
    """A Markdown list; titles, snippets and addresses are escaped."""
    lines: list[str] = []
    if response.answer:
        lines += [markdown(line) for line in response.answer.strip().split("\n")] + [""]
    for row in response.results:
        # In angle brackets an address may hold parentheses; what would close them is encoded.
        target = terminal(row.url).replace("<", "%3C").replace(">", "%3E").replace(" ", "%20")
        lines.append(f"{row.rank}. [{markdown(row.title)}](<{target}>)")
        if row.snippet:
            lines.append(f"   {markdown(row.snippet)}")
        if explain and row.explain:
            lines.append(f"   *{markdown(row.explain)}*")
    if response.related:
        lines += ["", "Related:", "", *(f"- {markdown(text)}" for text in response.related)]
    return "\n".join(lines)


def csv_rows(response: SearchResponse, *, safe: bool = True) -> Iterator[list[str]]:
    """The cells of a response in the order of COLUMNS. `safe`: a cell that a spreadsheet would run as a formula gets a
    `'`."""
    shared = {
        "provider": response.provider,
        "query": response.query.text,
        "page": response.query.page,
        "outcome": response.outcome.value,
        "error": response.error.message if response.error else "",
    }
    rows: list[dict[str, Any]] = [
        {
            "rank": row.rank, "title": row.title, "url": row.url, "snippet": row.snippet, "published": row.published,
            "age": row.age, "author": row.author, "site_name": row.site_name, "kind": row.kind,
            "engines": " ".join(row.engines), "ranks": " ".join(f"{name}:{rank}" for name, rank in row.ranks.items()),
            "votes": row.votes, "score": row.score, "families": " ".join(row.extra.get("families", ())),
        }
        for row in response.results
    ] or [{}]  # fmt: skip
    for row in rows:
        cells = ["" if (value := (shared | row).get(name)) is None else str(value) for name in COLUMNS]
        yield [csv_cell(cell) for cell in cells] if safe else cells


def as_csv(responses: Iterable[SearchResponse], *, header: bool = True, safe: bool = True) -> str:
    """Responses as CSV (RFC 4180), one header line."""
    out = io.StringIO()
    writer = csv.writer(out)
    if header:
        writer.writerow(COLUMNS)
    for response in responses:
        writer.writerows(csv_rows(response, safe=safe))
    return out.getvalue()
