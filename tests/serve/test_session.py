"""The Python API in the three places it is used from: a plain script, a running event loop, several threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.lab.server import Fault, Lab


def script(world: Lab, tmp_path: Path, code: str, timeout: float = 60) -> str:
    env = os.environ | world.environ(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_plain_script(world: Lab, tmp_path: Path) -> None:
    code = """
from websearch import search, Outcome
r = search("pour over coffee ratio", provider="mojeek", limit=3)
assert r.outcome is Outcome.OK
again = search("pour over coffee ratio", provider="public")
print(len(r.results), len(again.results), search("", provider="bing").outcome, search("x", provider="altavista").outcome)
"""
    assert script(world, tmp_path, code) == "3 15 invalid_input invalid_input"


def test_inside_a_running_loop_and_many_at_once(world: Lab, tmp_path: Path) -> None:
    code = """
import asyncio
from websearch import asearch
async def main():
    rs = await asyncio.gather(*(asearch("pour over coffee ratio", provider=p) for p in ("bing", "yahoo", "mojeek") * 3))
    print({r.outcome.value for r in rs}, len(rs))
asyncio.run(main())
asyncio.run(main())
"""
    assert script(world, tmp_path, code).splitlines() == ["{'ok'} 9"] * 2


def test_from_several_threads(world: Lab, tmp_path: Path) -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from websearch import search
with ThreadPoolExecutor(4) as pool:
    print({r.outcome.value for r in pool.map(lambda p: search("pour over coffee ratio", provider=p), ["bing", "mojeek"] * 4)})
"""
    assert script(world, tmp_path, code) == "{'ok'}"


def test_cancelling_a_search_ends_it_and_the_session_goes_on(world: Lab, tmp_path: Path) -> None:
    world.engines["yahoo"].fault = Fault(hang=True)
    code = """
import asyncio, time
from websearch import asearch
async def main():
    started = time.monotonic()
    task = asyncio.ensure_future(asearch("pour over coffee ratio", provider="yahoo"))
    await asyncio.sleep(0.8)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", time.monotonic() - started < 5)
    print((await asearch("pour over coffee ratio", provider="mojeek")).outcome)
asyncio.run(main())
"""
    assert script(world, tmp_path, code).splitlines() == ["cancelled True", "ok"]


def test_parse_is_pure(world: Lab, tmp_path: Path) -> None:
    code = """
import socket
socket.socket.connect = None
from websearch import parse
page = '<ul class="results-standard"><li><h2><a class="title" href="https://a.example/">T</a></h2><p class="s">s</p></li></ul>'
r = parse("mojeek", page.encode())
print(r.outcome, [row.url for row in r.results], parse("auto", page).provider)
"""
    assert script(world, tmp_path, code) == "ok ['https://a.example/'] mojeek"


def test_spiders_of_the_catalogue_all_start() -> None:
    from websearch.providers.registry import names, provider_class

    assert set(names()) >= {"bing", "duckduckgo", "ecosia", "google", "mojeek", "startpage", "yahoo", "public", "auto"}
    for name in names():
        spider = provider_class(name)
        assert spider.name == name
        assert spider.__doc__
        assert spider.label


@pytest.mark.parametrize("name", ["bing", "duckduckgo", "ecosia", "google", "mojeek", "startpage", "yahoo"])
def test_every_engine_states_what_it_must(name: str) -> None:
    from websearch.providers.registry import engine

    found = engine(name)
    assert found.layouts
    assert found.own_hosts
    assert found.nothing or found.nothing_text
    assert found.walls
    assert found.signature
    assert found.base_url.startswith("https://")


def test_closing_while_searching_hangs_nobody(world: Lab, tmp_path: Path) -> None:
    for engine in world.engines.values():
        engine.fault = Fault(delay=0.02)
    code = """
import threading, time
from websearch.config import load
from websearch.serve.session import Session
session, seen, stop = Session(load()), [], time.monotonic() + 2
def work():
    while time.monotonic() < stop:
        seen.append(session.search("pour over coffee ratio", provider="mojeek").outcome.value)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
while time.monotonic() < stop:
    time.sleep(0.2)
    session.close()
for thread in threads: thread.join(10)
print(any(thread.is_alive() for thread in threads), set(seen) <= {"ok", "cancelled"}, "ok" in seen)
"""
    assert script(world, tmp_path, code) == "False True True"
