from __future__ import annotations

import pytest

from websearch.model import SearchResult
from websearch.results.sanity import doubt, query_words


def rows(*texts: str) -> list[SearchResult]:
    return [SearchResult(rank=n, title=text, url=f"https://s{n}.example/") for n, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ('site:example.com "pour over" -espresso filetype:pdf', ["pour", "over"]),
        ("site:example.com", []),
        ("C# OR Go", ["c#", "go"]),
        ("東京", ["東京"]),
        ("-only -excluded", []),
    ],
)
def test_words_that_a_result_could_hold(query: str, words: list[str]) -> None:
    assert query_words(query) == words


@pytest.mark.parametrize(
    ("query", "texts", "doubted"),
    [
        ("weather hanoi", ["love songs", "music video", "poems of love"], True),
        ("weather hanoi", ["love songs", "music video"], False),  # too few to tell
        ("weather hanoi", ["love songs", "music video", "Hanoi: forecast"], False),
        ("café", ["CAFE in town", "x", "y"], False),  # accents
        ("bicycles", ["bicycle shop", "x", "y"], True),  # the shorter form holds no whole query word …
        ("bicycle", ["bicycles for sale", "x", "y"], False),  # … the longer one does
        ("東京 天気", ["東京の天気予報", "x", "y"], False),
        ("東京 天気", ["大阪", "京都市", "x"], True),
        ("R", ["the R language", "x", "y"], False),
        ("R", ["rust", "ruby", "perl"], True),  # a letter inside a word is no word
        ("site:example.com", ["x", "y", "z"], False),
        ("", ["x", "y", "z"], False),
    ],
)
def test_rows(query: str, texts: list[str], doubted: bool) -> None:
    assert (doubt(query, rows(*texts)) is not None) is doubted


def test_the_address_counts() -> None:
    found = [SearchResult(rank=n, title="t", url=f"https://s.example/wiki/C%C3%B3rdoba/{n}") for n in range(3)]
    assert doubt("cordoba", found) is None


@pytest.mark.parametrize(
    ("query", "echo", "doubted"),
    [
        ("gezond eten", "ERP software", True),
        ("gezond eten", "gezond eten", False),
        ("hisotry of tomato", "history of tomato", False),
        ("hisotry", "history", False),  # corrected: no word shared, but nearly the same letters
        ("gezond eten", "", False),
        ("pour over", "POUR  OVER", False),
    ],
)
def test_echo(query: str, echo: str, doubted: bool) -> None:
    assert (doubt(query, rows(query), echo) is not None) is doubted
