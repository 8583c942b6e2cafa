"""Text: page bytes to characters, elements to the words a browser shows, words made safe for where they are printed.

Everything here is a pure function, takes any input and raises nothing, but for a `skip` selector that is not CSS.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, cast

from lxml import etree
from parsel import Selector
from parsel.csstranslator import HTMLTranslator
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, to_unicode

# --- Page bytes to text -----------------------------------------------------------------------------------------------

# Python also knows codecs that no browser takes from a page: hex, zip, punycode, unicode_escape … These are the codecs
# of the WHATWG Encoding Standard, by the names Python resolves its labels to.
_WEB_CODEC = re.compile(
    r"utf-8|utf-16(-le|-be)?|cp(866|874|932|949|125\d)|iso8859-\d+|koi8-[ru]|mac-(roman|cyrillic)"
    r"|gb18030|big5(hkscs)?|euc_jp|iso2022_jp"
)
_WIDE_CODECS = {"cp932", "cp949", "gb18030", "big5", "big5hkscs", "euc_jp", "iso2022_jp"}


def decode(body: bytes, content_type: str | None = None) -> str:
    """Turn page bytes into text as a browser would, without a BOM; undecodable bytes become U+FFFD.

    `content_type` is the value of the header, when there was one. The order is BOM, header, `<meta>`, then: UTF-8 when
    the bytes are that, else the most likely legacy charset. ISO-8859-1 means windows-1252. One step differs from a
    browser: bytes that are valid UTF-8 are read as UTF-8 although `<meta>` names another charset, because such a page
    was re-encoded when it was saved. A charset in the header is always believed.
    """
    bom_codec, bom = read_bom(body)
    if bom_codec and bom:
        codec, body = bom_codec, body[len(bom) :]
    else:
        codec = _web_codec(http_content_type_encoding(content_type)) or _undeclared(body)
    return to_unicode(body, codec).lstrip("\ufeff")


def _undeclared(body: bytes) -> str:
    """Name the codec of a page whose header names none."""
    if wide := _wide(body):
        return wide
    declared = _web_codec(html_body_declared_encoding(body))
    if declared and declared.startswith("utf-16"):
        declared = "utf-8"  # a tag that could be read byte by byte is not UTF-16; the standard says so too
    if declared is None:
        return "utf-8" if _mostly_utf8(body) else _guess(body)
    return "utf-8" if _is_utf8(body, three_bytes=declared in _WIDE_CODECS) else declared


def _wide(body: bytes) -> str | None:
    """UTF-16 without a mark: markup in it is every second byte zero, which no other page has."""
    head = body[:400]
    if len(head) < 40 or head.count(0) < 0.4 * len(head):
        return None
    return "utf-16-le" if head[1::2].count(0) > head[0::2].count(0) else "utf-16-be"


def _web_codec(name: str | None) -> str | None:
    if name is None or not _WEB_CODEC.fullmatch(name):
        return None
    return "utf-16-le" if name == "utf-16" else name


def _is_utf8(body: bytes, *, three_bytes: bool) -> bool:
    """Tell whether the bytes are UTF-8 and more than ASCII.

    Two bytes that are valid UTF-8 may be one character of a Chinese, Japanese or Korean charset as well (C3 A9 is é or
    茅), so against such a declaration it takes a sequence of three, which any text in those scripts has in UTF-8.
    """
    if body.isascii() or (three_bytes and not re.search(rb"[\xe0-\xf4]", body)):
        return False
    return _broken(body) == 0


def _mostly_utf8(body: bytes) -> bool:
    """Tell whether this is UTF-8, maybe cut or with some broken bytes: in a legacy charset nearly all are broken."""
    broken = _broken(body)
    return broken == 0 or broken < len(re.findall(r"[^\x00-\x7f]", body.decode(errors="ignore")))


def _broken(body: bytes) -> int:
    """Count the places where the bytes are not UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode(errors="replace").count("\ufffd")
    return 0


# What makes a legacy charset likely: the share of its non-ASCII bytes that are common characters in it. In western text
# those are accented letters and typographic marks that stand alone or in pairs, in other alphabets the letters that
# running text mostly consists of, in the wide charsets zones of the code table: kana, everyday ideographs or syllables,
# punctuation. The first of equals wins: the Korean zone lies within the Chinese, curly quotes are valid Shift_JIS.
_ACCENTED = {
    "cp1252": "éèàùáíóúñçüöäßêâôîïãåæøìòÜÖÄÉ«»®©°€£\xa0\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u00b7\u2022",
    "cp1250": "ěščřžýáíéůúąęłńóśżźćőűţşăâîŠČŽŁŚŻäöü„\xa0\u2019\u201d\u2013\u2026",
    "cp1254": "ıİşŞğĞçÇöÖüÜâî\xa0\u2019\u201c\u201d\u2013\u2026",
}
_LETTERS = {
    "cp1251": "оеаинтсрвлкмдп",
    "koi8-r": "оеаинтсрвлкмдп",
    "cp1253": "αοιετσςνηυρπκμλ",
    "cp1255": "יוהלאתרבשמנם",
    "cp1256": "اليمونرتبةعد",
    "cp874": "านรอกเงมยลวดท่ั้ิี",
}
_ZONES = {
    "cp949": rb"[\xa1-\xa3\xb0-\xc8][\xa1-\xfe]",
    "gb18030": rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]",
    "euc_jp": rb"[\xa1\xa3-\xa5\xb0-\xcf][\xa1-\xfe]",
    "cp932": rb"[\x81-\x83\x88-\x97][\x40-\x7e\x80-\xfc]",
    "big5hkscs": rb"[\xa1-\xc6][\x40-\x7e\xa1-\xfe]",
}
_SAMPLE = 20_000  # bytes; more text does not change the answer


@lru_cache(maxsize=1)
def _common_characters() -> dict[str, re.Pattern[bytes]]:
    """For each charset a pattern whose group 1 is common characters, and whose other matches are not."""
    high = rb"[\x80-\xff]"
    patterns = {}
    for codec, letters in _ACCENTED.items():
        one_of = b"[" + letters.encode(codec) + b"]"
        patterns[codec] = b"(?<!%b)(%b{1,2})(?!%b)|%b" % (high, one_of, high, high)
    for codec, letters in _LETTERS.items():
        one_of = b"[" + letters.encode(codec) + b"]"
        patterns[codec] = b"((?<=%b)%b|%b(?=%b))|%b" % (high, one_of, one_of, high, high)
    for codec, zone in _ZONES.items():
        patterns[codec] = rb"(%b)|[\x81-\xfe][\x40-\xfe]|%b" % (zone, high)
    return {codec: re.compile(pattern) for codec, pattern in patterns.items()}


def _guess(body: bytes) -> str:
    """Name the most likely charset of a page that declares none and is not UTF-8."""
    sample = b" ".join(re.findall(rb"[\x80-\xff][^<>]{0,400}", body))[:_SAMPLE]
    scores = {codec: _likelihood(sample, codec, common) for codec, common in _common_characters().items()}
    best = max(scores, key=lambda codec: scores[codec])
    return best if scores[best] > 0.3 else "cp1252"


def _likelihood(sample: bytes, codec: str, common: re.Pattern[bytes]) -> float:
    matches = list(common.finditer(sample))
    size = sum(len(match[0]) for match in matches)
    if sample.decode(codec, "replace").count("\ufffd") * 50 > size:
        return 0.0
    return sum(len(match[1] or b"") for match in matches) / size


# --- Elements to text -------------------------------------------------------------------------------------------------

# The elements that start a line of their own, and table cells, which are set apart. All others are inline.
_BLOCKS = frozenset(
    str.split(
        "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption"
        " figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre"
        " search section summary table tbody td tfoot th thead tr ul"
    )
)
_UNSEEN = frozenset(
    str.split("audio canvas datalist head iframe noscript object script style svg template title video")
)
# Text for screen readers only, under the class names that CSS frameworks and the engines use.
_UNSEEN_CLASSES = frozenset(
    str.split(
        "sr-only sr_only visually-hidden visuallyhidden visually_hidden is-visually-hidden u-visually-hidden"
        " screen-reader-text screen-reader-only screenreader-only show-for-sr"
    )
)
_UNSEEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)

_BREAK = "\x00"  # cannot occur in a parsed document
# A break is a space, but not before punctuation that closes what was said: BC025. ".NET" and "..." open something.
_BREAKS = re.compile(
    rf" ?{_BREAK}[ {_BREAK}]*(?P<closing>[,.;:!?)\]}}](?=[ {_BREAK}]|\Z)"
    r"|[\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f])?"
)


def element_text(node: etree._Element | Selector, skip: str | None = None) -> str:
    """Give the text of an element as a browser shows it, folded to one line.

    Inline tags join with nothing, line breaks, blocks and cells with one space. What is not shown is left out:
    scripts, comments, `noscript`, elements hidden by attribute, inline style or a screen-reader class (`aria-hidden`
    is shown, so it stays). `skip` is a CSS selector of descendants to leave out as well. The element itself always
    counts as shown. Raises `cssselect.SelectorError` when `skip` is not a selector.
    """
    root = node.root if isinstance(node, Selector) else node
    if isinstance(root, str):
        return fold(root)  # what `::text` and `::attr` select
    if not etree.iselement(root):
        return ""
    skipped = _descendants(root, skip) if skip else set()
    parts: list[str] = []
    todo: list[etree._Element | str | None] = [root]
    while todo:
        item = todo.pop()
        if item is None or isinstance(item, str):
            parts.append(item or "")
            continue
        edge = _BREAK if item.tag in _BLOCKS else ""
        parts.append(edge + (item.text or ""))
        todo.append(edge)
        for child in item.iterchildren(reversed=True):
            todo.append(child.tail)
            if child not in skipped and _shown(child):
                todo.append(child)
    text = "".join(parts)
    if _BREAK in text:
        text = _BREAKS.sub(lambda match: match["closing"] or " ", _SPACES.sub(" ", text))
    return fold(text)


_SPACES = re.compile(r"\s+")


def _descendants(node: etree._Element, css: str) -> set[etree._Element]:
    return set(cast("list[Any]", _xpath(css)(node)))


@lru_cache(maxsize=256)
def _xpath(css: str) -> etree.XPath:
    return etree.XPath(HTMLTranslator().css_to_xpath(css, prefix="descendant::"))


def _shown(element: etree._Element) -> bool:
    if not isinstance(element.tag, str) or element.tag in _UNSEEN:  # the tag of a comment is a function
        return False
    attributes = element.attrib
    if not attributes:
        return True
    return (
        "hidden" not in attributes
        and _UNSEEN_CLASSES.isdisjoint(attributes.get("class", "").split())
        and not _UNSEEN_STYLE.search(attributes.get("style", ""))
    )


# --- Clean text -------------------------------------------------------------------------------------------------------

# Characters that nobody sees but a program reads, or that reorder what is seen: controls, soft hyphen, zero-width
# spaces and joiners, bidi marks, embeddings and isolates, annotation marks, variation selectors, tags, non-characters.
_INVISIBLE = (
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
# … and where they belong: a zero-width (non-)joiner in the scripts that write with it, joined emoji, one variation
# selector on an emoji, a keycap or an ideograph, the tags of a regional flag such as Scotland's.
_EMOJI = r"[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_WANTED = (
    r"\U0001f3f4[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,4}\U000e007f"
    rf"|{_EMOJI}(?:[\ufe0e\ufe0f](?:\u200d(?={_EMOJI}))?|\u200d(?={_EMOJI}))"
    r"|[0-9#*]\ufe0f(?=\u20e3)"
    r"|[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\ufe00-\ufe02\U000e0100-\U000e01ef]"
    r"|[\u0590-\u061b\u061d-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff][\u200c\u200d]"
)
_SEEN_OR_NOT = re.compile(rf"({_WANTED})|{_INVISIBLE}")
_ODD = re.compile(rf"{_INVISIBLE}|[\ud800-\udfff\u2800\u3164\uffa0]")
_BLANKS = str.maketrans("\u2800\u3164\uffa0", "   ")  # letters by category, but drawn as nothing: braille, Hangul


def fold(text: str) -> str:
    """Fold all white space to single spaces, strip, and remove what is invisible (BC177); lone surrogates: U+FFFD.

    Kept are the joiners of Persian, Indic and similar scripts, emoji sequences and flags. Lost are the directional
    marks of right-to-left text. Folding twice changes nothing more.
    """
    if _ODD.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = _SEEN_OR_NOT.sub(r"\1", text.translate(_BLANKS))
    return " ".join(text.split())


_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI
    r"|\x1b[ -/]*+[0-~]"
)


def terminal(text: str) -> str:
    """Fold a text for printing: whole escape sequences are gone, and every control character."""
    return fold(_ESCAPES.sub("", text))


def truncate(text: str, limit: int) -> str:
    """Cut a text of more than `limit` code points to `limit`, the last of them "…" (facts §1.6)."""
    if len(text) <= limit:
        return text
    return text[: limit - 1] + "…" if limit > 0 else ""


# --- Words ------------------------------------------------------------------------------------------------------------

# Accents, Hebrew points, Arabic vowel signs and the tatweel, the emoji and Indic joiner: not what a word is known by.
_ACCENTS = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670\u200d\ufe0e\ufe0f]")
# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, bopomofo, ideographs.
_UNSPACED = (
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u309a\u309d-\u309f"
    r"\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# The vowel signs of the Indic scripts are not alphanumeric to Python, but they stand inside words. The dandas do not.
_WORD = re.compile(
    rf"(?<!\w)[a-z](?:\+\+|#)(?![^\W\d_])|(?:[^\W_]|[\u0900-\u0963\u0966-\u0dff{_UNSPACED}])+"  # C#, C++; words
)
_RUN = re.compile(rf"([{_UNSPACED}]+)|[^{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """Split a text into tokens for comparing, in order, with repetitions.

    Case, width and accents are folded (`Łódź`, `ＣＡＦÉ` and `ß` give `łodz`, `cafe` and `ss`). Scripts that put no
    spaces between words give overlapping pairs of characters, or the character when it stands alone.
    """
    text = fold(text)
    if text.isascii():
        return _WORD.findall(text.lower())
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", plain))
    return [token for word in _WORD.findall(plain) for run in _RUN.finditer(word) for token in _tokens(run)]


def _tokens(run: re.Match[str]) -> list[str]:
    text = run[0]
    return [text[i : i + 2] for i in range(len(text) - 1)] if run[1] and len(text) > 1 else [text]


# --- Escaping ---------------------------------------------------------------------------------------------------------

_MARKDOWN = re.compile(r"[\\`*_\[\]|~]")
_MARKDOWN_BLOCK = re.compile(r"\A(?:(?=[#+=-])|(\d+)(?=[.)](?: |\Z)))")


def markdown(text: str) -> str:
    """Fold and escape a text so that Markdown shows it as it is: no link, emphasis, table cell, block or HTML."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", fold(text)).replace("<", "&lt;").replace(">", "&gt;")
    text = _MARKDOWN.sub(r"\\\g<0>", text)
    return _MARKDOWN_BLOCK.sub(r"\1\\", text)


_FORMULA = re.compile(r"[^\S\t\r\n]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*%?")


def csv_cell(text: str) -> str:
    """Prefix a cell with ' when a spreadsheet would run it as a formula; a plain number such as -3.5 is none."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
