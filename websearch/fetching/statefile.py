"""A small JSON object on disk that several processes read and change."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

#: Seconds to wait for another process that is changing the file. Longer than any change takes: who holds the lock longer
#: has been stopped, and must not stop us.
PATIENCE = 1.0


class StateFile:
    """Reading never fails: what is missing or damaged is empty. Writing replaces the file as a whole, with mode 600; a
    full or read-only disk costs the memory, never the search."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        """The object in the file; empty when there is none."""
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return stored if isinstance(stored, dict) else {}

    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """The object, to be changed in place; written back at the end, with other processes locked out."""
        with self._locked():
            stored = self.read()
            yield stored
            with contextlib.suppress(OSError, ValueError):
                self._write(stored)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        lock = -1
        try:
            with contextlib.suppress(OSError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
                _acquire(lock)
            yield
        finally:
            if lock >= 0:
                os.close(lock)

    def _write(self, stored: dict[str, Any]) -> None:
        text = json.dumps(stored, indent=1)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.stem}-")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(self.path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def _acquire(lock: int) -> None:
    """Lock a file, or give up after PATIENCE: then two processes may write one after the other, and the later one wins."""
    if sys.platform == "win32":
        return  # no such locks; the file is still replaced whole
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        else:
            return
