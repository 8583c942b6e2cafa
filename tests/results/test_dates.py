"""Dates: the golden table, the contract with the clock, what is imported when, and that nothing raises."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsel import Selector

from websearch.results.dates import _LANGUAGES, parse_date, split_date
from websearch.results.text import decode, element_text, fold

NOW = datetime(2026, 7, 13, 12, 30, tzinfo=UTC)
SERPS = Path(__file__).parents[2] / "../shared/serps"


class Row(NamedTuple):
    kind: str
    text: str
    languages: tuple[str, ...]
    published: str | None
    age: str | None
    rest: str


def rows(kind: str) -> list[Row]:
    """Rows of dates.tsv; `-` is nothing, `\\u` escapes stand for what an editor does not show."""
    lines = (Path(__file__).parent / "dates.tsv").read_text("utf-8").split("\n")
    found = []
    for line in lines:
        if line.startswith(kind + "\t"):
            cells = [json.loads(f'"{cell}"') for cell in line.split("\t")]
            languages = () if cells[2] == "-" else tuple(cells[2].split(","))
            published, age = (None if cell == "-" else cell for cell in cells[3:5])
            found.append(Row(kind, cells[1], languages, published, age, cells[5]))
    return found


@pytest.mark.parametrize("row", rows("parse"), ids=lambda row: f"{row.text}|{','.join(row.languages)}")
def test_parse_date(row: Row) -> None:
    assert parse_date(row.text, NOW, row.languages) == row.published


@pytest.mark.parametrize("row", rows("split"), ids=lambda row: row.text)
def test_split_date(row: Row) -> None:
    assert split_date(row.text, NOW, row.languages) == (row.age, row.published, row.rest)


@pytest.mark.parametrize("row", [row for row in rows("parse") if row.published and row.languages], ids=lambda r: r.text)
def test_without_languages_the_answer_is_the_same_or_none(row: Row) -> None:
    assert parse_date(row.text, NOW) in {row.published, None}


@pytest.mark.parametrize("row", [row for row in rows("parse") if row.published], ids=lambda row: row.text)
def test_the_language_of_the_request_may_be_wrong(row: Row) -> None:
    if "/" not in row.text and "03-04" not in row.text:  # there the language is what decides
        assert parse_date(row.text, NOW, ("sw",)) in {row.published, None}


def test_every_language_of_the_table_is_held_by_rows() -> None:
    covered = {language for row in rows("parse") if row.published for language in row.languages}
    assert set(_LANGUAGES) <= covered


@pytest.mark.parametrize("row", [row for row in rows("parse") if row.published], ids=lambda row: row.text)
def test_what_was_read_is_iso_8601(row: Row) -> None:
    datetime.fromisoformat(row.published or "")


# --- The clock ---


def test_relative_dates_are_of_the_day_in_utc() -> None:
    tokyo = datetime(2024, 3, 5, 3, 0, tzinfo=timezone(timedelta(hours=9)))  # 18:00 of the day before in UTC
    assert parse_date("1 day ago", tokyo) == "2024-03-03"
    assert parse_date("2 hours ago", tokyo) == "2024-03-04T16:00:00+00:00"
    assert parse_date("vor 1 Tag", tokyo) == "2024-03-03"
    assert parse_date("vor 2 Stunden", tokyo) == "2024-03-04T16:00:00+00:00"


def test_a_naive_now_is_utc() -> None:
    assert parse_date("2 hours ago", datetime(2024, 3, 5, 3, 0)) == "2024-03-05T01:00:00+00:00"  # noqa: DTZ001


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        ((2024, 3, 31), "1 month ago", "2024-02-29"),
        ((2023, 3, 31), "1 month ago", "2023-02-28"),
        ((2024, 1, 15), "1 month ago", "2023-12-15"),
        ((2024, 1, 15), "13 months ago", "2022-12-15"),
        ((2024, 2, 29), "1 year ago", "2023-02-28"),
        ((2024, 3, 1), "1 day ago", "2024-02-29"),
        ((2024, 1, 1), "1 week ago", "2023-12-25"),
        ((2024, 3, 31), "1 か月前", "2024-02-29"),
        ((2024, 3, 31), "hace 1 mes", "2024-02-29"),
        ((1990, 1, 1), "1 day ago", None),  # no page is older than the web
    ],
)
def test_months_and_years_are_those_of_the_calendar(now: tuple[int, int, int], text: str, expected: str | None) -> None:
    assert parse_date(text, datetime(*now, tzinfo=UTC)) == expected


@pytest.mark.parametrize(
    "now",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        *(datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=h))) for h in (0, -9)),
    ],
)
def test_the_ends_of_the_calendar_raise_nothing(now: datetime) -> None:
    for text in ("1 day ago", "5 years ago", "vor 2 Tagen", "just now", "Mar 5, 2024"):
        parse_date(text, now)


# --- When dateparser is imported ---

PROBE = """
import sys
from datetime import datetime, UTC
from websearch.results.dates import split_date, parse_date
now = datetime(2026, 7, 13, tzinfo=UTC)
for line in sys.stdin:
    {call}(line.rstrip("\\n"), now)
print("dateparser" in sys.modules)
"""


def imports_dateparser(call: str, texts: list[str]) -> bool:
    run = subprocess.run(
        [sys.executable, "-c", PROBE.format(call=call)],
        input="\n".join(texts),
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONUTF8": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        check=True,
        timeout=60,
    )
    return run.stdout.strip() == "True"


def test_dateparser_is_imported_for_other_languages_only() -> None:
    own = ("en", "zh-Hans", "zh-Hant", "ja", "ko", "th")
    read_here = [row.text for row in rows("parse") if row.languages and row.languages[0] in own and row.published]
    assert len(read_here) > 50
    assert not imports_dateparser("parse_date", read_here)
    assert not imports_dateparser(
        "split_date", [row.text for row in rows("split") if row.text.isascii() and not row.age]
    )
    assert imports_dateparser("parse_date", ["vor 2 Tagen"])


def test_real_pages_without_foreign_dates_do_not_import_dateparser() -> None:
    if not SERPS.is_dir():
        pytest.skip("no ../shared/serps here: the check on real pages is left out")
    texts = []
    for page in sorted(SERPS.glob("*/*.html")):
        if not page.stem.endswith(("-vi", "-vi-post")):
            selector = Selector(text=decode(page.read_bytes()))
            texts += [element_text(node) for node in selector.css("p, td, h2, h3, span, .compText, .VwiC3b")]
    assert len(texts) > 5000
    assert not imports_dateparser("split_date", texts)


@pytest.mark.parametrize(
    ("page", "css", "expected"),
    [
        (
            "bing/2026-07-poisoned-vi.html",
            "li.b_algo p",
            {("28 thg 1, 2013", "2013-01-28"), ("8 thg 5, 2025", "2025-05-08")},
        ),
        (
            "bing/2025-05-site-microsoft-desktop.html",
            "li.b_algo p",
            {("Apr 23, 2025", "2025-04-23"), ("May 7, 2025", "2025-05-07")},
        ),
        ("yahoo/2025-05-red.html", "div.algo .compText p", {("Jun 21, 2024", "2024-06-21")}),
        ("yahoo/2022-07-civil-code.html", "div.algo .compText p", {("Jan 01, 2019", "2019-01-01")}),
    ],
)
def test_dates_of_real_snippets(page: str, css: str, expected: set[tuple[str, str]]) -> None:
    if not (SERPS / page).exists():
        pytest.skip("no ../shared/serps here: the check on real pages is left out")
    snippets = [element_text(node) for node in Selector(text=decode((SERPS / page).read_bytes())).css(css)]
    found = {(age, published) for age, published, _ in (split_date(snippet, NOW) for snippet in snippets) if age}
    assert expected <= found


# --- Anything at all ---

WORDS = sorted({word for row in rows("parse") for word in row.text.split()})
dateish = st.lists(st.sampled_from(WORDS) | st.integers(0, 9999).map(str) | st.text(max_size=3), max_size=7).map(
    " ".join
)
separators = st.sampled_from([" — ", " · ", " ... ", " … ", " - ", " | ", "·", " "])
language_lists = st.lists(st.sampled_from([*_LANGUAGES, "en", "en-US", "no", "sw", "", "???"]), max_size=3)


@given(text=st.text() | dateish, languages=language_lists)
@settings(deadline=None)
def test_parse_date_never_raises_and_gives_iso_8601(text: str, languages: list[str]) -> None:
    published = parse_date(text, NOW, languages)
    if published is not None:
        assert datetime.fromisoformat(published).year >= 1900


@given(snippet=st.text() | st.tuples(dateish, separators, st.text()).map("".join), languages=language_lists)
@settings(deadline=None)
def test_split_date_loses_no_word(snippet: str, languages: list[str]) -> None:
    age, published, rest = split_date(snippet, NOW, languages)
    if age is None:
        assert published is None
        assert rest == snippet
    else:
        assert published is not None
        assert snippet.rstrip().endswith(rest)
        between = fold(snippet).removeprefix(age).removesuffix(fold(rest))
        assert not any(character.isalnum() for character in between)
