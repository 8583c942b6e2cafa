from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch.results.page import Page, first, literals, select, split_list


@pytest.mark.parametrize(
    ("selector", "parts"),
    [
        ("a", ("a",)),
        ("a.b, c > d ,e", ("a.b", "c > d", "e")),
        ("a:not(.x, .y), b[title='1, 2']", ("a:not(.x, .y)", "b[title='1, 2']")),
    ],
)
def test_selector_lists(selector: str, parts: tuple[str, ...]) -> None:
    assert split_list(selector) == parts


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("li.b_algo h2 a[href]", ("b_algo",)),
        ("#a .b-c > [data-x='y z'] p", ("a", "b-c", "y z")),
        ("div:not(.x:has(#y)).z", ("z",)),
        ("script[src*='/cdn-cgi/x']", ("/cdn-cgi/x",)),
        ("ul > li", ()),
    ],
)
def test_literals(selector: str, names: tuple[str, ...]) -> None:
    assert literals(selector) == names


@pytest.mark.parametrize(
    "selector",
    [".a", "#b", "p.a, #b", "[data-c='d e']", "p:not(.zzz)", ".zzz", ".zzz, p", "a[href^=http]", "[class~=a]"],
)
def test_css_finds_what_a_plain_selection_finds(selector: str) -> None:
    page = Page.of("<p class='x a'>1</p><p id=b data-c='d e'>2<a href=http://x>3</a></p>")
    assert page.css(selector) == select(page.root, selector)


def test_first_prefers_by_the_order_of_the_list() -> None:
    page = Page.of("<i class=old>1</i><i class=new>2</i>")
    found = first(page.root, ".new, .old")
    assert found is not None
    assert found.get("class") == "new"


@pytest.mark.parametrize(
    "body", [b"", b" ", b"\0", b"\xff\xfe", b"<?xml version='1.0' encoding='utf-16'?><a/>", b"<!-- ", b"plain"]
)
def test_any_body_is_a_page(body: bytes) -> None:
    page = Page.read(body)
    assert page.css("nothing.here") == []
    assert isinstance(page.title, str)


@given(st.binary(max_size=200))
def test_bytes(body: bytes) -> None:
    Page.read(body).shows("x")
