"""Google, an index of its own, that Startpage shows as well."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from lxml.html import HtmlElement
from scrapy.http import Request, Response

from websearch.fetching.walls import Wall
from websearch.model import Outcome, SearchQuery, SearchResponse, SearchResult
from websearch.providers.serp import Expressed, Layout, Panels, Param, SerpProvider
from websearch.results.page import Page, first, has_ancestor, select
from websearch.results.text import element_text
from websearch.results.urls import Redirect, host, on_host, query_param

#: Languages Google can hold results to (`lr`), as on its advanced search page; some by an older code.
_LANGUAGES: Final = (
    "af", "ar", "be", "bg", "ca", "cs", "da", "de", "el", "en", "eo", "es", "et", "fa", "fi", "fr", "hi", "hr", "hu",
    "hy", "id", "is", "it", "iw", "ja", "ko", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv",
    "sw", "th", "tl", "tr", "uk", "vi", "zh-CN", "zh-TW",
)  # fmt: skip
_OLDER: Final = {"fil": "tl", "he": "iw", "nb": "no", "nn": "no", "zh": "zh-CN"}

#: Google's services that it shows as blocks of a result page. Their own search pages are no results.
_VERTICALS: Final = re.compile(r"(?:blogsearch|books|images|maps|news|scholar|shopping|video)\.google\.")
#: A link that leads on by a token only Google can read.
_SEALED: Final = re.compile(r"(?:https?://www\.google\.[a-z.]+)?/(?:goto|url)\?(?:[^#]*&)?url=[\w-]{16,}=*(?:&|\Z)")
#: Where a row may not grow beyond.
_COLUMNS: Final = frozenset({"rso", "search", "res", "ires", "center_col", "main", "botstuff", "topstuff"})

#: "did not match any documents", for the pages that show it without the shape of `nothing`.
_NO_MATCH: Final = (
    r"did not match any (?:documents|results)|mit keinen? Dokument\w* überein|keine .{0,200}übereinstimmenden Dokumente"
    r"|aucun document ne correspond|no (?:obtuvo|ha obtenido|produjo) ning[uú]n resultado"
    r"|non ha prodotto risultati in nessun documento|não encontrou nenhum documento|komt niet overeen met .{0,40}document"
    r"|nie została odnaleziona|ничего не найдено|не знайдено|に一致する情報は見つかりません|找不到(?:和您?|符合)"
    r"|와 일치하는 검색결과가 없습니다|hiçbir (?:doküman|belge|sonuç|arama sonucu)|matchade inte några dokument"
    r"|matchede ikke nogen dokumenter|samsvarte ikke med noen dokumenter|ei vastaa yhtään asiakirjaa"
    r"|neodpovídají žádné dokumenty|tidak cocok dengan dokumen|không (?:tìm thấy|khớp với) .{0,200}tài liệu"
    r"|לא (?:התאים|תאם) לאף מסמך|لم يتطابق|ไม่ตรงกับเอกสารใด|δεν .{0,40}κανένα έγγραφο"
)

#: Blocks among the rows that are none: answers, questions, carousels, the entity panel.
_BLOCKS: Final = (
    "block-component, .xpdopen, .kp-blk:not(.kp-wholepage), .related-question-pair, g-accordion, g-accordion-expander,"
    " g-scrolling-carousel, g-section-with-header, g-inner-card, g-expandable-container, g-link,"
    " [data-attrid^='VisualDigest'], [jsname='NRdf4c'], [data-subtree], #rhs, [role='complementary']"
)
#: A page that is no result page, not even an empty one.
_BARE: Final = "html:not(:has(#search)):not(:has(#main)):not(:has(.srp))"
#: What every row of the desktop layouts holds: one without a snippet in its place has none.
_KNOWN: Final = "[data-snf], .rc, .s"
#: What a featured snippet may be: a paragraph, a list, a table.
_SNIPPETS: Final = "[data-attrid^='wa:'], ul, ol, table, ._Tgc"

_DESKTOP: Final = Layout(
    "2018",
    rows="a[href]:has(.LC20lb)",
    link="a[href]:has(.LC20lb)",
    title="a[href] .LC20lb, a[href] h3",
    snippet="[data-sncf='1'] .VwiC3b, .VwiC3b, .ITZIwc, .IsZvec .aCOpRe, span.st, .IsZvec, [data-snf='nke7rc']",
    site_name=".VuuXrf",
    sitelinks="h3 > a[href], [data-snf='gdePb'] a[href], .St3GK a[href], .osl a[href], .P1usbc a[href]",
    drop=".vzmbzf, .TXwUJf, div:has(> s)",
)
_LEVEL_3: Final = "a[href]:has([role='heading'][aria-level='3'])"
_MOBILE: Final = Layout(
    "mobile",
    rows="a[href]:has(.v0nnCb[role='heading'])",
    link="a[href]:has(.v0nnCb[role='heading'])",
    title="a[href] .v0nnCb[role='heading'], a[href] [role='heading'][aria-level='3']",
    snippet="[data-sncf='1'] .VwiC3b, .VwiC3b, .yDYNvb, [data-snf='nke7rc']",
    site_name=".BTu2cd",
    sitelinks="[jsname='m7irxf'] a[href], .MUxGbd.v0nnCb.lyLwlc a[href]",
    drop=".vzmbzf, .TXwUJf, div:has(> s)",
)


class GoogleSpider(SerpProvider):
    """Google's web search. Parameters, markup and walls: facts §7.6, field-notes §3.

    Ten rows a page: `num` above ten is ignored since 2025 (field-notes §5, no. 45), so `start` gets the rest. To
    clients it suspects it shows a captcha, a page of script alone, or rows whose links are sealed (`/goto?url=…`);
    the page's own data tells where most of those lead.
    """

    name, label, index_family = "google", "Google", "google"
    base_url, own_hosts = "https://www.google.com", ("google.*",)
    max_query, home = 2048, "/"
    recency = Param("tbs", day="qdr:d", week="qdr:w", month="qdr:m", year="qdr:y")
    safesearch = Param("safe", off="off", moderate="medium", strict="active")  # medium: its "blur"
    clicks = ("#W0wltc", "form:has(input[name='set_eom'][value='true']) :is(button, input[type='submit'])")

    redirects = (
        Redirect(("google.*",), "/url", query_param("q", "url")),
        Redirect(("google.*",), "/goto", query_param("url")),
        Redirect(("google.*",), "/interstitial", query_param("url")),
    )
    # Ads, and what else holds no rows on any layout.
    ads = "#tads, #tadsb, #bottomads, #tvcap, #mbEnd, [data-text-ad], .uEierd, .commercial-unit-desktop-top, " + _BLOCKS
    # Each is known by a mark that no other has. The two of headings are for the day the marks have changed.
    layouts = (
        Layout(
            "wml",  # for phones without script
            rows="a.fuLhoc[href]:has(.CVA68e)",
            link="a.fuLhoc[href]:has(.CVA68e)",
            title=".CVA68e",
            snippet=".taTFJ .FrIlee, .FrIlee",
        ),
        Layout(
            "basic",  # without script, 2019; titles are headings since 2021
            rows=".kCrYT > a[href]:has(h3), .kCrYT > a[href]:has(> .vvjwJb)",
            link=".kCrYT > a[href]",
            title="h3, .vvjwJb",
            snippet="div:not(.MSiauf) > .s3v9rd:not(:has(.s3v9rd)), .s3v9rd",
            sitelinks=".v9i61e .s3v9rd a[href]",
            skip=".xpd .xpd",  # sources of "people also ask"
        ),
        Layout(
            "2009",  # with and without script
            # LC20lb are the titles since 2018, when sitelinks were h3.r still; the others are blocks that hold such rows.
            rows=".g:not(:has(.LC20lb)):not(:has(.related-question-pair)):not(:has(.xpdopen)):not(:has(g-link))",
            link="h3.r a[href]",
            snippet="span.st, .st, .s",
            sitelinks=".osl a[href], .sld h3 a[href], .nrgt h3 a[href], a.sla[href]",
            drop="cite, .kv, .f.slp, .osl, .gl, .xsm, div:has(> s), table",
        ),
        _DESKTOP,
        _MOBILE,
        replace(_DESKTOP, name="headings", rows="a[href]:has(h3)", link="a[href]:has(h3)"),
        replace(_MOBILE, name="mobile headings", rows=_LEVEL_3, link=_LEVEL_3),
    )
    panels = Panels(
        answer="#cwos, .Z0LcW",
        related="#bres .oIk2Cb a[href*='/search?'], .gGQDvd a[href], #brs a[href*='/search?'], .HExoMb a[href],"
        " .ouy7Mc a.h9P1Xd",
        correction="a#fprsl, a[href*='spell=1'], a.spell",
    )
    # The paragraphs of the no-results page have kept their inline style since 2009.
    nothing = (
        "p[style*='padding-top:.33em'], ul[style*='margin-left:1.3em'], #topstuff .card-section p > em,"
        " #botstuff p[role='heading'] em"
    )
    walls = (
        Wall(Outcome.BLOCKED, "automated queries", title=r"^sorry\.\.\.$", css="body:not(:has(form)) h1"),
        # Its title is the address that was asked for, in every language and year.
        Wall(Outcome.CHALLENGE, "Google sorry", title=r"^https?://(?:www|ipv[46])\.google\.[a-z.]+/"),
        Wall(Outcome.CHALLENGE, "Google sorry", url=r"^https?://(?:sorry\.google\.|[^/?#]+/sorry(?:[/?#]|$))"),
        Wall(
            Outcome.CHALLENGE,
            "Google sorry",
            css="form#captcha-form, form[action='CaptchaRedirect'], a[href*='/sorry/'][href*='continue='],"
            " meta[http-equiv][content*='/sorry/']",
        ),
        Wall(Outcome.CHALLENGE, "Google JavaScript wall", url=r"^[^?#]*/httpservice/retry/enablejs"),
        # The no-results page holds the same noscript block, and may lie behind a consent dialog.
        Wall(
            Outcome.CHALLENGE,
            "Google JavaScript wall",
            css=f"{_BARE} noscript [href*='/retry/enablejs'], {_BARE} noscript [content*='/retry/enablejs'], {_BARE} #yvlrue",
        ),
        Wall(Outcome.CHALLENGE, "sealed links", css="a[href*='/goto?url=']:has(h3, [role='heading'], .CVA68e)"),
        Wall(
            Outcome.CONSENT,
            "Google consent",
            css=f"{_BARE} form[action*='consent.google.'], {_BARE} input[name='set_eom'], {_BARE} a[href*='//consent.google.'],"
            f" {_BARE} iframe[src*='//consent.google.'], base[href*='//consent.google.']",
        ),
    )
    echo = "textarea[name='q'][value], input[name='q']"
    signature = (
        "#rso, body#gsr, html[itemtype$='/SearchResultsPage'] #tsf, #ires, #yvlrue, form#captcha-form[action='index'],"
        " a[href*='/httpservice/retry/enablejs'], form[action*='consent.google.'], a.fuLhoc, #main .kCrYT,"
        " form[action='CaptchaRedirect'], a[href*='google.com/sorry/'], a[href*='//consent.google.'],"
        " #main footer a[href*='google.'][href*='preferences']"
    )

    # --- requests

    def request(self, query: SearchQuery, page: int) -> Request:
        """The request for one page. The cookies say that the consent dialog was answered (BC059)."""
        rows = self.rows_wanted(query)
        params = {"q": query.text, "num": str(rows), "hl": "en", "gl": "us", "udm": "14", "pws": "0"}
        params |= self.filters(query).params
        if page > 1:
            params["start"] = str(self.offset(query, page))
        sent = {name: value for name, value in params.items() if value}
        cookies = {"CONSENT": "YES+", "SOCS": "CAI"}
        return self.get("/search", query, page, sent, referer=f"{self.url}/", cookies=cookies)

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """The page wanted, unless the page's own links lead elsewhere only: then this was the last."""
        starts = [link.get("href") or "" for link in self.page(response).css("a[href*='start=']")]
        wanted = re.compile(rf"[?&]start={self.offset(query, page)}(?:&|\Z)")
        return self.request(query, page) if not starts or any(map(wanted.search, starts)) else None

    def region_params(self, query: SearchQuery) -> Expressed:
        """The country to search from, and the language of the page; `wt-wt` is no country at all."""
        country = query.country or ""
        if country == "wt":
            return {"gl": ""}
        language = query.locale_language or "en"
        return {"gl": country, "hl": _code(f"zh-{country}" if language == "zh" else language)}

    def language_params(self, query: SearchQuery) -> Expressed:
        """The language of the page, and of the results where Google can tell it."""
        code = _code(query.language or "")
        results = code if code in _LANGUAGES else code.split("-")[0]
        if results not in _LANGUAGES:
            return {"hl": code}, "approximated"
        return {"hl": code, "lr": f"lang_{results}"}

    def date_params(self, query: SearchQuery) -> Expressed:
        """A range of days, month first; either end may be open."""
        ends = {"cd_min": query.after, "cd_max": query.before}
        return {"tbs": ",".join(["cdr:1", *(f"{name}:{_american(day)}" for name, day in ends.items() if day)])}

    # --- the page

    def row(self, element: HtmlElement, layout: Layout, page: Page) -> SearchResult | None:
        """Read the row around a title link."""
        box = _box(element, layout.rows) if element.tag == "a" else element
        link = first(box, layout.link)
        if link is not None and _SEALED.match(link.get("href") or "") and (target := _unsealed(box, page)):
            link.set("href", target)
        return super().row(box, layout, page)

    def fill(self, row: SearchResult, element: HtmlElement, layout: Layout, page: Page) -> None:
        """Also the snippet of a row whose class names have changed, and which rows are videos."""
        super().fill(row, element, layout, page)
        if not row.snippet and first(element, _KNOWN) is None:
            row.snippet = _beside(element, layout)
        if first(element, ".PmEWq, [id^='evlb_']") is not None:
            row.kind = "video"

    def is_own(self, url: str) -> bool:
        """True for the pages of google.com and its like in all countries, and for blocks of other services; a page of
        support.google.com is a result (facts §7.6), and so is one in the AMP viewer."""
        if not on_host(url, self.own_hosts):
            return False
        parts, name = urlsplit(url), host(url).removeprefix("www.").removeprefix("encrypted.")
        if _VERTICALS.match(name):
            return re.search(r"(?:^|&)q=", parts.query) is not None
        return name.startswith("google.") and not parts.path.startswith("/amp/")

    def says_nothing(self, page: Page) -> bool:
        """The paragraphs of the no-results page, whatever their language; else a page without script that is whole and
        leads nowhere; else the words."""
        return super().says_nothing(page) or self._leads_nowhere(page) or page.shows(_NO_MATCH)

    def _leads_nowhere(self, page: Page) -> bool:
        feet = set(page.css("#main footer"))
        if not feet or self.asks_nothing(page) or page.css("a[href*='start='], a[href*='/imgres']"):
            return False
        return not any(
            self.link(link.get("href"), page) for link in page.css("#main a[href]") if not has_ancestor(link, feet)
        )

    def enrich(self, page: Page, response: SearchResponse) -> None:
        """Where the featured snippet comes from, the questions people also ask, and what the language model wrote."""
        for panel in page.css(".xpdopen"):
            told, source = first(panel, _SNIPPETS), first(panel, "a[href]:has(h3), h3 a[href], .mnr-c a[href]")
            url = self.link(source.get("href"), page) if source is not None else None
            if told is not None and url and "answer_url" not in response.extra:
                response.answer, response.extra["answer_url"] = element_text(told) or None, url
        asked = [pair.get("data-q") or _button(pair) for pair in page.css(".related-question-pair")]
        asked += [element_text(node) for node in page.css(".C7GS5b")]  # without script
        if questions := list(dict.fromkeys(filter(None, asked))):
            response.extra["questions"] = questions
        if overview := page.text("[data-subtree='aimc']"):
            response.extra["ai_overview"] = overview


def _code(language: str) -> str:
    """A language as Google writes it: `de`, `pt-BR`, `zh-TW`, `iw`."""
    base, _, rest = language.partition("-")
    if base == "zh":
        return "zh-TW" if rest in ("tw", "hk", "mo", "hant") or rest.startswith("hant-") else "zh-CN"
    code = _OLDER.get(base, base)
    return f"{code}-{rest.upper()}" if len(rest) == 2 else code


def _button(pair: HtmlElement) -> str:
    button = first(pair, "[role='button']")
    return element_text(button) if button is not None else ""


def _american(day: date) -> str:
    return f"{day.month}/{day.day}/{day.year}"


def _box(link: HtmlElement, rows: str) -> HtmlElement:
    """The largest element around a title link that holds no other."""
    box = link
    for node in link.iterancestors():
        if node.get("id") in _COLUMNS or node.tag in ("body", "html") or len(select(node, rows)) > 1:
            break
        box = node
    return box


def _unsealed(box: HtmlElement, page: Page) -> str | None:
    """The target of a row as the page's data for "about this result" has it: `"<id>":[null, … ,"<url>"`."""
    for node in select(box, "[jsdata]"):
        for name in re.findall(r";_;(\w+)", node.get("jsdata") or ""):
            if found := re.search(rf'"{name}":\[(?:null,){{8,}}("https?:(?:[^"\\]|\\.)*")', page.html):
                return str(json.loads(found[1]))
    return None


def _beside(box: HtmlElement, layout: Layout) -> str:
    """The longest text in a row that is not around or in its link and no menu."""
    drop = ", ".join(filter(None, (layout.drop, "cite, [role='button']")))
    node, texts = first(box, layout.link), [""]
    while node is not None and node is not box:
        beside = (other for other in node.itersiblings() if isinstance(other.tag, str))
        texts += [element_text(other, drop) for other in beside if other.get("role") != "button"]
        node = node.getparent()
    return max(texts, key=len)
