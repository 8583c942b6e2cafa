"""Links: the golden tables, what must hold for any text, and the links of the real pages."""

import base64
import html
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from websearch.results.urls import (
    TRACKERS,
    Redirect,
    bing_token,
    host,
    identity,
    is_ad,
    on_host,
    path_segment,
    query_param,
    resolve,
    unwrap,
)

HERE = Path(__file__).parent
SERPS = (HERE.parents[1] / "../shared/serps").resolve()

DUCKDUCKGO = Redirect(("duckduckgo.com",), "/l/", query_param("uddg"))
BING = Redirect(("bing.com",), "/ck/a", bing_token("u"))
YAHOO = Redirect(("r.search.yahoo.com", "ri.search.yahoo.com"), "/", path_segment("RU"))
GOOGLE = Redirect(("google.*",), "/url", query_param("q", "url"))
ECOSIA = Redirect(("ecosia.org",), "/url", query_param("url"))
STARTPAGE = Redirect(("startpage.com",), "/do/d/search", query_param("url"))
REDIRECTS = (DUCKDUCKGO, BING, YAHOO, GOOGLE, ECOSIA, STARTPAGE)


def read(href: str, page_url: str) -> tuple[str, str | None]:
    """What a result page does with an href: what it is, and where it leads."""
    url = resolve(href, page_url)
    if url is None:
        return "drop", None
    if is_ad(url, page_url):
        return "ad", None
    target = unwrap(url, REDIRECTS, page_url)
    if target is None:
        return "drop", None
    return ("ad", None) if is_ad(target, page_url) else ("url", target)


# --- golden tables ---------------------------------------------------------------------------------------------------


def table(name: str) -> list[list[str]]:
    header, *lines = (HERE / name).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    rows = [line.split("\t") for line in lines]
    assert header.startswith("# ")
    assert {len(row) for row in rows} == {header.count("\t") + 1}
    return rows


@pytest.mark.parametrize(("case", "href", "page", "verdict", "target"), table("unwrap.tsv"))
def test_unwrap_table(case: str, href: str, page: str, verdict: str, target: str) -> None:
    assert read(href, "" if page == "-" else page) == (verdict, None if target == "-" else target), case


@pytest.mark.parametrize(("verdict", "one", "other", "why"), table("identity.tsv"))
def test_identity_table(verdict: str, one: str, other: str, why: str) -> None:
    assert (identity(one) == identity(other)) == (verdict == "same"), (why, identity(one), identity(other))


# --- resolve ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        (" \t\n\r\f https://e.example/a \n", "https://e.example/a"),
        ("https://e.ex\nample/a\tb\r\nc", "https://e.example/abc"),
        ("\x00\x1fhttps://e.example/\x01", "https://e.example/"),
        ("java\nscript:alert(1)", None),
        ("https://e.example/a\u00a0", "https://e.example/a\u00a0"),  # no white space to HTML
        ("", None),
        (" \n ", None),
    ],
)
def test_resolve_drops_only_the_white_space_that_browsers_drop(href: str, expected: str | None) -> None:
    assert resolve(href, "https://page.example/") == expected


def test_rows_without_a_readable_target_never_share_one_url() -> None:
    """BC003: a redirect that cannot be read is no link to the engine."""
    hrefs = [f"https://www.bing.com/ck/a?!&&p={n}&ntb=1" for n in range(3)]
    assert [read(href, "https://www.bing.com/search?q=x") for href in hrefs] == [("drop", None)] * 3


# --- redirects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "rule", "matches"),
    [
        ("/l/", "/l/", True),
        ("/l", "/l/", True),
        ("/l/x", "/l/", True),
        ("/lite", "/l/", False),
        ("/url", "/url", True),
        ("/url/", "/url", True),
        ("/urls", "/url", False),
        ("/URL", "/url", False),
        ("/x/url", "/url", False),
        ("/url;a=1", "/url", True),
        ("", "/", True),
        ("/anything/at/all", "/", True),
    ],
)
def test_a_redirect_matches_whole_path_segments(path: str, rule: str, matches: bool) -> None:
    redirect = Redirect(("go.example",), rule, lambda _: "https://target.example/")
    url = f"https://go.example{path}"
    assert unwrap(url, [redirect]) == ("https://target.example/" if matches else url)


def test_a_redirect_is_told_by_path_alone_on_the_host_of_the_page() -> None:
    url = "http://127.0.0.1:8080/ck/a?u=a1aHR0cHM6Ly9lLmV4YW1wbGUv"
    assert unwrap(url, [BING], "http://127.0.0.1:8080/search") == "https://e.example/"
    assert unwrap(url, [BING], "http://127.0.0.1:9090/search") == url
    assert unwrap(url, [BING]) == url


def test_a_redirect_to_nothing_is_dropped_on_the_host_of_the_page_too() -> None:
    assert unwrap("http://127.0.0.1/url?q=words", [GOOGLE], "http://127.0.0.1/search") is None


def test_a_redirect_of_every_path_leaves_the_other_links_of_the_page_alone() -> None:
    assert unwrap("http://127.0.0.1/about", [YAHOO], "http://127.0.0.1/search") == "http://127.0.0.1/about"
    assert unwrap("https://r.search.yahoo.com/about", [YAHOO], "http://127.0.0.1/search") is None


def test_the_first_matching_redirect_decides() -> None:
    first, second = (Redirect(("e.example",), "/go", query_param(name)) for name in ("a", "b"))
    url = "https://e.example/go?b=https://b.example/&a=https://a.example/"
    assert unwrap(url, [first, second]) == "https://a.example/"
    assert unwrap(url, [second, first]) == "https://b.example/"


@pytest.mark.parametrize(
    "target", [None, "", "/a", "//e.example/", "javascript:1", "ftp://e.example/", "https://", "x"]
)
def test_a_redirect_to_nothing_on_the_web_is_dropped(target: str | None) -> None:
    assert unwrap("https://go.example/l/", [Redirect(("go.example",), "/l/", lambda _: target)]) is None


def test_no_redirects_no_change() -> None:
    assert unwrap("https://duckduckgo.com/l/?uddg=x", []) == "https://duckduckgo.com/l/?uddg=x"
    assert unwrap("no url", REDIRECTS) == "no url"


# --- ads -------------------------------------------------------------------------------------------------------------


def test_ads_of_a_gateway_are_told_by_path_only_when_the_page_is_known() -> None:
    url = "http://127.0.0.1:8080/aclk?sa=l"
    assert is_ad(url, "http://127.0.0.1:8080/search?q=x")
    assert not is_ad(url, "http://127.0.0.1:9090/search?q=x")
    assert not is_ad(url)


@pytest.mark.parametrize("url", ["https://google.com/", "https://www.bing.com/search?q=aclick", "", "/aclk", "aclk"])
def test_no_ads(url: str) -> None:
    assert not is_ad(url)


# --- hosts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://WWW.Example.COM:8443/a", "www.example.com"),
        ("https://user:pw@e.example/", "e.example"),
        ("http://[2001:DB8::1]:80/", "2001:db8::1"),
        ("https://e.example./", "e.example"),
        ("https://e.example", "e.example"),
        ("https://e.example?x=@y", "e.example"),
        ("https://BÜCHER.example/", "bücher.example"),
        ("//E.example/x", "e.example"),
        ("ftp://e.example/x", "e.example"),
        ("http://127.0.0.1\\@e.example/", "127.0.0.1"),
        ("https://e.example:port/", "e.example"),
        ("https://", ""),
        ("http://[", ""),
        ("/path", ""),
        ("text", ""),
        ("", ""),
    ],
)
def test_host(url: str, expected: str) -> None:
    assert host(url) == expected


@pytest.mark.parametrize(
    ("url", "suffix", "expected"),
    [
        ("https://example.com/", "example.com", True),
        ("https://www.EXAMPLE.com:8443/", "example.com", True),
        ("https://notexample.com/", "example.com", False),
        ("https://example.com.evil.example/", "example.com", False),
        ("https://e.example/?u=https://example.com", "example.com", False),
        ("https://com/", "example.com", False),
        ("https://www.google.de/", "google.*", True),
        ("https://google.co.uk/", "google.*", True),
        ("https://maps.google.com.br/", "google.*", True),
        ("https://notgoogle.com/", "google.*", False),
        ("https://google.evil.example/", "google.*", False),
        ("https://google.com.evil/", "google.*", False),
        ("https://google/", "google.*", False),
        ("not a url", "example.com", False),
    ],
)
def test_on_host(url: str, suffix: str, expected: bool) -> None:
    assert on_host(url, [suffix]) is expected
    assert on_host(url, ["other.example", suffix]) is expected
    assert on_host(url, []) is False


patient = settings(deadline=None)  # a busy machine is no fault


# --- any text --------------------------------------------------------------------------------------------------------

PARTS = [
    "http://", "https://", "//", "www.", "m.", "e.example", "google.com", "/url?q=", "bing.com", "/ck/a?u=a1", "&amp;",
    "r.search.yahoo.com/", "RU=", "/RK=", "/amp/s/", "cdn.ampproject.org", "/c/", "%", "%2", "%2F", "%e9", "%00", "+", "..",
    ".", "/", "\\", "?", "#", "#!", ":", ":80", ":x", "@", "[", "]", "::1", "xn--", "ü", "日", "℀", "。", "utm_x=", "=", "&",
    "javascript:", "a0", "===", "a" * 70,
]  # fmt: skip
BLANKS = ["\x00", " ", "\t", "\n", "\u2028", "\u00a0", "\ud800", "\udcff"]
ODD = st.lists(st.sampled_from(PARTS + BLANKS)).map("".join)
ANY = st.text(alphabet=st.characters(exclude_categories=())) | ODD


@patient
@given(ANY, ANY)
@example("https://e.example/\ud800?\udcff=\ud800#/\udcff", "https://\ud800/")
@example("https://r.search.yahoo.com/RU=https://\ud800.example/\udcff", "")
def test_any_text_in_no_exception_out(text: str, other: str) -> None:
    url = resolve(text, other)
    for each in (text, other, url or ""):
        assert isinstance(identity(each), str)
        assert isinstance(host(each), str)
        assert isinstance(is_ad(each, other), bool)
        assert isinstance(on_host(each, [other]), bool)
        target = unwrap(each, REDIRECTS, other)
        assert target is None or isinstance(target, str)


@given(st.sampled_from(["https://e", "http://", "//", "/", ""]), ANY)
@settings(max_examples=500, deadline=None)
def test_what_resolve_returns_others_can_take_apart(start: str, text: str) -> None:
    url = resolve(start + text, "https://e.example/a/b")
    if url is not None:
        parts = urlsplit(url)
        assert parts.scheme in ("http", "https")
        assert parts.hostname
        assert parts.port is None or parts.port >= 0
        assert resolve(url, "https://elsewhere.example/") == url


@patient
@given(ANY)
def test_what_unwrap_returns_is_the_url_or_on_the_web(text: str) -> None:
    target = unwrap(text, REDIRECTS)
    assert target in (None, text) or resolve(str(target), "") == target


@pytest.mark.parametrize(
    "text",
    [
        "https://" + "a." * 100_000 + "example/",
        "https://" + "ü." * 100_000 + "example/",
        "https://" + "ü" * 100_000 + ".example/",
        "https://e.example/" + "../" * 100_000,
        "../" * 100_000,
        "https://e.example/" + "%" * 200_000,
        "https://e.example/?" + "&" * 200_000,
        "https://e.example/?" + "utm_x=1&" * 50_000,
        "https://e.example/" + "é" * 100_000,
        "https://" + "@" * 200_000,
        "https://r.search.yahoo.com" + "/RU=" * 50_000,
        "https://www.bing.com/ck/a?" + "&amp;" * 50_000 + "u=a1" + "A" * 200_000,
        "https://www.google.com" + "/amp/s" * 50_000,
        "https://www.google.com/url?" + "q=" * 100_000,
        "a" * 200_000 + ":",
    ],
    ids=lambda text: text[:32],
)
def test_long_input_takes_linear_time(text: str) -> None:
    start = time.process_time()
    url = resolve(text, "https://www.google.com/a/b/c") or text
    for each in (text, url):
        unwrap(each, REDIRECTS, "https://www.google.com/")
        identity(each)
        is_ad(each)
        on_host(each, ["google.*", "example.com"])
    assert time.process_time() - start < 3  # quadratic would be minutes


# --- generated URLs --------------------------------------------------------------------------------------------------

LABELS = st.sampled_from(["e", "shop", "my-site", "x1", "xn--e1aybc", "bücher", "例え", "en"])
HOSTS = st.tuples(st.lists(LABELS, min_size=1, max_size=3).map(".".join), st.sampled_from(["example", "test"])).map(
    ".".join
)
PIECES = st.text(alphabet="abcXYZ019-._~!$'()*,:@é日😀", max_size=8) | st.sampled_from(
    [
        "%2F",
        "%20",
        "%25",
        "%e9",
        "%C3%A9",
        "c%2B%2B",
        "a+b",
        "..",
        ".",
        "100%",
        "a;b=c",
        "[0]",
        "|",
        "RK=1",
        "/RK=2/RS=x",
    ]
)
QUERIES = st.lists(st.tuples(PIECES, PIECES).map("=".join) | PIECES, max_size=4).map("&".join)


@st.composite
def urls(draw: st.DrawFn) -> str:
    """Absolute URLs of every lawful shape, and of the unlawful ones that browsers take."""
    scheme = draw(st.sampled_from(["http", "https", "HTTPS", "Http"]))
    user = draw(st.sampled_from(["", "", "", "user@", "u:p@"]))
    port = draw(st.sampled_from(["", "", "", ":8080", ":443", ":"]))
    path = "".join(f"/{piece}" for piece in draw(st.lists(PIECES, max_size=4)))
    query = draw(st.none() | QUERIES)
    fragment = draw(st.none() | PIECES | st.sampled_from(["!/x", "/x", ":~:text=a"]))
    tail = ("" if query is None else f"?{query}") + ("" if fragment is None else f"#{fragment}")
    return f"{scheme}://{user}{draw(HOSTS)}{port}{path}{tail}"


@patient
@given(urls(), ANY)
@example("https://e.example/a/../b//c/?utm_source=x&#", "")
def test_resolve_of_an_absolute_url_is_that_url(url: str, page: str) -> None:
    assert resolve(url, page) == url
    assert resolve(f"\n  {url}\t", page) == url


@patient
@given(urls())
def test_a_root_relative_link_resolves_to_its_own_bytes(url: str) -> None:
    origin = re.match(r"[^:]+://[^/?#]+", url)
    assume(origin is not None and url[origin.end() :].startswith("/") and not url[origin.end() :].startswith("//"))
    assert origin is not None
    assert resolve(url[origin.end() :], f"{origin[0]}/some/page?q=1#x") == url
    assert resolve(url[url.index(":") + 1 :], url) == url


def encoded(url: str) -> str:
    return quote(url, safe="")


def in_base64(url: str) -> str:
    return base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


WRAPPERS: dict[str, Callable[[str], str]] = {
    "duckduckgo": lambda url: f"https://duckduckgo.com/l/?uddg={encoded(url)}&rut=0a1b",
    "duckduckgo, raw": lambda url: f"https://duckduckgo.com/l/?kh=-1&amp;uddg={encoded(url)}&amp;rut=0a1b",
    "bing": lambda url: f"https://www.bing.com/ck/a?!&&p=0f&ptn=3&u=a1{in_base64(url)}&ntb=1",
    "bing, raw": lambda url: f"https://www.bing.com/ck/a?!&amp;&amp;p=0f&amp;u=a1{in_base64(url)}&amp;ntb=1",
    "yahoo": lambda url: f"https://r.search.yahoo.com/_ylt=A;_ylu=X/RV=2/RE=1/RO=10/RU={encoded(url)}/RK=2/RS=x-",
    "yahoo, small": lambda url: f"http://r.search.yahoo.com/_ylt=A/RV=2/RU={small(encoded(url))}/RK=2/RS=x-?p=q",
    "google q": lambda url: f"https://www.google.com/url?q={encoded(url)}&sa=U&ved=2ah",
    "google url": lambda url: f"https://www.google.de/url?sa=t&q=&esrc=s&url={encoded(url)}&usg=AO",
    "google, few escapes": lambda url: f"https://www.google.com/url?q={quote(url, safe=':/,()!*;@')}&sa=U",
    "ecosia": lambda url: f"http://www.ecosia.org/url?url={encoded(url)}&v=2&i=0",
    "startpage": lambda url: f"https://www.startpage.com/do/d/search?url={encoded(url)}",
}


def small(text: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), text)


@given(st.sampled_from(sorted(WRAPPERS)), urls())  # parametrize and given do not go together under pytest-twisted
@settings(max_examples=1000, deadline=None)
def test_a_freshly_wrapped_url_comes_back_byte_for_byte(kind: str, url: str) -> None:
    assert unwrap(WRAPPERS[kind](url), REDIRECTS) == url


@pytest.mark.parametrize("kind", WRAPPERS)
def test_one_step_only(kind: str) -> None:
    inner = WRAPPERS[kind]("https://e.example/")
    assert unwrap(WRAPPERS[kind](inner), REDIRECTS) == inner


@patient
@given(urls(), ANY)
def test_a_link_that_is_no_redirect_is_returned_as_it_is(url: str, page: str) -> None:
    assert unwrap(url, REDIRECTS, page) == url or host(url) == host(page)


# --- identity of generated URLs --------------------------------------------------------------------------------------


def with_scheme(url: str, scheme: str) -> str:
    return scheme + url[url.index("://") :]


def authority(url: str) -> str:
    return re.split(r"[/?#]", url[url.index("://") + 3 :], maxsplit=1)[0]


def with_www(url: str) -> str:
    before, at, name = authority(url).rpartition("@")
    return url.replace(authority(url), f"{before}{at}www.{name}", 1)


def with_slash(url: str) -> str:
    found = re.match(r"([^?#]*)(.*)", url, re.DOTALL)
    assert found is not None
    return f"{found[1]}/{found[2]}"


def with_tracker(url: str, tracker: str) -> str:
    body, sign, fragment = url.partition("#")
    return f"{body}{'&' if '?' in body else '?'}{tracker}{sign}{fragment}"


@patient
@given(urls())
def test_identity_has_no_scheme(url: str) -> None:
    assume(not authority(url).endswith(":443"))  # a default port of one scheme is a port to the other
    assert identity(with_scheme(url, "http")) == identity(with_scheme(url, "https"))
    assert not identity(url).startswith("http")


@patient
@given(urls())
def test_identity_has_no_www(url: str) -> None:
    assert identity(with_www(url)) == identity(url)


@patient
@given(urls())
def test_identity_has_no_trailing_slash(url: str) -> None:
    assume(not re.split(r"[?#]", url)[0].endswith("/"))
    assert identity(with_slash(url)) == identity(url)


@patient
@given(urls(), st.sampled_from(sorted(TRACKERS | {"utm_source", "utm_x"})), st.sampled_from(["", "=", "=x", "=a%26b"]))
def test_identity_has_no_trackers(url: str, name: str, value: str) -> None:
    assert identity(with_tracker(url, name + value)) == identity(url)


@patient
@given(urls(), st.sampled_from(["ref", "id", "q", "v", "p", "source", "xutm_source", "gclidx"]))
def test_identity_keeps_every_other_parameter(url: str, name: str) -> None:
    assert identity(with_tracker(url, f"{name}=1")) != identity(with_tracker(url, f"{name}=2"))


@patient
@given(urls())
def test_identity_takes_every_step_at_once(url: str) -> None:
    assume(not re.split(r"[?#]", url)[0].endswith("/") and not authority(url).endswith(":443"))
    assert identity(with_tracker(with_slash(with_www(with_scheme(url, "http"))), "utm_source=x")) == identity(url)


@patient
@given(urls())
def test_identity_of_an_escaped_iri_is_that_of_the_iri(url: str) -> None:
    start = url.index("://") + 3 + len(authority(url))
    assert identity(url[:start] + quote(url[start:], safe="/?#[]@!$&'()*+,;=:%|")) == identity(url)


@patient
@given(urls())
def test_identity_is_a_fixed_point(url: str) -> None:
    assume(not re.split(r"[?#]", identity(url))[0].endswith("/"))  # of `//` at the end only one is dropped
    assert identity(f"{urlsplit(url).scheme}://{identity(url)}") == identity(url)


@patient
@given(ANY)
def test_what_is_no_url_is_its_own_key(text: str) -> None:
    assume(resolve(text, "") is None)
    assert identity(text) == "".join(text.strip("".join(map(chr, range(33)))).split("\t")).replace("\r", "").replace(
        "\n", ""
    )


# --- the real pages --------------------------------------------------------------------------------------------------

SPELT = re.compile(r"""\s(?:href)=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
LABELS_FILE = SERPS / "labels.json"
REAL = json.loads(LABELS_FILE.read_text(encoding="utf-8")) if LABELS_FILE.exists() else []
ORIGINS = {
    "bing": "https://www.bing.com/search?q=x",
    "duckduckgo": "https://html.duckduckgo.com/html/",
    "ecosia": "https://www.ecosia.org/search?q=x",
    "google": "https://www.google.com/search?q=x",
    "mojeek": "https://www.mojeek.com/search?q=x",
    "startpage": "https://www.startpage.com/sp/search",
    "yahoo": "https://search.yahoo.com/search?p=x",
}
needs_pages = pytest.mark.skipif(not REAL, reason="the captured pages are not here")


def hrefs(label: dict[str, str]) -> list[str]:
    text = (SERPS / label["file"]).read_text(encoding="utf-8", errors="replace")
    return [html.unescape("".join(found)) for found in SPELT.findall(text)]


@needs_pages
def test_every_labelled_url_of_the_real_pages_is_read_byte_for_byte() -> None:
    missing, seen = [], 0
    for label in REAL:
        wanted = label.get("all_urls") or []
        if label["engine"] in ORIGINS and wanted:
            found = {read(href, ORIGINS[label["engine"]])[1] for href in hrefs(label)}
            missing += [(label["file"], url) for url in wanted if url not in found]
            seen += len(wanted)
    assert not missing
    assert seen > 200


@needs_pages
def test_absolute_links_of_the_real_pages_resolve_to_themselves() -> None:
    links = {href for label in REAL for href in hrefs(label) if re.match(r"https?://\S+\Z", href)}
    assert len(links) > 1000
    assert [link for link in links if resolve(link, "https://page.example/") != link] == []


@needs_pages
def test_identity_never_merges_two_results_of_one_page() -> None:
    for label in REAL:
        listed = set(label.get("all_urls") or [])
        assert len({identity(url) for url in listed}) == len(listed), label["file"]
