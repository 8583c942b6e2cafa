"""The command line as a user meets it: processes, pipes, exit codes, consoles."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.lab.server import EMPTY_QUERY, QUERY, Fault, Lab, Wall
from websearch.fetching.cases import load_cases
from websearch.results.formats import COLUMNS

FIXTURES = str(ROOT / "fixtures")


def run(
    *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "websearch.cli", *arguments],
        input=stdin,
        capture_output=True,
        env=os.environ | (env or {}),
        cwd=cwd,
        timeout=60,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )


# --- offline


def test_parse_prints_a_line_a_file_in_order() -> None:
    cases = [case for case in load_cases(ROOT / "fixtures", "mojeek") if case.kind in ("results", "challenge")]
    files = [str(case.folder / "page.html") for case in cases]
    done = run("parse", "mojeek", *files)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["file"] for line in lines] == files
    assert {line["outcome"] for line in lines} == {"ok", "challenge"}
    assert done.returncode == 0


def test_parse_reads_stdin_recognises_the_engine_and_exits_with_the_outcome() -> None:
    case = next(case for case in load_cases(ROOT / "fixtures", "ecosia") if case.kind == "results")
    done = run("parse", "auto", "-", stdin=(case.folder / "page.html").read_bytes())
    assert (json.loads(done.stdout)["provider"], done.returncode) == ("ecosia", 0)
    assert run("parse", "bing", "-", stdin=b"<title>?</title>").returncode == 5


def test_parse_of_a_missing_file_is_a_line_and_exit_2() -> None:
    done = run("parse", "bing", "/no/such/page.html")
    assert (json.loads(done.stdout)["outcome"], done.returncode) == ("invalid_input", 2)
    assert "/no/such/page.html" in done.stderr


def test_parse_then_fuse_in_a_pipe() -> None:
    lines = ""
    for engine in ("bing", "google", "mojeek"):
        lines += run("parse", engine, f"{FIXTURES}/{engine}/results-en/page.html", "--query", QUERY).stdout
    done = run("fuse", "-", "--limit", "5", "--explain", stdin=lines.encode())
    merged = json.loads(done.stdout)
    assert (merged["outcome"], len(merged["results"])) == ("ok", 5)
    votes = [row["votes"] for row in merged["results"]]
    assert votes == sorted(votes, reverse=True)
    assert votes[0] == 3
    assert done.returncode == 0


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"outcome": "fine"}'])
def test_fuse_names_the_line_that_is_none(text: str) -> None:
    done = run("fuse", "-", stdin=text.encode())
    assert (done.returncode, done.stdout) == (2, "")
    assert "stored response" in done.stderr


def test_check_passes_on_our_cases_and_fails_on_a_changed_one(tmp_path: Path) -> None:
    assert run("check").returncode == 0
    source = ROOT / "fixtures" / "mojeek" / "results-en"
    target = tmp_path / "mojeek" / "results-en"
    target.mkdir(parents=True)
    for name in ("case.toml", "expected.json"):
        (target / name).write_bytes((source / name).read_bytes())
    page = (source / "page.html").read_text("utf-8")
    title = json.loads((source / "expected.json").read_text("utf-8"))["results"][-1]["title"]
    assert title in page, title
    (target / "page.html").write_text(page.replace(title, "Another title"), "utf-8")
    done = run("check", "mojeek", "--fixtures", str(tmp_path))
    assert done.returncode == 5
    assert "FAIL mojeek/results-en" in done.stdout


def test_providers_and_doctor() -> None:
    rows = {row["name"]: row for row in json.loads(run("providers", "--format", "json").stdout)}
    assert {"bing", "duckduckgo", "ecosia", "google", "mojeek", "startpage", "yahoo", "public", "auto"} <= set(rows)
    assert "recency" not in rows["ecosia"]["filters"]
    off = json.loads(run("providers", "--format", "json", env={"WEBSEARCH_PROVIDERS__BING__ENABLED": "0"}).stdout)
    assert next(row for row in off if row["name"] == "bing")["why_not"] == "providers.bing.enabled is false"
    secret = run("doctor", env={"WEBSEARCH_PROXY": "http://user:hunter2@127.0.0.1:9"})
    assert "hunter2" not in secret.stdout + secret.stderr
    assert "python" in secret.stdout


@pytest.mark.parametrize("command", ["search", "parse", "fuse", "providers", "doctor", "record", "check"])
def test_help_teaches(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert "usage: websearch" in done.stdout


def test_help_shows_examples_and_exit_codes() -> None:
    text = run("--help").stdout
    assert "examples:" in text
    assert "exit codes:" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", ""), "empty"),
        (("search", "x", "--provider", "altavista"), "there is no provider 'altavista'"),
        (("search", "x", "--provider", "bing", "--engines", "google"), "takes no engines"),
        (("search", "x", "--provider", "public", "--engines", "altavista"), "there is no engine"),
        (("search", "x", "--after", "soon"), "2026-01-31"),
        (("search", "x", "--replay", "/no/such/folder"), "/no/such/folder"),
        (("parse", "altavista", "-"), "there is no provider"),
        (("check", "altavista"), "no cases of altavista"),
    ],
)
def test_bad_input_is_exit_2_and_says_what_to_change(arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_configuration_is_one_line() -> None:
    done = run("search", "x", env={"WEBSEARCH_PUBLIC__SOFT_DEADLINE": "soon"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "WEBSEARCH_PUBLIC__SOFT_DEADLINE" in done.stderr
    assert "Traceback" not in done.stderr


# --- replay and lab


def test_replay_answers_without_any_socket() -> None:
    done = run("search", QUERY, "--provider", "public", "--replay", FIXTURES, "--format", "json", "--limit", "3")
    response = json.loads(done.stdout)
    assert (response["outcome"], len(response["results"]), done.returncode) == ("ok", 3, 0)
    assert {engine["rung"] for engine in response["engines"]} == {"replay"}
    missing = run("search", "something else", "--provider", "bing", "--replay", FIXTURES)
    assert (missing.returncode, missing.stdout) == (6, "")
    assert "no stored page" in missing.stderr


def test_text_goes_to_stdout_and_the_engines_to_stderr(world: Lab, tmp_path: Path) -> None:
    done = run("search", QUERY, "--provider", "public", "--limit", "3", "--explain", env=world.environ(tmp_path))
    assert done.returncode == 0
    assert "[1] " in done.stdout
    assert done.stdout.count("\n    http") == 3
    assert "engines (" in done.stdout
    for name in world.engines:
        assert name in done.stderr
        assert f"{name}  " not in done.stdout


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "markdown"])
def test_other_formats(world: Lab, tmp_path: Path, form: str) -> None:
    done = run("search", QUERY, "--provider", "mojeek", "--format", form, env=world.environ(tmp_path))
    assert done.returncode == 0
    match form:
        case "csv":
            rows = list(csv.reader(io.StringIO(done.stdout)))
            assert rows[0] == list(COLUMNS)
            assert len(rows) == 11
        case "markdown":
            assert done.stdout.startswith("1. [")
        case _:
            assert json.loads(done.stdout)["provider"] == "mojeek"


@pytest.mark.parametrize(
    ("fault", "query", "code"),
    [
        (Fault(), EMPTY_QUERY, 0),
        (Fault(wall=Wall.BLOCK), QUERY, 3),
        (Fault(status=429), QUERY, 3),
        (Fault(status=500), QUERY, 6),
        (Fault(body="<title>new</title><p>design"), QUERY, 5),
        (Fault(reset=True), QUERY, 6),
    ],
    ids=["empty", "blocked", "rate limited", "unavailable", "layout changed", "reset"],
)
def test_exit_codes(world: Lab, tmp_path: Path, fault: Fault, query: str, code: int) -> None:
    world.engines["mojeek"].fault = fault
    env = world.environ(tmp_path) | {"WEBSEARCH_BROWSER__ENABLED": "0"}
    done = run("search", query, "--provider", "mojeek", env=env)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_any_console_gets_all_of_the_text(tmp_path: Path, env: dict[str, str]) -> None:
    page = '<ul class="results-standard"><li><h2><a class="title" href="https://a.example/">∞ 日本 😀 é \x1b[31m</a></h2><p class="s">s</p></li></ul>'
    done = run("parse", "mojeek", "-", stdin=page.encode(), env=env)
    assert "∞ 日本 😀 é" in json.loads(done.stdout)["results"][0]["title"]


def test_no_escape_sequence_reaches_the_terminal() -> None:
    page = '<ul class="results-standard"><li><h2><a class="title" href="https://a.example/">a\x1b[31mb\x9bc\x07</a></h2></li></ul>'
    stored = run("parse", "mojeek", "-", stdin=page.encode()).stdout
    for form in ("text", "markdown", "csv"):
        out = run("fuse", "-", "--format", form, stdin=stored.encode()).stdout
        assert not set("\x1b\x9b\x07") & set(out)


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m websearch.cli providers | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_no_secret_in_a_debug_log(world: Lab, tmp_path: Path) -> None:
    env: dict[str, Any] = world.environ(tmp_path) | {"WEBSEARCH_PROXY": "http://user:hunter2@127.0.0.1:9"}
    done = run("search", QUERY, "--provider", "mojeek", "-vv", env=env)
    assert done.returncode == 6
    assert "DEBUG" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_scrapy_crawl_writes_feeds(world: Lab, tmp_path: Path) -> None:
    env = os.environ | world.environ(tmp_path)
    targets = [tmp_path / name for name in ("out.json", "out.jsonl", "out.csv", "out.txt")]
    outputs = [argument for target in targets for argument in ("-O", str(target))]
    command = [sys.executable, "-m", "scrapy", "crawl", "public", "-a", f"query={QUERY}", "-a", "limit=4", *outputs]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    assert len(json.loads(targets[0].read_text("utf-8"))[0]["results"]) == 4
    assert len(json.loads(targets[1].read_text("utf-8"))["results"]) == 4
    assert len(list(csv.DictReader(io.StringIO(targets[2].read_text("utf-8"), newline="")))) == 4
    assert "[1] " in targets[3].read_text("utf-8")


def test_scrapy_crawl_works_for_every_provider(world: Lab, tmp_path: Path) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "scrapy", "list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(world.engines) | {"public", "auto"} <= set(listed.stdout.split())


@pytest.mark.parametrize(
    "change",
    [
        {"provider": []}, {"related": 5}, {"related": [5]}, {"answer": 5}, {"results": [{"rank": 1, "title": "t", "url": 5}]},
        {"results": [{"rank": 1, "title": "t", "url": "https://a.example", "published": 5}]},
        {"results": [{"rank": 1, "title": "t", "url": "https://a.example", "extra": None}]},
    ],
)  # fmt: skip
def test_fuse_names_a_field_of_the_wrong_kind(change: dict[str, Any]) -> None:
    stored = {"provider": "bing", "query": "x", "outcome": "ok", "results": []} | change
    done = run("fuse", "-", stdin=json.dumps(stored).encode())
    assert done.returncode == 2
    assert "line 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_failure_of_a_blank_query_can_be_fused() -> None:
    failed = run("search", "  ", "--format", "jsonl").stdout
    done = run("fuse", "-", stdin=failed.encode())
    assert json.loads(done.stdout)["outcome"] == "invalid_input"


def test_with_stderr_closed_stdout_stays_pure(world: Lab, tmp_path: Path) -> None:
    command = f"{sys.executable} -m websearch.cli search '{QUERY}' --provider mojeek --format jsonl 2>&-"
    done = subprocess.run(
        command,
        shell=True,
        env=os.environ | world.environ(tmp_path),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert json.loads(done.stdout)["outcome"] == "ok"


def test_replay_prefers_results_to_walls() -> None:
    for name in ("bing", "yahoo", "google", "ecosia", "mojeek"):
        assert run("search", QUERY, "--provider", name, "--replay", FIXTURES).returncode == 0, name


@pytest.mark.parametrize("query", ['it\'s "x" $HOME $100', "$(shell echo no)", "a;b|c `d`", "-x"])
def test_make_search_passes_a_query_as_it_was_typed(tmp_path: Path, query: str) -> None:
    fake = tmp_path / "venv" / "bin"
    fake.mkdir(parents=True)
    (fake / "python").write_text('#!/bin/sh\nfor last; do :; done; printf %s "$last"\n')
    (fake / "python").chmod(0o755)
    command = ["make", "-s", "search", f"VENV={tmp_path / 'venv'}", f"Q={query}", "-o", "setup"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == query
