"""What every engine is: a result page, described. The file of an engine states what is particular to it; all behaviour
is here.

`parse` is a plain function of (response, query): fixtures, `websearch parse` and tests call it without network or
crawler.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlencode

from lxml.html import HtmlElement
from scrapy.http import FormRequest, Request, Response

from websearch.fetching.context import META, BrowserPlan, Fetch
from websearch.fetching.walls import COMMON_WALLS, Wall, find_wall
from websearch.model import (
    FilterState,
    InvalidInput,
    Outcome,
    SearchQuery,
    SearchResponse,
    SearchResult,
    clamp,
)
from websearch.providers.base import Provider
from websearch.providers.retry_after import retry_after
from websearch.results import sanity
from websearch.results.dates import parse_date, split_date
from websearch.results.fallback import find_rows
from websearch.results.page import Page, first, has_ancestor, select, split_list
from websearch.results.text import element_text, fold
from websearch.results.urls import Redirect, is_ad, on_host, resolve, unwrap

#: Characters of an encoded query. Servers take addresses of 8 KiB, of which the rest wants its part.
MAX_ENCODED: Final = 7000

#: What a filter hook answers: the parameters that express the filter ("applied"), the same with another state, or None.
Expressed = Mapping[str, str] | tuple[Mapping[str, str], FilterState] | None


class Param:
    """One filter as one request parameter: `Param("since", day="day", week="week")`."""

    def __init__(self, name: str, /, **values: str) -> None:
        self.name: Final = name
        self.values: Final = values

    def express(self, value: str) -> Expressed:
        """The parameter for a value; a value the engine has no code for is not sent, and said to be ignored."""
        return {self.name: self.values[value]} if value in self.values else ({}, "ignored")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of a row are on one generation of the page. All are CSS selectors below the row.

    A comma list is an order of preference, but for `rows` (any of them). `title` None: the text of the link. `skip`:
    rows that match, or lie in
    a match, are no results. `drop`: elements inside title and snippet whose text is not part of them (breadcrumbs,
    labels).
    """

    name: str
    rows: str
    link: str = "a[href]"
    title: str | None = None
    snippet: str | None = None
    date: str | None = None
    site_name: str | None = None
    sitelinks: str | None = None
    skip: str | None = None
    drop: str | None = None

    def on(self, page: Page) -> Layout:
        """The same without what cannot match on this page: it is not looked for in every row."""

        def live(selector: str | None) -> str | None:
            return page.live(selector) if selector else None

        return replace(
            self,
            link=live(self.link) or self.link,
            title=self.title and (live(self.title) or self.title),
            snippet=live(self.snippet),
            date=live(self.date),
            site_name=live(self.site_name),
            sitelinks=live(self.sitelinks),
            drop=live(self.drop),
        )


@dataclass(frozen=True, slots=True)
class Panels:
    """Where the page keeps what is no organic row. All optional CSS selectors."""

    answer: str | None = None
    related: str | None = None
    questions: str | None = None
    correction: str | None = None


@dataclass(slots=True)
class Filters:
    """What a query's filters became: the parameters to send and, for each filter asked for, its state."""

    params: dict[str, str]
    states: dict[str, FilterState]


class SerpProvider(Provider):
    """A scraped result page. See the attributes for what a subclass states."""

    kind = "engine"

    # --- who it is
    index_family: ClassVar[str]
    own_hosts: ClassVar[tuple[str, ...]]  # the engine's own pages are not results

    # --- how a page is asked for
    max_limit = 100
    page_limit: ClassVar[int] = 20  # rows a page can be asked to hold
    asks_count: ClassVar[bool] = False  # the engine has a count parameter, so pages may be longer than `page_size`
    follows_pages: ClassVar[bool] = False  # later pages need what the page before carries (a form, a token)
    max_pages = 10  # pages one search may read; an aggregate sets it to 1
    max_query: ClassVar[int | None] = None  # characters
    request_timeout: ClassVar[float] = 10.0
    recency: ClassVar[Param | None] = None
    safesearch: ClassVar[Param | None] = None
    ignores: ClassVar[tuple[str, ...]] = ()  # filters known to have no effect, as opposed to those it does not have

    # --- how a page is read
    layouts: ClassVar[tuple[Layout, ...]] = ()
    panels: ClassVar[Panels] = Panels()
    redirects: ClassVar[tuple[Redirect, ...]] = ()
    ads: ClassVar[str | None] = None
    nothing: ClassVar[str | None] = None  # the engine's own no-results marker
    nothing_text: ClassVar[str | None] = (
        None  # what the marker must say (regular expression), where the element is not enough
    )
    walls: ClassVar[tuple[Wall, ...]] = ()
    echo: ClassVar[str | None] = None  # input that repeats the query the page answers
    signature: ClassVar[str | None] = (
        None  # element that tells this engine's pages from others (`websearch parse auto`)
    )

    # --- how a browser gets it
    home: ClassVar[str | None] = None  # path of the page to visit first on the browser rung
    clicks: ClassVar[tuple[str, ...]] = ()

    # --- what a subclass implements ----------------------------------------------------------------------------------

    def request(self, query: SearchQuery, page: int) -> Request:
        """The request for one page (1-based) of results."""
        raise NotImplementedError

    def next_request(self, response: Response, query: SearchQuery, page: int) -> Request | None:
        """The request for `page`, given the page before. None: the engine offers no further page."""
        del response
        return self.request(query, page)

    async def fetch(self, query: SearchQuery, page: int, previous: Response | None) -> Response | None:
        """Get one page: override where a page takes more than one request. None: there is no such page."""
        request = self.request(query, page) if previous is None else self.next_request(previous, query, page)
        return await self.download(request) if request is not None else None

    def region_params(self, query: SearchQuery) -> Expressed:
        """How the engine expresses `query.region`."""

    def language_params(self, query: SearchQuery) -> Expressed:
        """How the engine expresses `query.language`."""

    def date_params(self, query: SearchQuery) -> Expressed:
        """How the engine expresses `query.after` / `query.before`. None: rows are filtered by their dates
        afterwards."""

    def enrich(self, page: Page, response: SearchResponse) -> None:
        """Read what the selectors cannot say from a page that gave results."""

    def data_rows(self, page: Page) -> list[SearchResult]:
        """Rows in the page's own data instead of its elements; asked when no layout gave any."""
        del page
        return []

    def today(self) -> date:
        """The day that open ranges end with and recency counts from."""
        return datetime.now(UTC).date()

    def row(self, element: HtmlElement, layout: Layout, page: Page) -> SearchResult | None:
        """Read one row; None when it is no result (no title, a link of the engine's own, an ad)."""
        link = first(element, layout.link)
        url = self.link(link.get("href"), page) if link is not None else None
        if link is None or url is None:
            return None
        named = first(element, layout.title) if layout.title else link
        title = element_text(named, layout.drop) if named is not None else ""
        title = title or fold(link.get("aria-label") or "")
        if not title:
            return None
        row = SearchResult(rank=0, title=title, url=url)
        self.fill(row, element, layout, page)
        return row

    # --- requests ----------------------------------------------------------------------------------------------------

    def rows_wanted(self, query: SearchQuery) -> int:
        """How many rows one page is asked to hold."""
        return clamp(query.limit, self.page_size, self.page_limit) if self.asks_count else self.page_size

    def offset(self, query: SearchQuery, page: int) -> int:
        """How many rows lie before `page`."""
        return (page - 1) * self.rows_wanted(query)

    def filters(self, query: SearchQuery) -> Filters:
        """Express every filter the query asks for, and say what became of each."""
        found = Filters({}, {})
        for name in query.asked_filters():
            if name in self.ignores:
                found.states[name] = "ignored"
            elif name not in ("after", "before"):
                self._express(found, (name,), self._hook(name, query))
        dates = tuple(name for name in ("after", "before") if getattr(query, name) is not None)
        if dates:
            # A recency and a range usually share one parameter; the range is the more precise wish and wins.
            expressed = self.date_params(query)
            if expressed is None:
                found.states.update(dict.fromkeys(dates, "approximated"))
            else:
                if self.recency and self.recency.name in _params(expressed) and "recency" in found.states:
                    found.states["recency"] = "ignored"
                self._express(found, dates, expressed)
        return found

    def _hook(self, name: str, query: SearchQuery) -> Expressed:
        match name:
            case "recency":
                return self.recency_params(query)
            case "safesearch":
                return self.safesearch.express(str(query.safesearch)) if self.safesearch else None
            case "region":
                return self.region_params(query)
            case _:
                return self.language_params(query)

    def recency_params(self, query: SearchQuery) -> Expressed:
        """How the engine expresses `query.recency`; override where a value has to be computed."""
        return self.recency.express(str(query.recency)) if self.recency else None

    @staticmethod
    def _express(found: Filters, names: Iterable[str], expressed: Expressed) -> None:
        state: FilterState = "unsupported" if expressed is None else "applied"
        if isinstance(expressed, tuple):
            state = expressed[1]
        found.params.update(_params(expressed))
        found.states.update(dict.fromkeys(names, state))

    def supported_filters(self) -> list[str]:
        """Told by trying: a filter counts when a usual value of it is expressed."""
        usual: dict[str, Any] = {
            "recency": "week", "after": "2026-01-01", "before": "2026-02-01", "region": "us-en", "language": "en",
            "safesearch": "strict",
        }  # fmt: skip
        states = self.filters(SearchQuery(text="x", **usual)).states
        only = self.filters(SearchQuery(text="x", recency="week")).states  # a range may take the place of a recency
        return [name for name, state in (states | only).items() if state == "applied"]

    def get(self, path: str, query: SearchQuery, page: int, params: Mapping[str, str], **more: Any) -> Request:
        """A GET of `path` (below the base URL, or a whole URL) with the parameters in the order given."""
        return Request(self._url(path, params), **self._ready(query, page, **more))

    def post(self, path: str, query: SearchQuery, page: int, form: Mapping[str, str], **more: Any) -> Request:
        """A POST of a form. The browser rung gets the same by GET, where the engine takes both."""
        plan = BrowserPlan(url=self._url(path, form), **self._plan())
        return FormRequest(
            self._url(path, {}), formdata=dict(form), method="POST", **self._ready(query, page, plan=plan, **more)
        )

    def _url(self, path: str, params: Mapping[str, str]) -> str:
        base = path if "://" in path else self.url + path
        return f"{base}?{urlencode(params)}" if params else base

    def _ready(
        self,
        query: SearchQuery,
        page: int,
        *,
        referer: str | None = None,
        prelude: bool = False,
        browser: bool = True,
        plan: BrowserPlan | None = None,
        cookies: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Keyword arguments of a Request. `prelude`: a step before the search itself (home page, token): it is judged
        by its
        walls alone and does not wait for the pace of searches."""
        fetch = Fetch(
            provider=self.name,
            query=query,
            page=page,
            judge=(lambda response: self.judge_prelude(response, query))
            if prelude
            else (lambda response: self.parse(response, query)),
            browser=(plan or BrowserPlan(**self._plan())) if browser and not prelude else None,
            route=self.route,
            prelude=prelude,
            attempts=self.attempts,
        )
        rate = self.settings_of.rate
        meta: dict[str, Any] = {
            META: fetch,
            "download_slot": f"{self.name} prelude" if prelude else self.name,
            "cookiejar": f"{self.name} {self.route}",
            "download_timeout": min(self.request_timeout, self.seconds),
            # A pace that was set by hand is kept as it was set.
            "autothrottle_dont_adjust_delay": rate is not None or self.config.rate == 0,
        }
        if self.proxy:
            meta["proxy"] = self.proxy
        sent = {
            "User-Agent": self.config.user_agent,
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language": accept_language(query),
            "Upgrade-Insecure-Requests": "1",
            "Sec-Fetch-Dest": "document",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Site": "same-origin" if referer else "none",
            "Sec-Fetch-User": "?1",
            **({"Referer": referer} if referer else {}),
            **(headers or {}),
        }
        return {"headers": sent, "cookies": dict(cookies or {}), "meta": meta, "dont_filter": True}

    def _plan(self) -> dict[str, Any]:
        return {
            "ready": ", ".join(dict.fromkeys(layout.rows for layout in self.layouts)),
            "nothing": self.nothing,
            "home": self.url + self.home if self.home else None,
            "clicks": self.clicks,
        }

    # --- the flow ----------------------------------------------------------------------------------------------------

    def check(self, query: SearchQuery) -> None:
        """Refuse what this engine cannot take, before a request is spent on it."""
        length = len(query.text)
        if self.max_query and length > self.max_query:
            raise InvalidInput(f"the query has {length} characters, {self.label} takes {self.max_query}: shorten it")
        if (encoded := len(quote(query.text))) > MAX_ENCODED:
            raise InvalidInput(
                f"the query has {length} characters, {encoded} in an address, which no server takes: shorten it"
            )

    async def answer(self, query: SearchQuery) -> SearchResponse:
        """Collect pages until the limit is met, the engine has no more, or something goes wrong.

        What the first pages gave is kept when a later one fails; `attempts` tells what happened to it.
        """
        # No limit asked for is one page, as long as the engine makes it.
        limit = min(max(1, query.limit), self.max_limit) if query.limit else None
        whole: SearchResponse | None = None
        seen: set[str] = set()
        async for parsed in self._pages(query):
            fresh = [row for row in parsed.results if row.url not in seen]
            seen.update(row.url for row in fresh)
            if whole is None:
                whole = parsed
            else:
                whole.results += fresh
                whole.raw = whole.raw + parsed.raw if whole.raw else None
                whole.extra["pages"] = whole.extra.get("pages", 1) + 1
                whole.extra["skipped_rows"] = whole.extra.get("skipped_rows", 0) + parsed.extra.get("skipped_rows", 0)
            if parsed.outcome is not Outcome.OK or not fresh or len(whole.results) >= (limit or 0):
                break
        if whole is None:
            raise RuntimeError("no page was fetched")
        if limit:
            del whole.results[limit:]
        for rank, row in enumerate(whole.results, 1):
            row.rank = rank
        return whole

    async def _pages(self, query: SearchQuery) -> AsyncIterator[SearchResponse]:
        """Parsed pages from `query.page` on. The first is given whatever its outcome; a later one only when it adds
        rows."""
        start = 1 if self.follows_pages else query.page
        previous: Response | None = None
        last: list[str] = []
        for page in range(start, query.page + self.max_pages):
            try:
                async with asyncio.timeout_at(self.state.deadline):
                    response = await self.fetch(query, page, previous)
            except Exception:
                if page > query.page:
                    return  # it stands in the attempts
                raise
            if response is None:
                if page <= query.page:
                    yield self._beyond(query, page)
                return
            parsed = self.judge(response, query)
            if self.given.get("raw"):
                # The provider's own data, unchanged, is the page.
                parsed.raw = [{"url": response.url, "status": response.status, "html": read(response).html}]
            urls = [row.url for row in parsed.results]
            repeated = bool(urls) and urls == last
            if repeated:
                parsed = self._repeats(parsed, page)
            if page > query.page and parsed.outcome is not Outcome.OK:
                return
            if page >= query.page or parsed.outcome is not Outcome.OK:
                yield parsed
            if parsed.outcome is not Outcome.OK:
                return
            previous, last = response, urls

    def _beyond(self, query: SearchQuery, page: int) -> SearchResponse:
        """The page asked for lies behind the engine's last one: that is the engine saying there is nothing."""
        response = SearchResponse(provider=self.name, query=query, outcome=Outcome.EMPTY, rung=self.attempts[-1].rung)
        response.extra["last_page"] = page - 1
        return response

    def _repeats(self, parsed: SearchResponse, page: int) -> SearchResponse:
        message = f"{self.label}: page {page} repeats page {page - 1}"
        failed = SearchResponse.failure(self.name, parsed.query, Outcome.SUSPECT, message, evidence="repeated page")
        if self.attempts:
            self.attempts[-1].outcome, self.attempts[-1].message = Outcome.SUSPECT, message
        return replace(parsed, outcome=Outcome.SUSPECT, error=failed.error)

    def judge(self, response: Response, query: SearchQuery) -> SearchResponse:
        """What `parse` says about a response, from memory where the middleware has asked already; with its rung."""
        fetch = response.meta.get(META) if response.request else None
        if not isinstance(fetch, Fetch):
            return self.parse(response, query)
        parsed = fetch.judged(response)
        parsed.rung = fetch.rung
        return parsed

    def judge_prelude(self, response: Response, query: SearchQuery) -> SearchResponse:
        """A page that is not expected to hold results: ok unless it is a wall or an error."""
        page = self.page(response)
        return self._refusal(page, response, query) or SearchResponse(
            provider=self.name, query=query, outcome=Outcome.OK, status=response.status
        )

    # --- the page ----------------------------------------------------------------------------------------------------

    def parse(self, response: Response, query: SearchQuery) -> SearchResponse:
        """Read a page. Any bytes give a response: rows, or the outcome that says why there are none.

        `query.text` may be unknown ("") for a stored page; then nothing is checked against it.
        """
        page = self.page(response)
        found = SearchResponse(
            provider=self.name,
            query=query,
            outcome=Outcome.OK,
            status=response.status,
            filters=self.filters(query).states,
        )
        if response.status < 300:
            now = page_time(response)
            self._read_rows(page, found, now)
            if not found.results and (rows := self.data_rows(page)):
                found.results, found.extra["layout"] = rows, "data"
                self._read_dates(found, page, now)
        if not found.results:
            refusal = self._refusal(page, response, query)
            if refusal is not None:
                refusal.filters = found.filters
                return refusal
            self._read_nothing(page, found)
        if found.outcome is Outcome.EMPTY or found.results:
            self._read_panels(page, found)
        if found.results:
            self._check_sanity(page, found)
            self._finish(found)
        return found

    def page(self, response: Response) -> Page:
        """The page of a response. Behind a gateway (`base_url` set by the user) it is read as if the engine had sent it, so that
        relative links are the engine's and not the gateway's."""
        page, gateway = read(response), self.settings_of.base_url
        if gateway and page.url.startswith(self.url):
            page.url = self.base_url + page.url.removeprefix(self.url)
        return page

    def _no_rows(self, page: Page) -> set[HtmlElement]:
        """The parts of a page that hold no rows on any layout: ads, and what the layouts skip."""
        selectors = filter(None, (self.ads, *(layout.skip for layout in self.layouts)))
        return {part for selector in selectors for part in page.css(selector)}

    def _read_rows(self, page: Page, found: SearchResponse, now: datetime) -> None:
        ads = set(page.css(self.ads)) if self.ads else set()
        for known in self.layouts:
            if not (elements := page.css(known.rows)):
                continue
            skip = ads | set(page.css(known.skip)) if known.skip else ads
            layout = known.on(page)
            rows: dict[str, SearchResult] = {}
            taken: set[HtmlElement] = set()
            skipped = 0
            for element in elements:
                if has_ancestor(element, skip) or has_ancestor(element, taken):
                    continue
                try:
                    row = self.row(element, layout, page)
                except Exception:  # noqa: BLE001 - one odd row never costs the page; it is counted
                    row = None
                if row is None:
                    skipped += 1
                    continue
                taken.add(element)
                rows.setdefault(row.url, row)
            if rows:
                found.results = list(rows.values())
                found.extra["layout"] = layout.name
                if skipped:
                    found.extra["skipped_rows"] = skipped
                self._read_dates(found, page, now)
                return

    def fill(self, row: SearchResult, element: HtmlElement, layout: Layout, page: Page) -> None:
        """Read the optional parts of a row: each may be missing."""
        for alternative in split_list(layout.snippet) if layout.snippet else ():
            texts = (element_text(part, layout.drop) for part in select(element, alternative))
            if text := next((text for text in texts if text), ""):
                row.snippet = text
                break
        if layout.date and (dated := first(element, layout.date)) is not None:
            row.age = element_text(dated) or None
        if layout.site_name and (site := first(element, layout.site_name)) is not None:
            row.site_name = element_text(site) or None
        if layout.sitelinks:
            links = ((self.link(a.get("href"), page), element_text(a)) for a in select(element, layout.sitelinks))
            found = [{"title": text, "url": url} for url, text in links if url and text and url != row.url]
            if found:
                row.extra["sitelinks"] = found

    def link(self, href: str | None, page: Page) -> str | None:
        """The target of a row's link, unwrapped once and otherwise untouched; None for ads and the engine's own
        pages."""
        url = resolve(href or "", page.url)
        if url is None or is_ad(url, page.url):
            return None
        target = unwrap(url, self.redirects, page.url)
        if target is None or is_ad(target, page.url) or self.is_own(target):
            return None
        return target

    def is_own(self, url: str) -> bool:
        """True for a page of the engine itself."""
        return on_host(url, self.own_hosts)

    def asks_nothing(self, page: Page) -> bool:
        """True when the page has the search box that repeats the query, and it is empty: a home page, not an answer."""
        boxes = page.css(self.echo) if self.echo else []
        return bool(boxes) and not any((box.get("value") or box.text or "").strip() for box in boxes)

    def _read_dates(self, found: SearchResponse, page: Page, now: datetime) -> None:
        # The page's own language first: it tells 2/8/2020 apart.
        tongues = (page.root.get("lang"), found.query.locale_language)
        languages = tuple(dict.fromkeys(tongue.lower() for tongue in tongues if tongue))
        for row in found.results:
            if row.age:
                row.published = row.published or parse_date(row.age, now, languages)
            elif row.snippet and not row.published:
                row.age, row.published, row.snippet = split_date(row.snippet, now, languages)

    def _read_panels(self, page: Page, found: SearchResponse) -> None:
        panels = self.panels
        if panels.answer:
            found.answer = page.text(panels.answer) or None
        if panels.related:
            found.related = _texts(page, panels.related)
        if panels.questions and (questions := _texts(page, panels.questions)):
            found.extra["questions"] = questions
        if panels.correction and (correction := page.text(panels.correction)):
            found.extra["correction"] = correction
        self.enrich(page, found)

    def _finish(self, found: SearchResponse) -> None:
        query = found.query
        # A range the engine cannot express is applied here, to the rows that carry a date; the others are kept.
        if found.filters.get("after") == "approximated" or found.filters.get("before") == "approximated":
            found.results = [row for row in found.results if _in_range(row.published, query.after, query.before)]
        for rank, row in enumerate(found.results, 1):
            row.rank = rank
        if not found.results:
            found.outcome = Outcome.EMPTY
            found.extra["filtered_out"] = True

    # --- why there are no rows ---------------------------------------------------------------------------------------

    def _refusal(self, page: Page, response: Response, query: SearchQuery) -> SearchResponse | None:
        """The wall or the status that explains a page without results; None when neither does."""
        if 300 <= response.status < 400:
            # A redirect nobody followed: where it points says more than its body (BC040).
            target = resolve((response.headers.get("Location") or b"").decode("latin-1"), page.url)
            page = replace(page, url=target or page.url)
        wait = retry_after(response.headers, datetime.now(UTC))
        walls = (*self.walls, *COMMON_WALLS)
        if self.says_nothing(page):
            # Such a page repeats the query, and a query may speak of captchas: its words are no wall.
            walls = tuple(wall for wall in walls if wall.css or wall.url or wall.html)
        wall = find_wall(page, walls)
        if wall is not None:
            return self._failed(query, wall.outcome, wall.name, response, wait, evidence=wall.name)
        status, outcome = response.status, _status_outcome(response.status)
        if outcome is not None:
            return self._failed(query, outcome, f"HTTP {status}", response, wait, evidence=f"status {status}")
        if not response.body.strip():
            return self._failed(query, Outcome.UNAVAILABLE, "an empty answer", response, wait, evidence="empty body")
        return None

    def _failed(
        self, query: SearchQuery, outcome: Outcome, what: str, response: Response, wait: float | None, *, evidence: str
    ) -> SearchResponse:
        message = f"{self.label}: {_EXPLAIN[outcome].format(what=what)}"
        return SearchResponse.failure(
            self.name, query, outcome, message, evidence=evidence, retry_after=wait, status=response.status
        )

    def _read_nothing(self, page: Page, found: SearchResponse) -> None:
        """No rows, no wall: empty if the engine says so, else the structural fallback, else the layout has changed."""
        if self.says_nothing(page):
            found.outcome = Outcome.EMPTY
            return
        rows = (
            [] if self.asks_nothing(page) else find_rows(page, lambda href: self.link(href, page), self._no_rows(page))
        )
        if rows:
            found.results = rows
            found.extra["layout"] = "fallback"
            self._read_dates(found, page, datetime.now(UTC))
            return
        found.outcome = Outcome.LAYOUT_CHANGED
        names = ", ".join(layout.name for layout in self.layouts)
        found.error = SearchResponse.failure(
            self.name,
            found.query,
            Outcome.LAYOUT_CHANGED,
            f"{self.label}: the page is neither results (layouts tried: {names}), nor empty, nor a known wall",
            evidence=f"{len(page.html)} characters, title {'present' if page.title else 'missing'}",
        ).error

    def says_nothing(self, page: Page) -> bool:
        """True when the page carries the engine's own no-results marker."""
        if not self.nothing:
            return False
        marks = page.css(self.nothing)
        if not self.nothing_text:
            return bool(marks)
        return any(sanity.matches(self.nothing_text, element_text(mark)) for mark in marks)

    def _check_sanity(self, page: Page, found: SearchResponse) -> None:
        """Results for some other query are no results (BC046): say so, keep the rows, do not let them vote."""
        echo = first(page.root, self.echo) if self.echo else None
        doubt = sanity.doubt(found.query.text, found.results, str(echo.get("value") or "") if echo is not None else "")
        if doubt:
            found.outcome = Outcome.SUSPECT
            found.error = SearchResponse.failure(
                self.name, found.query, Outcome.SUSPECT, f"{self.label}: {doubt}", evidence=doubt
            ).error


_EXPLAIN: dict[Outcome, str] = {
    Outcome.CHALLENGE: "a page that wants proof of a human or a browser ({what})",
    Outcome.CONSENT: "a consent page that could not be passed ({what})",
    Outcome.BLOCKED: "refused this client ({what}); wait, or use another route",
    Outcome.RATE_LIMITED: "too many requests from here ({what}); wait, or lower the rate",
    Outcome.UNAVAILABLE: "the engine is out of order ({what}); try again later",
    Outcome.NETWORK_ERROR: "the proxy did not let the request through ({what})",
    Outcome.INVALID_INPUT: "the request is too long for the engine ({what}): shorten the query",
    Outcome.ERROR: "an unexpected answer ({what})",
    Outcome.LAYOUT_CHANGED: "an unexpected page ({what})",
    Outcome.SUSPECT: "an answer that cannot be trusted ({what})",
}


def _status_outcome(status: int) -> Outcome | None:
    """The outcome of an HTTP status whose page shows no wall; None for a success."""
    match status:
        case 429:
            return Outcome.RATE_LIMITED
        case 401 | 403 | 451:
            return Outcome.BLOCKED
        case 407:
            return Outcome.NETWORK_ERROR
        case 414 | 431:
            return Outcome.INVALID_INPUT
        case _ if status >= 500:
            return Outcome.UNAVAILABLE
        case _ if status >= 300:
            return Outcome.ERROR
        case _:
            return None


def _params(expressed: Expressed) -> Mapping[str, str]:
    return (expressed[0] if isinstance(expressed, tuple) else expressed) or {}


def _texts(page: Page, selector: str) -> list[str]:
    return list(dict.fromkeys(text for node in page.css(selector) if (text := element_text(node))))


def _in_range(published: str | None, after: date | None, before: date | None) -> bool:
    if published is None:
        return True
    day = date.fromisoformat(published[:10])
    return (after is None or day >= after) and (before is None or day <= before)


def read(response: Response) -> Page:
    """The page of a response."""
    header = (response.headers.get("Content-Type") or b"").decode("latin-1")
    return Page.read(response.body, url=response.url, status=response.status, content_type=header)


def page_time(response: Response) -> datetime:
    """When the page was made: its Date header (a stored case has one), else now. Relative dates count from there."""
    stamp = (response.headers.get("Date") or b"").decode("latin-1")
    try:
        return parsedate_to_datetime(stamp).astimezone(UTC) if stamp else datetime.now(UTC)
    except ValueError:
        return datetime.now(UTC)


def accept_language(query: SearchQuery) -> str:
    """The header for the query's language and region: `de-AT,de;q=0.9,en;q=0.5`; American English when none is asked
    for."""
    language = query.locale_language
    if not language and not query.country:
        return "en-US,en;q=0.9"
    language = language or "en"
    base = language.split("-")[0]
    country = (query.country or (language.split("-")[1] if "-" in language else "")).upper()
    first_choice = f"{base}-{country}" if country else base
    rest = [f"{base};q=0.9"] if country else []
    return ",".join([first_choice, *rest, *(["en;q=0.5"] if base != "en" else [])])
