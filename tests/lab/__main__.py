"""Run the lab by itself: `python -m tests.lab`. Prints the environment that points websearch at it, then serves until stdin closes."""

from __future__ import annotations

import argparse
import sys
import tempfile

from tests.lab.server import ENGINES, Fault, Lab


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    parser.add_argument("--delay", type=float, default=0.0, metavar="S", help="seconds before every answer")
    parser.add_argument("--hang", default="", metavar="A,B", help="engines that never answer")
    parser.add_argument(
        "--wall", action="append", default=[], metavar="ENGINE=WALL", help="cookie, altcha, consent, captcha or block"
    )
    options = parser.parse_args()
    walls = dict(wall.split("=", 1) for wall in options.wall)
    hanging = set(ENGINES) if options.hang == "all" else set(options.hang.split(","))
    with Lab() as lab, tempfile.TemporaryDirectory() as state:
        for name, engine in lab.engines.items():
            engine.fault = Fault(delay=options.delay, wall=walls.get(name), hang=name in hanging)
        for name, value in lab.environ(state).items():
            print(f"export {name}={value}")
        print(flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
