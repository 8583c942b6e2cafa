"""Keep secrets out of logs, and people out of fixtures: keys, tokens, passwords, cookies, the client's address.

What is known to be secret (`register_secret`) goes wherever it stands; what looks like one goes by where it stands: the
value of a key-like parameter or field, a header that carries credentials, the user part of a URL. Over-careful on purpose:
a word too few in a log is a nuisance, a key in it is a leak (BC124).
"""

from __future__ import annotations

import ipaddress
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote, urlsplit

from scrapy import signals
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.utils.python import global_object_name

from websearch.model import SearchResponse

MASK: Final = "***"

#: The client's address in a stored page becomes one of the block that is reserved for documentation.
_NOBODY: Final = {4: "192.0.2.1", 6: "2001:db8::1"}

#: Shorter than this is no secret, but a word that would tear holes in every line.
_SHORTEST: Final = 4

# How the name of a secret parameter or field ends: `api_key`, `exaApiKey`, `subscription-key`, `access_token`,
# `client_secret`; but not `keyword`, `monkey`, `max_tokens`. `key` alone is a word: see where it stands.
_NAME = (
    r"(?:(?<=[_.\-])(?:key|KEY|Key)|(?<=[a-z0-9])Key"
    r"|(?i:api[_\-]?key|token|secret|password|passwd|passphrase|signature))"
)
_ALONE = r"(?i:key|pwd|sig|auth)"
_EQUALS = r"(?:=|%3[dD]|%253[dD])"
_QUERY = r"(?:[?&;]|%3[fF]|%26|%253[fF]|%2526)"
_QUOTED = r"""(?:b?"(?:\\.|[^"\\])*"|b?'(?:\\.|[^'\\])*')"""
_LIST = rf"(?:[\[(](?:\s*{_QUOTED},?)*\s*[\])])"
_UNTIL = r"(?:(?!%26|%2526)[^\s&#\"'<>])+"

#: `api_key=…` anywhere, `?key=…` in a URL; also in one that is itself a parameter.
_PARAMETER = re.compile(rf"((?:{_NAME}|{_QUERY}{_ALONE}){_EQUALS})(?:{_QUOTED}|{_UNTIL})")
#: `"api_key": "…"`, `'token': b'…'`
_FIELD = re.compile(rf"""(["'](?:[\w.\-]{{0,60}}{_NAME}|{_ALONE})["']\s*:\s*){_QUOTED}""")
_HEADERS = (
    r"(?:(?:proxy-)?authorization|(?:set-)?cookie"
    r"|[\w\-]*api-?key|[\w\-]*-token|[\w\-]*subscription-key|x-goog-[\w\-]*key)"
)
#: A header as it is sent (to the end of its line), and in a dict of headers, where it may be a list.
_HEADER_LINE = re.compile(rf"(?i)(?<![\w\-\"'])({_HEADERS}:[ \t]*)(?=\S)[^\r\n]+")
_HEADER_FIELD = re.compile(rf"(?i)([\"']{_HEADERS}[\"']\s*[:,]\s*)(?:{_LIST}|{_QUOTED})")
_SCHEME = re.compile(r"(\b(?:[Bb]earer|BEARER|Basic)\s+)(?=\S*[0-9A-Z=_\-])[A-Za-z0-9._~+/=\-]{6,}")
#: `http://user:password@host`; and `user:password@host:80`, as a proxy may be written.
_USERINFO = re.compile(r"((?<=[a-zA-Z0-9])(?:://|%3[aA]%2[fF]%2[fF]))(?:(?!%40)[^/\s\"'<>?#])+(@|%40)")
_BARE_USERINFO = re.compile(r"(?<![\w/@.:%+\-])[\w.%+\-]+:[^\s@/:\"'<>]+(@[\w.\-]+:\d{1,5}\b)")

#: One of these is in every line that has something to hide; it is looked for first, since most lines have not.
_SUSPICIOUS = re.compile(r"(?i)key|token|secret|passw|passphrase|pwd|sig|auth|cookie|bearer|basic|@|%40")

_RULES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (_HEADER_FIELD, rf"\1'{MASK}'"),
    (_HEADER_LINE, rf"\1{MASK}"),
    (_FIELD, rf"\1'{MASK}'"),
    (_PARAMETER, rf"\1{MASK}"),
    (_SCHEME, rf"\1{MASK}"),
    (_USERINFO, rf"\1{MASK}\2"),
    (_BARE_USERINFO, rf"{MASK}\1"),
)


class _Secrets:
    """The known secrets, in every spelling they may turn up in, as one pattern."""

    def __init__(self) -> None:
        self._spellings: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, value: str) -> None:
        value = value.strip()
        if len(value) < _SHORTEST:
            return
        plain = {value, quote(value, safe=""), quote(value), quote_plus(value)}
        new = plain | {json.dumps(value)[1:-1], repr(value)[1:-1]} | {quote(spelling, safe="") for spelling in plain}
        if not new <= self._spellings:
            self._spellings |= new
            longest_first = sorted(self._spellings, key=len, reverse=True)
            # %2f and %2F are the same escape.
            alternatives = (re.sub(r"%[0-9A-F]{2}", lambda m: f"(?i:{m[0]})", re.escape(s)) for s in longest_first)
            self._pattern = re.compile("|".join(alternatives))

    def mask(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text


_secrets = _Secrets()


def register_secret(value: str | None) -> None:
    """From now on this value is masked wherever it turns up, also URL-encoded or escaped. Too short a value is not."""
    if value:
        _secrets.add(value)


def register_url(url: str | None) -> None:
    """Register the password in a URL (a proxy's)."""
    if url:
        try:
            password = urlsplit(url if "://" in url else f"//{url}").password
        except ValueError:
            return
        register_secret(password)
        register_secret(unquote(password) if password else None)


def redact(text: str) -> str:
    """The text with every secret replaced by `***`."""
    text = _secrets.mask(text)
    if _SUSPICIOUS.search(text):
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
    return text


# --- logs ------------------------------------------------------------------------------------------------------------


class RedactionFilter(logging.Filter):
    """Redacts what a handler is about to write: message, arguments, exception and stack."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always True: the record is written, redacted."""
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - arguments that do not fit their message: the handler reports that
            message = f"{record.msg} {record.args}"
        clean = redact(message)
        if clean != message:
            record.msg, record.args = clean, ()
        if record.exc_info and not record.exc_text and (text := _traceback(record)) != (clean := redact(text)):
            record.exc_text = clean
        elif record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


def _traceback(record: logging.LogRecord) -> str:
    assert isinstance(record.exc_info, tuple)
    return logging.Formatter().formatException(record.exc_info)


def install() -> None:
    """Put the filter on every handler of the root logger. Call again when handlers have been added."""
    for handler in logging.getLogger().handlers:
        if not any(isinstance(known, RedactionFilter) for known in handler.filters):
            handler.addFilter(RedactionFilter())


class QuietLogFormatter(LogFormatter):
    """Scrapy's log lines, with a response named rather than printed: what stands on a page has no place in a log."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> QuietLogFormatter:
        """Build, and see to it that Scrapy's log handler gets its filter: now, and when the engine starts, for Scrapy puts
        up another one in between."""
        install()
        crawler.signals.connect(install, signals.engine_started)
        return super().from_crawler(crawler)

    def scraped(self, item: Any, response: Any, spider: Any) -> LogFormatterResult:
        """`bing: ok, 10 results`."""
        del response, spider
        return {"level": logging.DEBUG, "msg": "%(item)s", "args": {"item": _named(item)}}

    def dropped(self, item: Any, exception: BaseException, response: Any, spider: Any) -> LogFormatterResult:
        """Name the item that was dropped."""
        return super().dropped(_named(item), exception, response, spider)

    def item_error(self, item: Any, exception: BaseException, response: Any, spider: Any) -> LogFormatterResult:
        """Name the item that failed."""
        return super().item_error(_named(item), exception, response, spider)


def _named(item: Any) -> str:
    if isinstance(item, SearchResponse):
        return f"{item.provider}: {item.outcome}, {len(item.results)} results"
    return global_object_name(type(item))


# --- stored pages ----------------------------------------------------------------------------------------------------

_ADDRESS = r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7})"
#: An address that a page says is the client's: `IP address: …`, `"clientIp":"…"`, `remote_addr=…`, `your IP is …`.
_CLIENT = re.compile(
    rf"(?i)(?:\bip\b|ip[_\- ]?addr(?:ess)?|client[_\-]?ip|(?:user|remote|visitor)[_\-]?(?:ip|addr(?:ess)?)|\bx-forwarded-for)"
    rf"[^\w]{{0,12}}(?:is|of|from|address)?(?:<[^>]*>|[^\w<]){{0,6}}({_ADDRESS})"
)


def redact_page(html: str) -> str:
    """A page as it may be stored: without known secrets, passwords in URLs and the client's address."""
    html = _USERINFO.sub(_keep_short(rf"{MASK}"), _secrets.mask(html))
    for address in sorted(set(_client_addresses(html)), key=len, reverse=True):
        nobody = _NOBODY[ipaddress.ip_address(address).version]
        html = re.sub(rf"(?<![\w.:]){re.escape(address)}(?![\w:]|\.\d)", nobody, html)
    return html


def _keep_short(mask: str) -> Callable[[re.Match[str]], str]:
    """Replace the user part of a URL only where it has a password: `mailto://` and links with an @ in them stay."""

    def replace(match: re.Match[str]) -> str:
        return f"{match[1]}{mask}{match[2]}" if ":" in match[0][len(match[1]) :] else match[0]

    return replace


def _client_addresses(html: str) -> Iterator[str]:
    for match in _CLIENT.finditer(html):
        try:
            address = ipaddress.ip_address(match[1].rstrip(":"))
        except ValueError:
            continue
        if not address.is_loopback and str(address) not in _NOBODY.values():
            yield match[1].rstrip(":")
