"""Read a result page of a layout nobody has described: the repeating block of outbound links with headings.

The last resort, behind every known layout, wall and no-results marker. It serves the user on the day an engine changes
its
page and marks the response, so that the change is seen. It takes a block only when it is sure: a wrong row is worse
than an
honest `layout_changed`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from statistics import median
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from websearch.model import SearchResult
from websearch.results.page import Page
from websearch.results.text import element_text

#: Fewer rows of the same kind are no result list.
ENOUGH_ROWS = 4
#: Characters of text beside the title that a row of a result list shows (a menu of headlines shows none).
ENOUGH_TEXT = 40

_HEADINGS = ("h1", "h2", "h3", "h4")
#: Parts of a page that hold links but never its results.
_CHROME = frozenset({"nav", "header", "footer", "aside", "dialog", "form"})
_DISPLAY_URL = re.compile(r"^(?:https?://)?[\w-]+(?:\.[\w-]+)+(?:\s*[›>/]\s*.*)?$")


def find_rows(
    page: Page, link: Callable[[str], str | None], without: Collection[HtmlElement] = ()
) -> list[SearchResult]:
    """Rows of the most convincing repeating block, or an empty list when none is convincing.

    `link` turns an href into the outbound target, or None for the engine's own links and ads; nothing is taken from the
    elements `without`. Ranks are 1-based.
    """
    anchors = {anchor: url for anchor in page.root.iter("a") if (url := _outbound(anchor, link, without))}
    headed = {anchor: title for anchor in anchors if (title := _heading(anchor))}
    if len(headed) < ENOUGH_ROWS:
        return []
    blocks: dict[HtmlElement, list[tuple[HtmlElement, HtmlElement]]] = defaultdict(list)
    for anchor, row in _rows(headed).items():
        if (parent := row.getparent()) is not None:
            blocks[parent].append((row, anchor))
    best: list[SearchResult] = []
    for members in blocks.values():
        rows = _read(members, headed, anchors)
        if len(rows) > len(best) and _convincing(rows, members):
            best = rows
    for rank, row in enumerate(best, 1):
        row.rank = rank
    return best


def _outbound(anchor: HtmlElement, link: Callable[[str], str | None], without: Collection[HtmlElement]) -> str | None:
    href = anchor.get("href")
    if not href or any(parent.tag in _CHROME or parent in without for parent in anchor.iterancestors()):
        return None
    return link(href)


def _heading(anchor: HtmlElement) -> str | None:
    """The title an anchor gives: the heading inside it, or around it."""
    for node in anchor.iter():
        if node.tag in _HEADINGS or node.get("role") == "heading":
            return element_text(node) or None
    for depth, node in enumerate(anchor.iterancestors()):
        if node.tag in _HEADINGS or node.get("role") == "heading":
            return element_text(anchor) or None
        if depth == 2:
            break
    return None


def _rows(headed: dict[HtmlElement, str]) -> dict[HtmlElement, HtmlElement]:
    """For each anchor the largest element around it that holds no other headed anchor."""
    holds: dict[HtmlElement, int] = defaultdict(int)
    for anchor in headed:
        for node in (anchor, *anchor.iterancestors()):
            holds[node] += 1
    rows = {}
    for anchor in headed:
        row = anchor
        for node in anchor.iterancestors():
            if holds[node] > 1 or node.tag in ("body", "html"):
                break
            row = node
        rows[anchor] = row
    return rows


def _read(
    members: list[tuple[HtmlElement, HtmlElement]], titles: dict[HtmlElement, str], urls: dict[HtmlElement, str]
) -> list[SearchResult]:
    rows: dict[str, SearchResult] = {}
    for row, anchor in members:
        url = urls[anchor]
        rows.setdefault(url, SearchResult(rank=0, title=titles[anchor], url=url, snippet=_snippet(row, anchor)))
    return list(rows.values())


def _snippet(row: HtmlElement, anchor: HtmlElement) -> str:
    """The longest text of a row that is not around or in its link and is no display URL."""
    texts = [""]
    node = anchor
    while node is not row and (parent := node.getparent()) is not None:
        texts += [element_text(child) for child in parent if child is not node and isinstance(child.tag, str)]
        node = parent
    return max((text for text in texts if not _DISPLAY_URL.match(text)), key=len, default="")


def _convincing(rows: list[SearchResult], members: list[tuple[HtmlElement, HtmlElement]]) -> bool:
    hosts = {urlsplit(row.url).netloc for row in rows}
    tags = [row.tag for row, _ in members]
    return (
        len(rows) >= ENOUGH_ROWS
        and len(hosts) >= 2
        and max(tags.count(tag) for tag in set(tags)) >= 0.8 * len(tags)
        and median(len(row.snippet) for row in rows) >= ENOUGH_TEXT
        and median(len(row.title) for row in rows) >= 8
    )
