"""(b) Warm fan-out over seven loopback engines of 300 ms: what is added to the slowest, against the peer on the same server."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from bench import lab, peer
from tests.lab.server import QUERY
from websearch.config import load
from websearch.serve.session import Session

DELAY, RUNS = 0.3, 15
#: The peer ships Bing switched off, and has no Ecosia.
PEER_ENGINES = tuple(name for name in peer.ENGINES if name != "bing")


def _milliseconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Print both medians, the overhead of each and their ratio."""
    slowest = DELAY * 1000
    with lab.running("--delay", str(DELAY)) as environ:
        session = Session(load(environ=environ))
        try:
            warm = session.search(QUERY, provider="public")
            answered = sum(not engine.outcome.failed for engine in warm.engines)
            ours = statistics.median(
                _milliseconds(lambda: session.search(QUERY, provider="public")) for _ in range(RUNS)
            )
        finally:
            session.close()
        print(
            f"   websearch  {ours:6.0f} ms median, {answered} engines answered: {ours - slowest:+.0f} ms over the slowest"
        )
        if not peer.available():
            return
        theirs = _peer(lab.urls(environ))
        print(
            f"   ddgs       {theirs:6.0f} ms median, {len(PEER_ENGINES)} engines: {theirs - slowest:+.0f} ms over the slowest"
        )
        print(f"   ratio      {(ours - slowest) / max(theirs - slowest, 1):.2f} x the overhead of ddgs")


def _peer(urls: dict[str, str]) -> float:
    from ddgs import DDGS  # noqa: PLC0415 - an extra of the benchmark

    peer.point_at(urls)
    client = DDGS(timeout=10)

    def search() -> object:
        return client.text(QUERY, backend=",".join(PEER_ENGINES), max_results=50)

    search()
    return statistics.median(_milliseconds(search) for _ in range(RUNS))
