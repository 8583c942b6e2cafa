"""What all tests share: no network but loopback, no state of the user's, one lab."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"

# Before anything reads the configuration: a developer's own settings must not reach the tests, nor the tests theirs.
for name in [name for name in os.environ if name.startswith("WEBSEARCH_")]:
    del os.environ[name]


def shared(*parts: str) -> Path:
    """A path below ../shared; skips the test with a clear line where that folder is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"../shared/{'/'.join(parts)} is not here: the real captured data lies outside the project")
    return path


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """State, cache and configuration of the tests lie in folders of their own."""
    home = tmp_path_factory.mktemp("home")
    patch = pytest.MonkeyPatch()
    for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        patch.setenv(variable, str(home / variable.lower()))
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def _loopback_only() -> Iterator[None]:
    """A connection that would leave this machine fails the test that made it."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(str(address[0])):
            raise AssertionError(f"a test wants to connect to {address[0]}")
        return real(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", connect)
    yield
    patch.undo()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(scope="session")
def lab() -> Iterator[Any]:
    """The loopback world, running."""
    from tests.lab import Lab

    with Lab() as world:
        yield world


@pytest.fixture
def world(lab: Any) -> Iterator[Any]:
    """The lab without faults and memory of other tests."""
    lab.reset()
    yield lab
    lab.reset()
