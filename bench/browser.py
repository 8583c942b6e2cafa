"""(d) The browser rung: the first challenge (cold browser), a later one (warm), and the plain request after the hand-back."""

from __future__ import annotations

import statistics
import tempfile
import time

from tests.lab import Fault, Lab, Wall
from tests.lab.server import QUERY
from websearch.serve.session import Session

ENGINE, RUNS = "ecosia", 5


def main() -> None:
    """Print the three medians and their ratios to the plain request."""
    cold, warm, plain = [], [], []
    with Lab() as lab, tempfile.TemporaryDirectory() as state:
        for run in range(RUNS):
            engine = lab.engines[ENGINE]
            engine.fault = Fault(wall=Wall.COOKIE)
            session = Session(lab.config(f"{state}/{run}"))

            def timed(session: Session = session) -> tuple[float, str | None]:
                started = time.perf_counter()
                response = session.search(QUERY, provider=ENGINE)
                return (time.perf_counter() - started) * 1000, response.rung if not response.outcome.failed else None

            try:
                session.search(QUERY, provider="bing")  # a warm crawler, no browser yet
                for times, rung in ((cold, "browser"), (plain, "http"), (warm, "browser"), (plain, "http")):
                    if rung == "browser":
                        engine.passes.clear()  # what was earned has expired
                    spent, had = timed()
                    if had == rung:
                        times.append(spent)
            finally:
                session.close()
    if not (cold and warm and plain):
        print("   skipped: no browser could be started (see `websearch doctor`)")
        return
    base = statistics.median(plain)
    print(f"   after hand-back (plain HTTP)  {base:6.0f} ms")
    for name, times in (("cold browser", cold), ("warm browser", warm)):
        print(f"   {name:<29} {statistics.median(times):6.0f} ms   {statistics.median(times) / base:6.1f} x")
