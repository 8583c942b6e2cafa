"""`make bench`: every figure as a ratio, both sides measured in this one run on this machine."""

from __future__ import annotations

import argparse
import importlib
import sys
import time

SECTIONS = ("parse", "fanout", "cold", "browser", "rank")


def main() -> int:
    """Run the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (default: all)")
    wanted = parser.parse_args().sections or list(SECTIONS)
    if unknown := [name for name in wanted if name not in SECTIONS]:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    for name in wanted:
        print(f"== {name}", flush=True)
        started = time.perf_counter()
        importlib.import_module(f"bench.{name}").main()
        print(f"   ({time.perf_counter() - started:.0f} s)\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
