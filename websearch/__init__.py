"""Web search engines as one dependable, scriptable source.

>>> from websearch import search
>>> response = search("rust language", provider="public", limit=5)  # doctest: +SKIP
>>> response.outcome, [row.url for row in response.results]  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from websearch.model import InvalidInput, Outcome, SearchQuery, SearchResponse, SearchResult
    from websearch.providers.registry import parse
    from websearch.serve.session import asearch, search

# Scrapy takes 0.3 s to import: names are loaded when they are used, so that `import websearch` costs nothing.
_HOME = {
    "InvalidInput": "websearch.model",
    "Outcome": "websearch.model",
    "SearchQuery": "websearch.model",
    "SearchResponse": "websearch.model",
    "SearchResult": "websearch.model",
    "asearch": "websearch.serve.session",
    "parse": "websearch.providers.registry",
    "search": "websearch.serve.session",
}

__all__ = ["InvalidInput", "Outcome", "SearchQuery", "SearchResponse", "SearchResult", "asearch", "parse", "search"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'websearch' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
