"""A refused provider rests, on disk."""

from __future__ import annotations

import fcntl
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from websearch.config import Config, CooldownConfig
from websearch.fetching import statefile
from websearch.fetching.cooldown import MEMORY, Cooldown
from websearch.model import Outcome, SearchQuery, SearchResponse

QUERY = SearchQuery(text="q")


class Clock:
    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(tmp_path: Path, clock: Clock) -> Cooldown:
    return Cooldown(tmp_path / "state" / "cooldown.json", now=clock)


def refused(outcome: Outcome = Outcome.BLOCKED, retry_after: float | None = None) -> SearchResponse:
    return SearchResponse.failure("bing", QUERY, outcome, "Bing: refused", retry_after=retry_after)


def response(outcome: Outcome) -> SearchResponse:
    return SearchResponse(provider="bing", query=QUERY, outcome=outcome)


def left(book: Cooldown, provider: str = "bing", route: str = "direct") -> int:
    rest = book.resting(provider, route)
    return book.remaining(rest) if rest else 0


@pytest.mark.parametrize("outcome", list(Outcome))
def test_refusals_begin_a_rest_and_nothing_else_does(book: Cooldown, outcome: Outcome) -> None:
    book.note("bing", "direct", response(outcome))
    expected = outcome in (Outcome.CHALLENGE, Outcome.RATE_LIMITED, Outcome.BLOCKED, Outcome.CONSENT)
    assert (left(book) == 60) is expected
    if expected:
        rest = book.resting("bing", "direct")
        assert rest
        assert (rest.outcome, rest.provider, rest.route, rest.length) == (outcome, "bing", "direct", 60)


def test_rest_doubles_after_each_that_was_over_up_to_the_maximum(book: Cooldown, clock: Clock) -> None:
    lengths = []
    for _ in range(6):
        book.note("bing", "direct", refused())
        lengths.append(left(book))
        clock.time += lengths[-1] + 1
        assert left(book) == 0
    assert lengths == [60, 120, 240, 480, 600, 600]


def test_doubling_does_not_depend_on_what_others_did_meanwhile(tmp_path: Path, clock: Clock) -> None:
    """Writing for another provider used to forget this one's last rest ten minutes after its end."""
    lengths = []
    for name in ("alone", "busy"):
        book = Cooldown(tmp_path / f"{name}.json", now=clock)
        book.note("bing", "direct", refused())
        clock.time += 3600
        if name == "busy":
            book.note("yahoo", "direct", refused())
        book.note("bing", "direct", refused())
        lengths.append(left(book))
    assert lengths == [120, 120]


def test_last_rest_is_forgotten_after_a_day(book: Cooldown, clock: Clock) -> None:
    book.note("bing", "direct", refused())
    clock.time += 60 + MEMORY + 1
    book.note("bing", "direct", refused())
    assert left(book) == 60


def test_refusals_during_a_rest_do_not_lengthen_it(book: Cooldown, clock: Clock) -> None:
    for _ in range(5):
        book.note("bing", "direct", refused())
        clock.time += 10
    assert left(book) == 10
    clock.time += 11
    book.note("bing", "direct", refused())
    assert left(book) == 120


def test_success_clears(book: Cooldown, clock: Clock) -> None:
    for outcome in (Outcome.OK, Outcome.EMPTY):
        book.note("bing", "direct", refused())
        book.note("bing", "direct", response(outcome))
        assert left(book) == 0
        book.note("bing", "direct", refused())
        assert left(book) == 60
        book.note("bing", "direct", response(Outcome.OK))


def test_other_failures_leave_a_rest_alone(book: Cooldown) -> None:
    book.note("bing", "direct", refused())
    for outcome in (Outcome.TIMEOUT, Outcome.LAYOUT_CHANGED, Outcome.SUSPECT, Outcome.CANCELLED, Outcome.UNAVAILABLE):
        book.note("bing", "direct", response(outcome))
    assert left(book) == 60


def test_rest_is_of_a_provider_on_a_route(book: Cooldown) -> None:
    """BC057."""
    book.note("bing", "proxy:8080", refused())
    assert left(book, route="proxy:8080") == 60
    assert left(book) == left(book, provider="yahoo", route="proxy:8080") == 0
    book.note("bing", "direct", response(Outcome.OK))
    assert left(book, route="proxy:8080") == 60


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(None, 60), (0, 60), (-5, 60), (10, 60), (90.5, 91), (1e12, 600), (float("inf"), 600), (float("nan"), 60)],
)
def test_what_the_provider_asks_for_counts_when_it_is_longer_and_within_bounds(
    book: Cooldown, asked: float | None, expected: int
) -> None:
    """BC055."""
    book.note("bing", "direct", refused(Outcome.RATE_LIMITED, asked))
    assert left(book) == expected


def test_refusal_during_a_rest_may_ask_for_more_but_takes_nothing_away(book: Cooldown, clock: Clock) -> None:
    book.note("bing", "direct", refused(retry_after=300))
    book.note("bing", "direct", refused(retry_after=5))
    book.note("bing", "direct", refused())
    assert left(book) == 300
    book.note("bing", "direct", refused(retry_after=400))
    assert left(book) == 400
    clock.time += 401
    book.note("bing", "direct", refused())
    assert left(book) == 120


def test_next_process_knows(tmp_path: Path, book: Cooldown, clock: Clock) -> None:
    book.note("bing", "direct", refused())
    path = tmp_path / "state" / "cooldown.json"
    assert path.stat().st_mode & 0o777 == 0o600
    other = Cooldown(path, now=clock)
    assert left(other) == 60
    assert [rest.message for rest in other.all()] == ["Bing: refused"]


def test_all_lists_those_that_are_not_over(book: Cooldown, clock: Clock) -> None:
    book.note("yahoo", "direct", refused())
    clock.time += 30
    book.note("bing", "direct", refused())
    assert [rest.provider for rest in book.all()] == ["bing", "yahoo"]
    clock.time += 31
    assert [rest.provider for rest in book.all()] == ["bing"]


def test_clear_forgets_one_or_all_with_what_would_double(book: Cooldown, clock: Clock) -> None:
    for name in ("bing", "yahoo"):
        for route in ("direct", "proxy:1"):
            book.note(name, route, refused())
    assert book.clear("bing") == 2
    assert [rest.provider for rest in book.all()] == ["yahoo", "yahoo"]
    assert (book.clear(), book.clear()) == (2, 0)
    clock.time += 61
    book.note("yahoo", "direct", refused())
    assert left(book) == 0
    assert left(book, provider="yahoo") == 60


def test_clear_without_a_file_makes_none(tmp_path: Path) -> None:
    assert Cooldown(tmp_path / "cooldown.json").clear() == 0
    assert not list(tmp_path.iterdir())


REST = {
    "provider": "bing",
    "route": "direct",
    "outcome": "blocked",
    "since": 0,
    "until": 0,
    "length": 60,
    "message": None,
}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1", '{"bing direct": 1}', '{"bing direct": null}', '{"bing direct": {}}', "[" * 100_000,
     '{"bing direct": {"until": 1e999}}', b"\xff\xfe"],
)  # fmt: skip
def test_damaged_file_is_an_empty_book(tmp_path: Path, text: str | bytes, clock: Clock) -> None:
    path = tmp_path / "cooldown.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    book = Cooldown(path, now=clock)
    assert (book.all(), left(book), book.clear()) == ([], 0, 0)
    book.note("bing", "direct", refused())
    assert left(Cooldown(path, now=clock)) == 60


@pytest.mark.parametrize(
    "damage",
    [
        {"until": 1e308},
        {"until": float("inf")},
        {"until": float("nan")},
        {"until": 10**400},
        {"until": "soon"},
        {"until": None},
        {"until": [1]},
        {"until": 1_800_000_000.0 + 1e7},  # written when the clock was a quarter of a year ahead
        {"length": -1, "until": 1_800_000_060.0},
        {"outcome": "asleep", "until": 1_800_000_060.0},
    ],
)
def test_damaged_rest_costs_neither_the_others_nor_the_provider(
    tmp_path: Path, clock: Clock, damage: dict[str, Any]
) -> None:
    path = tmp_path / "cooldown.json"
    good = REST | {"provider": "yahoo", "until": clock.time + 30, "since": clock.time}
    path.write_text(json.dumps({"bing direct": REST | damage, "yahoo direct": good}))
    book = Cooldown(path, now=clock)
    assert [rest.provider for rest in book.all()] == ["yahoo"]
    assert left(book) == 0
    book.note("bing", "direct", refused())
    assert (left(book), left(book, provider="yahoo")) == (60, 30)


def test_maximum_bounds_the_first_rest_too(tmp_path: Path, clock: Clock) -> None:
    book = Cooldown(tmp_path / "cooldown.json", start=60, maximum=10, now=clock)
    book.note("bing", "direct", refused())
    assert left(book) == 10


@pytest.mark.parametrize(
    "changes",
    [{"cooldown": CooldownConfig(start=0)}, {"state_dir": ""}, {"replay": "fixtures"}],
    ids=lambda c: next(iter(c)),
)
def test_off(tmp_path: Path, changes: dict[str, Any]) -> None:
    book = Cooldown.of(Config(**{"state_dir": str(tmp_path)} | changes))
    book.note("bing", "direct", refused())
    assert (left(book), book.all(), book.clear()) == (0, [], 0)
    assert not list(tmp_path.iterdir())


def test_of_a_configuration(tmp_path: Path) -> None:
    config = Config(state_dir=str(tmp_path), cooldown=CooldownConfig(start=5, maximum=8))
    for _ in range(2):
        Cooldown.of(config).note("bing", "direct", refused())
    assert 4 <= left(Cooldown.of(config)) <= 5
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["cooldown.json", "cooldown.lock"]


# --- the file


def test_place_that_cannot_be_written_costs_the_memory_not_the_search(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "cooldown.json", Path("/proc/cooldown.json"), tmp_path):
        book = Cooldown(path)
        book.note("bing", "direct", refused())
        assert (left(book), book.clear()) == (0, 0)


def test_full_disk_leaves_the_old_book_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BC162."""
    path = tmp_path / "cooldown.json"
    Cooldown(path).note("yahoo", "direct", refused())
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(statefile.Path, "replace", full)
    Cooldown(path).note("bing", "direct", refused())
    assert path.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"cooldown.json", "cooldown.lock"}


def test_processes_that_write_at_a_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cooldown.json"

    def work(number: int) -> None:
        Cooldown(path).note(f"engine{number}", "direct", refused())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert len(Cooldown(path).all()) == 40


def test_process_that_sits_on_the_lock_does_not_stop_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statefile, "PATIENCE", 0.1)
    path = tmp_path / "cooldown.json"
    held = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        began = time.monotonic()
        Cooldown(path).note("bing", "direct", refused())
        assert time.monotonic() - began < 1
        assert left(Cooldown(path)) > 0
    finally:
        os.close(held)
