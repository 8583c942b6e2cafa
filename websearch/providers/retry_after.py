"""How long a provider asks us to wait, in all the spellings of facts §4.1."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


def retry_after(headers: Mapping[Any, Any], now: datetime) -> float | None:
    """Seconds to wait, from the first header that holds a usable value; None when none does. Never negative, never
    raises.

    `headers` is looked up case-insensitively by Scrapy's and aiohttp's types. A value that is no number or date
    ("soon") is
    no hint: the caller backs off by its own rule, and caps what comes from here.
    """

    def value(name: str) -> str:
        found = headers.get(name)
        return (found.decode("latin-1") if isinstance(found, bytes) else str(found or "")).strip()

    milliseconds = _number(value("retry-after-ms"))
    hints = (
        None if milliseconds is None else milliseconds / 1000,
        _seconds_or_date(value("retry-after"), now),
        _epoch_or_delta(value("x-ratelimit-reset-ms"), now),
        _until(_number(value("x-ratelimit-reset")), now),
        _number(value("x-ratelimit-reset-after")),
    )
    return next((hint for hint in hints if hint is not None), None)


def _number(text: str) -> float | None:
    # "120, 60" (two headers folded into one) counts as its first number.
    match = re.match(r"\+?(\d{1,15}(?:\.\d+)?)\s*(?:,|;|s|$)", text)
    number = float(match[1]) if match else None
    return number if number is not None and math.isfinite(number) else None


def _seconds_or_date(text: str, now: datetime) -> float | None:
    if (seconds := _number(text)) is not None:
        return seconds
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


def _until(epoch: float | None, now: datetime) -> float | None:
    return None if epoch is None else max(0.0, epoch - now.timestamp())


def _epoch_or_delta(text: str, now: datetime) -> float | None:
    """`x-ratelimit-reset-ms`: above 1e12 it is an epoch in ms, above 1e9 one in seconds, else a delta in ms."""
    number = _number(text)
    if number is None:
        return None
    if number > 1e12:
        return _until(number / 1000, now)
    return _until(number, now) if number > 1e9 else number / 1000
