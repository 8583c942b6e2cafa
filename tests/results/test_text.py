"""Text: the golden table, page bytes in every encoding a page may come in, and that nothing raises."""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from cssselect import SelectorError
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from parsel import Selector

from websearch.results.text import csv_cell, decode, element_text, fold, markdown, terminal, truncate, words

SERPS = Path(__file__).parents[2] / "../shared/serps"
FUNCTIONS = {"fold": fold, "terminal": terminal, "words": words, "markdown": markdown, "csv": csv_cell}


def element(html: str) -> Selector:
    """The first element in the body of a page."""
    return Selector(text=f"<html><body>{html}</body></html>").css("body > *")[0]


def rows() -> list[Any]:
    lines = (Path(__file__).parent / "text.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line.startswith("[")]


@pytest.mark.parametrize(("kind", "given_", "expected", "why"), rows(), ids=lambda value: str(value)[:40])
def test_golden_table(kind: str, given_: str, expected: str | list[str], why: str) -> None:
    got = element_text(element(given_)) if kind == "element" else FUNCTIONS[kind](given_)
    assert got == expected, why


# --- decode ---

SAMPLES = {
    "cp932": ["ICD10 国際疾病分類", "日本語の検索結果ページです。次へ", "東京都の天気予報", "カタカナ・ひらがな"],
    "euc_jp": ["日本語の検索結果ページです。次へ", "東京都の天気予報"],
    "gb18030": ["中文搜索结果页面，欢迎使用本网站", "今天天气", "北京大学"],
    "big5": ["繁體中文搜尋結果頁面，歡迎使用", "台北天氣"],
    "cp949": ["한국어 검색 결과 페이지입니다", "서울 날씨"],
    "cp1251": ["Результаты поиска на русском языке", "погода", "Времето днес в София", "Погода в Києві на сьогодні"],
    "koi8-r": ["Результаты поиска на русском языке", "погода в Москве на завтра"],
    "cp1252": ["Die schönsten Städte für den Urlaub", "Le théâtre français à Montréal", "El niño comió piña", "Größe"],
    "cp1250": ["Příliš žluťoučký kůň úpěl ďábelské ódy", "Wyniki w języku polskim są już gotowe"],
    "cp1253": ["Αποτελέσματα αναζήτησης στα ελληνικά"],
    "cp1254": ["Türkçe arama sonuçları için ışık ağaç"],
    "cp1255": ["תוצאות חיפוש בעברית", "מזג אוויר"],
    "cp1256": ["نتائج البحث باللغة العربية", "الطقس اليوم في القاهرة"],
    "cp874": ["ผลการค้นหาภาษาไทย", "พยากรณ์อากาศวันนี้ กรุงเทพ"],
}
ALL_SAMPLES = [(codec, text) for codec, texts in SAMPLES.items() for text in texts]
ENGLISH = "<p class=x>hello world, this is the text of a page</p>" * 20


@pytest.mark.parametrize(("codec", "text"), ALL_SAMPLES)
@pytest.mark.parametrize("page", ["<title>{}</title>", "<title>{}</title><body>" + ENGLISH])
def test_undeclared_legacy_charsets_are_recognised(codec: str, text: str, page: str) -> None:
    """BC182: a page that declares nothing. The bytes must not be UTF-8, and mostly decide for themselves."""
    assert decode(page.format(text).encode(codec)) == page.format(text)


@pytest.mark.parametrize(("codec", "text"), ALL_SAMPLES)
def test_a_declared_charset_is_used(codec: str, text: str) -> None:
    label = {"cp932": "Shift_JIS", "cp949": "EUC-KR", "cp1252": "ISO-8859-1", "gb18030": "gb2312"}.get(codec, codec)
    for head in (
        f'<meta charset="{label}">',
        f"<meta charset={label.upper()}>",
        f'<meta http-equiv="Content-Type" content="text/html; charset={label}">',
        f'<meta content="text/html; charset={label}" http-equiv="Content-Type"/>',
    ):
        page = f"<html><head>{head}<title>{text}</title>"
        assert decode(page.encode(codec)) == page
    page = f"<title>{text}</title>"
    assert decode(page.encode(codec), f"text/html; charset={label}") == page
    assert decode(page.encode(codec), f'text/html;charset="{label}"') == page


@pytest.mark.parametrize(("codec", "text"), ALL_SAMPLES)
def test_a_page_that_was_saved_as_utf_8_under_its_old_declaration(codec: str, text: str) -> None:
    page = f'<meta charset="{codec}"><title>{text}</title>'
    assert decode(page.encode()) == page
    assert decode(page.encode(), "text/html") == page  # a header without a charset says nothing


def test_the_header_is_always_believed() -> None:
    assert decode("é".encode(), "text/html; charset=iso-8859-1") == "Ã©"  # as a browser shows it
    body = "<meta charset=gb2312><p>搜索结果".encode("gb2312")
    assert decode(body, "text/html; charset=utf-8").startswith("<meta charset=gb2312><p>\ufffd")  # BC181
    assert decode("<meta charset=utf-8>погода".encode("cp1251"), "text/html; charset=windows-1251").endswith("погода")


def test_two_bytes_of_a_wide_charset_are_not_taken_for_utf_8() -> None:
    assert decode(b"<meta charset=gbk>\xc3\xa9").endswith("茅")
    assert decode(b"<meta charset=iso-8859-1>\xc3\xa9").endswith("é")


def test_bom_bc180() -> None:
    page = b'<meta content="text/html; charset=utf-8" http-equiv="Content-Type"/><title>\xc3\xa9</title>'
    assert decode(b"\xef\xbb\xbf" + page) == page.decode()
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbfx") == "x"
    assert decode(b"\xef\xbb\xbf\xc3\xa9", "text/html; charset=iso-8859-1") == "é"  # it beats the header
    for codec in ("utf-16", "utf-32"):
        assert decode("né 日本".encode(codec)) == "né 日本"
    assert decode("\ufeffné".encode("utf-16-be")) == "né"
    assert decode("né".encode("utf-16-le"), "text/html; charset=utf-16") == "né"
    assert decode("né".encode("utf-16-le"), "text/html; charset=utf-16le") == "né"


def test_latin_1_means_windows_1252_bc181() -> None:
    assert decode(b"\x93quoted\x94 \x96", "text/html; charset=ISO-8859-1") == "\u201cquoted\u201d \u2013"
    assert decode(b"<meta charset=us-ascii>\x93quoted\x94").endswith("\u201cquoted\u201d")


def test_a_tag_cannot_say_utf_16() -> None:
    assert decode("<meta charset=utf-16>né".encode()).endswith("né")
    assert decode(b"<meta charset=utf-16>caf\xe9") == "<meta charset=utf-16>caf\ufffd"


@pytest.mark.parametrize(
    "label",
    [
        *("hex", "base64", "rot13", "zlib", "bz2", "uu", "idna", "punycode", "undefined", "unicode_escape", "utf-7"),
        *("raw_unicode_escape", "mbcs", "oem", "no-such-charset", "", "日本", "utf-8\x00", "x" * 300),
    ],
)
def test_what_no_browser_takes_for_a_charset_counts_as_undeclared(label: str) -> None:
    page = f'<meta charset="{label}"><p>n\u00e9 \\x41 +ADw-b+AD4-'
    assert decode(page.encode()) == page
    assert decode(page.encode(), f"text/html; charset={label}") == page


def test_utf_8_with_a_few_broken_bytes_stays_utf_8() -> None:
    text = "Größe, Café, naïve, 日本語"
    assert decode(text.encode() + b"\xe6\x97") == text + "\ufffd"  # cut in the middle of a character
    assert decode(b"<p>\xff</p>" + text.encode()) == "<p>\ufffd</p>" + text
    assert decode(b"<meta charset=utf-8>caf\xe9").endswith("caf\ufffd")  # declared: as a browser shows it


def test_iso_2022_jp_is_declared_in_ascii() -> None:
    page = "<meta charset=iso-2022-jp><title>日本語</title>"
    assert decode(page.encode("iso2022_jp")) == page


def test_gbk_euro_sign() -> None:
    assert decode(b"<meta charset=gbk>5 \x80") == "<meta charset=gbk>5 \u20ac"


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"\x80", b"\xff\xfe", b"\x00" * 10, b"<meta charset=", b"<meta charset=big5>\x80"]
)
def test_odd_bodies(body: bytes) -> None:
    assert isinstance(decode(body), str)


@given(
    body=st.binary() | st.builds(bytes.__add__, st.sampled_from([b"\xef\xbb\xbf", b"<meta charset=big5>"]), st.binary())
)
def test_decode_never_raises_and_leaves_no_bom(body: bytes) -> None:
    for header in (None, "text/html", "text/html; charset=utf-16", "text/html; charset=shift_jis"):
        assert not decode(body, header).startswith("\ufeff")


@given(text=st.text(st.characters(exclude_categories=["Cs"])), header=st.text() | st.none())
def test_utf_8_comes_back_as_it_was(text: str, header: str | None) -> None:
    assert decode(text.encode(), "text/html; charset=utf-8") == text.lstrip("\ufeff")
    assert decode(text.encode()) == text.lstrip("\ufeff") or "<meta" in text
    assert isinstance(decode(text.encode(), header), str)


def serps() -> list[Path]:
    return sorted(SERPS.glob("*/*.html"))


@pytest.mark.skipif(not SERPS.is_dir(), reason="no ../shared/serps here: the check on real pages is left out")
def test_real_pages() -> None:
    assert len(serps()) > 40
    for page in serps():
        body = page.read_bytes()
        assert decode(body) == body.decode(), page
        assert decode(body, "text/html; charset=utf-8") == body.decode(), page


@pytest.mark.skipif(not SERPS.is_dir(), reason="no ../shared/serps here: the check on real pages is left out")
@pytest.mark.parametrize(
    ("page", "codecs"),
    [
        ("google/2022-05-taikoo-basic-ru.html", ["cp1251", "koi8-r"]),
        ("bing/2020-01-win10-iso-zh.html", ["gb18030"]),
        ("duckduckgo/2026-07-onimai-lite.html", ["cp932"]),
        ("yahoo/2015-01-de-snow.html", ["cp1252"]),
        ("yahoo/2021-05-it-driver.html", ["cp1252"]),
        ("bing/2022-07-no-results-fr.html", ["cp1252"]),
        ("ecosia/2022-02-risk-quiz-ads.html", ["cp1252"]),
        ("mojeek/2026-04-javascript-tutorial.html", ["cp1252"]),
    ],
)
def test_real_pages_in_an_undeclared_legacy_charset(page: str, codecs: list[str]) -> None:
    text = re.sub(r"(?i)charset\s*=\s*[\"']?utf-?8", "x", (SERPS / page).read_text("utf-8"))
    for codec in codecs:
        body = text.encode(codec, "ignore")
        assert decode(body) == body.decode(codec), codec


# --- element_text ---


def test_skip_leaves_descendants_out() -> None:
    node = element("<h3><span class=url>example.com › a</span>The <b>title</b><span class=url> x </span> ends</h3>")
    assert element_text(node) == "example.com › aThe title x ends"
    assert element_text(node, skip=".url") == "The title ends"
    assert element_text(node, skip="b, span") == "The ends"
    assert element_text(node, skip=".nothing") == element_text(node)
    assert element_text(node, skip="h3") == element_text(node)  # the element itself stays


def test_skip_bc031() -> None:
    node = element(
        "<div>text of a<div class=m><span>Missing: </span><s>foo</s> \u200e| Must include: <a href='/search?q=foo'>foo</a>"
        "</div></div>"
    )
    assert element_text(node, skip=".m") == "text of a"
    assert element_text(node) == "text of a Missing: foo | Must include: foo"


def test_a_skip_that_is_no_selector_raises() -> None:
    with pytest.raises(SelectorError):
        element_text(element("<p>a</p>"), skip="p[")


def test_selectors_and_elements_of_all_kinds() -> None:
    node = element("<p title=' a  b '>x <b>y</b></p>")
    assert element_text(node) == element_text(node.root) == "x y"
    assert element_text(node.css("::text")[0]) == "x"
    assert element_text(node.css("::attr(title)")[0]) == "a b"
    assert element_text(Selector(text='{"a": [1]}', type="json")) == ""
    assert element_text(Selector(text="<a>x<b>y</b></a>", type="xml")) == "xy"
    assert element_text(etree.fromstring("<p>a &amp; b</p>")) == "a & b"


def test_the_tail_of_left_out_elements_stays() -> None:
    assert (
        element_text(element("<p>a<!-- x --> b<script>x</script> c<i hidden>x</i> d<u>x</u> e</p>"), "u") == "a b c d e"
    )


def test_deep_pages_do_not_recurse() -> None:
    depth = 20_000
    assert element_text(element("<div>" * depth + "deep")) in {"deep", ""}  # libxml2 may cut a page this deep
    top = node = etree.Element("span")
    for _ in range(depth):
        node = etree.SubElement(node, "b")
    node.text = "deep"
    assert element_text(top) == "deep"


def test_long_runs_of_breaks_and_spaces_take_linear_time() -> None:
    assert element_text(element("<p>a" + "<br>" * 50_000 + "b</p>")) == "a b"
    assert element_text(element("<p>a" + " " * 500_000 + "b</p>")) == "a b"
    assert element_text(element("<p>" + " <br> , " * 20_000 + "</p>")) == ("," * 19_999 + ",")


TAGS = ("<div>", "</div>", "<b>", "</b>", "<br>", "<!--", "-->", "&amp;", "&", "a", ".", ", ", "<p hidden>", " ")


@given(html=st.text() | st.lists(st.sampled_from(TAGS)).map("".join))
@settings(deadline=None)
def test_element_text_never_raises_and_is_folded(html: str) -> None:
    for node in Selector(text=html or " ").xpath("//*"):
        text = element_text(node, skip="b")
        assert text == fold(text)


# --- fold, terminal ---

JUNK = "\u200b\u200c\u200d\u200e\u2060\ufe0e\ufe0f\ufeff\u202e\u00ad\U000e0061\U000e0067\U000e007f\U000e0100\ud800\udc00 \n"
awkward = st.text(st.sampled_from(JUNK + "ab🏴👩❤1#\u20e3葛می\u094dक\ufe00🙂") | st.characters())


@given(text=awkward)
def test_fold_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def visible(text: str) -> list[str]:
    """The letters, digits, punctuation and symbols of a text, but those drawn as nothing."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return [c for c in text if unicodedata.category(c)[0] in "LNPS" and c not in "\u2800\u3164\uffa0"]


@given(text=awkward)
def test_fold_loses_nothing_visible(text: str) -> None:
    assert visible(fold(text)) == visible(text)


@given(text=awkward | st.text(st.sampled_from("\x1b[]\\\x07\x9b\x9c\x9d;0123mHK?P_^ ab")))
def test_terminal_text_cannot_steer_a_terminal(text: str) -> None:
    printed = terminal(text)
    assert not any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in printed)
    assert printed == fold(printed)
    printed.encode("utf-8")


def test_lone_and_paired_surrogates() -> None:
    assert fold("a\ud83d") == "a\ufffd"
    assert fold("\ud83d\ude00") == "\U0001f600"


# --- truncate ---


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("a" * 240, 240, "a" * 240),
        ("a" * 241, 240, "a" * 239 + "…"),
        ("🙂" * 241, 240, "🙂" * 239 + "…"),  # code points, not UTF-16 units
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("abcd", -1, ""),
        ("", 0, ""),
    ],
)
def test_truncate(text: str, limit: int, expected: str) -> None:
    assert truncate(text, limit) == expected


@given(text=st.text(), limit=st.integers(-5, 50))
def test_truncate_keeps_the_limit(text: str, limit: int) -> None:
    assert len(truncate(text, limit)) <= max(0, limit)


# --- words, markdown, csv_cell ---


@given(text=awkward)
def test_words_do_not_depend_on_case_or_folding(text: str) -> None:
    tokens = words(text)
    assert all(tokens)
    assert words(fold(text)) == tokens
    assert all(words(token) == [token] for token in tokens if token.isascii())


@given(text=awkward | st.text(st.sampled_from("[]()<>*_`#&;-+=|~!\\.1 \nab")))
def test_markdown_leaves_nothing_to_interpret(text: str) -> None:
    escaped = markdown(text)
    assert "\n" not in escaped
    bare = re.sub(r"\\[!-/:-@\[-`{-~]|&(?:amp|lt|gt);", "", escaped)
    assert not re.search(r"[*_`\[\]<>|~\\]", bare)
    assert not re.match(r"[#+=-]|\d+[.)](?: |$)", escaped)


@given(text=st.text() | st.text(st.sampled_from("=+-@\t\r\n 1.,%a'")))
def test_a_csv_cell_never_starts_a_formula_and_loses_nothing(text: str) -> None:
    cell = csv_cell(text)
    assert cell.removeprefix("'") == text.removeprefix("'")
    if not re.fullmatch(r"[+-]?\d+([.,]\d+)*%?", cell):
        assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
