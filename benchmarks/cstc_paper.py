"""Needs ../shared: the findings of the CSTC paper (ICML 2013) on tables of several kinds, next to all else in one run.

    python benchmarks/cstc_paper.py --quick                    # one split, few rows, trees and tradeoffs
    python benchmarks/cstc_paper.py mslr letter --splits 3 --depth 4 --output figures

The models are a tree of classifiers, a cascade and a single stage, over three kinds of banks: "own trees", which pay
for their features at the model's tradeoff; "plain trees", which know no prices; and models on a path of CEGB. At each
tradeoff all models over a kind of bank use the same bank. Greedy Miser and CEGB are paths of models of one fit.
Models are chosen on valid; scores and exact costs are those of test. Split 0 is the table's own, others are drawn by
seed.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

import costframe as cf
from harness.pictures import Panel, draw
from harness.points import (
    HEAD,
    NEAR,
    budget_row,
    by_split,
    cheapest,
    compare,
    figures,
    follow_rows,
    levels_text,
    markdown,
    measure,
    measure_constant,
)
from harness.tables import OUTPUT, SCORES, fitting_rows, load, options, single_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.datasets import Dataset
    from harness.points import Level, Point

SPLITS = {"mslr": 4, "nhanes": 2, "thyroid": 3, "letter": 2}  # more where splits differ more
SINGLE, CASCADE, TREE = "single stage", "Cronus", "CSTC"
ALGORITHMS = {SINGLE: "reweighted", CASCADE: "cronus", TREE: "cstc"}
PATHS = {"Greedy Miser": "miser", "CEGB": "cegb"}
BANKS = ("own trees", "plain trees", "CEGB")
MOST, LEAST = 5.0, 0.02  # tradeoffs, in units of the loss of CSTC's best constant per cost of all features
RICHER = 0.3  # a model of CEGB that is a bank was trained at this share of the tradeoff
QUICK_ROWS, QUICK_ROUNDS = 4000, 40
BOTH = "CEGB and CSTC over it"
DEFAULT = f"{TREE} over {BANKS[0]}"
CLAIMS = (
    *((f"{one} over {bank}", f"{TREE} over {bank}") for bank in BANKS for one in (SINGLE, CASCADE)),
    *((f"{SINGLE} over {bank}", f"{CASCADE} over {bank}") for bank in BANKS),
    *((f"{one} over plain trees", DEFAULT) for one in ALGORITHMS),
    *((path, DEFAULT) for path in PATHS),
    ("CEGB", BOTH),
)


def main() -> None:
    asked = options(
        __doc__,
        tuple(SPLITS),
        known=SCORES,
        quick={"action": "store_true", "help": "one split, few training rows, trees and tradeoffs"},
        splits={"type": int, "help": "of each table, 2 to 4 by default"},
        tradeoffs={"type": int, "help": "how many, 8 by default"},
        depth={"type": int, "help": "levels of trees, by default those of CSTC"},
        output=OUTPUT,
    )
    panels: list[Panel] = []
    for name in asked.tables:
        splits = asked.splits or (1 if asked.quick else SPLITS.get(name, 2))
        count = asked.tradeoffs or (3 if asked.quick else 8)
        ways = by_split(measure_split, name, splits, count, asked.depth, asked.quick)
        ways[BOTH] = [one + other for one, other in zip(ways["CEGB"], ways[f"{TREE} over CEGB"], strict=True)]
        data = load(name, 0)
        panels.append(Panel(name, SCORES[name], data.costs.unit, data.full_cost, ways))
        draw_all(asked.output, panels)
        print_figures(data, ways)
        print_levels(data, ways[DEFAULT])
    print(f"\npictures in {asked.output}")


def measure_split(name: str, split: int, count: int, depth: int | None, quick: bool) -> dict[str, list[Point]]:
    """Do all fits on one split with one thread; every way also has the constant, which costs nothing."""
    data, rounds = load(name, split), QUICK_ROUNDS if quick else None
    if quick:
        data = _fewer_rows(data)
    rows, score, found = fitting_rows(data), SCORES[name], defaultdict[str, list[Any]](list)
    paths: dict[str, Any] = {}
    for way, algorithm in PATHS.items():
        model: Any = cf.estimator(algorithm, data.task, costs=data.costs, tradeoff=0.0, n_estimators=rounds, n_jobs=1)
        paths[way] = model.fit_path(**rows, scoring=score)
        found[way] = [measure(data, paths[way].predictor(point), score) for point in paths[way].frontier()]
    test = data.part("test")
    for tradeoff in (np.geomspace(MOST, LEAST, count) * constant_loss(data) / data.full_cost).tolist():
        path = paths["CEGB"]
        below = path.predictor(path.at(RICHER * tradeoff))
        settings = {"own trees": {"n_estimators": rounds}, "plain trees": {"n_estimators": rounds, "engine": "cart"}}
        for bank, given in (settings | ({"CEGB": {"bank": below}} if len(below.bank) else {})).items():
            for way in [one for one in ALGORITHMS if one != CASCADE or len(data.classes) <= 2]:
                tree = fit(data, way, tradeoff, given | ({"depth": depth} if way == TREE else {}))
                levels = follow_rows(tree, data.costs, test.X, _rarer(data, test.y)) if way == TREE else []
                found[f"{way} over {bank}"].append(measure(data, tree, score, levels=levels))
        print(f"{name}, split {split}: tradeoff {tradeoff:.2g} done", file=sys.stderr, flush=True)
    constant = measure_constant(data, score)
    return {way: [constant, *several] for way, several in found.items()}


def _fewer_rows(data: Dataset) -> Dataset:
    """Leave out training rows, where there are many."""
    train = np.flatnonzero(data.split == "train")
    kept = np.sort(np.concatenate([train[:QUICK_ROWS], np.flatnonzero(data.split != "train")]))
    qid = None if data.qid is None else data.qid[kept]
    return attrs.evolve(data, X=data.X[kept], y=data.y[kept], split=data.split[kept], qid=qid)


def _rarer(data: Dataset, y: np.ndarray) -> np.ndarray:
    """Tell which rows have the rarest label, or a grade above the middle one: bool (n,)."""
    if not data.classes:
        return np.asarray(y > (data.y.min() + data.y.max()) / 2)
    codes = data.codes(data.y)
    return np.asarray(data.codes(y) == np.bincount(codes).argmin())


def constant_loss(data: Dataset) -> float:
    """Return the loss of CSTC's best constant on training rows: the entropy of classes, or half the variance."""
    labels = data.part("train").y
    if not data.classes:
        return float(np.var(labels) / 2)
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-share @ np.log(share))


def fit(data: Dataset, way: str, tradeoff: float, settings: dict[str, Any]) -> cf.StageTree:
    """Fit over a bank; in a ranking all but CSTC fit degrees from -1 to 1 instead of grades, which scales the loss."""
    if data.task == "ranking" and way != TREE:
        tradeoff *= (2 / data.part("train").y.max()) ** 2
    model = cf.estimator(ALGORITHMS[way], data.task, costs=data.costs, tradeoff=tradeoff, n_jobs=1, **settings)
    fitted: cf.StageTree = model.fit(**fitting_rows(data)).predictor_
    return fitted


def draw_all(output: Any, panels: Sequence[Panel]) -> None:
    """Draw the tree next to all else, and what goes over each kind of bank."""
    main = (f"{SINGLE} over plain trees", f"{CASCADE} over plain trees", *PATHS, DEFAULT, f"{TREE} over CEGB")
    over = {bank: [f"{one} over {bank}" for one in ALGORITHMS] for bank in BANKS}
    for figure, chosen in {"frontier": main, **over}.items():
        some = [attrs.evolve(one, ways={way: one.ways[way] for way in chosen if way in one.ways}) for one in panels]
        title = "Trees of classifiers next to all else" if chosen is main else f"Over the same bank: {figure}"
        draw(output / f"cstc_{figure.replace(' ', '_').lower()}", title, some)


def print_figures(data: Dataset, ways: dict[str, list[list[Point]]]) -> None:
    """Print scores at budgets, whether one way is better than another, and by how much."""
    rows = [budget_row(way, [figures(points, data.full_cost) for points in several]) for way, several in ways.items()]
    rarer = _rarer(data, data.y).mean()
    print(f"\n{data.name}: the rarest label, or grades above the middle one, are {rarer:.0%}\n\n{markdown(HEAD, rows)}")
    known = [pair for pair in CLAIMS if pair[0] in ways and pair[1] in ways]
    rows = [[f"{second} beats {first}", compare(ways[first], ways[second])] for first, second in known]
    print(f"\n{markdown([data.name, 'verdict'], rows)}", flush=True)


def print_levels(data: Dataset, several: list[list[Point]]) -> None:
    """Print the acquisitions of a tree at each depth, and the means at the root over trees with routes."""
    deep = [point for points in several for point in points if len(point.get("levels", ())) > 1]
    if not deep:
        print(f"\n{data.name}: no tree has routes", flush=True)
        return
    shown = cheapest(deep, NEAR * max(point["val"] for point in deep))
    print(f"\n{data.name}, the cheapest tree within 1 % of the best\n\n{levels_text(shown['levels'], data.costs)}")
    prices = single_prices(data.costs)
    for kind, chosen in (("cheap", prices < prices.max() / 2), ("expensive", prices >= prices.max() / 2)):
        root, whole = (np.mean([_acquired(point["levels"], at, chosen) for point in deep]) for at in (0, -1))
        share = f", {root / whole:.0%} of them at the root" if whole else ""
        print(f"{len(deep)} trees with routes: a row acquires {whole:.2f} {kind} features{share}", flush=True)


def _acquired(levels: Sequence[Level], at: int, chosen: np.ndarray) -> float:
    return float(levels[at].acquired[chosen].sum())


if __name__ == "__main__":
    main()
