from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from websearch.fetching.cases import load_case, load_cases, write_case, write_expected
from websearch.model import InvalidInput, SearchQuery
from websearch.providers.registry import parse


def test_a_written_case_reads_back_and_passes(tmp_path: Path) -> None:
    html = (ROOT / "fixtures" / "mojeek" / "results-en" / "page.html").read_text("utf-8")
    response = parse("mojeek", html, query="pour over coffee ratio")
    write_case(
        tmp_path / "mojeek" / "x", engine="mojeek", query='a "b" \\ ü', page=2, url="https://www.mojeek.com/search?q=a", status=200,
        html=html, response=response,
    )  # fmt: skip
    (case,) = load_cases(tmp_path)
    assert (case.name, case.query, case.page, case.kind) == ("mojeek/x", 'a "b" \\ ü', 2, "results")
    assert case.floors["results"] <= len(response.results)
    got = parse("mojeek", html)
    assert any("no expected.json" in fault for fault in case.faults(got))
    write_expected(case, got)
    assert case.faults(got) == []
    assert "started_at" not in json.loads((case.folder / "expected.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("x = = 1", "cannot be read"),
        ('kind = "nice"', "kind must be one of"),
        ('kind = "empty"\ncaptured = "today"', "captured must be a date"),
        ('kind = "empty"\ncaptured = 2026-01-01\nfoo = 1', "foo"),
    ],
)
def test_a_damaged_case_is_named(tmp_path: Path, toml: str, says: str) -> None:
    (tmp_path / "case.toml").write_text(toml)
    (tmp_path / "page.html").write_text("x")
    with pytest.raises(InvalidInput, match=says):
        load_case(tmp_path)


def test_relative_dates_count_from_the_day_of_capture() -> None:
    case = next(load_cases(ROOT / "fixtures", "mojeek"))
    assert str(case.captured.year) in (case.response().headers["Date"] or b"").decode()
    assert case.search_query == SearchQuery(text=case.query, page=case.page)
