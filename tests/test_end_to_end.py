"""The browser rung in the lab, with a real Chromium: passed, handed back, killed, never started without need, never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from scrapy.utils.defer import deferred_f_from_coro_f

from tests.conftest import ROOT
from tests.lab.server import ENGINES, QUERY, Fault, Lab, Wall
from websearch.config import BrowserConfig, Config, CooldownConfig, load
from websearch.fetching.browser import find_executable
from websearch.model import Outcome, SearchResponse
from websearch.serve.session import Session

pytestmark = pytest.mark.skipif(
    not find_executable(load()), reason="no Chromium is installed: `websearch doctor` says how to get one"
)


def descendants(pid: int | None = None) -> dict[int, str]:
    """Living processes below this one (or `pid`) by id, with their names; zombies count."""
    parents: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name, _, rest = text.partition("(")[2].rpartition(")")
        names[int(stat.parent.name)] = name
        parents.setdefault(int(rest.split()[1]), []).append(int(stat.parent.name))
    found, queue = {}, [pid or os.getpid()]
    while queue:
        for child in parents.get(queue.pop(), []):
            found[child] = names[child]
            queue.append(child)
    return found


def browsers() -> list[int]:
    return [pid for pid, name in descendants().items() if "chrom" in name or "headless" in name]


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    yield
    for _ in range(50):
        left = {
            pid: name for pid, name in descendants().items() if "chrom" in name or name in ("node", "headless_shell")
        }
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(f"processes left behind: {left}")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Searcher:
    """A session and short names for what the tests ask it."""

    def __init__(self, config: Config) -> None:
        self.session = Session(config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.aclose()

    async def ask(self, provider: str, **fields: Any) -> SearchResponse:
        return await self.session.asearch(QUERY, provider=provider, **fields)


@pytest.mark.parametrize("wall", [Wall.COOKIE, Wall.ALTCHA])
def test_a_challenge_is_passed_and_the_next_query_is_plain_again(world: Lab, tmp_path: Path, wall: str) -> None:
    @deferred_f_from_coro_f
    async def run() -> None:
        engine = world.engines["mojeek"]
        engine.fault = Fault(wall=wall)
        async with Searcher(world.config(tmp_path)) as searcher:
            first = await searcher.ask("mojeek")
            assert (first.outcome, first.rung, len(first.results)) == (Outcome.OK, "browser", 10)
            assert [(a.rung, a.outcome) for a in first.attempts] == [
                ("http", Outcome.CHALLENGE),
                ("browser", Outcome.OK),
            ]
            engine.requests.clear()
            second = await searcher.ask("mojeek")
            assert (second.outcome, second.rung) == (Outcome.OK, "http")
            assert len(engine.requests) == 1
            assert engine.requests[0].headers["User-Agent"] == searcher.session.config.user_agent
        # What was earned is there for the next process too.
        async with Searcher(world.config(tmp_path)) as searcher:
            assert (await searcher.ask("mojeek")).rung == "http"

    return run()


@deferred_f_from_coro_f
async def test_a_consent_dialog_is_rejected(world: Lab, tmp_path: Path) -> None:
    world.engines["google"].fault = Fault(wall=Wall.CONSENT)
    async with Searcher(world.config(tmp_path)) as searcher:
        response = await searcher.ask("google")
    assert (response.outcome, response.rung) == (Outcome.OK, "browser")
    # The home page comes first on this rung.
    paths = [seen.path for seen in world.engines["google"].requests]
    assert "/" in paths[1:]


@deferred_f_from_coro_f
async def test_a_captcha_stays_a_captcha_in_bounded_time(world: Lab, tmp_path: Path) -> None:
    world.engines["ecosia"].fault = Fault(wall=Wall.CAPTCHA)
    started = time.monotonic()
    async with Searcher(world.config(tmp_path, browser=BrowserConfig(timeout=3))) as searcher:
        response = await searcher.ask("ecosia")
    assert (response.outcome, response.results) == (Outcome.CHALLENGE, [])
    assert response.error is not None
    assert response.error.evidence == "reCAPTCHA"
    assert time.monotonic() - started < 15


@deferred_f_from_coro_f
async def test_all_seven_with_one_challenged(world: Lab, tmp_path: Path) -> None:
    world.engines["ecosia"].fault = Fault(wall=Wall.COOKIE)
    async with Searcher(world.config(tmp_path)) as searcher:
        response = await searcher.ask("public")
    assert {engine.name: engine.outcome for engine in response.engines} == dict.fromkeys(ENGINES, Outcome.OK)
    assert {engine.name for engine in response.engines if engine.rung == "browser"} == {"ecosia"}


@deferred_f_from_coro_f
async def test_a_browser_killed_in_mid_request_loses_nothing(world: Lab, tmp_path: Path) -> None:
    for name in ("ecosia", "mojeek"):
        world.engines[name].fault = Fault(wall=Wall.COOKIE)
    async with Searcher(world.config(tmp_path)) as searcher:
        assert (await searcher.ask("ecosia")).rung == "browser"  # it is open now
        world.engines["mojeek"].fault = Fault(wall=Wall.COOKIE, delay=0.5)
        asked = asyncio.ensure_future(searcher.ask("mojeek"))
        await asyncio.sleep(0.9)  # the plain request has met the wall, the browser is waiting for its page
        for pid in browsers():
            with_kill = signal.SIGKILL
            try:
                os.kill(pid, with_kill)
            except ProcessLookupError:
                continue
        response = await asked
        assert (response.outcome, response.rung) == (Outcome.OK, "browser")


@deferred_f_from_coro_f
async def test_a_crawl_that_needs_no_browser_never_starts_one(world: Lab, tmp_path: Path) -> None:
    before = set(descendants())
    async with Searcher(world.config(tmp_path)) as searcher:
        response = await searcher.ask("public")
        assert set(descendants()) == before
    assert {engine.rung for engine in response.engines} == {"http"}


@pytest.mark.parametrize("setting", ["WEBSEARCH_BROWSER__ENABLED=0", "WEBSEARCH_BROWSER__EXECUTABLE=/no/such/chromium"])
def test_without_a_browser_the_outcome_says_how_to_get_one(world: Lab, tmp_path: Path, setting: str) -> None:
    world.engines["ecosia"].fault = Fault(wall=Wall.COOKIE)
    name, _, value = setting.partition("=")
    command = [sys.executable, "-m", "websearch.cli", "search", QUERY, "--provider", "ecosia"]
    done = subprocess.run(
        command,
        env=os.environ | world.environ(tmp_path) | {name: value},
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert done.returncode == 3
    assert "browser" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_its_browser(world: Lab, tmp_path: Path, sign: signal.Signals) -> None:
    world.engines["ecosia"].fault = Fault(wall=Wall.CAPTCHA)
    command = [sys.executable, "-m", "websearch.cli", "search", QUERY, "--provider", "ecosia"]
    with subprocess.Popen(
        command,
        env=os.environ | world.environ(tmp_path),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(100):
            if any("chrom" in name for name in descendants(process.pid).values()):
                break
            time.sleep(0.1)
        children = set(descendants(process.pid))
        assert children
        process.send_signal(sign)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    for _ in range(50):
        # What is dead but not yet collected by the system's first process is gone all the same.
        if not [pid for pid in children if _runs(pid)]:
            return
        time.sleep(0.1)
    raise AssertionError([pid for pid in children if _runs(pid)])


@deferred_f_from_coro_f
async def test_a_refusal_starts_a_cooldown_and_an_answer_ends_it(world: Lab, tmp_path: Path) -> None:
    config = world.config(tmp_path, cooldown=CooldownConfig(start=60), browser=BrowserConfig(enabled=False))
    world.engines["mojeek"].fault = Fault(status=429, headers={"Retry-After": "90"}, body="slow down")
    async with Searcher(config) as searcher:
        assert (await searcher.ask("mojeek")).outcome is Outcome.RATE_LIMITED
        from websearch.fetching.cooldown import Cooldown

        (rest,) = Cooldown.of(config).all()
        assert (rest.provider, rest.route) == ("mojeek", "direct")
        assert 80 < rest.until - time.time() <= 91
        world.reset()
        assert (await searcher.ask("mojeek")).outcome is Outcome.OK
        assert Cooldown.of(config).all() == []
        assert len(world.engines["mojeek"].requests) == 1  # a refusal is not retried
