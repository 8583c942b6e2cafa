"""(b) Warm fan-out over seven loopback engines of 300 ms: what is added to the slowest, against the peer on the same server."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable

from bench import peer
from tests.lab import Fault, Lab
from tests.lab.server import QUERY
from websearch.serve.session import Session

DELAY, RUNS = 0.3, 15


def _milliseconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Print both medians, the overhead of each and their ratio."""
    with Lab() as lab, tempfile.TemporaryDirectory() as state:
        for engine in lab.engines.values():
            engine.fault = Fault(delay=DELAY)
        session = Session(lab.config(state))
        try:
            warm = session.search(QUERY, provider="public")
            answered = sum(not engine.outcome.failed for engine in warm.engines)
            ours = statistics.median(_milliseconds(lambda: session.search(QUERY, provider="public")) for _ in range(RUNS))
        finally:
            session.close()
        print(f"   websearch  {ours:6.0f} ms median, {answered} engines answered: {ours - DELAY * 1000:+.0f} ms over the slowest")
        if not peer.available():
            return
        theirs, count = _peer(lab)
        print(f"   ddgs       {theirs:6.0f} ms median, {count} engines asked: {theirs - DELAY * 1000:+.0f} ms over the slowest")
        print(f"   ratio      {(ours - DELAY * 1000) / max(theirs - DELAY * 1000, 1):.2f} x the overhead of ddgs")


def _peer(lab: Lab) -> tuple[float, int]:
    from ddgs import DDGS

    urls = {name: engine.url for name, engine in lab.engines.items()}
    peer.point_at(urls)
    names = [name for name in peer.ENGINES if name != "bing"]  # the peer ships Bing switched off
    client = DDGS(timeout=10)
    for engine in lab.engines.values():
        engine.requests.clear()
    backend = ",".join(names)
    client.text(QUERY, backend=backend, max_results=50)
    asked = sum(bool(engine.requests) for engine in lab.engines.values())
    times = [_milliseconds(lambda: client.text(QUERY, backend=backend, max_results=50)) for _ in range(RUNS)]
    return statistics.median(times), asked
