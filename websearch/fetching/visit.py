"""One visit of the browser to a page behind a wall: what it is asked to do, what it brings back, how it can fail.

No Playwright in here; `websearch.fetching.browser` carries it out.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from scrapy.http import HtmlResponse, Request

from websearch.config import Config
from websearch.fetching.clearance import CLEARED
from websearch.fetching.context import BrowserPlan, Fetch, FetchFailed
from websearch.model import Outcome, SearchResponse

VISIT: Final = "websearch_visit"
SLOT: Final = "browser"

#: The evidence of a page that pretends there were no results.
SOFT_BLOCK: Final = "soft block"

#: What a re-issued request does not inherit: the counters of the plain one, its cookie jar, and a proxy that the browser
#: is told of separately.
_NOT_INHERITED: Final = frozenset(
    {"redirect_times", "redirect_ttl", "redirect_urls", "redirect_reasons", "retry_times", "depth", "download_latency",
     "proxy", "_auth_proxy", "_scheme_proxy", "cookiejar", CLEARED}
)  # fmt: skip

#: Headers that describe the bytes of an answer, which the browser has decoded, inflated and read; and its secrets.
_NOT_RECEIVED: Final = frozenset(
    {"content-type", "content-encoding", "content-length", "transfer-encoding", "set-cookie"}
)


@dataclass(slots=True, eq=False)
class Visit:
    """`proxy` is as Playwright takes it. `cookies` are brought along (as `add_cookies` takes them), those named in `own`
    for this visit only: they are a query's filters. `seconds` is how long it may take.

    `earned` is what the browser holds for the site afterwards; `status` and `received` (headers) are those of the last
    document it loaded. `waiter` is the task that waits for the download: when that is over first, the search was
    cancelled.
    """

    fetch: Fetch
    plan: BrowserPlan
    wall: Outcome
    seconds: float
    user_agent: str
    proxy: dict[str, str] | None = field(default=None, repr=False)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[dict[str, Any]] = field(default_factory=list, repr=False)
    own: tuple[str, ...] = ()
    earned: list[dict[str, Any]] = field(default_factory=list, repr=False)
    status: int | None = None
    received: dict[str, str] = field(default_factory=dict, repr=False)
    waiter: asyncio.Task[Any] | None = None

    def response(self, request: Request, url: str, html: str, status: int | None = None) -> HtmlResponse:
        """The page as it stands in the browser, as a response; with the status it came with unless one is given."""
        headers = {n: v.replace("\n", ", ") for n, v in self.received.items() if n.lower() not in _NOT_RECEIVED}
        headers["Content-Type"] = "text/html; charset=utf-8"
        body = html.encode("utf-8", "replace")
        status = status or self.status or 200
        return HtmlResponse(url, status=status, headers=headers, body=body, request=request, flags=["browser"])

    def verdict(self, request: Request, url: str, html: str) -> SearchResponse:
        """What the page says by itself, whatever status the wall before it had."""
        return self.fetch.judge(self.response(request, url, html, 200))


def answered(verdict: SearchResponse) -> bool:
    """True when a page is an answer: results, or the engine's word that there are none."""
    return verdict.outcome in (Outcome.OK, Outcome.EMPTY) or bool(verdict.results)


def passable(verdict: SearchResponse) -> bool:
    """True for a wall that a browser may pass. Too many requests are too many from a browser as well."""
    evidence = verdict.error.evidence if verdict.error else None
    return verdict.outcome in (Outcome.CHALLENGE, Outcome.CONSENT, Outcome.BLOCKED) or evidence == SOFT_BLOCK


def visit_request(request: Request, fetch: Fetch, config: Config, *, wall: Outcome) -> Request:
    """The request that lets the browser get what `request` did not: a GET of the plan's URL, else the same again, from
    where it was before it was redirected to the wall. The cookies it carried go along.

    Raises FetchFailed when Chromium cannot use the request's proxy.
    """
    plan = fetch.browser
    assert plan is not None, "the caller has checked that a browser may help"
    came_from = request.meta.get("redirect_urls")
    same = plan.url is None and not came_from
    sent, own = _cookies_of(request)
    visit = Visit(
        fetch=fetch,
        plan=plan,
        wall=wall,
        seconds=config.browser.timeout,
        user_agent=config.user_agent,
        proxy=browser_proxy(request, wall),
        headers={n: v for n in ("Accept-Language", "Referer", "Content-Type") if (v := _header(request, n))},
        cookies=sent,
        own=own,
    )
    meta = {name: value for name, value in request.meta.items() if name not in _NOT_INHERITED}
    meta |= {
        VISIT: visit,
        "playwright": True,
        "download_slot": SLOT,
        "autothrottle_dont_adjust_delay": True,
        "dont_cache": True,
        "dont_retry": True,
        "dont_merge_cookies": True,
        "dont_redirect": True,  # the browser has followed what there was to follow
    }
    return request.replace(
        cls=Request,
        url=plan.url or (came_from[0] if came_from else request.url),
        method=request.method if same else "GET",
        body=request.body if same else b"",
        headers={"User-Agent": config.user_agent},
        cookies={},
        meta=meta,
        dont_filter=True,
    )


def _header(request: Request, name: str) -> str:
    return (request.headers.get(name) or b"").decode("latin-1")


def _cookies_of(request: Request) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The cookies a plain request carried, as Playwright takes them, and the names of those it was given by hand."""
    given = request.cookies
    named = given if isinstance(given, dict) else {str(cookie["name"]): cookie["value"] for cookie in given}
    pairs = {str(name): str(value) for name, value in named.items()}
    lent = request.meta[CLEARED].names if CLEARED in request.meta else ()
    own = tuple(name for name in pairs if name not in lent)
    for part in _header(request, "Cookie").split(";"):
        name, separator, value = part.strip().partition("=")
        if separator and name:
            pairs[name] = value
    return [{"name": name, "value": value, "url": request.url} for name, value in pairs.items()], own


def browser_proxy(request: Request, wall: Outcome = Outcome.NETWORK_ERROR) -> dict[str, str] | None:
    """The proxy a plain request went through, as Playwright takes it: server, username and password apart.

    Raises FetchFailed (`wall` is its outcome) for a SOCKS proxy with a password, which Chromium cannot use.
    """
    address = request.meta.get("proxy")
    if not address:
        return None
    parts = urlsplit(address if "://" in address else f"http://{address.lstrip('/')}")
    scheme = parts.scheme.lower().replace("socks5h", "socks5")  # Chromium always leaves names to a SOCKS proxy
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    proxy = {"server": f"{scheme}://{host}" + (f":{parts.port}" if parts.port else "")}
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    # Scrapy's proxy middleware has moved user and password from the address to a header.
    kind, _, encoded = _header(request, "Proxy-Authorization").partition(" ")
    if not user and kind.lower() == "basic":
        with contextlib.suppress(binascii.Error, ValueError):
            user, _, password = base64.b64decode(encoded).decode("utf-8", "replace").partition(":")
    if user and scheme.startswith("socks"):
        reason = "the browser cannot use a SOCKS proxy with a password (Chromium does not): use an HTTP proxy"
        raise FetchFailed(wall, reason, "socks proxy")
    return proxy | ({"username": user, "password": password} if user else {})


# --- how it can fail -------------------------------------------------------------------------------------------------


def died(error: BaseException) -> bool:
    """True when page, context, browser or driver went away under a visit, which then can be begun again."""
    text = str(error)
    return type(error).__name__ == "TargetClosedError" or "crashed" in text or "Connection closed" in text


def is_playwright(error: BaseException) -> bool:
    """True for an error of Playwright's, told by its module: nothing is imported."""
    return any(cls.__module__.partition(".")[0] == "playwright" for cls in type(error).__mro__)


def failure(error: BaseException, visit: Visit) -> FetchFailed:
    """What an exception of Playwright's means, in one line."""
    kind = type(error).__name__
    code = next((word.strip(".,:()") for word in str(error).split() if word.startswith("net::")), None)
    if kind == "TimeoutError":
        return FetchFailed(Outcome.TIMEOUT, f"the browser got no answer in {visit.seconds:g} s", kind)
    if code and any(word in code for word in ("PROXY", "TUNNEL", "SOCKS", "INVALID_AUTH")):
        return FetchFailed(Outcome.NETWORK_ERROR, f"the proxy did not let the browser through ({code})", code)
    if code:
        outcome = Outcome.TIMEOUT if "TIMED_OUT" in code else Outcome.NETWORK_ERROR
        return FetchFailed(outcome, f"the browser could not load the page ({code})", code)
    what = "died before it was passed" if died(error) else "failed to pass it"
    return FetchFailed(visit.wall, f"there is a wall, and the browser {what} ({kind})", kind)
