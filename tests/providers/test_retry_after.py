from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http.headers import Headers

from websearch.providers.retry_after import retry_after

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [
        ("Retry-After", "120", 120),
        ("Retry-After", "1.5", 1.5),
        ("Retry-After", "120, 60", 120),
        ("Retry-After", "9999999999", 9999999999),
        ("Retry-After", "Fri, 20 Nov 2026 12:01:00 GMT", 60),
        ("Retry-After", "Fri, 20 Nov 2026 11:00:00 GMT", 0),
        ("Retry-After", "-5", None),
        ("Retry-After", "soon", None),
        ("Retry-After", "", None),
        ("retry-after-ms", "2500", 2.5),
        ("x-ratelimit-reset", str(int(NOW.timestamp()) + 30), 30),
        ("x-ratelimit-reset-after", "7", 7),
        ("x-ratelimit-reset-ms", str(int(NOW.timestamp() * 1000) + 4000), 4),
        ("x-ratelimit-reset-ms", str(int(NOW.timestamp()) + 9), 9),
        ("x-ratelimit-reset-ms", "1500", 1.5),
    ],
)
def test_spellings(name: str, value: str, seconds: float | None) -> None:
    assert retry_after(Headers({name: value}), NOW) == (None if seconds is None else pytest.approx(seconds))


@given(st.binary(max_size=40))
def test_anything_else_is_no_hint(value: bytes) -> None:
    found = retry_after({"retry-after": value}, NOW)
    assert found is None or found >= 0
