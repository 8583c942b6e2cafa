"""No secret in a log, no person in a fixture (BC124)."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from websearch.fetching import redaction
from websearch.fetching.redaction import (
    QuietLogFormatter,
    RedactionFilter,
    install,
    redact,
    redact_page,
    register_secret,
    register_url,
)
from websearch.model import Outcome, SearchQuery, SearchResponse, SearchResult

S = "SECRET123"


@pytest.fixture(autouse=True)
def _no_known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_secrets", redaction._Secrets())


@pytest.mark.parametrize(
    "text",
    [
        f"<GET https://api.example/v1?key={S}> (referer: None)",
        f"https://api.example/?q=x&api_key={S}&n=1",
        f"https://api.example/?apikey={S}",
        f"https://api.example/?exaApiKey={S}",
        f"https://api.example/?access_token={S}#top",
        f"https://api.example/?token={S};x=1",
        f"https://api.example/?subscription-key={S}",
        f"https://api.example/?sig={S}",
        f"https://proxy.example/?to=https%3A%2F%2Fapi.example%2F%3Fkey%3D{S}%26q%3Dx",
        f"https://proxy.example/?to=%253Fkey%253D{S}%2526q%253Dx",
        f"BRAVE_API_KEY={S}",
        f"client_secret='{S} and a space'",
        f'{{"api_key": "{S}", "q": "x"}}',
        f"{{'accessToken': '{S}'}}",
        f'{{"key": "{S}"}}',
        f"Authorization: Bearer {S}",
        f"authorization:{S}",
        f"Proxy-Authorization: Basic {S}==",
        f"Cookie: a={S}; b=2\r\n",
        f"Set-Cookie: session={S}; Path=/",
        f"X-Api-Key: {S}",
        f"X-Subscription-Token: {S}",
        f"x-goog-api-key: {S}",
        f"Ocp-Apim-Subscription-Key: {S}",
        f"{{'Authorization': 'Bearer {S}', 'Accept': '*/*'}}",
        f"{{b'Cookie': [b'a={S}', b'c={S}'], b'Accept': [b'*/*']}}",
        f"Headers([('Authorization', 'Bearer {S}')])",
        f"the server said: Bearer {S} is not valid",
        f"http://user:{S}@proxy.example:8080/x",
        f"http://user:{S}@odd@proxy.example:8080",
        f"socks5h://{S}@proxy.example:1080",
        f"https://a.example/?u=http%3A%2F%2Fuser%3A{S}%40proxy.example",
        f"proxy user:{S}@127.0.0.1:8888 refused",
    ],
)
def test_secret_goes_by_where_it_stands(text: str) -> None:
    clean = redact(text)
    assert S not in clean
    assert "***" in clean
    assert redact(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "Crawled (200) <GET https://www.bing.com/search?q=keyword+research&first=11> (referer: None)",
        "max_tokens=500 total_tokens=7 monkey=1 keyboard=2",
        "the key is missing; set BRAVE_API_KEY",
        "token: none was given",
        "basic authentication is not supported",
        "mail me at someone@mail.example, or https://a.example/@user",
        "https://a.example/a@b/c",
        "12:30:45 10:20@x",
        "{'author': 'x', 'cookies': 3}",
        "",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_neighbours_stay() -> None:
    assert redact(f"https://u:{S}@h.example/?q=a+b&key={S}&n=1#x") == "https://***@h.example/?q=a+b&key=***&n=1#x"
    assert redact(f"GET /\r\nCookie: {S}\r\nAccept: text/html") == "GET /\r\nCookie: ***\r\nAccept: text/html"
    assert redact(f"{{b'Cookie': [b'{S}'], b'Accept': [b'*/*']}}") == "{b'Cookie': '***', b'Accept': [b'*/*']}"


@pytest.mark.parametrize("value", ["pa/ss w0rd+&", "quo\"te\\d'", "schlüssel-ü", "line\nbreak", "sk-.*+?(x"])
def test_known_secret_goes_in_every_spelling(value: str) -> None:
    register_secret(f"  {value} ")
    escaped = {
        value,
        quote(value, safe=""),
        quote_plus(value),
        quote(value),
        repr(value)[1:-1],
        quote(quote(value, safe=""), safe=""),
    }
    for spelling in escaped | {quote(value, safe="").lower()} if value.islower() else escaped:
        assert redact(f"before {spelling} after") == "before *** after"


def test_what_is_too_short_to_be_a_secret_is_none() -> None:
    for value in (None, "", "abc", "   a   "):
        register_secret(value)
    assert redact("abc a") == "abc a"


def test_longest_secret_first() -> None:
    register_secret("secret")
    register_secret("secret-and-more")
    assert redact("secret-and-more secret") == "*** ***"


def test_password_of_a_url_is_known_wherever_it_turns_up() -> None:
    for url in ("http://me:p%40ss-w0rd@h:1", "me:0ther-pw@h:1", None, "http://h:1", "http://[bad", "http://u@h"):
        register_url(url)
    assert redact("p%40ss-w0rd p@ss-w0rd 0ther-pw") == "*** *** ***"


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    redact(text)
    redact_page(text)


@pytest.mark.parametrize(
    "text",
    ["a-" * 50_000 + "key", "a" * 100_000 + " key", "http://" * 20_000 + " @", "key=" * 25_000, "'key':" * 20_000,
     "cookie:" * 15_000, "'" * 50_000 + "cookie", "a:" * 50_000 + "@", " " * 40_000 + "['cookie': [" + " " * 40_000,
     "ip " * 30_000, "<" * 50_000 + "ip", "ip address: " * 10_000, "1." * 50_000 + "key", "%3A%2F%2F" * 10_000 + "@"],
    ids=lambda text: text[:12].strip(),
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    began = time.perf_counter()
    redact(text)
    redact_page(text)
    assert time.perf_counter() - began < 2


# --- logs


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A root handler as a program sets it up, with the filter installed."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    install()
    yield logging.getLogger("tests.redaction"), stream
    root.removeHandler(handler)


def test_message_arguments_exception_and_stack(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = log
    url = f"http://u:{S}@h.example/?api_key={S}"
    logger.error("getting %s", url)
    logger.error("getting %(url)s", {"url": url})
    logger.error(f"getting {url}")  # noqa: G004 - as foreign code does
    logger.error("object %r", Headers())
    try:
        raise ValueError(url)
    except ValueError as error:
        logger.exception("it failed")
        logger.error("again", exc_info=error)
        logger.error("said %s", error, stack_info=True)
    written = stream.getvalue()
    assert S not in written
    assert "tests.redaction getting http://***@h.example/?api_key=***" in written
    assert "Traceback" in written
    assert "ValueError: http://***@h.example" in written
    assert "Stack (most recent call last)" in written


class Headers:
    def __repr__(self) -> str:
        return f"{{'Authorization': 'Bearer {S}'}}"


def test_record_without_a_secret_is_left_as_it_was() -> None:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "%s of %d", ("3", 4), None)
    assert RedactionFilter().filter(record)
    assert (record.msg, record.args) == ("%s of %d", ("3", 4))


def test_record_whose_arguments_do_not_fit_is_redacted_too() -> None:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "%d", (f"token={S}",), None)
    assert RedactionFilter().filter(record)
    assert S not in f"{record.msg} {record.args}"


def test_install_is_done_once() -> None:
    handler = logging.StreamHandler(io.StringIO())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        install()
        install()
        assert [type(known) for known in handler.filters] == [RedactionFilter]
    finally:
        root.removeHandler(handler)


def test_response_is_named_not_printed() -> None:
    """BC052: what stands on a page has no place in a log."""
    query = SearchQuery(text="q")
    rows = [SearchResult(rank=1, title="private title", url="https://a.example/")]
    response = SearchResponse(provider="bing", query=query, outcome=Outcome.OK, results=rows)
    form: Any = QuietLogFormatter()
    for line in (form.scraped(response, None, None), form.item_error(response, ValueError(), None, None)):
        text = line["msg"] % line["args"]
        assert "bing: ok, 1 results" in text
        assert "private" not in text
    assert form.scraped({"private": 1}, None, None)["args"] == {"item": "builtins.dict"}


CRAWL = """
import asyncio, sys
from tests.fetching.test_browser import *
from websearch.fetching.challenge import ChallengeMiddleware
class KeyedSpider(WalledSpider):
    def request(self, query, page):
        request = self.get("/search", query, page, {"q": query.text, "key": "K3Y-V4LUE", "exaApiKey": "K3Y-V4LUE"})
        request.headers["Authorization"] = "Bearer K3Y-V4LUE"
        return request.replace(cookies={"session": "K3Y-V4LUE"})
    async def start(self):
        async with serving(Proxy()) as proxy:
            back = "document.cookie = 'pass=K3Y-V4LUE; path=/'; location.reload()"
            proxy.answer = lambda r: RESULTS if "pass" in r.cookies else page(wall_page(back), 429)
            address = proxy.url.replace("http://", "http://me:p%40ss@")
            named = ProviderConfig(base_url="http://engine.example", proxy=address)
            self.configure(Config(providers={"walled": named}, rate=0))
            for _ in range(2):
                yield await self.search(QUERY)
            del proxy.answer
            proxy.answer = lambda r: r.transport.abort()
            yield await self.search(QUERY)
settings = settings_for(Config(rate=0, browser=BrowserConfig(executable=QUICK)))
settings |= {"LOG_LEVEL": "DEBUG", "COOKIES_DEBUG": True, "ITEM_PIPELINES": {}, "RETRY_TIMES": 1}
from scrapy.crawler import AsyncCrawlerProcess
process = AsyncCrawlerProcess(settings)
process.crawl(KeyedSpider)
process.start()
"""


def test_debug_log_of_a_crawl_with_proxy_password_key_and_cookies() -> None:
    done = subprocess.run([sys.executable, "-c", CRAWL], capture_output=True, text=True, cwd=ROOT, timeout=60)
    log = done.stdout + done.stderr
    assert "walled: ok, 2 results" in log
    assert "Retrying" in log
    assert "Sending cookies to" in log
    assert "key=***" in log
    for secret in ("K3Y-V4LUE", "p@ss", "p%40ss", "bWU6cEBzcw"):
        assert secret not in log, [line for line in log.splitlines() if secret in line][:5]


# --- pages


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>IP address: 203.0.113.77<br>Time: 2026-11-20T10:11:12Z", "<p>IP address: 192.0.2.1<br>Time: 2026-11-20T10:11:12Z"),
        ('{"clientIp":"203.0.113.77"}', '{"clientIp":"192.0.2.1"}'),
        ("Your IP is <b>2a02:1234::9</b>", "Your IP is <b>2001:db8::1</b>"),
        ("remote_addr=203.0.113.77&x=1 … 203.0.113.77, not 203.0.113.770", "remote_addr=192.0.2.1&x=1 … 192.0.2.1, not 203.0.113.770"),
        ("<a href='http://me:pw@h.example/'>", "<a href='http://***@h.example/'>"),
        ("What is 203.0.113.77? A zip of 1.2.3.4", "What is 203.0.113.77? A zip of 1.2.3.4"),
        ("<a href='https://a.example/?key=words&token=x@y'>", "<a href='https://a.example/?key=words&token=x@y'>"),
        ("<a href='https://medium.example/@user'>", "<a href='https://medium.example/@user'>"),
    ],
)  # fmt: skip
def test_page_as_it_may_be_stored(html: str, expected: str) -> None:
    assert redact_page(html) == expected
    assert redact_page(expected) == expected


def test_page_holds_no_known_secret() -> None:
    register_secret("known-s3cret")
    assert redact_page("<input value='known-s3cret'>") == "<input value='***'>"
