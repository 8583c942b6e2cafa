"""The lab in a process of its own, so that serving does not cost the measured side its processor time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running(*arguments: str) -> Iterator[dict[str, str]]:
    """Start it with its command-line arguments; gives the environment that points websearch at it."""
    command = [sys.executable, "-m", "tests.lab", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        environ = {}
        for line in iter(process.stdout.readline, "\n"):
            name, _, value = line.strip().removeprefix("export ").partition("=")
            environ[name] = value
        try:
            yield environ
        finally:
            process.stdin.close()


def urls(environ: dict[str, str]) -> dict[str, str]:
    """The base URL of each engine."""
    prefix, suffix = "WEBSEARCH_PROVIDERS__", "__BASE_URL"
    return {
        name.removeprefix(prefix).removesuffix(suffix).lower(): value
        for name, value in environ.items()
        if name.startswith(prefix) and name.endswith(suffix)
    }
