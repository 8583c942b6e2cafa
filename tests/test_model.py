from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch.model import (
    BEST_FIRST,
    InvalidInput,
    Outcome,
    SearchQuery,
    SearchResponse,
    SearchResult,
    clamp,
    from_dict,
    to_dict,
)


@pytest.mark.parametrize("text", ["", "   ", "\ufeff", "a\0b", "\ud83d", None, 7])
def test_queries_that_are_none(text: object) -> None:
    with pytest.raises(InvalidInput):
        SearchQuery(text=text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["line1\nline2", "\u202eabc", "👩\u200d👩\u200d👧 family", 'site:a.example "x y" -z', "a\tb", "検索" * 150]
)
def test_query_text_is_passed_on_unchanged(text: str) -> None:
    assert SearchQuery(text=f"  {text}\n").text == text


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        (0, None),
        ("0", None),
        ("many", None),
        (True, None),
        ("5", 5),
        (2.7, 2),
        (-5, -5),
        (10**9, 10**9),
        ("nan", None),
    ],
)
def test_limits_as_humans_give_them(given: object, kept: int | None) -> None:
    assert SearchQuery(text="x", limit=given).limit == kept  # type: ignore[arg-type]


@pytest.mark.parametrize(("limit", "wanted"), [(None, 10), (0, 10), (-5, 1), (1, 1), (15, 15), (99, 20), (10**9, 20)])
def test_clamp(limit: int | None, wanted: int) -> None:
    assert clamp(limit, 10, 20) == wanted


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("recency", "hour", "day, week, month, year"),
        ("safesearch", "maybe", "off, moderate, strict"),
        ("region", "us en", "us-en"),
        ("region", "en\r\nX-Evil: 1", "us-en"),
        ("language", "../x", "'en'"),
        ("after", "yesterday", "2026-01-31"),
        ("page", -1, "1 or more"),
    ],
)
def test_bad_values_say_what_to_change(field: str, value: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says.replace("-", r"\-")):
        SearchQuery(text="x", **{field: value})  # type: ignore[arg-type]


def test_codes_are_folded() -> None:
    query = SearchQuery(text="x", region="US_en", language="PT-br", recency="Week")  # type: ignore[arg-type]
    assert (query.region, query.language, query.recency) == ("us-en", "pt-br", "week")
    assert (query.country, query.locale_language) == ("us", "pt-br")


def test_a_range_must_not_be_empty() -> None:
    with pytest.raises(InvalidInput, match="swap"):
        SearchQuery(text="x", after=date(2026, 2, 1), before=date(2026, 1, 1))


def test_every_outcome_has_a_code_an_exit_and_a_place() -> None:
    assert sorted(BEST_FIRST) == sorted(Outcome)
    assert {outcome.exit_code for outcome in Outcome} == {0, 1, 2, 3, 4, 5, 6, 130}
    assert [o for o in Outcome if not o.failed] == [Outcome.OK, Outcome.EMPTY]


@given(
    st.builds(
        SearchResponse,
        provider=st.text(max_size=5),
        query=st.builds(
            SearchQuery, text=st.just("x"), after=st.none() | st.dates(), limit=st.none() | st.integers(1, 50)
        ),
        outcome=st.sampled_from(Outcome),
        results=st.lists(st.builds(SearchResult, rank=st.integers(1, 9), title=st.text(), url=st.text()), max_size=3),
        answer=st.none() | st.text(),
    )
)
def test_round_trip(response: SearchResponse) -> None:
    again = from_dict(json.loads(json.dumps(to_dict(response))))
    assert again == response


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"outcome": "fine"},
        {"outcome": "ok", "provider": "x"},
        {"outcome": "ok", "query": 5},
        {"outcome": "ok", "results": 7},
    ],
)
def test_what_is_no_response_says_so(data: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        from_dict(data)


def test_renderable_is_more_than_blank() -> None:
    query = SearchQuery(text="x")
    assert not SearchResponse(provider="p", query=query, outcome=Outcome.OK, answer=" ", related=["  "]).renderable()
    assert SearchResponse(provider="p", query=query, outcome=Outcome.OK, answer="yes").renderable()
