"""The command line. Results go to stdout and nothing else does; logs and progress go to stderr; there are no
prompts."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import logging
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NoReturn

from websearch.config import Config, load
from websearch.model import (
    BEST_FIRST,
    RECENCIES,
    SAFESEARCHES,
    InvalidInput,
    Outcome,
    SearchQuery,
    SearchResponse,
    from_dict,
    reasons,
)

MODES = ("consensus", "rrf", "independent")
FORMATS = ("text", "json", "jsonl", "markdown", "csv")

_EPILOG = """\
examples:
  websearch search "pour over coffee ratio" --provider public --limit 5
  websearch search "rust language" --provider duckduckgo --recency week --format jsonl
  websearch parse bing page.html --query "rust language"
  websearch fuse stored.jsonl --mode independent --explain --format text
  websearch check bing

exit codes:
  0 ok, or the provider says there is nothing   1 unexpected error          2 bad input
  3 challenged, blocked, consent, rate limited  4 key missing or refused    5 layout changed, or a suspect answer
  6 no network, out of order, or timed out      130 cancelled
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (see `websearch --help`)."""
    # A stream that was closed by the caller is None, and what is printed to None goes to stdout.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    _make_utf8(sys.stdout)
    _make_utf8(sys.stderr)
    options = _parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)  # a polite end: what runs is cancelled, the browser closed
    try:
        return int(options.run(options))
    except InvalidInput as error:
        return _complain(str(error), Outcome.INVALID_INPUT)
    except KeyboardInterrupt:
        return _complain("cancelled", Outcome.CANCELLED)
    except BrokenPipeError:
        # Whoever read our output has seen enough (`| head`). Nothing is left to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"cannot go on: {error.strerror or error}", Outcome.ERROR)


def _nowhere() -> IO[str]:
    return Path(os.devnull).open("w", encoding="utf-8")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _make_utf8(stream: IO[str]) -> None:
    """Every console gets UTF-8, whatever its locale says; what it cannot show is replaced, never an exception."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")


def _complain(message: str, outcome: Outcome) -> int:
    print(f"websearch: {message}", file=sys.stderr)
    return outcome.exit_code


# --- search ----------------------------------------------------------------------------------------------------------


def _search(options: argparse.Namespace) -> int:
    from websearch.serve.session import Session  # noqa: PLC0415 - Scrapy takes 0.3 s to import

    config = load()
    if options.replay:
        config = replace(config, replay=options.replay)
    if options.csv_raw:
        config = replace(config, csv_safe=False)
    if options.reset_cooldown:
        from websearch.fetching.cooldown import Cooldown  # noqa: PLC0415

        Cooldown.of(config).clear()
    _log_to_stderr(options.verbose)
    session = Session(config)
    try:
        response = session.search(options.query, provider=options.provider, **_query_fields(options))
    finally:
        session.close()
    _show(response, options.format, config, explain=options.explain)
    _report(response)
    return response.outcome.exit_code


def _query_fields(options: argparse.Namespace) -> dict[str, Any]:
    names = ("limit", "page", "recency", "after", "before", "region", "language", "safesearch")
    fields = {name: value for name in names if (value := getattr(options, name)) is not None}
    for name in ("engines", "exclude", "mode", "frontend"):
        if (value := getattr(options, name)) is not None:
            fields[name] = value
    if options.raw:
        fields["raw"] = "1"
    if options.pages is not None and options.limit is None:
        from websearch.providers.registry import provider_class  # noqa: PLC0415

        if options.pages < 1:
            raise InvalidInput(f"--pages must be 1 or more, not {options.pages}")
        fields["limit"] = options.pages * provider_class(options.provider).page_size
    return fields


def _log_to_stderr(verbose: int) -> None:
    from websearch.fetching.redaction import install  # noqa: PLC0415

    level = (logging.CRITICAL, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
    install()


def _show(response: SearchResponse, form: str, config: Config, *, explain: bool = False) -> None:
    from websearch.results import formats  # noqa: PLC0415

    match form:
        case "json":
            text = formats.as_json(response, indent=2)
        case "jsonl":
            text = formats.as_json(response)
        case "markdown":
            text = formats.as_markdown(response, explain=explain)
        case "csv":
            text = formats.as_csv([response], safe=config.csv_safe).removesuffix("\r\n")
        case _:
            text = formats.as_text(response, explain=explain)
    if text:
        print(text)


def _report(response: SearchResponse) -> None:
    """Say on stderr what stdout cannot: why there is nothing, what each engine did, which filter was not obeyed."""
    from websearch.results.text import terminal  # noqa: PLC0415

    lines = [f"{name}: {state}" for name, state in response.filters.items() if state != "applied"]
    if response.engines:
        width = max(len(engine.name) for engine in response.engines)
        for engine in response.engines:
            told = f" - {terminal(engine.message)}" if engine.message else ""
            rung = f" by {engine.rung}" if engine.rung and engine.rung != "http" else ""
            lines.append(
                f"{engine.name:<{width}}  {engine.outcome.value}, {engine.results} results in {engine.elapsed_ms} ms{rung}{told}"
            )
    if response.outcome is Outcome.EMPTY:
        lines.append(f"{response.provider}: the provider says there are no results")
    elif response.error and not response.engines:
        lines.append(f"{response.outcome}: {terminal(response.error.message)}")
    elif response.error:
        lines.append(f"{response.outcome}: no engine gave an answer")
    for line in lines:
        print(line, file=sys.stderr)


# --- parse, fuse -----------------------------------------------------------------------------------------------------


def _parse(options: argparse.Namespace) -> int:
    from websearch.providers.registry import parse  # noqa: PLC0415
    from websearch.results.formats import as_json  # noqa: PLC0415

    outcomes: list[Outcome] = []
    for name in options.files:
        try:
            body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            unread = f"{name} cannot be read: {error.strerror or error}"
            response = SearchResponse.failure(
                options.engine, SearchQuery.unchecked(options.query), Outcome.INVALID_INPUT, unread
            )
            _complain(unread, Outcome.INVALID_INPUT)
        else:
            response = parse(options.engine, body, url=options.page_url, query=options.query, status=options.status)
        print(as_json(response, file=name), flush=True)
        outcomes.append(response.outcome)
    if len(outcomes) == 1:
        return outcomes[0].exit_code
    # Of many pages each line tells its own outcome; the command as such fails only when a file could not be read.
    return Outcome.INVALID_INPUT.exit_code if Outcome.INVALID_INPUT in outcomes else 0


def _fuse(options: argparse.Namespace) -> int:
    from websearch.results.consensus import DEFAULT_ORDER  # noqa: PLC0415
    from websearch.results.pipelines import Parts, aggregate  # noqa: PLC0415

    config = load()
    order = tuple(name.strip() for name in options.engines.split(",")) if options.engines else DEFAULT_ORDER
    best: list[Outcome] = []
    for query, responses in _by_query(_stored(options.files)).items():
        outcome = min((r.outcome for r in responses), key=BEST_FIRST.index)
        merged = SearchResponse(provider="public", query=responses[0].query, outcome=outcome)
        if outcome.failed:
            why = f"every response failed: {reasons(responses)}"
            merged = SearchResponse.failure("public", responses[0].query, outcome, why)
        merged.raw = Parts(
            responses=responses,
            limit=options.limit if options.limit and options.limit > 0 else sum(len(r.results) for r in responses) or 1,
            mode=options.mode,
            order=order,
            weights=config.public.weights if options.mode == "rrf" else {},
            families={name: p.family for name, p in config.providers.items() if p.family},
        )
        merged = aggregate(merged)
        if options.format == "text" and query:
            print(f"# {query}", file=sys.stderr)
        _show(merged, options.format, config, explain=options.explain)
        best.append(outcome)
    return min(best, key=BEST_FIRST.index).exit_code


def _stored(files: Iterable[str]) -> Iterable[SearchResponse]:
    """Responses of JSON lines files (`-` is stdin). Raises InvalidInput naming file and line."""
    for name in files:
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig") if name == "-" else Path(name).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{name} cannot be read: {error}") from None
        # Split on \n alone: titles may hold U+2028, which str.splitlines would cut at.
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
                if not isinstance(values, dict):
                    raise InvalidInput("it holds no object")
                # A stored aggregate that kept its parts is fused from these.
                kept = values.get("raw") if values.get("engines") else None
                parts: list[Any] = kept if isinstance(kept, list) else [values]
                yield from (from_dict(part) for part in parts)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"{name}, line {number}: not a stored response: {error}") from None


def _by_query(responses: Iterable[SearchResponse]) -> dict[str, list[SearchResponse]]:
    groups: dict[str, list[SearchResponse]] = {}
    for response in responses:
        groups.setdefault(response.query.text, []).append(response)
    if not groups:
        raise InvalidInput("there are no stored responses: give a file of JSON lines, one response a line")
    return groups


# --- providers, doctor -----------------------------------------------------------------------------------------------


def _providers(options: argparse.Namespace) -> int:
    from websearch.fetching.cooldown import Cooldown  # noqa: PLC0415
    from websearch.providers.registry import names, provider_class  # noqa: PLC0415

    config = load()
    book = Cooldown.of(config)
    if options.reset_cooldown:
        print(f"websearch: {book.clear()} cooldowns cleared", file=sys.stderr)
    rows: list[dict[str, Any]] = [provider_class(name)().describe(config, book) for name in names()]
    if options.format == "json":
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    table = [("provider", "kind", "index", "available", "page", "most", "filters", "cooldown")]
    for row in rows:
        filters = " ".join(row["filters"]) or "-"
        rests = "; ".join(f"{rest['seconds']} s ({rest['outcome']})" for rest in row["cooldown"]) or "-"
        available = "yes" if row["available"] else f"no: {row['why_not']}"
        table.append(
            (
                row["name"],
                row["kind"],
                row["family"] or "-",
                available,
                str(row["page_size"]),
                str(row["max_limit"]),
                filters,
                rests,
            )
        )
    _print_table(table)
    return 0


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _doctor(options: argparse.Namespace) -> int:
    """What is there, what is missing, what to do about it. Never the value of a key."""
    from websearch.fetching.browser import find_executable  # noqa: PLC0415
    from websearch.fetching.cooldown import Cooldown  # noqa: PLC0415

    config = load()
    checks: list[dict[str, Any]] = []

    def note(name: str, good: bool | None, text: str) -> None:
        checks.append({"check": name, "ok": good, "found": text})

    def version(package: str) -> str:
        from importlib.metadata import version as installed  # noqa: PLC0415

        return installed(package)

    note("python", sys.version_info >= (3, 11), platform.python_version())
    note("scrapy", True, version("scrapy"))
    extra = importlib.util.find_spec("scrapy_playwright") is not None
    advice = "missing: pip install 'websearch[browser]'"
    note("browser support", extra, f"scrapy-playwright {version('scrapy-playwright')}" if extra else advice)
    if not config.browser.enabled:
        note("browser", None, "switched off (browser.enabled)")
    else:
        found = find_executable(config)
        note("browser", bool(found), found or "missing: install Chromium, or run `playwright install chromium`")
    note("configuration", True, config.source or "none, defaults and environment")
    for name, folder in (("state folder", config.state_dir), ("cache folder", config.cache_dir)):
        note(name, _writable(Path(folder)), folder)
    note("proxy", None, "set" if config.proxy or any(p.proxy for p in config.providers.values()) else "none")
    rests = Cooldown.of(config).all()
    note("cooldowns", None, "; ".join(f"{rest.provider} ({rest.outcome})" for rest in rests) or "none")
    if options.format == "json":
        print(json.dumps(checks, ensure_ascii=False, indent=2))
    else:
        marks = {True: "ok", False: "MISSING", None: "-"}
        _print_table([(marks[check["ok"]], check["check"], check["found"]) for check in checks])
    return 1 if any(check["ok"] is False for check in checks) else 0


def _writable(folder: Path) -> bool:
    """A folder that can be written to, or made."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return existing.is_dir() and os.access(existing, os.W_OK)


# --- record, check ---------------------------------------------------------------------------------------------------


def _record(options: argparse.Namespace) -> int:
    """Fetch one live page and store it, redacted, as a case with the response as its expectation."""
    from websearch.fetching.cases import load_case, write_case, write_expected  # noqa: PLC0415
    from websearch.fetching.redaction import redact_page  # noqa: PLC0415
    from websearch.providers.registry import engine  # noqa: PLC0415
    from websearch.serve.session import Session  # noqa: PLC0415

    _log_to_stderr(options.verbose)
    reader = engine(options.engine)
    session = Session(load())
    try:
        response = session.search(options.query, provider=options.engine, raw="1", page=options.page)
    finally:
        session.close()
    if not response.raw:
        _report(response)
        return response.outcome.exit_code or Outcome.ERROR.exit_code
    page = response.raw[-1]
    name = options.case or f"{datetime.now(UTC):%Y-%m-%d}-{_slug(options.query)}"
    folder = Path(options.fixtures) / options.engine / name
    if folder.exists() and not options.force:
        raise InvalidInput(f"{folder} exists already: name another --case, or give --force")
    write_case(
        folder, engine=options.engine, query=options.query, page=options.page, url=page["url"], status=page["status"],
        html=redact_page(page["html"]), response=response,
    )  # fmt: skip
    case = load_case(folder)
    write_expected(case, reader.parse(case.response(), case.search_query))
    print(folder)
    _report(response)
    return 0


def _slug(text: str) -> str:
    words = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    return "-".join(words)[:40].strip("-") or "page"


def _check(options: argparse.Namespace) -> int:
    """Run stored cases through the parsers and name every fault."""
    from websearch.fetching.cases import load_cases, write_expected  # noqa: PLC0415
    from websearch.providers.registry import engine  # noqa: PLC0415

    root, failed, count = Path(options.fixtures), 0, 0
    for case in load_cases(root, options.engine):
        got = engine(case.engine).parse(case.response(), case.search_query)
        count += 1
        if options.update:
            write_expected(case, got)
        faults = case.faults(got)
        failed += bool(faults)
        age = (datetime.now(UTC).date() - case.captured).days
        old = f", {age} days old: record a new one" if age > 365 else ""
        print(f"{'FAIL' if faults else 'ok  '} {case.name}: {got.outcome}, {len(got.results)} results{old}")
        for fault in faults:
            print(f"     {fault}")
    if not count:
        raise InvalidInput(f"there are no cases of {options.engine or 'any engine'} below {root}")
    print(f"{count - failed} passed, {failed} failed")
    return Outcome.LAYOUT_CHANGED.exit_code if failed else 0


# --- the parser ------------------------------------------------------------------------------------------------------


Command = Callable[[str, Any, str], argparse.ArgumentParser]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="websearch",
        description="Web search engines as one dependable, scriptable source.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        added.set_defaults(run=run)
        return added

    _add_search(command)
    _add_offline(command)
    _add_upkeep(command)
    return parser


def _add_search(command: Command) -> None:
    search = command("search", _search, "search the web: one query, one answer")
    search.add_argument("query", metavar="QUERY", help="what to search for; operators are passed on unchanged")
    search.add_argument(
        "--provider",
        default="auto",
        metavar="NAME",
        help="an engine, `public` (all engines, merged) or `auto` (default)",
    )
    search.add_argument("--engines", metavar="A,B", help="with --provider public: only these engines, in this order")
    search.add_argument("--exclude", metavar="A,B", help="with --provider public: without these engines")
    search.add_argument("--mode", choices=MODES, help="with --provider public: how to rank (default: consensus)")
    search.add_argument("--frontend", metavar="NAME", help="with --provider duckduckgo: html (default) or lite")
    search.add_argument(
        "--limit", type=int, metavar="N", help="number of results; more than a page holds comes from more pages"
    )
    search.add_argument("--page", type=int, metavar="N", help="the first page (default: 1)")
    search.add_argument("--pages", type=int, metavar="N", help="as many results as N pages hold")
    search.add_argument("--recency", choices=RECENCIES, help="not older than this")
    search.add_argument("--after", metavar="DATE", help="from this day on (2026-01-31)")
    search.add_argument("--before", metavar="DATE", help="up to this day")
    search.add_argument("--region", metavar="CODE", help="country and language, such as us-en")
    search.add_argument("--language", metavar="CODE", help="language of the results, such as de")
    search.add_argument("--safesearch", choices=SAFESEARCHES, help="filter adult content")
    search.add_argument("--format", choices=FORMATS, default="text", help="form of the output (default: text)")
    search.add_argument("--raw", action="store_true", help="keep the provider's own data in the JSON forms")
    search.add_argument("--explain", action="store_true", help="print why each merged row stands where it does")
    search.add_argument("--replay", metavar="DIR", help="answer from the cases in DIR, without network")
    search.add_argument(
        "--csv-raw", action="store_true", help="do not guard CSV cells that a spreadsheet would run as a formula"
    )
    search.add_argument("--reset-cooldown", action="store_true", help="forget all cooldowns first")
    search.add_argument("-v", "--verbose", action="count", default=0, help="log to stderr; twice for every request")


def _add_offline(command: Command) -> None:
    parse = command("parse", _parse, "read stored result pages: JSON lines, one response a file, in order, offline")
    parse.add_argument("engine", metavar="ENGINE", help="the engine the pages are of, or `auto` to recognise each")
    parse.add_argument("files", metavar="FILE", nargs="+", help="a stored page; `-` is stdin")
    parse.add_argument(
        "--query", default="", metavar="Q", help="what was asked, if known: the answer is checked against it"
    )
    parse.add_argument("--page-url", metavar="URL", help="where the page was, to resolve its relative links")
    parse.add_argument(
        "--status", type=int, default=200, metavar="N", help="HTTP status the page came with (default: 200)"
    )

    fuse = command("fuse", _fuse, "merge stored responses offline, one ranked list a query")
    fuse.add_argument(
        "files",
        metavar="FILE.jsonl",
        nargs="+",
        help="responses as JSON lines (from search, parse, scrapy); `-` is stdin",
    )
    fuse.add_argument("--mode", choices=MODES, default="consensus", help="how to rank (default: consensus)")
    fuse.add_argument("--engines", metavar="A,B", help="order of the engines, which breaks ties")
    fuse.add_argument("--limit", type=int, metavar="N", help="number of results (default: all)")
    fuse.add_argument("--explain", action="store_true", help="print why each row stands where it does")
    fuse.add_argument("--format", choices=FORMATS, default="jsonl", help="form of the output (default: jsonl)")


def _add_upkeep(command: Command) -> None:
    providers = command("providers", _providers, "list the providers: available or why not, caps, filters, cooldowns")
    providers.add_argument(
        "--format", choices=("text", "json"), default="text", help="form of the output (default: text)"
    )
    providers.add_argument("--reset-cooldown", action="store_true", help="forget all cooldowns")

    doctor = command("doctor", _doctor, "check what is installed and configured, and say what is missing")
    doctor.add_argument("--format", choices=("text", "json"), default="text", help="form of the output (default: text)")

    record = command("record", _record, "fetch one live page and store it, redacted, as a test case")
    record.add_argument("engine", metavar="ENGINE")
    record.add_argument("--query", required=True, metavar="Q", help="what to search for")
    record.add_argument("--page", type=int, default=1, metavar="N", help="which page (default: 1)")
    record.add_argument("--case", metavar="NAME", help="name of the case (default: date and query)")
    record.add_argument("--fixtures", default="fixtures", metavar="DIR", help="folder of the cases (default: fixtures)")
    record.add_argument("--force", action="store_true", help="overwrite a case of that name")
    record.add_argument("-v", "--verbose", action="count", default=0, help="log to stderr; twice for every request")

    check = command("check", _check, "run the stored cases through the parsers and name every fault")
    check.add_argument("engine", metavar="ENGINE", nargs="?", help="only this engine's cases")
    check.add_argument("--fixtures", default="fixtures", metavar="DIR", help="folder of the cases (default: fixtures)")
    check.add_argument(
        "--update",
        action="store_true",
        help="take what comes out as the new expectation; read the diff before you commit it",
    )


def run() -> NoReturn:
    """The `websearch` command. Everything is closed when `main` returns; taking the interpreter apart piece by piece would
    cost a tenth of a second that ends with the process anyway."""
    code = main()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
