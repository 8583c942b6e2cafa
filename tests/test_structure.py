"""The house rules that a reader relies on: imports point one way, an engine is one file, nothing heavy is imported early."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: What each room may import from; a room may always import from itself.
MAY_IMPORT = {
    "model": set(),
    "config": {"model"},
    "results": {"model"},
    "fetching": {"model", "config", "results"},
    "providers": {"model", "config", "results", "fetching"},
    "spiders": {"model", "config", "results", "fetching", "providers"},
    "settings": {"config", "fetching"},
    "serve": {"model", "config", "results", "fetching", "providers", "settings"},
    "cli": {"model", "config", "results", "fetching", "providers", "serve"},
    "__init__": {"model", "providers", "serve"},
}


def _files() -> list[Path]:
    return sorted([*ROOT.glob("websearch/**/*.py"), *ROOT.glob("spiders/**/*.py")])


def _room(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "spiders" if parts[0] == "spiders" else parts[1]


@pytest.mark.parametrize("path", _files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    allowed = MAY_IMPORT[_room(path)] | {_room(path)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
        for module in modules:
            if module.startswith("websearch."):
                assert module.split(".")[1] in allowed, f"{path.name} imports {module}"


def test_common_code_names_no_engine() -> None:
    """Where common code compares names, the contract is too narrow."""
    from websearch.providers.registry import engine_names

    for path in ROOT.glob("websearch/**/*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                values = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                assert not set(values) & set(engine_names()), f"{path.name}:{node.lineno} compares with {values}"


def _loads(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT)
    return set(out.stdout.split())


def test_importing_the_package_costs_nothing() -> None:
    assert not _loads("import websearch") & {"scrapy", "twisted", "lxml", "playwright", "dateparser"}


def test_searching_loads_no_browser_and_no_date_parser_early() -> None:
    code = "from websearch.serve.session import crawler_settings; from websearch.config import load; crawler_settings(load())"
    code += "; import websearch.providers.registry as r; [r.provider_class(n) for n in r.names()]"
    assert not _loads(code) & {"playwright", "scrapy_playwright", "dateparser", "aiohttp", "requests"}
