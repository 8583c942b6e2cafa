"""Google: what is asked for, and the page shapes that the stored cases do not hold."""

from __future__ import annotations

import json
import re
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from scrapy.http import HtmlResponse, Request
from websearch.spiders.engines.google import GoogleSpider

from tests.conftest import ROOT
from tests.spiders.engines._web import Web
from websearch.config import Config, ProviderConfig
from websearch.fetching.context import fetch_of
from websearch.model import Outcome, SearchQuery, SearchResponse

URL = "https://www.google.com/search?q=x"
UNKNOWN = SearchQuery.unchecked("")


def sent(page: int = 1, **fields: Any) -> list[tuple[str, str]]:
    request = GoogleSpider().request(SearchQuery(text="a b", **fields), page)
    return parse_qsl(urlsplit(request.url).query, keep_blank_values=True)


def changed(page: int = 1, **fields: Any) -> dict[str, str | None]:
    """What the fields change in the plain request; None is a parameter that is gone."""
    plain, now = dict(sent()), dict(sent(page, **fields))
    return {name: now.get(name) for name in plain | now if now.get(name) != plain.get(name)}


def states(**fields: Any) -> dict[str, str]:
    return dict(GoogleSpider().filters(SearchQuery(text="a b", **fields)).states)


def read(html: str, status: int = 200, url: str = URL, **headers: str) -> SearchResponse:
    response = HtmlResponse(url, status=status, headers=headers, body=html, encoding="utf-8")
    return GoogleSpider().parse(response, UNKNOWN)


def urls(html: str) -> list[str]:
    return [row.url for row in read(html).results]


def row(url: str, title: str = "T", rest: str = "<div>text</div>") -> str:
    return f'<div class="g"><a href="{url}"><h3>{title}</h3></a>{rest}</div>'


# --- requests ---------------------------------------------------------------------------------------------------------


def test_plain_request() -> None:
    request = GoogleSpider().request(SearchQuery(text="a b&c", limit=50), 1)
    assert request.method == "GET"
    assert request.url == "https://www.google.com/search?q=a+b%26c&num=10&hl=en&gl=us&udm=14&pws=0"
    assert request.headers["Referer"] == b"https://www.google.com/"
    fetch = fetch_of(request)
    assert fetch is not None
    assert fetch.browser is not None
    assert fetch.browser.home == "https://www.google.com/"
    assert "a[href]:has(h3)" in fetch.browser.ready
    assert fetch.browser.clicks[0] == "#W0wltc"


def test_the_consent_cookie_is_legal() -> None:
    """BC059: a cookie under the name `CONSENT+` is none."""
    cookies = GoogleSpider().request(SearchQuery(text="x"), 1).cookies
    assert cookies == {"CONSENT": "YES+", "SOCS": "CAI"}
    header = "; ".join(f"{name}={value}" for name, value in cookies.items())
    assert {name: morsel.value for name, morsel in SimpleCookie(header).items()} == cookies
    assert all(re.fullmatch(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+", value) for value in cookies.values())


def test_ten_rows_a_page_whatever_is_asked() -> None:
    """`num` above ten is ignored since 2025; later pages start behind ten rows each."""
    assert [changed(page, limit=20) for page in (1, 2, 5)] == [{}, {"start": "10"}, {"start": "40"}]
    assert sent(3)[-1] == ("start", "20")


def test_base_url_is_configurable() -> None:
    spider = GoogleSpider()
    spider.configure(Config(providers={"google": ProviderConfig(base_url="http://127.0.0.1:8080/")}))
    request = spider.request(SearchQuery(text="x"), 2)
    assert request.url.startswith("http://127.0.0.1:8080/search?q=x&")
    assert request.headers["Referer"] == b"http://127.0.0.1:8080/"
    page = HtmlResponse(request.url, body=row("/url?q=https://a.example/&amp;sa=U"), encoding="utf-8")
    assert [found.url for found in spider.parse(page, UNKNOWN).results] == ["https://a.example/"]


def test_parameters_keep_their_order() -> None:
    fields = {"recency": "day", "region": "de-de", "language": "de", "safesearch": "strict"}
    names = [name for name, _ in sent(2, **fields)]
    assert names == ["q", "num", "hl", "gl", "udm", "pws", "tbs", "lr", "safe", "start"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"recency": "day"}, "qdr:d"),
        ({"recency": "week"}, "qdr:w"),
        ({"recency": "month"}, "qdr:m"),
        ({"recency": "year"}, "qdr:y"),
        ({"after": "2024-01-02"}, "cdr:1,cd_min:1/2/2024"),
        ({"before": "2024-11-30"}, "cdr:1,cd_max:11/30/2024"),
        ({"after": "2024-01-02", "before": "2024-01-31"}, "cdr:1,cd_min:1/2/2024,cd_max:1/31/2024"),
        ({"after": "2024-01-02", "recency": "week"}, "cdr:1,cd_min:1/2/2024"),
    ],
)
def test_dates(fields: dict[str, str], expected: str) -> None:
    assert changed(**fields) == {"tbs": expected}
    both = "recency" in fields and len(fields) > 1
    assert states(**fields) == {name: "ignored" if both and name == "recency" else "applied" for name in fields}


@pytest.mark.parametrize(
    ("fields", "expected", "said"),
    [
        ({"region": "us-en"}, {}, {"region": "applied"}),
        ({"region": "de-de"}, {"hl": "de", "gl": "de"}, {"region": "applied"}),
        ({"region": "ch-fr"}, {"hl": "fr", "gl": "ch"}, {"region": "applied"}),
        ({"region": "fr"}, {"gl": "fr"}, {"region": "applied"}),
        ({"region": "wt-wt"}, {"gl": None}, {"region": "applied"}),
        ({"region": "tw-zh"}, {"hl": "zh-TW", "gl": "tw"}, {"region": "applied"}),
        ({"region": "cn-zh"}, {"hl": "zh-CN", "gl": "cn"}, {"region": "applied"}),
        ({"language": "de"}, {"hl": "de", "lr": "lang_de"}, {"language": "applied"}),
        ({"language": "pt-BR"}, {"hl": "pt-BR", "lr": "lang_pt"}, {"language": "applied"}),
        ({"language": "zh-hk"}, {"hl": "zh-TW", "lr": "lang_zh-TW"}, {"language": "applied"}),
        ({"language": "zh-hant-tw"}, {"hl": "zh-TW", "lr": "lang_zh-TW"}, {"language": "applied"}),
        ({"language": "zh"}, {"hl": "zh-CN", "lr": "lang_zh-CN"}, {"language": "applied"}),
        ({"language": "he"}, {"hl": "iw", "lr": "lang_iw"}, {"language": "applied"}),
        ({"language": "nb"}, {"hl": "no", "lr": "lang_no"}, {"language": "applied"}),
        ({"language": "cy"}, {"hl": "cy"}, {"language": "approximated"}),
        (
            {"region": "be-fr", "language": "nl"},
            {"hl": "nl", "gl": "be", "lr": "lang_nl"},
            {"region": "applied", "language": "applied"},
        ),
    ],
)
def test_region_and_language(fields: dict[str, str], expected: dict[str, str], said: dict[str, str]) -> None:
    assert changed(**fields) == expected
    assert states(**fields) == said


def test_safe_search_is_always_said() -> None:
    """BC079."""
    for level, value in (("off", "off"), ("moderate", "medium"), ("strict", "active")):
        assert changed(safesearch=level) == {"safe": value}
        assert states(safesearch=level) == {"safesearch": "applied"}


def test_header_of_the_language() -> None:
    request = GoogleSpider().request(SearchQuery(text="x", region="at-de"), 1)
    assert request.headers["Accept-Language"] == b"de-AT,de;q=0.9,en;q=0.5"


# --- pages ------------------------------------------------------------------------------------------------------------


def page_of(number: int, links: str) -> str:
    return "".join(row(f"https://p{number}.example/{n}", "pages of rows") for n in range(10)) + links


@pytest.mark.parametrize(
    ("links", "asked"),
    [
        ('<a href="/search?q=x&amp;start=10">2</a><a href="/search?q=x&amp;start=20">3</a>', 3),
        ('<a href="/search?q=x&amp;start=10&amp;sa=N">2</a>', 2),
        ('<a href="/search?q=x&amp;start=100">11</a>', 1),
        ("", 3),
    ],
)
def test_pages_end_where_the_links_end(links: str, asked: int) -> None:
    def answer(request: Request) -> str:
        start = int(dict(parse_qsl(urlsplit(request.url).query)).get("start", 0))
        return page_of(start, links)

    web = Web(answer)
    found = web.search(GoogleSpider(), SearchQuery(text="rows", limit=30))
    assert len(web.requests) == asked
    assert (found.outcome, len(found.results)) == (Outcome.OK, asked * 10)


def test_a_repeated_page_is_not_taken_twice() -> None:
    web = Web(lambda _: page_of(1, ""))
    found = web.search(GoogleSpider(), SearchQuery(text="rows", limit=30))
    assert (len(web.requests), len(found.results)) == (2, 10)


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("href", "url"),
    [
        # BC012: decoded once, and whole
        ("/url?q=https://news.example/item%3Fid%3D42%26p%3D2&sa=U&ved=2ah", "https://news.example/item?id=42&p=2"),
        ("/url?q=https://example.com/100%2525&sa=U", "https://example.com/100%25"),
        ("/url?url=https://a.example/&sa=U", "https://a.example/"),
        ("/url?sa=t&q=some+words&url=https://a.example/b", "https://a.example/b"),
        ("https://www.google.de/url?q=https://a.example/&sa=U", "https://a.example/"),
        ("/goto?url=https%3A%2F%2Fa.example%2Fx", "https://a.example/x"),
        ("/interstitial?url=http://a.example/", "http://a.example/"),
        ("https://support.google.com/websearch/answer/1?hl=en", "https://support.google.com/websearch/answer/1?hl=en"),
        ("https://maps.google.com/", "https://maps.google.com/"),
        ("https://books.google.com/books?id=abc&dq=x", "https://books.google.com/books?id=abc&dq=x"),
        ("https://www.google.com/amp/s/www.a.example/amp/", "https://www.google.com/amp/s/www.a.example/amp/"),
        ("https://notgoogle.com/x", "https://notgoogle.com/x"),
        ("https://blog.example/aclk?x=1", "https://blog.example/aclk?x=1"),
        ("https://blog.example/sorry/index", "https://blog.example/sorry/index"),
        # own pages, ads and what leads nowhere
        ("/url?q=https://www.google.com/preferences&sa=U", None),
        ("/url?q=http://maps.google.fr/maps%3Fq%3Dx&sa=U", None),
        ("/url?sa=U&ved=x", None),
        ("/url?q=/search%3Fq%3Dx", None),
        ("/search?q=x&tbm=isch", None),
        ("https://google.co.uk/", None),
        ("https://www.google.com/maps/place/x", None),
        ("http://images.google.com/images?q=x", None),
        ("http://books.google.de/books?q=x", None),
        ("https://scholar.google.com/scholar?q=x", None),
        ("/aclk?sa=l&adurl=https://shop.example/", None),
        ("https://www.googleadservices.com/pagead/aclk?adurl=https://shop.example/", None),
        ("javascript:void(0)", None),
        ("#", None),
    ],
)
def test_links(href: str, url: str | None) -> None:
    page = row(href.replace("&", "&amp;")) + row("https://control.example/")
    assert urls(page) == ([url] if url else []) + ["https://control.example/"]


def sealed(ids: dict[str, Any], anchors: str = "l7Bhpb;_;abc") -> str:
    href = "/goto?url=CAESegHrOzAVXrOxTz8MiFgIt6wo"
    data = json.dumps(ids, separators=(",", ":")).replace("&", "\\u0026")
    return (
        f'<div id="rso"><div class="MjjYud"><a href="{href}"><h3>Sealed</h3></a>'
        f'<div jsdata="{anchors}"></div><div data-snf="nke7rc">text</div></div>'
        f'<div class="MjjYud"><a href="https://b.example/"><h3>Open</h3></a></div></div><script>var m={data};</script>'
    )


def test_a_sealed_link_is_looked_up_in_the_data_of_the_page() -> None:
    record = [*[None] * 17, "https://a.example/x?y=1&z=2", None]
    found = read(sealed({"zzz": [1], "abc": record}, "PFrTzf;_;zzz l7Bhpb;_;abc"))
    assert (found.results[0].url, found.results[0].snippet) == ("https://a.example/x?y=1&z=2", "text")
    assert "skipped_rows" not in found.extra


@pytest.mark.parametrize(
    "ids",
    [
        {},
        {"abc": [None, "https://icon.example/a.png"]},
        {"abc": [*[None] * 17, "no address"]},
        {"abc": [*[None] * 17, "https://www.google.com/search?q=x"]},
        {"other": [*[None] * 17, "https://a.example/"]},
    ],
)
def test_a_link_that_stays_sealed_is_no_row(ids: dict[str, Any]) -> None:
    found = read(sealed(ids))
    assert [r.url for r in found.results] == ["https://b.example/"]
    assert found.extra["skipped_rows"] == 1


# --- rows -------------------------------------------------------------------------------------------------------------


def test_relative_ad_link() -> None:
    """BC013."""
    ad = (
        '<div class="uEierd"><a href="/aclk?sa=l&ai=X&adurl=https://shop.example/%3Fgclid%3D1&q="><h3>Ad</h3></a></div>'
    )
    unmarked = '<div class="x"><a href="/aclk?sa=l&adurl=https://shop.example/"><h3>Ad</h3></a></div>'
    assert urls(row("/url?q=https://a.example/&sa=U") + ad + unmarked) == ["https://a.example/"]


def test_cards_are_no_rows() -> None:
    """BC024."""
    found = read(
        '<div class="g"><div class="kp">8,849 m</div></div>'
        '<div class="g"><a href="https://a.example"><div>no heading here</div></a></div>'
        '<div class="g"><a href="https://b.example"><h3>B</h3></a><div>snip</div></div>'
    )
    assert [(r.rank, r.title, r.url, r.snippet) for r in found.results] == [(1, "B", "https://b.example", "snip")]


def test_line_about_missing_words_is_no_snippet() -> None:
    """BC031."""
    found = read(
        '<div class="g"><a href="https://a.example"><h3>A</h3></a><div>text of a<div><span>Missing: </span><s>foo</s>'
        ' \u200e| Must include: <a href="/search?q=%22foo%22">foo</a></div></div></div>'
    )
    assert [(r.title, r.url, r.snippet) for r in found.results] == [("A", "https://a.example", "text of a")]


def test_text_that_runs_together() -> None:
    """BC025."""
    snippet = '<div class="VwiC3b">Learn <em>Py</em>thon<br>fast today<div>Phone</div><div>555</div> - <em>Foo</em>, <em>Bar</em>.</div>'
    title = "Learn <b>Py</b>thon"
    result = read(row("https://a.example/", title, snippet)).results[0]
    assert (result.title, result.snippet) == ("Learn Python", "Learn Python fast today Phone 555 - Foo, Bar.")


@pytest.mark.parametrize(
    ("lang", "shown", "published"),
    [
        ("es", "22 ene 2020", "2020-01-22"),
        ("de", "3. März 2024", "2024-03-03"),
        ("ja", "2024年3月5日", "2024-03-05"),
        ("en", "31 Feb 2024", None),
    ],
)
def test_dates_before_snippets(lang: str, shown: str, published: str | None) -> None:
    """BC027."""
    page = row("https://a.example/", "T", f'<div class="VwiC3b"><span><span>{shown}</span> — </span>body</div>')
    result = read(f'<html lang="{lang}">{page}').results[0]
    assert result.published == published
    assert result.snippet.endswith("body")


def test_rows_of_2018_with_their_sitelinks() -> None:
    """Titles were h3.LC20lb already, sitelinks still h3.r."""
    found = read(
        '<div class="srg"><div class="g"><div data-hveid="CAAQAA"><div class="rc"><div class="r">'
        '<a href="https://a.example/" ping="/url?x"><h3 class="LC20lb"><div class="ellip">A</div></h3>'
        '<div class="TbwUpd"><cite class="iUh30">https://a.example</cite></div></a><span><div class="action-menu">'
        '<a class="fl" href="https://webcache.googleusercontent.com/x">Cached</a></div></span></div>'
        '<div class="s"><div><span class="st"><span class="f">Apr 3, 2019 - </span>text <em>of</em> a</span></div></div></div>'
        '<table class="nrgt"><tr class="mslg"><td><div class="sld vsc"><h3 class="r"><a class="l" href="https://a.example/sub">Sub'
        '</a></h3><div class="s st">about sub</div></div></td></tr></table></div></div>'
        '<div class="g"><div class="rc"><div class="r"><a href="https://b.example/"><h3 class="LC20lb">B</h3></a></div></div></div></div>'
    )
    assert [(r.title, r.url, r.snippet, r.age) for r in found.results] == [
        ("A", "https://a.example/", "text of a", "Apr 3, 2019"),
        ("B", "https://b.example/", "", None),
    ]
    assert found.results[0].extra["sitelinks"] == [{"title": "Sub", "url": "https://a.example/sub"}]


def test_rows_of_2015_with_script() -> None:
    found = read(
        '<div id="ires"><div class="srg"><li class="g"><div class="rc" data-hveid="31"><h3 class="r">'
        '<span class="_ogd b w xsm">[PDF]</span><a href="http://a.example/x.pdf" onmousedown="return rwt(this)">A <em>b</em>'
        '</a></h3><div class="s"><div><div class="f kv"><cite>a.example/x.pdf</cite><div class="action-menu ab_ctl"><a class="fl" '
        'href="http://webcache.googleusercontent.com/x">Cached</a></div></div><div class="f slp">by C Writer</div>'
        '<span class="st"><span class="f">Mar 5, 2015 - </span>text of a</span></div></div></div>'
        '<table class="nrgt"><tr><td><div class="sld vsc"><h3 class="r"><a class="l" href="http://a.example/sub">Sub</a></h3></div>'
        "</td></tr></table></li></div>"
        '<li class="g" id="newsbox"><h3 class="r"><a href="/search?q=x&amp;tbm=nws">News for x</a></h3><a href="http://n.example/">N</a></li>'
        '<div class="g g-blk"><div class="kp-blk"><div class="xpdopen"><span class="_Tgc">The answer.</span><div class="g"><div class="rc">'
        '<h3 class="r"><a href="http://featured.example/">F</a></h3></div></div></div></div></div>'
        '<div class="g"><div class="related-question-pair"><div role="button">Why?</div><div class="g"><h3 class="r">'
        '<a href="http://paa.example/">P</a></h3></div></div></div></div>'
    )
    assert [(r.title, r.url, r.snippet, r.published) for r in found.results] == [
        ("A b", "http://a.example/x.pdf", "text of a", "2015-03-05")
    ]
    assert found.results[0].extra["sitelinks"] == [{"title": "Sub", "url": "http://a.example/sub"}]
    assert (found.answer, found.extra["answer_url"]) == ("The answer.", "http://featured.example/")
    assert found.extra["questions"] == ["Why?"]


def test_a_row_inside_an_entity_page_counts() -> None:
    entity = f'<div class="kp-wholepage kp-blk"><div id="kp-wp-tab-overview">{row("https://a.example/")}</div></div>'
    panel = '<div id="rhs"><div class="kp-blk"><a href="https://panel.example/"><h3>Panel</h3></a></div></div>'
    assert urls(entity + panel) == ["https://a.example/"]


def test_a_row_without_known_classes_still_has_its_snippet() -> None:
    found = read(
        '<div id="rso"><div class="q1"><div class="q2"><a href="https://a.example/"><h3>A title</h3><cite>a.example</cite></a>'
        '<div role="button">About this result</div></div><div class="q3">The longest text of the row is its snippet.</div></div>'
        '<div class="q1"><div class="q2"><a href="https://b.example/"><h3>B title</h3></a></div><div class="q3">Short.</div></div></div>'
    )
    assert [r.snippet for r in found.results] == ["The longest text of the row is its snippet.", "Short."]


def test_only_a_panel_with_a_source_is_an_answer() -> None:
    menu = '<div class="xpdopen"><ul><li><a href="/search?q=y">y</a></li></ul></div>'
    fact = '<div class="xpdopen"><table><tr><td>1:16</td></tr></table><a href="https://s.example/"><h3>S</h3></a></div>'
    found = read(menu + fact + row("https://a.example/"))
    assert (found.answer, found.extra["answer_url"]) == ("1:16", "https://s.example/")
    assert read(menu + row("https://a.example/")).answer is None


def test_marked_titles_are_preferred_to_other_headings() -> None:
    card = '<div><a href="https://recipe.example/"><h3 class="hfac6d">A card of a carousel</h3></a></div>'
    marked = '<div><a href="https://a.example/"><h3 class="LC20lb">A</h3></a></div>'
    assert urls(card + marked) == ["https://a.example/"]
    assert urls(card) == ["https://recipe.example/"]


def test_corrections() -> None:
    meant = '<p><span>Did you mean: </span><a href="/search?q=coffee&amp;spell=1&amp;sa=X"><b><i>coffee</i></b></a></p>'
    assert read(meant + row("https://a.example/")).extra["correction"] == "coffee"


# --- nothing, and walls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        '<div id="topstuff"><div class="med card-section"><p>Your search - <em>x</em> - found nothing</p></div></div>',
        "<p style='padding-top:.33em'>…</p>",
        "<div>zxqv <b>x</b> に一致する情報は見つかりませんでした。</div>",
        "<div>No se han encontrado… Tu búsqueda no obtuvo ningún resultado</div>",
        "<div>По запросу <b>x</b> ничего не найдено.</div>",
        "<div>Es wurden keine mit Ihrer Suchanfrage - <em>x</em> - übereinstimmenden Dokumente gefunden.</div>",
    ],
)
def test_nothing_found(page: str) -> None:
    noscript = '<noscript><a href="/httpservice/retry/enablejs?sei=x">here</a></noscript><script>"/sorry/"</script>'
    body = f'<body class="srp">{noscript}<input name="q" value="are you a robot captcha">{page}</body>'
    assert read(body).outcome is Outcome.EMPTY


@pytest.mark.parametrize(
    "body",
    [
        '<div id="main"><div class="xpd"><div class="kCrYT">cut off',
        '<div id="main"><a href="/url?q=https://a.example/&sa=U">new design</a><footer></footer></div>',
        '<div id="main"><footer><a href="/search?q=x&amp;start=10">Next</a></footer></div>',
        "<title>x</title>",
    ],
)
def test_not_every_page_without_rows_is_empty(body: str) -> None:
    assert read(body).outcome is Outcome.LAYOUT_CHANGED


SORRY = "https://www.google.com/sorry/index?continue=https://www.google.com/search%3Fq%3Dx"


@pytest.mark.parametrize(
    ("response", "outcome", "evidence"),
    [
        ({"html": "", "status": 302, "Location": SORRY}, Outcome.CHALLENGE, "Google sorry"),  # BC040
        ({"html": f'<a href="{SORRY}">here</a>'}, Outcome.CHALLENGE, "Google sorry"),
        ({"html": "<p>x", "status": 429, "url": SORRY}, Outcome.CHALLENGE, "Google sorry"),
        ({"html": "<p>x", "url": "https://sorry.google.com/index?q=x"}, Outcome.CHALLENGE, "Google sorry"),
        ({"html": "<p>x", "url": "https://ipv4.google.com/sorry/IndexRedirect?x"}, Outcome.CHALLENGE, "Google sorry"),
        ({"html": '<form id="captcha-form" action="index">', "status": 429}, Outcome.CHALLENGE, "Google sorry"),
        ({"html": "<h1>x", "url": "https://www.google.com/httpservice/retry/enablejs?sei=x"}, Outcome.CHALLENGE, None),
        ({"html": '<div id="yvlrue" style="display:none">…</div>'}, Outcome.CHALLENGE, "Google JavaScript wall"),
        (
            {
                "html": '<noscript><meta content="0;url=/httpservice/retry/enablejs?sei=x" http-equiv="refresh"></noscript>'
            },
            Outcome.CHALLENGE,
            "Google JavaScript wall",
        ),
        ({"html": "", "status": 302, "Location": "https://consent.google.de/ml?continue=x"}, Outcome.CONSENT, None),
        ({"html": '<form action="https://consent.google.co.uk/s"><button>'}, Outcome.CONSENT, "Google consent"),
        ({"html": '<form action="/save"><input name="set_eom" value="true">'}, Outcome.CONSENT, "Google consent"),
        ({"html": "<title>Sorry...</title><h1>We're sorry...</h1>", "status": 503}, Outcome.BLOCKED, None),
        ({"html": "<title>Error 403 (Forbidden)!!1</title>", "status": 403}, Outcome.BLOCKED, "status 403"),
        ({"html": "<h1>429", "status": 429}, Outcome.RATE_LIMITED, "status 429"),
    ],
)
def test_walls(response: dict[str, Any], outcome: Outcome, evidence: str | None) -> None:
    found = read(**response)
    assert (found.outcome, found.results) == (outcome, [])
    assert found.error is not None
    assert evidence in (None, found.error.evidence)


def test_rows_that_speak_of_walls_are_rows() -> None:
    """BC040, control; and the known false positive of facts §12.4."""
    page = row(
        "https://blog.example/sorry/index", "google sorry index", "<div>unusual traffic, g-recaptcha, enablejs</div>"
    )
    dialog = '<form action="https://consent.google.com/save"><input name="set_eom" value="true"></form>'
    assert urls(page + dialog) == ["https://blog.example/sorry/index"]


def test_the_reject_button_of_the_consent_page_is_the_one_clicked() -> None:
    """The form that asks for the essential only (`set_eom`) is the rejection, in any language."""
    from websearch.results.page import Page, select

    page = Page.read((ROOT / "fixtures/google/consent-de/page.html").read_bytes())
    form, _, buttons = GoogleSpider.clicks[1].partition(" ")
    assert buttons == ":is(button, input[type='submit'])"
    (reject,) = page.css(form)
    assert [button.get("aria-label") for button in select(reject, "button")] == ["Alle ablehnen"]
