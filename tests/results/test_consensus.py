"""The merge: rank-fusion §4 is the specification, field-notes §2.8 the worked example."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch.model import InvalidInput, Outcome, SearchQuery, SearchResponse, SearchResult
from websearch.results.consensus import DEFAULT_FAMILIES, DEFAULT_ORDER, MODES, Mode, merge


def row(rank: int, name: str, **more: Any) -> SearchResult:
    return SearchResult(**{"rank": rank, "title": name, "url": f"https://{name}.example/page"} | more)


def answer(
    engine: str, rows: Iterable[SearchResult | str], *, page: int = 1, outcome: Outcome = Outcome.OK
) -> SearchResponse:
    """One engine's response; a row given as a name ranks by its place."""
    results = [row(place, item) if isinstance(item, str) else item for place, item in enumerate(rows, start=1)]
    return SearchResponse(provider=engine, query=SearchQuery(text="tides", page=page), outcome=outcome, results=results)


def at(engine: str, **ranks: int) -> SearchResponse:
    """A response that holds the named pages at the given ranks, between rows nobody else has."""
    names = {rank: name for name, rank in ranks.items()}
    return answer(engine, [names.get(rank, f"{engine}{rank}") for rank in range(1, max(names) + 1)])


def names(rows: Iterable[SearchResult]) -> list[str]:
    return [item.title for item in rows]


# --- who votes, and in which order -----------------------------------------------------------------------------------


def test_most_engines_then_best_rank_then_engine_order() -> None:
    rows = merge([answer("bing", ["b", "c", "a"]), answer("google", ["g", "c", "b"]), answer("mojeek", ["m", "c"])])
    # c has three engines, b two, then the three firsts in engine order, then a.
    assert names(rows) == ["c", "b", "g", "m", "a"]
    assert [item.score for item in rows] == [3.0, 2.0, 1.0, 1.0, 1.0]
    assert [item.votes for item in rows] == [3, 2, 1, 1, 1]
    assert [item.rank for item in rows] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.OK])
def test_only_ok_responses_vote(outcome: Outcome) -> None:
    good, bad = answer("bing", ["a", "b"]), answer("google", ["b", "x"], outcome=outcome)
    assert merge([good, bad]) == merge([good])


def test_order_is_the_callers_and_unknown_engines_stand_behind_by_name() -> None:
    responses = [answer(name, [name]) for name in ("zeta", "alpha", "mojeek", "google")]
    assert names(merge(responses)) == ["google", "mojeek", "alpha", "zeta"]
    assert names(merge(responses, order=["zeta", "mojeek"])) == ["zeta", "mojeek", "alpha", "google"]


def test_engines_and_ranks_of_a_row_follow_the_configured_order() -> None:
    (first,) = merge([answer(name, ["a"]) for name in ("zeta", "mojeek", "bing", "startpage")])
    assert first.engines == list(first.ranks) == ["startpage", "bing", "mojeek", "zeta"]


def test_first_seen_is_the_rank_on_the_first_engine_that_has_the_page() -> None:
    # Both have two engines and best rank 2; google, the first engine, has x at 2 and y at 4 (and bing lists y first).
    rows = merge([answer("google", ["g", row(4, "y"), row(2, "x")]), at("bing", y=2, x=4)])
    assert names(rows)[:2] == ["x", "y"]


def test_first_seen_asks_for_the_engine_before_the_rank() -> None:
    # Both have two engines and best rank 1; x was seen first by google (at 3), y by bing (at 1).
    rows = merge([at("bing", y=1, z=2), at("ecosia", x=1), at("google", x=3), at("mojeek", y=3)])
    assert names(rows)[:2] == ["x", "y"]


def test_nothing_in_nothing_out() -> None:
    assert merge([]) == []
    assert merge([answer("bing", [])]) == []


def test_rows_without_a_url_never_agree() -> None:
    rows = merge([answer("bing", [row(1, "x", url=""), row(2, "a")]), answer("google", [row(1, "y", url="")])])
    assert names(rows) == ["a"]
    assert rows[0].ranks == {"bing": 2}


@pytest.mark.parametrize("rank", [0, -3, None, "1"])
def test_a_rank_that_is_none_gives_way_to_the_place_in_the_list(rank: Any) -> None:
    rows = merge([answer("bing", ["a", row(rank, "b"), "c"])])
    assert [item.ranks["bing"] for item in rows] == [1, 2, 3]


def test_limit_cuts_after_ranking() -> None:
    responses = [answer("google", ["a", "b", "c"]), answer("bing", ["c"])]
    assert merge(responses, limit=2) == merge(responses)[:2]
    assert len(merge(responses, limit=99)) == 3


# --- one engine, one vote --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_engine_that_lists_a_page_twice_votes_once_with_its_best_rank(mode: Mode) -> None:
    twice = answer("mojeek", ["x", "a", row(3, "a", url="https://www.a.example/page/#part"), row(4, "b")])
    rows = {item.title: item for item in merge([twice, answer("bing", ["b"])], mode=mode)}
    assert rows["a"].ranks == {"mojeek": 2}
    assert rows["a"].votes == 1
    assert rows["b"].votes == 2
    assert rows["b"].rank == 1


# --- several pages of one engine -------------------------------------------------------------------------------------


def ranks_of(engine: str, *pages: SearchResponse) -> dict[str, int]:
    return {item.title: item.ranks[engine] for item in merge(pages)}


def test_ranks_that_start_again_on_page_two_run_on() -> None:
    one, two = answer("bing", ["a", "b", "c"]), answer("bing", ["d", "e"], page=2)
    three = answer("bing", ["f"], page=3)
    expected = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}
    assert ranks_of("bing", one, two, three) == ranks_of("bing", three, two, one) == expected


def test_ranks_that_already_run_on_are_kept() -> None:
    one, two = answer("yahoo", ["a", "b"]), answer("yahoo", [row(8, "c"), row(9, "d")], page=2)
    three = answer("yahoo", ["e"], page=3)
    assert ranks_of("yahoo", one, two, three) == {"a": 1, "b": 2, "c": 8, "d": 9, "e": 10}


def test_a_missing_page_still_pushes_the_later_ones_back() -> None:
    assert ranks_of("bing", answer("bing", ["a"], page=2)) == {"a": 11}
    assert ranks_of("bing", answer("bing", ["a", "b"]), answer("bing", ["c"], page=3)) == {"a": 1, "b": 2, "c": 13}
    blocked = answer("bing", [], page=1, outcome=Outcome.BLOCKED)
    assert ranks_of("bing", blocked, answer("bing", ["a"], page=2)) == {"a": 11}


def test_a_lone_second_page_does_not_beat_a_first_page() -> None:
    rows = merge([answer("startpage", ["late"], page=2), answer("mojeek", ["early"])])
    assert names(rows) == ["early", "late"]


def test_overlapping_pages_keep_the_first_rank() -> None:
    # BC075: page 2 begins with the last row of page 1.
    pages = answer("duckduckgo", ["a", "b", "c", "d"]), answer("duckduckgo", [row(5, "d"), row(6, "e")], page=2)
    assert ranks_of("duckduckgo", *pages) == {"a": 1, "b": 2, "c": 3, "d": 4, "e": 6}


def test_two_answers_for_one_page_start_at_the_same_rank() -> None:
    again, two = answer("bing", ["b", "a", "n"]), answer("bing", ["z"], page=2)
    for first, second in ((answer("bing", ["a", "b"]), again), (again, answer("bing", ["a", "b"]))):
        assert ranks_of("bing", first, second, two) == {"a": 1, "b": 1, "n": 3, "z": 4}


def test_of_two_answers_for_one_page_arrival_does_not_choose_the_texts() -> None:
    url = "https://a.example/page"
    two = [answer("bing", [row(1, title, url=url, author=title, kind=title)]) for title in ("One", "Other")]
    assert merge(two) == merge(two[::-1])


# --- the merged row --------------------------------------------------------------------------------------------------


def test_title_and_url_come_from_the_best_ranked_engine() -> None:
    startpage = answer("startpage", ["x", row(2, "Second", url="https://www.a.example/page/")])
    mojeek = answer("mojeek", [row(1, "First", url="https://a.example/page?utm_source=x")])
    best = merge([startpage, mojeek])[0]
    assert (best.title, best.url) == ("First", "https://a.example/page?utm_source=x")


def test_equal_ranks_leave_title_and_url_to_the_earlier_engine() -> None:
    urls = {
        "mojeek": "https://www.a.example/page",
        "bing": "https://a.example/page/",
        "google": "https://a.example/page",
    }
    responses = [answer(engine, [row(1, engine, url=url)]) for engine, url in urls.items()]
    assert (merge(responses)[0].title, merge(responses)[0].url) == ("google", urls["google"])


def test_an_empty_title_gives_way_to_the_next_best() -> None:
    url = "https://a.example/page"
    rows = merge([answer("google", [row(1, "", url=url)]), answer("bing", ["x", row(2, "Tides", url=url)])])
    assert rows[0].title == "Tides"


def test_https_is_shown_where_any_engine_has_it() -> None:
    plain = answer("google", [row(1, "a", url="http://a.example/page")])
    secure = answer("bing", ["x", row(2, "b", url="https://www.a.example/page")])
    best = merge([plain, secure])[0]
    assert (best.title, best.url) == ("a", "https://www.a.example/page")
    assert merge([plain])[0].url == "http://a.example/page"


def test_of_two_https_forms_the_one_of_the_best_url_is_shown() -> None:
    # A server may answer 404 to the form with the slash; only the scheme should differ where it can.
    plain = answer("google", [row(1, "a", url="http://a.example/page")])
    slashed = answer("bing", [row(1, "a", url="https://a.example/page/")])
    same = answer("mojeek", [row(1, "a", url="https://a.example/page")])
    assert merge([plain, slashed, same])[0].url == "https://a.example/page"


def test_longest_snippet_and_first_fields_in_engine_order() -> None:
    google = row(5, "a", snippet="Short.", published=None, age="", site_name="Site G")
    bing = row(1, "a", snippet="Not so short.", author="B. Writer", site_name="Site B")
    mojeek = row(2, "a", snippet="The longest of the three.", published="2026-03-04", age="3 days ago", kind="news")
    merged = merge([answer("mojeek", [mojeek]), answer("bing", [bing]), answer("google", [google])])[0]
    assert merged.snippet == "The longest of the three."
    assert merged.published == "2026-03-04"
    assert merged.age == "3 days ago"
    assert merged.author == "B. Writer"
    assert merged.site_name == "Site G"
    assert merged.kind == "news"


def test_extra_is_the_best_ranked_engines() -> None:
    links = [{"title": "Tables", "url": "https://a.example/tables"}]
    google = answer("google", ["x", row(2, "a", extra={"breadcrumb": "a > page"})])
    bing = answer("bing", [row(1, "a", extra={"sitelinks": links})])
    merged = merge([google, bing])[0]
    assert merged.extra == {"sitelinks": links, "families": ["google", "bing"]}


@pytest.mark.parametrize("mode", MODES)
def test_input_is_not_changed_nor_shared(mode: Mode) -> None:
    responses = [
        answer("google", [row(1, "a", extra={"sitelinks": [{"title": "t"}]}), row(2, "b")]),
        answer("bing", ["b"], page=2),
    ]
    before = copy.deepcopy(responses)
    for merged in merge(responses, mode=mode):
        merged.extra.setdefault("sitelinks", []).append("mine")
        merged.ranks["mine"] = merged.rank
    assert responses == before


# --- families and modes ----------------------------------------------------------------------------------------------


def test_every_default_engine_has_a_family() -> None:
    assert set(DEFAULT_FAMILIES) == set(DEFAULT_ORDER)


def test_families_are_distinct_and_in_engine_order() -> None:
    responses = [answer(name, ["a"]) for name in ("yahoo", "unheard", "google", "bing", "startpage")]
    assert merge(responses)[0].extra["families"] == ["google", "bing", "unheard"]
    overridden = merge(responses, families={"unheard": "bing", "yahoo": "yahoo"})[0]
    assert overridden.extra["families"] == ["google", "bing", "yahoo"]


DOORS = (
    at("google", a=1, b=3),
    at("bing", b=3, c=10),
    at("duckduckgo", c=10),
    at("yahoo", c=10),
    at("ecosia", c=10),
    at("mojeek", d=2),
    at("startpage", d=2),
)


def lettered(rows: Iterable[SearchResult]) -> dict[str, float]:
    return {item.title: item.score or 0 for item in rows if item.title in "abcd"}


def test_worked_example_one_index_behind_four_doors() -> None:
    """field-notes §2.8: c is the tenth hit of one Bing index, shown by four engines."""
    through_bing = {"ecosia": "bing"}
    # `consensus` is fooled by design, as measured; `independent` is not, once the four doors are known to be one index.
    assert list(lettered(merge(DOORS))) == ["c", "d", "b", "a"]
    assert lettered(merge(DOORS, mode="independent", families=through_bing)) == {"d": 2, "b": 2, "c": 1, "a": 1}
    c = next(item for item in merge(DOORS, families=through_bing) if item.title == "c")
    assert (c.votes, c.extra["families"]) == (4, ["bing"])
    # With Ecosia an index of its own (the default), c has two indexes and four engines.
    assert list(lettered(merge(DOORS, mode="independent"))) == ["c", "d", "b", "a"]


def test_worked_example_scores_of_plain_rrf() -> None:
    scores = lettered(merge(DOORS, mode="rrf", k=60))
    assert list(scores) == ["c", "d", "b", "a"]
    assert scores == pytest.approx({"c": 4 / 70, "d": 2 / 62, "b": 2 / 63, "a": 1 / 61})


def test_rrf_adds_weight_over_k_plus_rank() -> None:
    responses = [at("google", a=1, b=2), at("mojeek", b=1, a=4)]
    unweighted = lettered(merge(responses, mode="rrf"))
    assert unweighted == pytest.approx({"b": 1 / 12 + 1 / 11, "a": 1 / 11 + 1 / 14})
    weighted = lettered(merge(responses, mode="rrf", weights={"mojeek": 0.5}))
    assert weighted == pytest.approx({"b": 1 / 12 + 0.5 / 11, "a": 1 / 11 + 0.5 / 14})
    assert list(lettered(merge(responses, mode="rrf", weights={"mojeek": 0}))) == ["a", "b"]


def test_weights_are_divided_by_the_root_of_the_family_size() -> None:
    google, startpage, mojeek = at("google", a=1), at("startpage", a=1), at("mojeek", b=1)
    weights = {"google": 1.0}
    both = lettered(merge([google, startpage, mojeek], mode="rrf", weights=weights))
    assert both == pytest.approx({"a": 2 / math.sqrt(2) / 11, "b": 1 / 11})
    # F counts the engines that answered: a blocked one takes nothing from its family.
    blocked = answer("startpage", [], outcome=Outcome.BLOCKED)
    assert lettered(merge([google, blocked, mojeek], mode="rrf", weights=weights)) == pytest.approx(
        {"a": 1 / 11, "b": 1 / 11}
    )
    undiscounted = lettered(merge([google, startpage, mojeek], mode="rrf"))
    assert undiscounted["a"] == pytest.approx(2 / 11)


def test_scores_do_not_depend_on_which_engine_holds_which_rank() -> None:
    assert 1 / 11 + 1 / 14 + 1 / 12 != 1 / 12 + 1 / 11 + 1 / 14  # plain float addition would break the tie
    lists = [at("google", x=1, y=2), at("bing", x=4, y=1), at("mojeek", x=2, y=4)]
    scores = {item.title: item.score for item in merge(lists, mode="rrf") if item.title in "xy"}
    assert scores["x"] == scores["y"]


# --- explain ---------------------------------------------------------------------------------------------------------


def test_explain_names_engines_ranks_indexes_and_rule() -> None:
    responses = [at("google", a=1), at("bing", a=4), at("mojeek", a=2)]
    assert merge(responses)[0].explain == (
        "3 engines (google 1, bing 4, mojeek 2), 3 indexes; consensus: most engines, then best rank, then engine order"
    )
    assert merge(responses, mode="independent")[0].explain == (
        "3 engines (google 1, bing 4, mojeek 2), 3 indexes; "
        "independent: most indexes, then most engines, then best rank, then engine order"
    )
    assert merge(responses, mode="rrf")[0].explain == (
        "3 engines (google 1, bing 4, mojeek 2), 3 indexes; "
        "rrf: sum of weight/(k+rank) 1/(10+1) + 1/(10+4) + 1/(10+2), then best rank, then engine order"
    )


def test_explain_of_a_lone_engine_and_of_discounted_weights() -> None:
    assert str(merge([at("google", a=1)])[0].explain).startswith("1 engine (google 1), 1 index; ")
    weighted = merge([at("google", a=1), at("startpage", a=2)], mode="rrf", weights={"startpage": 0.5}, k=60)
    assert weighted[0].explain == (
        "2 engines (startpage 2, google 1), 1 index; rrf: sum of weight/(k+rank) 0.354/(60+2) + 0.707/(60+1), "
        "weights divided by sqrt(engines of the family), then best rank, then engine order"
    )


# --- refused input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "borda"}, "consensus, rrf, independent"),
        ({"limit": 0}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": 2.5}, "limit"),
        ({"k": 0, "mode": "rrf"}, "k must"),
        ({"k": -1}, "k must"),
        ({"k": math.nan}, "k must"),
        ({"k": math.inf}, "k must"),
        ({"k": "10"}, "k must"),
        ({"weights": {"google": -0.1}, "mode": "rrf"}, "weight of google"),
        ({"weights": {"google": math.nan}, "mode": "rrf"}, "weight of google"),
        ({"weights": {"google": math.inf}, "mode": "rrf"}, "weight of google"),
        ({"weights": {"google": "much"}, "mode": "rrf"}, "weight of google"),
        ({"weights": {"google": 1.0}}, "mode 'rrf'"),
        ({"weights": {"google": 1.0}, "mode": "independent"}, "mode 'rrf'"),
    ],
)
def test_options_that_cannot_be_used_are_named(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        merge([answer("google", ["a"])], **options)


def test_empty_weights_are_no_weights() -> None:
    lists = [at("google", a=1), at("startpage", a=2), at("mojeek", b=1)]
    assert merge(lists, weights={}) == merge(lists)
    assert merge(lists, mode="rrf", weights={}) == merge(lists, mode="rrf")


# --- properties ------------------------------------------------------------------------------------------------------

ENGINES = (*DEFAULT_ORDER, "alpha")
PAGES = st.sampled_from("abcdefghijkl")
modes = st.sampled_from(MODES)


@st.composite
def ranked_lists(draw: st.DrawFn, max_engines: int = len(ENGINES)) -> list[SearchResponse]:
    """Different pages per engine, at most ten; spelling of the URL and texts vary by engine."""
    chosen = draw(st.lists(st.sampled_from(ENGINES), unique=True, min_size=1, max_size=max_engines))
    responses = []
    for engine in chosen:
        listed = draw(st.lists(PAGES, unique=True, max_size=10))
        rows = []
        for rank, name in enumerate(listed, start=1):
            url = draw(st.sampled_from(["https://{}.example/p", "http://www.{}.example/p", "https://{}.example/p/"]))
            snippet = draw(st.sampled_from(["", engine, f"{engine} on {name}"]))
            rows.append(SearchResult(rank=rank, title=name, url=url.format(name), snippet=snippet))
        responses.append(answer(engine, rows, page=draw(st.sampled_from([1, 1, 2]))))
    return responses


def order_key(item: SearchResult, mode: Mode) -> tuple[float, ...]:
    """The sort key of rank-fusion §4, told from the row alone (first seen and identity break what is left)."""
    best = min(item.ranks.values())
    if mode == "consensus":
        return (-len(item.engines), best)
    if mode == "independent":
        return (-len(item.extra["families"]), -len(item.engines), best)
    return (-(item.score or 0), best)


@given(ranked_lists(), modes, st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_list(responses: list[SearchResponse], mode: Mode, random: Any) -> None:
    # A second page of each engine, and a second answer for the first, are part of the shuffle.
    second = [answer(item.provider, [f"{item.provider}-more", "a"], page=2) for item in responses]
    again = [answer(item.provider, ["c", "a"], page=1) for item in responses]
    everything = responses + second + again
    shuffled = list(everything)
    random.shuffle(shuffled)
    assert merge(shuffled, mode=mode) == merge(everything, mode=mode)


@given(ranked_lists(), modes, st.data())
def test_a_row_repeated_inside_one_engine_changes_nothing(
    responses: list[SearchResponse], mode: Mode, data: st.DataObject
) -> None:
    expected = merge(responses, mode=mode)
    for response in responses:
        if response.results:
            twice = copy.deepcopy(data.draw(st.sampled_from(response.results)))
            twice.rank = len(response.results) + 1
            response.results.append(twice)
    assert merge(responses, mode=mode) == expected


@given(ranked_lists(), modes)
def test_rows_stand_in_the_order_of_the_rule(responses: list[SearchResponse], mode: Mode) -> None:
    rows = merge(responses, mode=mode)
    keys = [order_key(item, mode) for item in rows]
    assert keys == sorted(keys)
    scores = [item.score or 0 for item in rows]
    assert scores == sorted(scores, reverse=True)
    assert [item.rank for item in rows] == list(range(1, len(rows) + 1))


@given(ranked_lists(), modes)
def test_every_page_is_there_once_with_all_its_engines(responses: list[SearchResponse], mode: Mode) -> None:
    wanted: dict[str, set[str]] = {}
    for response in responses:
        for item in response.results:
            wanted.setdefault(item.title, set()).add(response.provider)
    rows = merge(responses, mode=mode)
    assert len(rows) == len(wanted)
    assert {item.title: set(item.engines) for item in rows} == wanted
    assert all(item.votes == len(item.engines) == len(item.ranks) for item in rows)
    given_urls = {item.url for response in responses for item in response.results}
    assert {item.url for item in rows} <= given_urls


def families_by_page(rows: Iterable[SearchResult]) -> Mapping[str, Sequence[str]]:
    return {item.title: sorted(item.extra["families"]) for item in rows}


@given(ranked_lists(), modes)
def test_a_copy_of_an_engine_never_adds_a_family(responses: list[SearchResponse], mode: Mode) -> None:
    original = responses[0]
    copied = answer("copy", copy.deepcopy(original.results), page=original.query.page)
    families = {"copy": DEFAULT_FAMILIES.get(original.provider, original.provider)}
    merged = merge([*responses, copied], mode=mode, families=families)
    assert families_by_page(merged) == families_by_page(merge(responses, mode=mode))


@given(ranked_lists())
def test_independent_is_consensus_when_no_index_repeats(responses: list[SearchResponse]) -> None:
    own = {engine: engine for engine in ENGINES}
    independent, consensus = (merge(responses, mode=mode, families=own) for mode in ("independent", "consensus"))
    assert [item.url for item in independent] == [item.url for item in consensus]


@given(ranked_lists(max_engines=7))
def test_rrf60_of_seven_lists_of_ten_puts_engines_first(responses: list[SearchResponse]) -> None:
    for response in responses:
        response.query = SearchQuery(text="tides")  # first pages: the bound holds for ranks 1 to 10
    votes = [item.votes for item in merge(responses, mode="rrf", k=60)]
    assert votes == sorted(votes, reverse=True)


@given(ranked_lists())
def test_weights_of_one_are_no_weights_when_no_index_repeats(responses: list[SearchResponse]) -> None:
    own = {engine: engine for engine in ENGINES}
    weighted = merge(responses, mode="rrf", families=own, weights=dict.fromkeys(ENGINES, 1.0))
    plain = merge(responses, mode="rrf", families=own)
    assert [(item.url, item.score) for item in weighted] == [(item.url, item.score) for item in plain]
