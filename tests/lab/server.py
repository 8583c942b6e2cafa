"""The lab's server. Each engine has a port of its own, so that its paths are the real ones; nothing leaves 127.0.0.1.

It runs in a thread with an event loop of its own: tests in any loop, the demo and the benchmarks use it alike.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from aiohttp import web

from tests.lab import pages
from websearch.config import BrowserConfig, Config, CooldownConfig, ProviderConfig, PublicConfig
from websearch.fetching.cases import Case, load_cases

FIXTURES = Path(__file__).parents[2] / "fixtures"
QUERY = "pour over coffee ratio"
EMPTY_QUERY = "zxqvplorf kwyjibo brnmtz"
ENGINES = ("startpage", "google", "duckduckgo", "bing", "yahoo", "ecosia", "mojeek")


class Wall:
    """What may stand before an engine's results."""

    COOKIE = "cookie"  # a script proves work, sets a cookie and reloads
    ALTCHA = "altcha"  # a box to click; its script proves work and submits a form
    CONSENT = "consent"  # a dialog with a button to reject
    CAPTCHA = "captcha"  # never passed
    BLOCK = "block"  # 403


@dataclass(slots=True)
class Fault:
    """How an engine misbehaves. `delay` in seconds before every answer; `hang` never answers; `reset` breaks the connection off;
    `truncate` sends so many bytes and closes; `drip` seconds between bytes; `status` instead of 200, `times` limits the fault to
    the next n requests; `wall` stands before the results until the client has passed it."""

    delay: float = 0.0
    hang: bool = False
    reset: bool = False
    truncate: int | None = None
    drip: float | None = None
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    wall: str | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    form: dict[str, str]
    headers: dict[str, str]
    cookies: dict[str, str]


@dataclass
class Engine:
    """One engine of the lab."""

    name: str
    cases: dict[tuple[str, int], Case]
    fault: Fault = field(default_factory=Fault)
    requests: list[Seen] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    passes: set[str] = field(default_factory=set)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # --- the wire

    async def handle(self, request: web.Request) -> web.StreamResponse:
        form = {k: str(v) for k, v in (await request.post()).items()}
        seen = Seen(
            request.method, request.path, dict(request.query), form, dict(request.headers), dict(request.cookies)
        )
        self.requests.append(seen)
        fault = self._take_fault()
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.hang:
            await asyncio.sleep(3600)
        if fault.reset:
            assert request.transport is not None
            request.transport.abort()
        answer = self._answer(seen, fault)
        if fault.truncate is not None or fault.drip is not None:
            return await self._broken(request, answer, fault)
        return answer

    def _take_fault(self) -> Fault:
        fault = self.fault
        if fault.times is not None:
            self.fault = Fault() if fault.times <= 1 else replace(fault, times=fault.times - 1)
        return fault

    async def _broken(self, request: web.Request, answer: web.Response, fault: Fault) -> web.StreamResponse:
        body = answer.body if isinstance(answer.body, bytes) else b""
        stream = web.StreamResponse(headers={"Content-Type": "text/html", "Content-Length": str(len(body))})
        await stream.prepare(request)
        for position in range(len(body)) if fault.drip else ():
            await stream.write(body[position : position + 1])
            await asyncio.sleep(fault.drip or 0)
        await stream.write(body[: fault.truncate])
        assert request.transport is not None
        request.transport.close()
        return stream

    def _answer(self, seen: Seen, fault: Fault) -> web.Response:
        if fault.status or fault.body is not None:
            text = fault.body if fault.body is not None else f"<h1>{fault.status}</h1>"
            return web.Response(text=text, status=fault.status or 200, content_type="text/html", headers=fault.headers)
        if seen.path == pages.VERIFY:
            return self._verify(seen)
        if fault.wall and seen.cookies.get(pages.PASS) not in self.passes:
            return self._wall(fault.wall, seen)
        return PROTOCOLS[self.name](self, seen)

    def _wall(self, wall: str, seen: Seen) -> web.Response:
        # Back to where the client came from, as the real ones do.
        back = seen.path + (f"?{'&'.join(f'{k}={v}' for k, v in seen.query.items())}" if seen.query else "")
        match wall:
            case Wall.COOKIE:
                return web.Response(text=pages.cookie_wall(self._pass()), status=429, content_type="text/html")
            case Wall.ALTCHA:
                return web.Response(text=pages.altcha_wall(back), content_type="text/html")
            case Wall.CONSENT:
                return web.Response(text=pages.consent_wall(self._pass()), content_type="text/html")
            case Wall.CAPTCHA:
                return web.Response(text=pages.captcha_wall(), status=403, content_type="text/html")
            case _:
                return web.Response(text=pages.block(), status=403, content_type="text/html")

    def _pass(self) -> str:
        token = secrets.token_hex(8)
        self.passes.add(token)
        return token

    def _verify(self, seen: Seen) -> web.Response:
        if not pages.proven(seen.form.get("altcha", "")):
            return web.Response(text=pages.block(), status=403, content_type="text/html")
        answer = web.Response(status=302, headers={"Location": seen.form.get("back") or "/"})
        answer.set_cookie(pages.PASS, self._pass())
        return answer

    # --- the results

    def page(self, query: str | None, page: int) -> web.Response:
        """The stored page for a query: the results it has, else the engine's own no-results page."""
        if not query:
            return web.Response(text="<h1>no query</h1>", status=400, content_type="text/html")
        case = self.cases.get((_fold(query), page)) or self.cases.get((EMPTY_QUERY, 1))
        if case is None:
            return web.Response(status=404)
        body = (case.folder / "page.html").read_bytes()
        return web.Response(body=body, status=case.status, content_type="text/html", charset="utf-8")

    def home(self, form: str = "") -> web.Response:
        answer = web.Response(text=pages.home(self.name, form), content_type="text/html")
        answer.set_cookie(f"{self.name}_session", secrets.token_hex(4))
        return answer


def _fold(query: str) -> str:
    return " ".join(query.casefold().split())


def _number(text: str | None) -> int:
    return int(text) if text and text.lstrip("-").isdigit() else 0


def _not_found() -> web.Response:
    return web.Response(text="<h1>404</h1>", status=404, content_type="text/html")


def _duckduckgo(engine: Engine, seen: Seen) -> web.Response:
    values = seen.form or seen.query
    if seen.path not in ("/html/", "/lite/"):
        return _not_found()
    # A later page is had by the form of the page before, with its token (facts §7.1).
    page = 2 if _number(values.get("s")) else 1
    if page > 1 and not values.get("vqd"):
        return web.Response(text=pages.captcha_wall(), status=403, content_type="text/html")
    if seen.path == "/lite/":
        for case in engine.cases.values():
            if case.variant == "lite" and _fold(case.query) == _fold(values.get("q", "")):
                return web.Response(body=(case.folder / "page.html").read_bytes(), content_type="text/html")
    return engine.page(values.get("q"), page)


def _startpage(engine: Engine, seen: Seen) -> web.Response:
    match seen.method, seen.path:
        case "GET", "/":
            token = secrets.token_hex(6)
            engine.tokens.add(token)
            return engine.home(pages.startpage_form(token))
        case "POST", "/sp/search" if (
            seen.form.get("sc") not in engine.tokens and not _number(seen.form.get("page")) > 1
        ):
            return web.Response(status=302, headers={"Location": "/sp/captcha"})
        case (("POST" | "GET"), "/sp/search"):
            values = seen.form or seen.query
            return engine.page(values.get("query"), max(1, _number(values.get("page"))))
        case _, "/sp/captcha":
            return web.Response(text=pages.captcha_wall(), content_type="text/html")
        case _:
            return _not_found()


def _get_search(path: str, query: str, page: Callable[[Seen], int]) -> Callable[[Engine, Seen], web.Response]:
    def answer(engine: Engine, seen: Seen) -> web.Response:
        if seen.path == "/":
            return engine.home()
        if seen.method != "GET" or seen.path != path:
            return _not_found()
        return engine.page(seen.query.get(query), page(seen))

    return answer


PROTOCOLS: dict[str, Callable[[Engine, Seen], web.Response]] = {
    "duckduckgo": _duckduckgo,
    "startpage": _startpage,
    "google": _get_search("/search", "q", lambda seen: _number(seen.query.get("start")) // 10 + 1),
    "bing": _get_search("/search", "q", lambda seen: (max(1, _number(seen.query.get("first"))) - 1) // 10 + 1),
    "yahoo": _get_search("/search", "p", lambda seen: (max(1, _number(seen.query.get("b"))) - 1) // 7 + 1),
    "ecosia": _get_search("/search", "q", lambda seen: _number(seen.query.get("p")) + 1),
    "mojeek": _get_search("/search", "q", lambda seen: (max(1, _number(seen.query.get("s"))) - 1) // 10 + 1),
}


class Lab:
    """The world. Use as a context manager; `engines[name].fault` and `.requests` steer and show it."""

    def __init__(self, fixtures: Path = FIXTURES) -> None:
        cases: dict[str, dict[tuple[str, int], Case]] = {name: {} for name in ENGINES}
        for case in load_cases(fixtures):
            if case.kind in ("results", "empty") and case.engine in cases:
                cases[case.engine].setdefault((_fold(case.query), case.page), case)
                if case.folder.name in ("results-en", "results-en-page2", "empty-en"):
                    cases[case.engine][_fold(case.query), case.page] = case
        self.engines = {name: Engine(name, cases[name]) for name in ENGINES}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lab", daemon=True)
        self._runners: list[web.AppRunner] = []

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        for engine in self.engines.values():
            app = web.Application(client_max_size=1 << 22)
            app.router.add_route("*", "/{path:.*}", engine.handle)
            # A hanging handler must not hold up the end.
            runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            engine.port = runner.addresses[0][1]
            self._runners.append(runner)

    async def _stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()

    def reset(self) -> None:
        """Back to a world without faults and memory."""
        for engine in self.engines.values():
            engine.fault = Fault()
            engine.requests.clear()
            engine.passes.clear()
            engine.tokens.clear()

    def config(self, state: Path | str, **more: object) -> Config:
        """A configuration that points every engine here, without pace; fields of Config may be given."""
        base = Config(
            providers={name: ProviderConfig(base_url=engine.url, rate=0) for name, engine in self.engines.items()},
            public=PublicConfig(),
            browser=BrowserConfig(),
            cooldown=CooldownConfig(start=0),
            rate=0,
            state_dir=str(state),
            cache_dir=str(state),
        )
        return replace(base, **more)  # type: ignore[arg-type]

    def environ(self, state: Path | str) -> dict[str, str]:
        """The same as environment variables, for a process of its own."""
        values = {"WEBSEARCH_RATE": "0", "WEBSEARCH_COOLDOWN__START": "0", "WEBSEARCH_STATE_DIR": str(state)}
        for name, engine in self.engines.items():
            values[f"WEBSEARCH_PROVIDERS__{name.upper()}__BASE_URL"] = engine.url
            values[f"WEBSEARCH_PROVIDERS__{name.upper()}__RATE"] = "0"
        return values
