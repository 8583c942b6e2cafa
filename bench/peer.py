"""The peer we compare with, ddgs: its engines on our pages, and pointed at our lab."""

from __future__ import annotations

import importlib
from typing import Any

#: Engines both have, and where their class is.
ENGINES = {
    "bing": "Bing",
    "duckduckgo": "Duckduckgo",
    "google": "Google",
    "mojeek": "Mojeek",
    "startpage": "Startpage",
    "yahoo": "Yahoo",
}
PATHS = {"duckduckgo": "/html/", "startpage": "/sp/search"}


def available() -> bool:
    """True when ddgs is installed; else says so in one line."""
    try:
        importlib.import_module("ddgs")
    except ImportError:
        print("   skipped: ddgs is not installed (pip install -e '.[bench]')")
        return False
    return True


def engine(name: str) -> type[Any]:
    """The peer's class for an engine."""
    return getattr(importlib.import_module(f"ddgs.engines.{name}"), ENGINES[name])


def patch_lines(urls: dict[str, str]) -> str:
    """Python lines that point the peer's engines at other addresses, for a process of its own."""
    lines = [
        f"import ddgs.engines.{name} as m; m.{ENGINES[name]}.search_url = {urls[name] + PATHS.get(name, '/search')!r}"
        for name in ENGINES
        if name in urls
    ]
    return "\n".join(lines)


def point_at(urls: dict[str, str]) -> None:
    """The same in this process."""
    for name in ENGINES:
        if name in urls:
            engine(name).search_url = urls[name] + PATHS.get(name, "/search")
