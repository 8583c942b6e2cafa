"""Links: resolve and unwrap them without damage, and tell whether two name the same page.

`url` is what a user sees and fetches: the target as the engine gave it, unwrapped once. `identity` is a key for
merging only;
it is never shown and never fetched. Rules: design of the identity key in facts/rank-fusion §5, wrappers in facts §7.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote_to_bytes, urljoin, urlsplit

import idna

#: Reads the target out of a redirect's address; None when there is none.
Target = Callable[[SplitResult], str | None]

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_HTTP = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)


def resolve(href: str, page_url: str) -> str | None:
    """The absolute http(s) URL of an href as found in a page, else None. Never raises.

    An absolute href is returned byte for byte, but for what every browser drops: white space around it, and tabs and
    line
    breaks inside. A relative one is completed from `page_url`, the rest of it untouched.
    """
    text = re.sub(r"[\t\r\n]", "", href.strip(" \t\r\n\f\x0b\0"))
    if _HTTP.match(text):
        return text if _parts(text) else None
    if not text or text.startswith("#") or _SCHEME.match(text):
        return None
    try:
        joined = urljoin(page_url, text)
    except ValueError:
        return None
    return joined if _HTTP.match(joined) and _parts(joined) else None


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return None
    return parts if parts.hostname else None


@dataclass(frozen=True, slots=True)
class Redirect:
    """An address that leads on: `hosts` are host suffixes, `path` is a prefix of the path, `target` reads where it
    leads."""

    hosts: tuple[str, ...]
    path: str
    target: Target


def _decode(value: str) -> str | None:
    """Percent-decode once; None when what comes out is no text."""
    try:
        return unquote_to_bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        return None


def query_param(*names: str) -> Target:
    """The first of these parameters that is there, decoded once. `+` stays: the wrappers encode it as %2B and a space
    as %20."""

    def target(parts: SplitResult) -> str | None:
        # An href that was not HTML-decoded still separates by `&amp;` (BC003).
        pairs = [pair.partition("=") for pair in parts.query.replace("&amp;", "&").split("&")]
        for name in names:
            for key, _, value in pairs:
                if key == name and value:
                    return _decode(value)
        return None

    return target


def bing_token(name: str = "u") -> Target:
    """`a1` and the target in URL-safe base64 without padding (facts §7.3). A relative target (`a0…`) is the engine's
    own."""

    def target(parts: SplitResult) -> str | None:
        token = query_param(name)(parts) or ""
        if not token.startswith("a1"):
            return None
        data = token[2:].replace("-", "+").replace("_", "/").rstrip("=")
        try:
            return base64.b64decode(data + "=" * (-len(data) % 4), validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            return None

    return target


def path_segment(marker: str = "RU") -> Target:
    """Yahoo's `/RU=<target>/RK=…`: split before decoding, so that an encoded `RK%3d` inside the target is safe
    (BC007)."""

    def target(parts: SplitResult) -> str | None:
        for segment in parts.path.split("/"):
            if segment.startswith(f"{marker}="):
                return _decode(segment.removeprefix(f"{marker}="))
        return None

    return target


def unwrap(url: str, redirects: Iterable[Redirect], page_url: str = "") -> str | None:
    """Where an absolute URL leads: the target of the redirect it is, None when that is unreadable or no http(s); any
    other
    URL unchanged. One step only."""
    parts = _parts(url)
    if parts is None:
        return None
    for redirect in redirects:
        if parts.path.startswith(redirect.path) and on_host(url, redirect.hosts):
            target = redirect.target(parts)
            return resolve(target, page_url) if target and _HTTP.match(target.strip()) else None
    return url


#: Addresses that count a click on an ad: host suffixes and path prefix.
_ADS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("google.com", "googleadservices.com", "googlesyndication.com"), "/aclk"),
    (("google.com", "googleadservices.com"), "/pagead/"),
    (("doubleclick.net",), "/"),
    (("bing.com",), "/aclick"),
    (("bing.com",), "/aclk"),
    (("duckduckgo.com",), "/y.js"),
    (("search.yahoo.com",), "/cbclk"),
    (("search.yahoo.com",), "/rdclks"),
)
_GOOGLE_HOST = re.compile(r"(?:^|\.)google\.[a-z]{2,3}(?:\.[a-z]{2})?\Z")


def is_ad(url: str) -> bool:
    """True for the click counters of ads; told by host and path, never by a word somewhere in the address (BC035)."""
    parts = _parts(url)
    if parts is None:
        return False
    name = (parts.hostname or "").lower()
    if parts.path.startswith("/aclk") and _GOOGLE_HOST.search(name):
        return True
    return any(parts.path.startswith(path) and _below(name, hosts) for hosts, path in _ADS)


def host(url: str) -> str:
    """The host of a URL, lower case, without port and userinfo; empty when there is none."""
    parts = _parts(url)
    return (parts.hostname or "").rstrip(".") if parts else ""


def _below(name: str, suffixes: Iterable[str]) -> bool:
    return any(name == suffix or name.endswith(f".{suffix}") for suffix in suffixes)


def on_host(url: str, suffixes: Iterable[str]) -> bool:
    """True when the host is one of the suffixes or below one (`notexample.com` is not below `example.com`)."""
    return _below(host(url), suffixes)


# --- identity --------------------------------------------------------------------------------------------------------

#: Parameters that never change what a page shows: removed by whole name. Not `ref`, `source`, `id`, `q`, `v`, `p`.
TRACKERS = frozenset(
    {
        "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "fbclid", "msclkid", "yclid", "ysclid", "twclid", "ttclid",
        "igshid", "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "_openstat", "_ga", "_gl",
    }
)  # fmt: skip

#: Mobile and old twins of hosts that show the same pages.
_MOBILE = {
    "m.youtube.com": "youtube.com",
    "m.facebook.com": "facebook.com",
    "mobile.twitter.com": "twitter.com",
    "old.reddit.com": "reddit.com",
}
_MOBILE_WIKI = re.compile(
    r"(.+)\.m\.((?:wikipedia|wiktionary|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage|wikimedia|wikidata)\.org)\Z"
)
_AMP_GOOGLE = re.compile(r"/amp/(s/)?([^/].*)", re.DOTALL)
_AMP_CACHE = re.compile(r"/[cv]/(s/)?([^/].*)", re.DOTALL)
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
#: Safe to decode in a path: sub-delimiters and what a path may hold. Never / ? # % & =.
_PATH_SAFE = _UNRESERVED | frozenset(b"!$'()*+,;:@")
_QUERY_SAFE = _UNRESERVED | frozenset(b"!$'()*,;:@")


def identity(url: str) -> str:
    """The merge key: two URLs with the same key are taken for the same page. Never raises.

    Without scheme, default port, userinfo, `www.`, trailing slash, fragment (but for `#!` and `#/` routes) and known
    trackers; host in IDNA; escapes in one form. Text that is no URL is its own key.
    """
    text = url.strip()
    parts = _parts(text)
    if parts is None or parts.scheme.lower() not in ("http", "https"):
        return text
    name, path, query, fragment = parts.hostname or "", parts.path, parts.query, parts.fragment
    if (inner := _amp(name, path)) is not None and (unwrapped := _parts(f"http://{inner}")) is not None:
        name, path = unwrapped.hostname or "", unwrapped.path
    name = _host_key(name)
    port = parts.port
    if port and port != (443 if parts.scheme.lower() == "https" else 80):
        name = f"{name}:{port}"
    key = name + _path_key(path)
    if kept := _query_key(query):
        key += f"?{kept}"
    if fragment.startswith(("!", "/")):
        key += f"#{fragment}"
    return key


def _amp(name: str, path: str) -> str | None:
    """The address inside an AMP viewer or cache URL."""
    if _GOOGLE_HOST.search(name) and (match := _AMP_GOOGLE.match(path)):
        return match[2]
    if name.endswith(".cdn.ampproject.org") and (match := _AMP_CACHE.match(path)):
        return match[2]
    return None


def _host_key(name: str) -> str:
    name = name.lower().rstrip(".")
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError, IndexError):
            return name
    # `www.com` is a name of its own: what is left must still have a dot.
    if name.startswith("www.") and "." in name[4:]:
        name = name[4:]
    name = _MOBILE.get(name, name)
    match = _MOBILE_WIKI.match(name)
    return f"{match[1]}.{match[2]}" if match else name


def _escapes(text: str, safe: frozenset[int]) -> str:
    """One spelling of escapes: what is safe decoded, hex digits upper case, characters beyond ASCII encoded."""

    def replace(match: re.Match[str]) -> str:
        byte = int(match[1], 16)
        return chr(byte) if byte in safe else f"%{match[1].upper()}"

    if "%" in text:
        text = _ESCAPE.sub(replace, text)
    if not text.isascii():
        text = "".join(c if c.isascii() else "".join(f"%{b:02X}" for b in c.encode("utf-8", "replace")) for c in text)
    return text.replace(" ", "%20")


def _path_key(path: str) -> str:
    key = _escapes(path, _PATH_SAFE)
    if "/." in key:
        key = _dots(key)
    return key.removesuffix("/")


def _dots(path: str) -> str:
    """RFC 3986 §5.2.4."""
    out: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(out) > 1:
                out.pop()
        elif segment != ".":
            out.append(segment)
    if segments[-1] in (".", ".."):
        out.append("")
    return "/".join(out)


def _query_key(query: str) -> str:
    kept = []
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        if not pair or name in TRACKERS or name.startswith("utm_"):
            continue
        # `?x` and `?x=` ask for the same thing; `?2172` and `?2173` do not.
        kept.append(_escapes(f"{name}={value}" if equals and value else name, _QUERY_SAFE).replace("%20", "+"))
    return "&".join(kept)
