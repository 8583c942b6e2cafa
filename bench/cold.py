"""(c) A cold command on one loopback engine: `websearch search` against the `ddgs` command."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from bench import lab, peer
from tests.lab.server import QUERY

ENGINE, RUNS = "mojeek", 7


def _seconds(command: list[str], environ: dict[str, str]) -> float:
    times = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        done = subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - started)
        if "http" not in done.stdout:
            print(f"   no result from {command[:4]}: {done.stderr.strip()[-200:]}")
            break
    return statistics.median(times[1:] or times)  # the first one fills the disk cache


def main() -> None:
    """Print both medians and their ratio."""
    with lab.running() as environ:
        search = [sys.executable, "-m", "websearch.cli", "search", QUERY, "--provider", ENGINE]
        ours = _seconds(search, environ)
        print(f"   websearch  {ours:.2f} s median (engine answers at once)")
        if not peer.available():
            return
        lines = peer.patch_lines({ENGINE: lab.urls(environ)[ENGINE]})
        script = (
            f"{lines}\nfrom ddgs.cli import cli; cli(['text', '-q', {QUERY!r}, '-b', {ENGINE!r}, '-m', '10', '-nc'])"
        )
        theirs = _seconds([sys.executable, "-c", script], {})
        print(f"   ddgs       {theirs:.2f} s median")
        print(f"   ratio      {ours / theirs:.2f} x the time of ddgs")
