"""Any bytes as a page give a response and never an exception."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT, SHARED
from websearch.fetching.cases import load_cases
from websearch.model import SearchResponse
from websearch.providers.registry import engine_names, parse

PAGES = sorted((SHARED / "serps").glob("*/*.html")) if (SHARED / "serps").is_dir() else []
STORED = [case.folder / "page.html" for case in load_cases(ROOT / "fixtures")]
_TAGS = st.sampled_from(
    ["<div class=g>", "<a href='/url?q=http://a.example'>", "<h3>", "</a>", "<li class=b_algo>", "<h2>", "<!--", "-->", "<script>",
     "</div>", "&amp;", "&#0;", "&#xD800;", "<p class=b_lineclamp2>", "<template>", "<svg>", "<table>", "\0", "\ufffe", "<?xml encoding='x'?>"]
)  # fmt: skip
_HTML = st.lists(_TAGS | st.text(max_size=8), max_size=40).map("".join)
_ENGINE = st.sampled_from(engine_names())


@settings(max_examples=2000, deadline=None)
@given(_ENGINE, st.binary(max_size=300), st.text(max_size=10))
@example("google", b"\xff\xfe", "x")
def test_bytes(name: str, body: bytes, query: str) -> None:
    safe = query.encode("utf-8", "ignore").decode().replace("\0", "")
    assert isinstance(parse(name, body, query=safe), SearchResponse)


@settings(max_examples=2000, deadline=None)
@given(_ENGINE, _HTML)
def test_tag_soup(name: str, text: str) -> None:
    response = parse(name, text.encode("utf-8", "replace"))
    assert all(row.url.startswith(("http://", "https://")) and row.title for row in response.results)


@pytest.mark.parametrize("path", [*PAGES, *STORED], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_cut_off_anywhere(path) -> None:
    body = path.read_bytes()
    name = path.parent.name if path.suffix == ".html" and path.name != "page.html" else path.parents[1].name
    dice = random.Random(len(body))
    for _ in range(4):
        cut = dice.randrange(len(body))
        assert isinstance(parse(name, body[:cut]), SearchResponse)
        # A bit gone wrong in the middle must not cost the page either.
        damaged = body[:cut] + bytes([body[cut] ^ (1 << dice.randrange(8))]) + body[cut + 1 :]
        assert isinstance(parse(name, damaged), SearchResponse)


def test_a_deep_page_does_not_exhaust_the_stack() -> None:
    for name in engine_names():
        assert isinstance(parse(name, b"<div>" * 50_000 + b"x"), SearchResponse)
