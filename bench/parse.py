"""(a) Our parsers against the peer's on the same stored pages: pages a second, right outcomes, right lists."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from bench import peer
from websearch.fetching.cases import load_cases
from websearch.providers.registry import parse

ROOT = Path(__file__).parents[1]
SERPS = ROOT.parent / "shared" / "serps"
GOOD = {"results": {"ok"}, "no_results": {"empty"}, "challenge": {"challenge", "blocked", "rate_limited"}}
OTHER = {"challenge", "layout_changed", "blocked", "error", "suspect"}
Answer = tuple[str, list[str]]


def _pages() -> list[dict[str, Any]]:
    if SERPS.is_dir():
        labels = json.loads((SERPS / "labels.json").read_text(encoding="utf-8"))
        return [
            label | {"body": (SERPS / label["file"]).read_bytes()}
            for label in labels
            if label["engine"] in peer.ENGINES
        ]
    print("   ../shared/serps is not here: measured on the project's own fixtures")
    kinds = {"empty": "no_results", "shell": "other"}
    pages = []
    for case in load_cases(ROOT / "fixtures"):
        if case.engine in peer.ENGINES:
            rows = (case.expected() or {}).get("results", [])
            page = {
                "engine": case.engine,
                "kind": kinds.get(case.kind, case.kind),
                "all_urls": [row["url"] for row in rows],
            }
            pages.append(page | {"body": (case.folder / "page.html").read_bytes()})
    return pages


def _ours(page: dict[str, Any]) -> Answer:
    response = parse(page["engine"], page["body"])
    return response.outcome.value, [row.url for row in response.results]


def _theirs(page: dict[str, Any], engines: dict[str, Any]) -> Answer:
    one = engines[page["engine"]]
    try:
        rows = one.post_extract_results(one.extract_results(page["body"].decode("utf-8", "replace")))
    except Exception:  # noqa: BLE001 - whatever it raises is its answer
        return "error", []
    return ("ok" if rows else "empty"), [row.href for row in rows]


def _right(page: dict[str, Any], answer: Answer) -> tuple[bool, bool]:
    optional = set(page.get("optional_urls") or ()) - set(page["all_urls"])
    outcome = answer[0] in (set(page.get("outcomes") or ()) or GOOD.get(page["kind"], OTHER))
    return outcome, page["kind"] != "results" or [u for u in answer[1] if u not in optional] == page["all_urls"]


def main() -> None:
    """Print one line a side and the ratio."""
    if not peer.available():
        return
    pages = _pages()
    engines = {name: peer.engine(name)() for name in peer.ENGINES}
    sides = {"websearch": _ours, "ddgs": lambda page: _theirs(page, engines)}
    speed = {}
    for name, read in sides.items():
        answers = [read(page) for page in pages]  # also warms caches
        best = min(_seconds(read, pages) for _ in range(3))
        speed[name] = len(pages) / best
        verdicts = [_right(page, answer) for page, answer in zip(pages, answers, strict=True)]
        outcomes, lists = sum(v[0] for v in verdicts), sum(v[0] and v[1] for v in verdicts)
        print(
            f"   {name:<10} {speed[name]:7.1f} pages/s   outcome right {outcomes}/{len(pages)}   all right {lists}/{len(pages)}"
        )
    print(f"   ratio      {speed['websearch'] / speed['ddgs']:.2f} x the pages a second of ddgs")


def _seconds(read: Any, pages: list[dict[str, Any]]) -> float:
    started = time.perf_counter()
    for page in pages:
        read(page)
    return time.perf_counter() - started
