"""The real captured pages: outcome, links byte for byte and in order, titles, snippets. Scored as ../shared/serps/score.py does."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import SHARED, shared
from websearch.model import SearchResponse
from websearch.providers.registry import parse

LABELS: list[dict[str, Any]] = (
    json.loads((SHARED / "serps" / "labels.json").read_text(encoding="utf-8")) if (SHARED / "serps").is_dir() else []
)
OUTCOMES = {
    "results": {"ok"},
    "no_results": {"empty"},
    "challenge": {"challenge", "blocked", "rate_limited"},
    "consent": {"consent"},
    "other": {"challenge", "layout_changed", "blocked", "error", "suspect"},
}


def read(label: dict[str, Any]) -> SearchResponse:
    return parse(label["engine"], shared("serps", label["file"]).read_bytes())


def loose(url: str) -> str:
    parts = urlsplit(unquote(url))
    return f"{(parts.hostname or '').removeprefix('www.')}{parts.path.rstrip('/')}?{parts.query}"


def counted(response: SearchResponse, label: dict[str, Any]) -> list[Any]:
    """The rows that count: those of `optional_urls` count neither way."""
    optional = {loose(url) for url in label.get("optional_urls") or []} - {loose(url) for url in label["all_urls"]}
    return [row for row in response.results if loose(row.url) not in optional]


def fold(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.skipif(LABELS != [], reason="the captured pages are here")
def test_pages_are_missing() -> None:
    pytest.skip("../shared/serps is not here: the real captured pages lie outside the project")


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_page(label: dict[str, Any]) -> None:
    response = read(label)
    assert response.outcome in (set(label.get("outcomes") or ()) or OUTCOMES[label["kind"]]), response.error
    if label["kind"] != "results":
        assert not response.results
        return
    rows = counted(response, label)
    assert [row.url for row in rows] == label["all_urls"]
    assert [fold(row.title) for row in rows] == [fold(title) for title in label["all_titles"]]
    assert [row.rank for row in response.results] == list(range(1, len(response.results) + 1))
    assert sum(bool(row.snippet) for row in rows) >= 0.7 * len(rows)


@pytest.mark.skipif(not LABELS, reason="../shared/serps is not here")
def test_corpus_scores() -> None:
    """The floors of the project: exact F1 0.99 over the corpus, 0.97 for each engine, snippets on 95 % of the rows."""
    hits: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    rows = with_snippet = 0
    for label in LABELS:
        if label["kind"] != "results":
            continue
        found = counted(read(label), label)
        got, want = Counter(row.url for row in found), Counter(label["all_urls"])
        for key in (label["engine"], "ALL"):
            hits[key] += 2 * sum((got & want).values())
            sizes[key] += sum(got.values()) + sum(want.values())
        rows += len(found)
        with_snippet += sum(bool(row.snippet) for row in found)
    scores = {key: hits[key] / sizes[key] for key in sizes}
    assert scores.pop("ALL") >= 0.99
    assert min(scores.values()) >= 0.97, scores
    assert with_snippet >= 0.95 * rows


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_page_is_recognised(label: dict[str, Any]) -> None:
    """`websearch parse auto` tells by the page alone whose it is, or reads a wall as a wall all the same."""
    response = parse("auto", shared("serps", label["file"]).read_bytes())
    assert response.outcome in (set(label.get("outcomes") or ()) or OUTCOMES[label["kind"]])
    if label["kind"] == "results":
        assert response.provider == label["engine"]
