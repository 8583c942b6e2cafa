"""`make demo`: the main job, offline. Seven engines on loopback answer one query; one stands behind a JavaScript challenge that
the browser passes, one blocks."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import textwrap
from dataclasses import replace

from tests.lab.server import QUERY, Fault, Lab, Wall
from websearch.config import PublicConfig
from websearch.model import SearchResponse
from websearch.results.text import terminal
from websearch.serve.session import Session

CHALLENGED, BLOCKING = "ecosia", "mojeek"


def show(response: SearchResponse) -> None:
    """Print the merged list and what each engine did."""
    print(f"Merged results for: {response.query.text}\n")
    print(f"{'#':>2}  {'votes':>5}  title and address")
    for row in response.results:
        ranks = " ".join(f"{name}:{rank}" for name, rank in row.ranks.items())
        print(f"{row.rank:>2}  {row.votes:>5}  {terminal(row.title)}")
        print(f"{'':11}{terminal(row.url)}")
        print(f"{'':11}{ranks}")
    print("\nEngines")
    for engine in response.engines:
        rung = engine.rung or "-"
        print(
            f"  {engine.name:<11} {engine.outcome.value:<10} {engine.results:>2} results  {rung:<8} {engine.elapsed_ms:>5} ms"
        )
        if engine.message:
            print(textwrap.indent(textwrap.fill(terminal(engine.message), 100), " " * 14))


def main() -> int:
    """Run the demo; 0 when it shows what it promises."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("query", nargs="?", default=QUERY, help="the stored pages answer the default query")
    options = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    with Lab() as lab, tempfile.TemporaryDirectory() as state:
        lab.engines[CHALLENGED].fault = Fault(wall=Wall.COOKIE)
        lab.engines[BLOCKING].fault = Fault(wall=Wall.BLOCK)
        # A slow machine may need longer than the usual 5 s to start its first browser.
        session = Session(lab.config(state, public=replace(PublicConfig(), soft_deadline=20.0)))
        try:
            response = session.search(options.query, provider="public")
        finally:
            session.close()
    show(response)
    return response.outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
