"""The measures of the ranking benchmark against values worked out by hand, and its data reading."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

from bench import rank
from bench.rank import dcg, frequency, halves, load, main, measure, ndcg, precision, round_robin, searxng, tiers

GAINS = {"key": 7.0, "high": 3.0, "some": 1.0, "mean": 0.5, "low": 0.4, "none": 0.0}


def test_dcg_by_hand() -> None:
    assert dcg([7, 3, 0, 1], 10) == pytest.approx(7 / 1 + 3 / log2(3) + 1 / log2(5))
    assert dcg([7, 3, 0, 1], 2) == pytest.approx(8.892789260714372)
    assert dcg([], 10) == 0


def test_ndcg_by_hand() -> None:
    # 3/log2(2) + 0/log2(3) + 7/log2(4) over the best three of all documents: 7 + 3/log2(3) + 1/2.
    assert ndcg(["high", "none", "key"], GAINS, 3) == pytest.approx(6.5 / 9.392789260714372)
    assert ndcg(["key", "high", "some", "mean", "low"], GAINS) == pytest.approx(1.0)
    assert ndcg(["none", "never judged"], GAINS) == 0
    assert ndcg(["a"], {"a": 0.0}) == 0
    # The eleventh place does not count.
    assert ndcg(["none"] * 10 + ["key"], GAINS) == 0


def test_precision_by_hand() -> None:
    assert precision(["key", "none", "mean", "low", "some", "high"], GAINS) == 3 / 5
    assert precision(["key"], GAINS) == 1 / 5  # four places left empty are four misses
    assert precision([], GAINS) == 0


def doors() -> dict[str, list[str]]:
    """field-notes §2.8: c is tenth on four doors of one index."""
    found = {
        "google": {1: "a", 3: "b"},
        "bing": {3: "b", 10: "c"},
        "duckduckgo": {10: "c"},
        "yahoo": {10: "c"},
        "ecosia": {10: "c"},
        "mojeek": {2: "d"},
        "startpage": {2: "d"},
    }
    return {engine: [ranks.get(place, f"{engine}{place}") for place in range(1, 11)] for engine, ranks in found.items()}


def test_rules_of_the_peers_on_the_worked_example() -> None:
    assert [document for document in searxng(doors()) if document in "abcd"] == ["d", "c", "b", "a"]
    assert [document for document in frequency(doors()) if document in "abcd"] == ["c", "b", "d", "a"]


def test_searxng_lets_one_first_place_outweigh_two_lower_finds() -> None:
    # lone: 1 x 1/1 = 1; twice: 2 x (1/5 + 1/6) = .73
    lists = {"e1": ["lone", "p", "q", "r", "twice"], "e2": ["s", "t", "u", "v", "w", "twice"]}
    assert searxng(lists).index("lone") < searxng(lists).index("twice")
    assert frequency(lists)[0] == "twice"


def test_round_robin_takes_turns() -> None:
    assert round_robin({"e1": ["a", "b", "c"], "e2": ["b"], "e3": ["d", "e"]}) == ["a", "b", "d", "e", "c"]


def test_tiers_weigh_the_better_half() -> None:
    value = {"e1": 0.2, "e2": 0.9, "e3": 0.5, "e4": 0.1}
    assert tiers(["e1", "e2", "e3"], value) == {"e2": 1.0, "e3": 1.0, "e1": 0.5}
    assert tiers(["e4", "e3"], value) == {"e3": 1.0, "e4": 0.5}


def test_weights_are_never_learnt_on_the_topic_they_are_scored_on() -> None:
    names = [str(number) for number in range(50)]
    other = halves(names)
    for name in names:
        assert name not in other[name]
        assert len(other[name]) == 25
        assert all(other[away] != other[name] for away in other[name])


def test_load_reads_runs_duplicates_and_mean_labels(tmp_path: Path) -> None:
    lines = [
        "7001 0 FW13-e132-7001-03 1",  # not in the order of ranks
        "7001 0 FW13-e132-7001-01 7",  # e132 lists the same page at 1 and 2
        "7001 0 FW13-e132-7001-02 3",
        "7001 0 FW13-e050-7001-02 0",  # ranks of e050 begin at 2
        "7001 0 FW13-e050-7001-03 2",
        "7001 0 FW13-e001-7001-01 5",  # no whole-web engine: its label counts, its run does not
        "7001 0 FW13-e001-7001-02 7",
    ]
    (tmp_path / rank.QRELS).write_text("\n".join(lines) + "\n")
    same = "0\tFW13-e132-7001-01\tFW13-e132-7001-02\tFW13-e050-7001-03\n1\tFW13-e132-7001-03\tFW13-e001-7001-01\n"
    (tmp_path / rank.DUPLICATES).write_text(same)
    (topic,) = load(tmp_path).values()
    page, other, alone = "FW13-e132-7001-01", "FW13-e132-7001-03", "FW13-e050-7001-02"
    assert topic.runs == {"e132": [page, other], "e050": [alone, page]}
    assert topic.gains == {page: 4.0, other: 3.0, alone: 0.0}  # means of 7, 3, 2 and of 1, 5
    assert [row.rank for row in topic.responses["e050"].results] == [1, 2]


def test_without_data_one_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("skipped: ")


@pytest.mark.skipif(not (rank.DATA / rank.QRELS).is_file(), reason="judged rankings are not here")
def test_the_measured_order_of_the_rules_holds() -> None:
    """A small draw of the real thing: rank-fusion §1 and §3, 7 engines."""
    measured = measure(load(rank.DATA), 7, draw=4)
    value = {rule: sum(ndcg for ndcg, _ in topics.values()) / len(topics) for rule, topics in measured.items()}
    assert value["consensus"] == pytest.approx(rank.EXPECTED[7], abs=0.02)
    assert value["rrf"] == pytest.approx(value["consensus"], abs=0.01)
    assert value["independent"] == pytest.approx(value["consensus"], abs=0.01)
    assert value["rrf, two tiers"] > value["consensus"] > value["SearXNG"] > value["round robin"]
    assert set(value) >= {*rank.RULES, rank.BEST, rank.MEAN}
    assert value[rank.BEST] > value[rank.MEAN]
    assert "consensus" in next(line for line in rank.table(measured) if not line.startswith("rule"))
