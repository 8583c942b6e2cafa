"""Merge what several engines answered to one query into one ranked list. Pure: no I/O, no clock, no randomness.

The rules and the figures behind them are facts/rank-fusion (§4 is the specification). In short: agreement first, an
engine votes once for a page, the order of arrival never matters, and every row can say why it stands where it stands.
`python -m bench.rank` measures the modes against the peers' rules on judged data.
"""

from __future__ import annotations

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from websearch.model import InvalidInput, Outcome, SearchResponse, SearchResult
from websearch.results.urls import identity

Mode = Literal["consensus", "rrf", "independent"]
MODES: tuple[Mode, ...] = get_args(Mode)

#: The engine list of the Public Web aggregate, in merge priority (facts §8). Ties go to the engine named first, and
#: listing good engines first is worth more than the choice between the modes (rank-fusion, Answer 2).
DEFAULT_ORDER = ("startpage", "google", "duckduckgo", "bing", "yahoo", "ecosia", "mojeek")

#: Whose index an engine shows: taken over in December 2026 from rank-fusion §2. Configuration, not truth: check it by
#: overlap (above .35-.40 over 50 queries two engines are one family). Ecosia shows Bing or Google by place, device and
#: consent (its help article 579), and partly an index of its own, so it counts as its own family until that is known.
DEFAULT_FAMILIES: dict[str, str] = {
    "google": "google",
    "startpage": "google",
    "bing": "bing",
    "duckduckgo": "bing",
    "yahoo": "bing",
    "ecosia": "ecosia",
    "mojeek": "mojeek",
}

#: How many rows an earlier page is taken to hold when it is not at hand.
_ROWS_PER_PAGE = 10

_RULES = {
    "consensus": "most engines, then best rank, then engine order",
    "independent": "most indexes, then most engines, then best rank, then engine order",
}


def merge(
    responses: Iterable[SearchResponse],
    *,
    mode: Mode = "consensus",
    limit: int | None = None,
    order: Sequence[str] = DEFAULT_ORDER,
    weights: Mapping[str, float] | None = None,
    families: Mapping[str, str] | None = None,
    k: float = 10,
) -> list[SearchResult]:
    """Merge responses to one query (several pages of an engine are welcome) into new rows, best first, ranks from 1.

    Only responses with outcome `ok` vote. `limit` None returns every row. Engines rank as in `order`, those it does not
    name behind it by name. The modes and the `score` of a row:

    - `consensus`: number of engines; then best rank, then first seen in engine order.
    - `independent`: number of index families; then engines, best rank, first seen.
    - `rrf`: sum over the engines of weight / (k + rank); then best rank, first seen. `weights` default to 1. Once any
      are given, each is divided by sqrt(F), F being the engines of its family that answered (rank-fusion §3).

    `families` adds to or overrides DEFAULT_FAMILIES; an engine in neither is its own family.

    A row takes title and URL of the engine that ranks it best (an https URL where any engine has one), the longest
    snippet, and the first published, age, author, site name and marked kind in engine order. `extra` is the best
    engine's, with `families` added. The input is not changed.

    Raises InvalidInput for an unknown mode, a limit below 1, a k that is not above 0, weights that are negative or
    not finite, and weights with a mode that does not use them.
    """
    _check(mode, limit, weights, k)
    finds = list(_finds(responses, order))
    family = _family_of((find.engine for find in finds), families)
    weight = _weights(family, weights)
    pages = [_page(group, family) for group in _by_identity(finds)]
    scored = [(_score(page, mode, weight, k), page) for page in pages]

    def place(entry: tuple[float, _Page]) -> tuple[float, int, int, tuple[int, int]]:
        score, page = entry
        engines = len(page.ranks) if mode == "independent" else 0  # in consensus it is the score, rrf does not ask
        return -score, -engines, page.best.rank, page.first_seen

    rows = []
    for rank, (score, page) in enumerate(sorted(scored, key=place)[:limit], start=1):
        rule = _sum(page, weight, k, discounted=bool(weights)) if mode == "rrf" else _RULES[mode]
        rows.append(_row(page, rank, score, f"{_votes(page)}; {mode}: {rule}"))
    return rows


def _check(mode: str, limit: int | None, weights: Mapping[str, float] | None, k: float) -> None:
    if mode not in MODES:
        raise InvalidInput(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise InvalidInput(f"limit must be a whole number of at least 1, or None for all rows, not {limit!r}")
    if not (_finite(k) and k > 0):
        raise InvalidInput(f"k must be a number above 0, not {k!r}")
    if weights and mode != "rrf":
        raise InvalidInput(f"weights have no effect in mode {mode!r}: use mode 'rrf' or leave the weights out")
    for engine, weight in (weights or {}).items():
        if not (_finite(weight) and weight >= 0):
            raise InvalidInput(f"the weight of {engine} must be a finite number of at least 0, not {weight!r}")


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


class _Find(NamedTuple):
    """One row of one engine."""

    rank: int  # over all pages of the engine
    position: int  # of the engine in the configured order
    engine: str
    row: SearchResult


def _finds(responses: Iterable[SearchResponse], order: Sequence[str]) -> Iterator[_Find]:
    """Yield the rows that vote, engine after engine in configured order."""
    voters: dict[str, list[SearchResponse]] = defaultdict(list)
    for response in responses:
        if response.outcome == Outcome.OK:
            voters[response.provider].append(response)
    named = {engine: position for position, engine in reversed(list(enumerate(order)))}
    in_order = sorted(voters, key=lambda engine: (named.get(engine, len(order)), engine))
    for position, engine in enumerate(in_order):
        for rank, row in _ranked(voters[engine]):
            yield _Find(rank, position, engine, row)


def _ranked(responses: list[SearchResponse]) -> Iterator[tuple[int, SearchResult]]:
    """Yield (rank, row) over the pages of one engine, with ranks that run on from page to page.

    A later page may be stored with ranks that start at 1 again. Those are moved behind the earlier pages; one that is
    missing (never asked for, or blocked) counts _ROWS_PER_PAGE rows. Ranks that start above 1 already run on.
    """
    end = before = last_page = 0
    for response in sorted(responses, key=_page_order) if len(responses) > 1 else responses:
        page = response.query.page
        if page > last_page:  # two answers for one page start at the same rank
            before, last_page = end + (page - last_page - 1) * _ROWS_PER_PAGE, page
        ranks = [_rank(row, place) for place, row in enumerate(response.results, start=1)]
        shift = before if 1 in ranks else 0
        yield from ((rank + shift, row) for rank, row in zip(ranks, response.results, strict=True) if row.url)
        end = max([end, *(rank + shift for rank in ranks)])


def _page_order(response: SearchResponse) -> tuple[int, str]:
    # Two answers for one page are told apart by what they hold: arrival may not matter, not even there.
    return response.query.page, repr(response.results)


def _rank(row: SearchResult, place: int) -> int:
    """Return the row's own rank, or its place in the list where a stored file has none that can be one."""
    return row.rank if isinstance(row.rank, int) and row.rank > 0 else place


def _by_identity(finds: Iterable[_Find]) -> Iterable[list[_Find]]:
    groups: dict[str, list[_Find]] = defaultdict(list)
    for find in finds:
        groups[identity(find.row.url)].append(find)
    return groups.values()


def _family_of(engines: Iterable[str], families: Mapping[str, str] | None) -> dict[str, str]:
    known = {**DEFAULT_FAMILIES, **(families or {})}
    return {engine: known.get(engine, engine) for engine in dict.fromkeys(engines)}


def _weights(family: Mapping[str, str], weights: Mapping[str, float] | None) -> dict[str, float]:
    """Effective weight of each engine that answered."""
    if not weights:
        return dict.fromkeys(family, 1.0)
    size = Counter(family.values())
    return {engine: weights.get(engine, 1.0) / math.sqrt(size[name]) for engine, name in family.items()}


@dataclass(slots=True)
class _Page:
    """One target page, and every row that leads to it."""

    finds: list[_Find]  # in engine order
    ranks: dict[str, int]  # best rank of each engine, in engine order
    families: list[str]  # distinct, in engine order
    best: _Find
    first_seen: tuple[int, int]  # position of the first engine that has it, its rank there


def _page(finds: list[_Find], family: Mapping[str, str]) -> _Page:
    finds = sorted(finds, key=lambda find: (find.position, find.rank))
    ranks: dict[str, int] = {}
    for find in finds:
        ranks.setdefault(find.engine, find.rank)
    return _Page(
        finds=finds,
        ranks=ranks,
        families=list(dict.fromkeys(family[engine] for engine in ranks)),
        best=min(finds, key=_by_rank),
        first_seen=(finds[0].position, finds[0].rank),
    )


def _by_rank(find: _Find) -> tuple[int, int]:
    return find.rank, find.position


def _score(page: _Page, mode: Mode, weight: Mapping[str, float], k: float) -> float:
    if mode == "consensus":
        return float(len(page.ranks))
    if mode == "independent":
        return float(len(page.families))
    # fsum rounds once, so the same ranks give the same sum whichever engines hold them.
    return math.fsum(weight[engine] / (k + rank) for engine, rank in page.ranks.items())


def _row(page: _Page, rank: int, score: float, explain: str) -> SearchResult:
    in_engine_order = [find.row for find in page.finds]
    best_first = [find.row for find in sorted(page.finds, key=_by_rank)]
    best = page.best.row

    def first(name: str, rows: Sequence[SearchResult] = in_engine_order) -> str | None:
        return next((value for row in rows if (value := getattr(row, name))), None)

    return SearchResult(
        rank=rank,
        title=first("title", best_first) or "",
        url=_url(best_first),
        snippet=max((row.snippet or "" for row in best_first), key=len),
        published=first("published"),
        age=first("age"),
        author=first("author"),
        site_name=first("site_name"),
        kind=next((row.kind for row in in_engine_order if row.kind != "web"), "web"),
        engines=list(page.ranks),
        ranks=page.ranks,
        votes=len(page.ranks),
        score=score,
        explain=explain,
        extra={**copy.deepcopy(best.extra), "families": page.families},
    )


def _url(best_first: Sequence[SearchResult]) -> str:
    """Return the best row's URL, or its https form: that very URL if an engine has it, else the best https URL."""

    def split(row: SearchResult) -> tuple[str, str]:
        scheme, _, rest = row.url.partition(":")
        return scheme.lower(), rest

    wanted = split(best_first[0])[1]
    secure = [row for row in best_first if split(row)[0] == "https"]
    return min(secure or best_first, key=lambda row: split(row)[1] != wanted).url


def _votes(page: _Page) -> str:
    engines, indexes = len(page.ranks), len(page.families)
    ranks = ", ".join(f"{engine} {rank}" for engine, rank in page.ranks.items())
    return f"{engines} engine{'s' * (engines > 1)} ({ranks}), {indexes} index{'es' * (indexes > 1)}"


def _sum(page: _Page, weight: Mapping[str, float], k: float, *, discounted: bool) -> str:
    terms = " + ".join(f"{weight[engine]:.3g}/({k:g}+{rank})" for engine, rank in page.ranks.items())
    note = ", weights divided by sqrt(engines of the family)" if discounted else ""
    return f"sum of weight/(k+rank) {terms}{note}, then best rank, then engine order"
