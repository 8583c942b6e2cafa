from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch.model import Outcome, SearchQuery, SearchResponse, SearchResult, from_dict
from websearch.results.exporters import ResultCsvExporter, TextExporter
from websearch.results.formats import COLUMNS, as_csv, as_json, as_markdown, as_text, csv_rows

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def response(*rows: SearchResult, **fields: object) -> SearchResponse:
    return SearchResponse(provider="p", query=SearchQuery(text="q"), outcome=Outcome.OK, results=list(rows), **fields)  # type: ignore[arg-type]


def row(**fields: object) -> SearchResult:
    return SearchResult(**({"rank": 1, "title": "T", "url": "https://a.example/"} | fields))  # type: ignore[arg-type]


def test_text_of_sources_alone() -> None:
    rows = (row(snippet="s"), row(rank=2, title="U", url="https://b.example", age="Nov 17", published="2026-11-17"))
    assert (
        as_text(response(*rows), now=NOW)
        == "[1] T\n    https://a.example/\n    s\n[2] U (3d ago)\n    https://b.example"
    )


def test_text_with_everything() -> None:
    text = as_text(
        response(
            row(),
            answer="Yes.\nReally.",
            citations=[{"url": "https://c.example", "title": "", "cited_text": "x" * 300}],
            related=["more?", "less?"],
            search_queries=["a", "b" * 130, "c", "d"],
        ),
        now=NOW,
    )
    assert text.split("\n") == [
        "Yes.", "Really.", "", "## Sources", "1 source", "[1] T", "    https://a.example/", "", "## Citations", "1 citation",
        "[1] https://c.example", "    https://c.example", "    " + "x" * 239 + "…", "", "## Related", "2 questions", "- more?",
        "- less?", "Search queries: 4", "- a", "- " + "b" * 119 + "…", "- c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("published", "shown"),
    [
        ("2026-11-20T11:59:30+00:00", "just now"),
        ("2026-11-20T11:53:00+00:00", "7m ago"),
        ("2026-11-20T08:00:00+00:00", "4h ago"),
        ("2026-11-15", "5d ago"),
        ("2026-11-01", "2w ago"),
        ("2026-08-01", "3mo ago"),
        ("2027-01-01", "just now"),
        ("2026-11-20T12:00:00+00:00", "2026-11-20T12:00:00+00:00"),
        ("soon", "soon"),
    ],
)
def test_ages(published: str, shown: str) -> None:
    assert as_text(response(row(published=published)), now=NOW).startswith(f"[1] T ({shown})\n")


def test_nothing_to_show_is_empty_text() -> None:
    assert as_text(response()) == ""


@given(st.text(), st.text(), st.text())
def test_json_line_is_one_line_and_reads_back(title: str, url: str, snippet: str) -> None:
    one = response(row(title=title, url=url, snippet=snippet))
    line = as_json(one)
    assert "\n" not in line
    assert from_dict(json.loads(line)) == one


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_csv_reads_back(titles: list[str]) -> None:
    rows = [row(rank=n, title=title.replace("\r", "")) for n, title in enumerate(titles, 1)]
    read = list(csv.DictReader(io.StringIO(as_csv([response(*rows)], safe=False), newline="")))
    assert [r["title"] for r in read] == [r.title for r in rows]


def test_csv_cells_cannot_run_and_a_failure_is_a_row() -> None:
    cells = next(csv_rows(response(row(title='=HYPERLINK("x")', snippet="@x"))))
    assert cells[COLUMNS.index("title")].startswith("'=")
    assert cells[COLUMNS.index("snippet")] == "'@x"
    failed = SearchResponse.failure("bing", SearchQuery(text="q"), Outcome.BLOCKED, "Bing: refused")
    (cells,) = csv_rows(failed)
    assert (cells[COLUMNS.index("outcome")], cells[COLUMNS.index("error")], cells[COLUMNS.index("rank")]) == (
        "blocked",
        "Bing: refused",
        "",
    )


def test_page_text_cannot_break_out() -> None:
    evil = row(title="](javascript:x) <script>", url="https://a.example/a)b>c", snippet="\x1b]0;x\x07*b*")
    markdown = as_markdown(response(evil))
    assert "<script>" not in markdown
    assert "](<https://a.example/a)b%3Ec>)" in markdown
    for text in (markdown, as_text(response(evil))):
        assert not set("\x1b\x07") & set(text)


def test_exporters_append_without_a_second_header(tmp_path) -> None:
    path = tmp_path / "out.csv"
    for _ in range(2):
        with path.open("ab") as file:
            exporter = ResultCsvExporter(file)
            exporter.start_exporting()
            exporter.export_item(response(row(title="日本")))
            exporter.finish_exporting()
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
    assert [r["title"] for r in rows] == ["日本", "日本"]


def test_text_exporter_shows_failures() -> None:
    file = io.BytesIO()
    exporter = TextExporter(file)
    exporter.start_exporting()
    exporter.export_item(SearchResponse.failure("bing", SearchQuery(text="q"), Outcome.BLOCKED, "Bing: refused"))
    exporter.export_item(response(row()))
    exporter.finish_exporting()
    assert file.getvalue().decode() == "Error: Bing: refused\n\n[1] T\n    https://a.example/\n\n"
