"""One test for all stored cases: a new folder below fixtures/ is a new test."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from websearch.fetching.cases import Case, load_cases
from websearch.providers.registry import engine, engine_names

CASES = list(load_cases(ROOT / "fixtures"))
#: The states every engine must have a case of, and one wall at least (which one it shows differs).
STATES = {"results", "empty"}
WALLS = {"challenge", "consent", "blocked"}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case) -> None:
    got = engine(case.engine).parse(case.response(), case.search_query)
    assert case.faults(got) == []


@pytest.mark.parametrize("name", engine_names())
def test_every_engine_has_its_states(name: str) -> None:
    mine = [case for case in CASES if case.engine == name]
    assert {case.kind for case in mine} >= STATES
    assert {case.kind for case in mine} & WALLS
    assert len({case.language for case in mine if case.kind == "results"}) >= 2


def test_a_page_that_lost_a_row_is_noticed() -> None:
    """The check itself can fail: without one row the case names what is missing."""
    case = next(case for case in CASES if case.kind == "results")
    got = engine(case.engine).parse(case.response(), case.search_query)
    del got.results[-1]
    assert any("entries" in fault for fault in case.faults(got))
