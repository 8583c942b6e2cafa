"""Measure the merge on judged data, beside the rules of the peers: `python -m bench.rank [FOLDER] [--draw N | --all]`.

Data: TREC FedWeb 2013 (research data, measured where it lies, not shipped). Ten engines that answered 50 topics as
whole-web engines; every result judged. What is measured, and why so, is facts/rank-fusion, "How it is measured":

- a document is a duplicate set with the mean label (0/1/3/7) of its copies; the label is the gain;
- NDCG@10 against the best ten documents that the ten engines found; P@5 counts mean labels of .5 and more;
- 3, 5 or 7 of the engines in random order, the same for every rule; a topic's value is its mean over the subsets, a
  rule's value the mean over the topics; `+-` is the half width of the 95% interval, over topics, of the paired
  difference to `consensus`;
- weights are learnt on one half of the topics and scored on the other;
- unjudged rows would have to be removed after merging; here every row of these engines is judged.

Our modes run through the real `merge`. The peers' rules are written from their formulas, with unit weights.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from pathlib import Path

from websearch.model import Outcome, SearchQuery, SearchResponse, SearchResult
from websearch.results.consensus import Mode, merge

QRELS, DUPLICATES = "FW13-QRELS-RM.txt", "duplicates.txt"
DATA = Path(__file__).parents[1] / "../shared/rank/fedweb13"

#: The ten engines and the index behind them, found by overlap (rank-fusion, Data): two pairs share one.
FAMILIES = {
    "e132": "yahoo",
    "e185": "yahoo",
    "e175": "google",
    "e088": "google",
    **{engine: engine for engine in ("e200", "e052", "e057", "e062", "e055", "e050")},
}
SIZES = (3, 5, 7)
DEPTH = 10
DRAW = 40

#: NDCG@10 of consensus as measured when the rules were chosen (rank-fusion §1): a check on this reproduction.
EXPECTED = {3: 0.4214, 5: 0.4859, 7: 0.5353}
SEED = 2013

Ranking = Sequence[str]  # documents, best first
Lists = Mapping[str, Ranking]  # one ranking per engine, in the order of the engines


# --- measures --------------------------------------------------------------------------------------------------------


def dcg(gains: Iterable[float], depth: int) -> float:
    """Sum of gain / log2(rank + 1) over the first `depth` ranks."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(list(gains)[:depth], start=1))


def ndcg(ranking: Ranking, gains: Mapping[str, float], depth: int = DEPTH) -> float:
    """DCG of a ranking divided by the best that these gains allow; 0 when nothing is relevant."""
    ideal = dcg(sorted(gains.values(), reverse=True), depth)
    return dcg((gains.get(document, 0.0) for document in ranking), depth) / ideal if ideal else 0.0


def precision(ranking: Ranking, gains: Mapping[str, float], depth: int = 5) -> float:
    """Share of the first `depth` places that hold a relevant document; an unfilled place counts as a miss.

    A mean label of .5 is relevant: the copies' judges lean that way, and the figures of rank-fusion §1 come out so.
    """
    return sum(gains.get(document, 0.0) >= 0.5 for document in ranking[:depth]) / depth


# --- rules of the peers ----------------------------------------------------------------------------------------------


def searxng(lists: Lists) -> list[str]:
    """Rank by n x sum of 1/rank over the n lists that hold a document (rank-fusion §1).

    Ties go by best rank, then first seen, as everywhere in rank-fusion §1: only the formula differs from `consensus`.
    """
    ranks = _ranks(lists)
    return sorted(ranks, key=lambda document: (-_combmnz(ranks[document]), min(ranks[document])))


def _combmnz(ranks: Sequence[int]) -> float:
    return len(ranks) * math.fsum(1 / rank for rank in ranks)


def frequency(lists: Lists) -> list[str]:
    """Rank by the number of lists that hold a document, ties by arrival (engine after engine), as ddgs counts."""
    ranks = _ranks(lists)
    return sorted(ranks, key=lambda document: -len(ranks[document]))


def round_robin(lists: Lists) -> list[str]:
    """Take the firsts of all engines, then the seconds, and so on; each document once. No consensus at all."""
    return list(dict.fromkeys(document for row in zip_longest(*lists.values()) for document in row if document))


def _ranks(lists: Lists) -> dict[str, list[int]]:
    """Ranks of each document, the documents in order of arrival."""
    ranks: dict[str, list[int]] = defaultdict(list)
    for ranking in lists.values():
        for rank, document in enumerate(ranking, start=1):
            ranks[document].append(rank)
    return ranks


# --- data ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Topic:
    """What the engines answered to one topic, and what it was worth (document to gain)."""

    runs: dict[str, list[str]]  # engine to documents, best first, each once
    gains: dict[str, float]  # of every document the ten engines found
    responses: dict[str, SearchResponse]  # the same runs as `merge` takes them


def load(folder: Path) -> dict[str, Topic]:
    """Read judgements and runs: engine and rank are in the document name, `FW13-e001-7001-01`."""
    same = _duplicates((folder / DUPLICATES).read_text(encoding="utf-8"))
    labels: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    found: dict[str, dict[str, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for line in (folder / QRELS).read_text(encoding="utf-8").splitlines():
        topic, _, name, label = line.split()
        _, engine, _, rank = name.split("-")
        document = same.get(name, name)
        labels[topic][document].append(float(label))
        found[topic][engine][int(rank)] = document
    return {topic: _topic(topic, found[topic], labels[topic]) for topic in sorted(labels)}


def _duplicates(text: str) -> dict[str, str]:
    """Map each copy to the first of its duplicate set. Lines: class, then the copies, tab separated."""
    sets = (line.split("\t")[1:] for line in text.splitlines())
    return {copy: copies[0] for copies in sets for copy in copies}


def _topic(name: str, found: Mapping[str, Mapping[int, str]], labels: Mapping[str, Sequence[float]]) -> Topic:
    runs = {}
    for engine in FAMILIES:
        if ranks := found.get(engine):
            runs[engine] = list(dict.fromkeys(ranks[rank] for rank in sorted(ranks)))[:DEPTH]
    pool = {document for run in runs.values() for document in run}
    gains = {document: statistics.fmean(labels[document]) for document in pool}
    query = SearchQuery(text=name)
    return Topic(runs, gains, {engine: _response(engine, query, run) for engine, run in runs.items()})


def _response(engine: str, query: SearchQuery, run: Ranking) -> SearchResponse:
    rows = [
        SearchResult(rank=rank, title=document, url=f"https://{document}.example/")
        for rank, document in enumerate(run, start=1)
    ]
    return SearchResponse(provider=engine, query=query, outcome=Outcome.OK, results=rows)


# --- the measurement -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Case:
    """One merge to be made: a topic, the engines asked in their order, and the weights learnt on other topics."""

    topic: Topic
    engines: Sequence[str]
    weights: Mapping[str, float]

    @property
    def lists(self) -> Lists:
        """The runs of the engines that answered, in the order of the engines."""
        return {engine: self.topic.runs[engine] for engine in self.engines if engine in self.topic.runs}


Rule = Callable[[Case], Sequence[str]]


def ours(mode: Mode, *, weighted: bool = False, families: Mapping[str, str] = FAMILIES) -> Rule:
    """The real merge as a rule."""

    def rule(case: Case) -> list[str]:
        answered = [case.topic.responses[engine] for engine in case.lists]
        weights = case.weights if weighted else None
        rows = merge(answered, mode=mode, limit=DEPTH, order=case.engines, families=families, weights=weights)
        return [row.title for row in rows]

    return rule


RULES: dict[str, Rule] = {
    "consensus": ours("consensus"),
    "independent": ours("independent"),
    "rrf": ours("rrf"),
    "rrf, two tiers": ours("rrf", weighted=True),
    "rrf, two tiers, families apart": ours("rrf", weighted=True, families={}),
    "SearXNG": lambda case: searxng(case.lists),
    "frequency (ddgs)": lambda case: frequency(case.lists),
    "round robin": lambda case: round_robin(case.lists),
}
BEST, MEAN = "best single engine", "mean single engine"

Scores = tuple[float, float]  # NDCG@10, P@5
Measured = dict[str, dict[str, Scores]]  # rule to topic to scores


def quality(topics: Iterable[Topic]) -> dict[str, float]:
    """Mean NDCG@10 of each engine alone; a topic that it did not answer counts 0."""
    topics = list(topics)
    return {
        engine: statistics.fmean(ndcg(topic.runs.get(engine, ()), topic.gains) for topic in topics)
        for engine in FAMILIES
    }


def tiers(engines: Sequence[str], value: Mapping[str, float]) -> dict[str, float]:
    """Weights 1 for the better half of the engines (the larger half of an odd number), .5 for the rest."""
    by_value = sorted(engines, key=lambda engine: -value[engine])
    return {engine: 1.0 if place < (len(engines) + 1) // 2 else 0.5 for place, engine in enumerate(by_value)}


def halves(names: Sequence[str]) -> dict[str, Sequence[str]]:
    """For each topic the topics of the other half: what is learnt there is scored here."""
    shuffled = random.Random(SEED).sample(list(names), len(names))
    first, second = shuffled[::2], shuffled[1::2]
    return {name: second if name in first else first for name in names}


def measure(topics: Mapping[str, Topic], size: int, draw: int | None) -> Measured:
    """Run every rule over subsets of `size` engines: `draw` of them for each topic (fixed seed), or all (None)."""
    chance = random.Random(SEED + size)
    subsets = list(combinations(FAMILIES, size))
    other = halves(list(topics))
    overall = quality(topics.values())
    measured: Measured = defaultdict(dict)
    for name, topic in topics.items():
        learnt = quality(topics[key] for key in other[name])
        alone = {engine: scores(topic.runs.get(engine, ()), topic.gains) for engine in FAMILIES}
        values: dict[str, list[Scores]] = defaultdict(list)
        for subset in subsets if draw is None else chance.sample(subsets, min(draw, len(subsets))):
            engines = chance.sample(subset, size)
            case = Case(topic, engines, tiers(engines, learnt))
            for label, rule in RULES.items():
                values[label].append(scores(rule(case), topic.gains))
            values[BEST].append(alone[max(engines, key=overall.__getitem__)])
            values[MEAN].append(_mean([alone[engine] for engine in engines]))
        for label, pairs in values.items():
            measured[label][name] = _mean(pairs)
    return measured


def scores(ranking: Ranking, gains: Mapping[str, float]) -> Scores:
    return ndcg(ranking, gains), precision(ranking, gains)


def _mean(pairs: Sequence[Scores]) -> Scores:
    return statistics.fmean(pair[0] for pair in pairs), statistics.fmean(pair[1] for pair in pairs)


def table(measured: Measured) -> Iterable[str]:
    """Lines of one table: a rule's NDCG@10, its difference to consensus with the 95% half width, and P@5."""
    yield f"{'rule':<32} {'NDCG@10':>8} {'to consensus':>16} {'P@5':>7}"
    base = measured["consensus"]
    for label, by_topic in measured.items():
        mean_ndcg, mean_precision = _mean(list(by_topic.values()))
        differences = [by_topic[name][0] - base[name][0] for name in base]
        half = 1.96 * statistics.stdev(differences) / math.sqrt(len(differences))
        against = "" if label == "consensus" else f"{statistics.fmean(differences):+.4f} +-{half:.4f}"
        yield f"{label:<32} {mean_ndcg:>8.4f} {against:>16} {mean_precision:>7.4f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.rank", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="folder of the FedWeb 2013 files")
    how_many = parser.add_mutually_exclusive_group()
    how_many.add_argument("--draw", type=int, default=DRAW, help=f"subsets of each size for a topic (default {DRAW})")
    how_many.add_argument("--all", action="store_true", help="every subset: a minute or more instead of seconds")
    options = parser.parse_args(arguments)
    if options.draw < 1:
        parser.error(f"--draw must be at least 1, not {options.draw}")
    if not all((options.folder / name).is_file() for name in (QRELS, DUPLICATES)):
        print(f"skipped: no judged rankings ({QRELS}, {DUPLICATES}) in the folder")
        return 0
    started = time.monotonic()
    topics = load(options.folder)
    for size in SIZES:
        measured = measure(topics, size, None if options.all else options.draw)
        off = _mean(list(measured["consensus"].values()))[0] - EXPECTED[size]
        print(f"\n{size} engines of {len(FAMILIES)}, {len(topics)} topics")
        print(f"(consensus stands {off:+.4f} off the {EXPECTED[size]:.4f} of rank-fusion §1)")
        for line in table(measured):
            print(line)
    print(f"\n{time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
