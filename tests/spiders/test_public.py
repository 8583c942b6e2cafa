"""The aggregate, end to end in the lab: real sockets, real deadlines, every engine named."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.defer import deferred_f_from_coro_f

from tests.lab.server import ENGINES, QUERY, Fault, Lab, Wall
from websearch.config import BrowserConfig, CooldownConfig, PublicConfig
from websearch.model import Outcome, SearchResponse
from websearch.serve.session import Session

NO_BROWSER = BrowserConfig(enabled=False)


async def ask(world: Lab, state: Path, **fields: Any) -> SearchResponse:
    """One aggregate search in a session of its own; fields of Config and of the search may be mixed."""
    names = ("public", "browser", "cooldown", "proxy", "timeout")
    config = world.config(
        state, **{"browser": NO_BROWSER} | {name: fields.pop(name) for name in names if name in fields}
    )
    session = Session(config)
    try:
        return await session.asearch(fields.pop("text", QUERY), provider="public", **fields)
    finally:
        await session.aclose()


def outcomes(response: SearchResponse) -> dict[str, str]:
    return {engine.name: engine.outcome.value for engine in response.engines}


@deferred_f_from_coro_f
async def test_seven_engines_one_list(world: Lab, tmp_path: Path) -> None:
    response = await ask(world, tmp_path)
    assert outcomes(response) == dict.fromkeys(ENGINES, "ok")
    assert len(response.results) == 15
    assert [row.rank for row in response.results] == list(range(1, 16))
    top = response.results[0]
    assert top.votes == len(top.engines) == len(top.ranks)
    assert [row.votes for row in response.results] == sorted((row.votes for row in response.results), reverse=True)
    assert all(row.explain and row.extra["families"] for row in response.results)
    assert response.raw is None


@deferred_f_from_coro_f
async def test_the_order_of_arrival_changes_nothing(world: Lab, tmp_path: Path) -> None:
    lists = []
    for step in (0.05, -0.05):
        for place, name in enumerate(ENGINES):
            world.engines[name].fault = Fault(delay=0.35 + step * place)
        lists.append([(row.url, row.ranks) for row in (await ask(world, tmp_path)).results])
    assert lists[0] == lists[1]


@deferred_f_from_coro_f
async def test_failures_are_named_and_do_not_vote(world: Lab, tmp_path: Path) -> None:
    faults = {
        "bing": Fault(reset=True),
        "yahoo": Fault(status=500),
        "ecosia": Fault(wall=Wall.CAPTCHA),
        "mojeek": Fault(wall=Wall.BLOCK),
        "google": Fault(body="<title>x</title><p>a new design"),
    }
    for name, fault in faults.items():
        world.engines[name].fault = fault
    response = await ask(world, tmp_path)
    assert outcomes(response) == {
        "startpage": "ok", "google": "layout_changed", "duckduckgo": "ok", "bing": "network_error", "yahoo": "unavailable",
        "ecosia": "challenge", "mojeek": "blocked",
    }  # fmt: skip
    assert response.outcome is Outcome.OK
    assert {name for row in response.results for name in row.engines} == {"startpage", "duckduckgo"}
    assert all(engine.message for engine in response.engines if engine.outcome.failed)


@deferred_f_from_coro_f
async def test_all_failed_is_a_failure_with_every_reason(world: Lab, tmp_path: Path) -> None:
    for name in ENGINES:
        world.engines[name].fault = Fault(reset=True)
    response = await ask(world, tmp_path)
    assert (response.outcome, response.outcome.exit_code, response.results) == (Outcome.NETWORK_ERROR, 6, [])
    assert response.error is not None
    assert all(f"{name}: " in response.error.message for name in ENGINES)


@deferred_f_from_coro_f
async def test_a_straggler_is_cancelled_at_the_soft_deadline(
    world: Lab, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world.engines["bing"].fault = Fault(hang=True)
    started = time.monotonic()
    response = await ask(world, tmp_path, public=PublicConfig(soft_deadline=0.6, hard_deadline=5))
    assert time.monotonic() - started < 3
    assert outcomes(response) == dict.fromkeys(ENGINES, "ok") | {"bing": "timeout"}
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


@deferred_f_from_coro_f
async def test_beyond_the_soft_deadline_the_first_success_counts(world: Lab, tmp_path: Path) -> None:
    for name in ENGINES:
        world.engines[name].fault = Fault(hang=True)
    world.engines["mojeek"].fault = Fault(delay=0.7)
    response = await ask(world, tmp_path, public=PublicConfig(soft_deadline=0.2, hard_deadline=10))
    assert response.outcome is Outcome.OK
    assert {name for name, outcome in outcomes(response).items() if outcome == "ok"} == {"mojeek"}


@deferred_f_from_coro_f
async def test_all_hanging_ends_at_the_hard_deadline(
    world: Lab, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ENGINES:
        world.engines[name].fault = Fault(hang=True)
    started = time.monotonic()
    response = await ask(world, tmp_path, public=PublicConfig(soft_deadline=0.2, hard_deadline=0.8))
    assert time.monotonic() - started < 3
    assert (response.outcome, outcomes(response)) == (Outcome.TIMEOUT, dict.fromkeys(ENGINES, "timeout"))
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


@deferred_f_from_coro_f
async def test_a_dripping_engine_does_not_hold_the_deadline_up(world: Lab, tmp_path: Path) -> None:
    world.engines["yahoo"].fault = Fault(drip=0.2)
    started = time.monotonic()
    response = await ask(world, tmp_path, public=PublicConfig(soft_deadline=0.6, hard_deadline=2))
    assert time.monotonic() - started < 3
    assert outcomes(response)["yahoo"] == "timeout"


@deferred_f_from_coro_f
async def test_engines_order_exclusions_and_modes(world: Lab, tmp_path: Path) -> None:
    chosen = await ask(world, tmp_path, engines="mojeek,bing", limit=30)
    assert list(outcomes(chosen)) == ["mojeek", "bing"]
    assert "mojeek" in chosen.results[0].engines or "bing" in chosen.results[0].engines
    without = await ask(world, tmp_path, exclude=["google", "yahoo"])
    assert set(outcomes(without)) == set(ENGINES) - {"google", "yahoo"}
    independent = await ask(world, tmp_path, mode="independent")
    families = [len(row.extra["families"]) for row in independent.results]
    assert families == sorted(families, reverse=True)
    weighted = await ask(world, tmp_path, mode="rrf", public=PublicConfig(weights={"mojeek": 5.0}))
    assert [row.score for row in weighted.results] == sorted((row.score or 0 for row in weighted.results), reverse=True)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"engines": "altavista"}, "there is no engine"),
        ({"mode": "best"}, "consensus, rrf, independent"),
        ({"exclude": ",".join(ENGINES)}, "every engine is excluded"),
        ({"engin": "bing"}, "takes no engin"),
        ({"recency": "hour"}, "day, week, month, year"),
    ],
)
def test_bad_arguments(world: Lab, tmp_path: Path, fields: dict[str, str], says: str) -> None:
    @deferred_f_from_coro_f
    async def run() -> None:
        response = await ask(world, tmp_path, **fields)
        assert response.outcome is Outcome.INVALID_INPUT
        assert response.error is not None
        assert says in response.error.message

    return run()


@deferred_f_from_coro_f
async def test_resting_engines_are_asked_only_when_nobody_else_answers(world: Lab, tmp_path: Path) -> None:
    cooldown = CooldownConfig(start=60)
    world.engines["mojeek"].fault = Fault(wall=Wall.BLOCK)
    first = await ask(world, tmp_path, cooldown=cooldown)
    assert outcomes(first)["mojeek"] == "blocked"
    assert json.loads((tmp_path / "cooldown.json").read_text())
    world.reset()
    second = await ask(world, tmp_path, cooldown=cooldown)
    assert outcomes(second)["mojeek"] == "blocked"
    assert "rests" in next(engine.message or "" for engine in second.engines if engine.name == "mojeek")
    assert world.engines["mojeek"].requests == []
    # Alone it is asked all the same, and its answer ends the rest.
    alone = await ask(world, tmp_path, cooldown=cooldown, engines="mojeek")
    assert outcomes(alone) == {"mojeek": "ok"}
    assert outcomes(await ask(world, tmp_path, cooldown=cooldown))["mojeek"] == "ok"


@deferred_f_from_coro_f
async def test_filters_of_the_aggregate(world: Lab, tmp_path: Path) -> None:
    response = await ask(world, tmp_path, recency="week", engines="mojeek,ecosia")
    assert {engine.name: engine.filters["recency"] for engine in response.engines} == {
        "mojeek": "applied",
        "ecosia": "ignored",
    }
    assert response.filters == {"recency": "approximated"}


@deferred_f_from_coro_f
async def test_raw_keeps_what_each_engine_said(world: Lab, tmp_path: Path) -> None:
    response = await ask(world, tmp_path, raw="1", engines="mojeek,bing")
    assert [part["provider"] for part in response.raw] == ["mojeek", "bing"]
    assert len(response.raw[0]["results"]) == 10


@deferred_f_from_coro_f
async def test_one_session_serves_many_searches_at_once(world: Lab, tmp_path: Path) -> None:
    import asyncio

    session = Session(world.config(tmp_path, browser=NO_BROWSER))
    try:
        providers = ["bing", "mojeek", "public", "yahoo"] * 4
        responses = await asyncio.gather(*(session.asearch(QUERY, provider=name) for name in providers))
    finally:
        await session.aclose()
    assert [response.provider for response in responses] == providers
    assert {response.outcome for response in responses} == {Outcome.OK}
    assert replace(responses[0], started_at=None, elapsed_ms=0, attempts=[]) == replace(
        responses[4], started_at=None, elapsed_ms=0, attempts=[]
    )


@deferred_f_from_coro_f
async def test_an_engine_given_up_while_the_browser_was_at_its_wall_is_challenged_and_rests(
    world: Lab, tmp_path: Path
) -> None:
    world.engines["ecosia"].fault = Fault(wall=Wall.CAPTCHA)
    config = {
        "cooldown": CooldownConfig(start=60),
        "browser": BrowserConfig(),
        "public": PublicConfig(soft_deadline=1.5),
    }
    first = await ask(world, tmp_path, **config)
    ecosia = next(engine for engine in first.engines if engine.name == "ecosia")
    assert ecosia.outcome is Outcome.CHALLENGE
    assert "given up" in (ecosia.message or "")
    assert [a.outcome for a in first.attempts if a.provider == "ecosia"] == [Outcome.CHALLENGE]
    world.engines["ecosia"].requests.clear()
    second = await ask(world, tmp_path, **config)
    assert outcomes(second)["ecosia"] == "challenge"
    assert world.engines["ecosia"].requests == []


@deferred_f_from_coro_f
async def test_its_own_time_limit_loses_nothing(world: Lab, tmp_path: Path) -> None:
    world.engines["mojeek"].fault = Fault(hang=True)
    response = await ask(world, tmp_path, timeout=1.0)
    assert outcomes(response) == dict.fromkeys(ENGINES, "ok") | {"mojeek": "timeout"}
    assert len(response.results) == 15
