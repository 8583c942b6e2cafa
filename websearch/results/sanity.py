"""Does an answer belong to its question? Engines serve plausible rows for another query to clients they suspect
(BC046)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from urllib.parse import unquote

from websearch.model import SearchResult
from websearch.results.text import words

#: Fewer rows than this prove nothing.
ENOUGH = 3
#: `site:example.com`, `-word`, `filetype:pdf`, `OR`: what steers a search and need not stand in a result.
_OPERATOR = re.compile(r"(?:^|\s)(?:-\S+|\w+:\S+|OR|AND|NOT)(?=\s|$)")


def matches(pattern: str, text: str) -> bool:
    """Case-insensitive search."""
    return re.search(pattern, text, re.IGNORECASE) is not None


def query_words(text: str) -> list[str]:
    """The words of a query that a result about it could hold: without operators and excluded words.

    A query of nothing but operators (`site:example.com`) gives none.
    """
    return words(_OPERATOR.sub(" ", text))


def doubt(query: str, rows: Sequence[SearchResult], echo: str = "") -> str | None:
    """Why these rows look like the answer to another query, in words; None when there is no reason for doubt.

    `echo` is the query as the page itself repeats it. A query the engine corrected is still close to its echo; one that
    shares no word and hardly a letter with it is another query. Rows are doubted only when not one of them holds any
    word of the query in title, snippet or address; a translated answer would look the same, so few rows prove nothing.
    """
    asked = query_words(query)
    if not asked:
        return None
    if echo.strip():
        repeated = words(echo)
        alike = SequenceMatcher(None, query.casefold(), echo.casefold()).ratio()
        if repeated and not set(asked) & set(repeated) and alike < 0.5:
            return "the page answers another query than the one asked"
    if len(rows) < ENOUGH or any(_shares(asked, row) for row in rows):
        return None
    return "no result shares a word with the query"


def _shares(asked: Sequence[str], row: SearchResult) -> bool:
    text = f"{row.title} {row.snippet} {unquote(row.url)}"
    held = " ".join(words(text))
    # Part of a word counts (plural, compound, inflected forms), but not a single letter inside one.
    return any(word in held if len(word) > 2 or not word.isascii() else word in held.split() for word in asked)
