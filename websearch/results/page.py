"""A fetched page, ready to be read: decoded once, parsed once, never raising on what came over the wire."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

import lxml.html
from lxml import etree
from lxml.html import HtmlElement
from parsel.csstranslator import HTMLTranslator

from websearch.results.text import decode, element_text

_TRANSLATOR = HTMLTranslator()
_NO_HTML = "<html></html>"


@functools.lru_cache(maxsize=2048)
def compile_css(selector: str) -> etree.XPath:
    """Compile a CSS selector (a comma list works) to run below an element. `:scope` is the element itself.

    Raises cssselect.SelectorSyntaxError for a selector that is none: selectors are ours, so that is a bug.
    """
    return etree.XPath(_TRANSLATOR.css_to_xpath(selector))


def select(node: HtmlElement, selector: str) -> list[HtmlElement]:
    """All elements below `node` (and itself) that match, in document order."""
    found: list[HtmlElement] = compile_css(selector)(node)  # type: ignore[assignment]
    return found


def first(node: HtmlElement, selector: str) -> HtmlElement | None:
    """The first match of the first alternative that has one: in `"a.new, a.old"` the order of the list is a
    preference."""
    for alternative in split_list(selector):
        if found := select(node, alternative):
            return found[0]
    return None


@functools.lru_cache(maxsize=2048)
def split_list(selector: str) -> tuple[str, ...]:
    """Split a selector list at its top-level commas (those inside (), [] and quotes stay)."""
    parts, depth, quote, current = [], 0, "", ""
    for char in selector:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        if char == "," and not depth and not quote:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return (*parts, current.strip())


#: What a selector cannot match without: classes, ids and attribute values outside `:not(…)` and the like.
_LITERAL = re.compile(r"""[.#]([A-Za-z_][\w-]*)|=\s*["']?([\w./ -]+)["']?\s*\]""")
_PARENTHESES = re.compile(r"\([^()]*\)")


@functools.lru_cache(maxsize=2048)
def literals(selector: str) -> tuple[str, ...]:
    """Strings that stand in the source of any page on which one selector (no list) can match."""
    while (bare := _PARENTHESES.sub("", selector)) != selector:
        selector = bare
    return tuple(name or value for name, value in _LITERAL.findall(selector))


def form_fields(form: HtmlElement) -> dict[str, str]:
    """The named inputs of a form with their values, in order, as the page holds them."""
    return {str(node.get("name")): node.get("value") or "" for node in form.iter("input") if node.get("name")}


def markup_text(markup: object) -> str:
    """The text of a piece of markup, as the data behind a page holds it; empty for what is no text."""
    return element_text(Page.of(markup).root) if isinstance(markup, str) else ""


def has_ancestor(node: HtmlElement, elements: set[HtmlElement]) -> bool:
    """True when `node` or anything above it is one of `elements`."""
    return node in elements or any(ancestor in elements for ancestor in node.iterancestors())


@dataclass(slots=True)
class Page:
    """`url` is where the redirects ended, `status` the HTTP status, `html` the decoded text, `root` its tree."""

    url: str
    status: int
    html: str
    root: HtmlElement
    _visible: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, body: bytes, *, url: str = "", status: int = 200, content_type: str | None = None) -> Page:
        """Decode and parse any bytes at all; an undecodable or empty body gives an empty tree."""
        return cls.of(decode(body, content_type), url=url, status=status)

    @classmethod
    def of(cls, html: str, *, url: str = "", status: int = 200) -> Page:
        """Parse decoded text."""
        # Bytes with a stated encoding: a page that declares another one (or carries an XML declaration) is not read
        # twice.
        data = html.replace("\0", "").encode("utf-8", "replace")
        parser = etree.HTMLParser(encoding="utf-8", recover=True, huge_tree=True)
        try:
            root = etree.fromstring(data or _NO_HTML.encode(), parser)
        except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError):
            root = None
        if root is None:
            root = lxml.html.document_fromstring(_NO_HTML)
        return cls(url, status, html, root)

    def css(self, selector: str) -> list[HtmlElement]:
        """All elements of the page that match.

        Most selectors are for another layout or another day: those whose names the source does not even hold are not run,
        which spares two thirds of the time of a page.
        """
        live = self.live(selector)
        return select(self.root, live) if live else []

    def live(self, selector: str) -> str | None:
        """The alternatives of a selector list that this page can match, as far as its source tells; None when there are
        none."""
        found = [one for one in split_list(selector) if all(literal in self.html for literal in literals(one))]
        return ", ".join(found) or None

    def text(self, selector: str) -> str:
        """The text of the first match, as a browser shows it; empty when there is none."""
        found = first(self.root, selector)
        return element_text(found) if found is not None else ""

    @property
    def title(self) -> str:
        """The text of `<title>`."""
        return " ".join("".join(t.itertext()) for t in self.root.iter("title")).strip()

    def shows(self, pattern: str) -> bool:
        """True when the visible text (scripts and styles left out) matches the pattern, case-insensitive."""
        if self._visible is None:
            self._visible = element_text(self.root)
        return re.search(pattern, self._visible, re.IGNORECASE) is not None
