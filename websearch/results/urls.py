"""Links: resolve and unwrap them without damage, tell ads, and tell whether two addresses name the same page.

`url` is what a user sees and fetches: the target byte for byte as the engine gave it, unwrapped once. `identity` is a
key for merging, never shown and never fetched. All functions here are pure, take any text and raise nothing.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from string import ascii_letters, digits
from typing import Final
from urllib.parse import SplitResult, urlsplit

import idna

#: Reads the target out of a redirect's address; None when it holds none.
Target = Callable[[SplitResult], str | None]

# --- parts -----------------------------------------------------------------------------------------------------------

_AROUND: Final = "".join(map(chr, range(0x21)))  # control characters and the space: browsers drop them at both ends
_INSIDE: Final = str.maketrans("", "", "\t\r\n")  # and these anywhere
_WEB: Final = re.compile(r"(https?)://([^/?#]+)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.IGNORECASE | re.DOTALL)
_PLAIN: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")  # most hosts: nothing to check and nothing to fold
_NO_AUTHORITY: Final = re.compile(r'[\s\x00-\x1f\x7f<>^|"\\]')


def _clean(text: str) -> str:
    return text.strip(_AROUND).translate(_INSIDE)


@functools.lru_cache(maxsize=512)  # one link is asked about half a dozen times in a row
def _split(url: str) -> SplitResult | None:
    """The parts of an absolute http(s) URL; None for anything else (no host, a port that is none, a display text).

    `urlsplit` and its `port` do not raise on what passes here.
    """
    found = _WEB.fullmatch(url)
    if found is None or not (_PLAIN.fullmatch(found[2]) or _is_authority(found[2])):
        return None
    return SplitResult(found[1].lower(), found[2], found[3], found[4] or "", found[5] or "")


def _is_authority(text: str) -> bool:
    # `https://a.example › docs` is no address, and of `http://a\@b` no two readers name the same host.
    if _NO_AUTHORITY.search(text):
        return False
    try:
        parts = urlsplit(f"//{text}")
        return bool((parts.hostname or "").strip(".")) and (parts.port or 0) >= 0  # a port that is none raises
    except ValueError:
        return False


def _host_and_port(parts: SplitResult) -> tuple[str, int | None]:
    if _PLAIN.fullmatch(parts.netloc):
        return parts.netloc, None
    return (parts.hostname or "").removesuffix("."), parts.port


def host(url: str) -> str:
    """The host of a URL in lower case, without port, user info and final dot; empty when there is none."""
    if parts := _split(url):
        return _host_and_port(parts)[0]
    try:
        return (urlsplit(url.replace("\\", "/")).hostname or "").removesuffix(".")
    except ValueError:
        return ""


_COUNTRY_NAME: Final = r"\.(?:com?\.)?[a-z]{2,3}"
_COUNTRY: Final = re.compile(_COUNTRY_NAME + r"\Z")


def _below(name: str, suffixes: Iterable[str]) -> bool:
    for suffix in suffixes:
        stem, known = name, suffix
        if suffix.endswith(".*"):
            country = _COUNTRY.search(name)
            stem, known = name[: country.start()] if country else "", suffix[:-2]
        if stem == known or stem.endswith(f".{known}"):
            return True
    return False


def on_host(url: str, suffixes: Iterable[str]) -> bool:
    """True when the host is one of the suffixes or lies below one: `notexample.com` is not below `example.com`.

    `google.*` stands for a name under every country: google.com, www.google.de, google.co.uk.
    """
    return _below(host(url), suffixes)


# --- resolving -------------------------------------------------------------------------------------------------------

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_BASE: Final = re.compile(r"(https?:)(//[^/?#]+)([^?#]*)([^#]*)", re.IGNORECASE)
_DOTS: Final = re.compile(r"(?:\.\.?/)*(?:\.\.?(?=[?#]|\Z))?")


def resolve(href: str, page_url: str) -> str | None:
    """The absolute http(s) URL of an href as found in a page; None when it names none, or only a place in that page.

    An absolute href comes back byte for byte, but for what browsers drop: white space around it, tabs and line breaks
    inside. A relative one is completed from `page_url`; only its leading `./` and `../` are worked off.
    """
    text = _clean(href)
    if _SCHEME.match(text):
        return text if _split(text) else None
    if not text or text.startswith("#"):
        return None
    base = _BASE.match(_clean(page_url))
    if text.startswith("//"):
        joined = (base[1] if base else "https:") + text
    elif base:
        joined = base[1] + base[2] + _from_path(text, base[3])
    else:
        return None
    return joined if _split(joined) else None


def _from_path(text: str, path: str) -> str:
    if text.startswith("/"):
        return text
    if text.startswith("?"):
        return (path or "/") + text
    dots = _DOTS.match(text)
    above = dots[0].split("/").count("..") if dots else 0
    folders = (path or "/").split("/")[:-1]
    folder = "/".join(folders[: max(1, len(folders) - above)]) + "/"
    return folder + text[dots.end() if dots else 0 :]


# --- unwrapping ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Redirect:
    """An address of the engine's that leads on to a result.

    `hosts` are host suffixes as `on_host` takes them. `path` is the whole path, or with what is below it: `/l/` and
    `/l` both match `/l`, `/l/` and `/l/x`, neither matches `/lite`; `/` matches every path. `target` reads where it
    leads.
    """

    hosts: tuple[str, ...]
    path: str
    target: Target


def unwrap(url: str, redirects: Iterable[Redirect], page_url: str = "") -> str | None:
    """Where an absolute URL leads, one step: the target of the first redirect it is, or itself when it is none.

    None: it is a redirect, but to nothing on the web (the engine's own page, no http(s), unreadable). A redirect is
    told by its host and path; on the host of `page_url` by its path alone, so that a page from a gateway reads the same.
    """
    parts = _split(url)
    if parts is None:
        return url
    for redirect in redirects:
        if not _leads(parts.path, redirect.path):
            continue
        known = on_host(url, redirect.hosts)
        if known or _same_place(parts, page_url):
            target = _clean(redirect.target(parts) or "")
            if _split(target):
                return target
            if known or redirect.path != "/":  # on any host, "every path" tells nothing by itself
                return None
    return url


def _leads(path: str, rule: str) -> bool:
    stem = rule.removesuffix("/")
    return path.startswith(stem) and path[len(stem) : len(stem) + 1] in ("", "/", ";")


def _same_place(parts: SplitResult, page_url: str) -> bool:
    page = _split(page_url) if page_url else None
    return page is not None and page.netloc.lower() == parts.netloc.lower()


def query_param(*names: str) -> Target:
    """The first of these parameters that holds an http(s) URL, percent-decoded once.

    Names are tried in this order: Google has had `q` for the target, and the query in `q` beside the target in `url`.
    `+` stays `+`: the engines write a plus as %2B and a space as %20 (all captures), and a URL holds no bare space, so
    a bare `+` can only be the target's own (facts §7.1, §7.6).
    """

    def target(parts: SplitResult) -> str | None:
        values = (_decode(raw) for name in names for raw in _values(parts.query, name))
        return next((value for value in values if value and _split(_clean(value))), None)

    return target


def bing_token(name: str = "u") -> Target:
    """`a1` and the target in URL-safe base64 without padding (facts §7.3). `a0` marks an address of Bing's own."""

    def target(parts: SplitResult) -> str | None:
        for raw in _values(parts.query, name):
            token = (_decode(raw) or "").rstrip("=")
            if token.startswith("a1"):
                return _from_base64(token[2:])
        return None

    return target


def path_segment(marker: str = "RU") -> Target:
    """Yahoo's `/RU=<target>/RK=2/RS=…`, percent-decoded once (facts §7.4).

    It is cut before it is decoded: an encoded `RK%3d` belongs to the target (BC007). The target may hold bare slashes.
    """
    segment = re.compile(rf"/{re.escape(marker)}=(.*?)(?:/R[A-Z]=|\Z)", re.DOTALL)

    def target(parts: SplitResult) -> str | None:
        found = segment.search(parts.path)
        return _decode(found[1]) if found else None

    return target


_SEPARATOR: Final = re.compile(r"&(?:amp;)*")  # an href that was not HTML-decoded separates by `&amp;` (BC003)
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_ESCAPES: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
#: What a URL cannot hold bare: control characters, the space, and bytes that are no UTF-8 (as surrogates).
_NOT_BARE: Final = re.compile(r"[\x00-\x20\x7f\udc80-\udcff]")


def _values(query: str, name: str) -> Iterator[str]:
    for pair in _SEPARATOR.split(query):
        key, equals, value = pair.partition("=")
        if equals and key == name:
            yield value


def _decode(text: str) -> str | None:
    """Percent-decode once; None when an escape is broken (facts §7.1)."""
    if _BAD_ESCAPE.search(text):
        return None
    return _ESCAPES.sub(lambda run: _as_url_text(bytes.fromhex(run[0].replace("%", ""))), text)


def _from_base64(text: str) -> str | None:
    try:
        return _as_url_text(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except ValueError:
        return None


def _as_url_text(data: bytes) -> str:
    """Bytes as URL text: UTF-8, and what a URL cannot hold bare stays an escape."""
    text = data.decode("utf-8", "surrogateescape")
    return _NOT_BARE.sub(lambda char: f"%{ord(char[0]) & 0xFF:02X}", text)


# --- ads -------------------------------------------------------------------------------------------------------------

#: Click counters of ads: host suffix, and paths as in `Redirect`. Yahoo, Startpage and Ecosia show ads of Microsoft and
#: Google, whose counters they link to directly or through their own.
_ADS: Final[Mapping[str, tuple[str, ...]]] = {
    "google.*": ("/aclk", "/pagead/aclk"),
    "googleadservices.com": ("/aclk", "/pagead/"),
    "googlesyndication.com": ("/aclk", "/pagead/"),
    "syndicatedsearch.goog": ("/aclk",),
    "doubleclick.net": (
        "/aclk", "/pagead/aclk", "/pcs/click", "/ddm/clk", "/ddm/trackclk", "/searchads/link/click", "/clk", "/click",
    ),
    "clickserve.dartsearch.net": ("/link/click",),
    "bing.com": ("/aclick", "/aclk"),
    "r.bat.bing.com": ("/",),
    "r.msn.com": ("/",),
    "duckduckgo.com": ("/y.js",),
    "search.yahoo.com": ("/cbclk", "/cbclk2", "/rdclks"),
    "gemini.yahoo.com": ("/mbclk",),
    "amazon-adsystem.com": ("/x/c",),
}  # fmt: skip
#: The engines' own counters, as relative links on a page that came from another host than theirs (a gateway).
_OWN_ADS: Final = ("/aclk", "/pagead/aclk", "/aclick", "/y.js", "/cbclk", "/cbclk2", "/rdclks")


def _pattern(rules: Mapping[str, tuple[str, ...]]) -> re.Pattern[str]:
    """The table as one expression over host and path."""
    below = []
    for suffix, paths in rules.items():
        name = re.escape(suffix[:-2]) + _COUNTRY_NAME if suffix.endswith(".*") else re.escape(suffix)
        below.append(f"{name}(?:{'|'.join(re.escape(path.removesuffix('/')) for path in paths)})")
    return re.compile(rf"(?:[^/]*\.)?(?:{'|'.join(below)})(?![^/;])")


_AD: Final = _pattern(_ADS)


def is_ad(url: str, page_url: str = "") -> bool:
    """True for a click counter of ads, told by host and path, never by a word in the address (BC035).

    `page_url`: on the host of the result page itself the path alone tells. A wrapped ad is told after unwrapping.
    """
    parts = _split(url)
    if parts is None:
        return False
    if _same_place(parts, page_url) and any(_leads(parts.path, rule) for rule in _OWN_ADS):
        return True
    return _AD.match(_host_and_port(parts)[0] + parts.path) is not None


# --- identity --------------------------------------------------------------------------------------------------------

#: Parameters that never change what a page shows, by whole name, beside `utm_*`. Not `ref`, `source`, `id`, `q`, `v`, `p`:
#: they often are the page (rank-fusion §5).
TRACKERS: Final = frozenset(
    {
        "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "fbclid", "msclkid", "yclid", "ysclid", "twclid",
        "ttclid", "igshid", "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "_openstat", "_ga", "_gl",
    }
)  # fmt: skip
#: Twins of hosts that show the same pages. By list: `m.me` and `mobile.de` are names of their own.
_TWINS: Final = {
    "m.youtube.com": "youtube.com",
    "m.facebook.com": "facebook.com",
    "mobile.twitter.com": "twitter.com",
    "old.reddit.com": "reddit.com",
}
_WIKI_TWIN: Final = re.compile(
    r"(?<![^.])m\.(?=(?:wikipedia|wiktionary|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage|wikimedia"
    r"|wikidata|mediawiki|wikifunctions)\.org\Z)"
)
#: Hosts that differ from the same name with `www.`: time servers, and the site about them.
_WWW_DIFFERS: Final = frozenset({"pool.ntp.org"})
_DEFAULT_PORT: Final = {"http": 80, "https": 443}


def identity(url: str) -> str:
    """The merge key: addresses with the same key are taken for the same page. Text that is no http(s) URL is its own.

    Left out: scheme, user info, default port, `www.`, a trailing slash, known trackers, a fragment that is no route
    (`#!…`, `#/…`). One form: host (lower case, IDNA, known mobile twins), dot segments, escapes; the page inside an
    AMP viewer. Kept: everything else, the order of parameters too (rank-fusion §5 measures each step).
    """
    text = _clean(url)
    parts = _split(text)
    if parts is None:
        return text
    parts = _inside_viewer(parts)
    name, port = _host_and_port(parts)
    key = _host_key(name)
    if port not in (None, _DEFAULT_PORT[parts.scheme]):
        key += f":{port}"
    key += _path_key(parts.path)
    if parts.query and (query := _query_key(parts.query)):
        key += f"?{query}"
    if parts.fragment.startswith(("!", "/")):
        key += f"#{_PATH.fold(parts.fragment.partition(':~:')[0])}"
    return key


_VIEWER_PATH: Final = re.compile(r"/(amp|[cv])/(s/)?(?=[^/]+\.)(.+)", re.DOTALL)
_AMP_FORM: Final = re.compile(r"(?<=[^/])/amp/?\Z")


def _inside_viewer(parts: SplitResult) -> SplitResult:
    """The page an AMP viewer or cache shows: google.com/amp/s/HOST/PATH, *.cdn.ampproject.org/c/s/HOST/PATH.

    Only here `/amp` at the end of a path is known to be a form of the page, and left out (BC150).
    """
    viewer = _VIEWER_PATH.match(parts.path)
    hosts = ("google.*",) if viewer and viewer[1] == "amp" else ("cdn.ampproject.org",)
    if viewer is None or not _below(_host_and_port(parts)[0], hosts):
        return parts
    inner = _split(f"{'https' if viewer[2] else 'http'}://{viewer[3]}")
    if inner is None:
        return parts
    return inner._replace(path=_AMP_FORM.sub("", inner.path), query=parts.query, fragment=parts.fragment)


def _host_key(name: str) -> str:
    if ":" in name:
        return f"[{name}]"  # IPv6
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except (ValueError, IndexError):  # a host that is none must not cost the row (field notes §5.5)
            return name
    if name.startswith("www.") and "." in name[4:] and name[4:] not in _WWW_DIFFERS:
        name = name[4:]
    return _TWINS.get(name) or (_WIKI_TWIN.sub("", name, count=1) if "m." in name else name)


def _path_key(path: str) -> str:
    path = _PATH.fold(path)
    return (_without_dots(path) if "/." in path else path).removesuffix("/")


def _without_dots(path: str) -> str:
    """RFC 3986 §5.2.4."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment not in (".", ".."):
            kept.append(segment)
        elif segment == ".." and len(kept) > 1:
            kept.pop()
    return "/".join([*kept, ""] if segments[-1] in (".", "..") else kept)


def _query_key(query: str) -> str:
    kept = []
    for pair in _QUERY.fold(query).split("&"):
        name, _, value = pair.partition("=")
        if name not in TRACKERS and not name.startswith("utm_"):
            kept.append(pair if value else name)  # `?x` asks for what `?x=` asks for
    return "&".join(pair for pair in kept if pair)


class _Spelling:
    """One spelling of escapes for a part of a URL.

    `bare` may stand unescaped and is left so; of `bare`, `same` means the same escaped, and is decoded. All other
    characters are escaped, as UTF-8, with upper-case digits. `space` is how a space is spelt.
    """

    def __init__(self, bare: str, same: str, space: str) -> None:
        self._odd = re.compile(rf"%[0-9a-fA-F]{{2}}|[^%{re.escape(bare)}]")
        self._table = {" ": space}
        for byte in range(256):
            spelt = space if byte == 0x20 else chr(byte) if chr(byte) in same else f"%{byte:02X}"
            for pair in product(*((digit, digit.upper()) for digit in f"{byte:02x}")):
                self._table["%" + "".join(pair)] = spelt

    def fold(self, text: str) -> str:
        return self._odd.sub(self._spell, text) if text else text

    def _spell(self, odd: re.Match[str]) -> str:
        known = self._table.get(odd[0])
        return known or "".join(f"%{byte:02X}" for byte in odd[0].encode("utf-8", "surrogatepass"))


_UNRESERVED: Final = ascii_letters + digits + "-._~"
# Never decoded: / ? # % & = anywhere; in a query + (which is a space there) and ; (which some servers split at).
_PATH: Final = _Spelling(bare=_UNRESERVED + "!$&'()*+,;=:@/", same=_UNRESERVED + "!$'()*+,;:@", space="%20")
_QUERY: Final = _Spelling(bare=_UNRESERVED + "!$&'()*+,;=:@/?", same=_UNRESERVED + "!$'()*,:@", space="+")
