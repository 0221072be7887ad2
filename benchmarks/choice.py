"""Choice that survives the test rows: do estimates hold there, and is the union as good as its best.

    python benchmarks/choice.py [heart thyroid ...] [--splits 5] [--algorithms cegb,miser] [--folds N] [--keep DIR]

Tables are those of ../shared/data, and `breast-cancer`; splits are drawn by seed. A case is a choice: the one that is
recommended, and those within 2, 5, 10, 20 and 50 % of the cost of all features, of each algorithm and of their union;
equal choices of one frontier are one case. It is covered if the test score is in `Frontier.interval`, which should be
so nine times of ten. `--keep` keeps what was fitted.
"""

from __future__ import annotations

import argparse
import os
import pickle
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
from attrs import evolve, frozen
from cegb_frontier import SCORES, SHARED, shared_bench

from costframe.core.errors import CostframeError
from costframe.datasets import Dataset, load, read_table
from costframe.datasets.splits import split_rows
from costframe.frontier.entrants import check_algorithms
from costframe.frontier.sweep import fit_all, frontier_of, trials
from costframe.frontier.trial import Fitted, silent

if TYPE_CHECKING:
    from costframe.frontier.points import Frontier, Point

EMBEDDED = "breast-cancer"
BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.5)
NEAR = 0.99  # of the best on test


@frozen
class Case:
    """A choice on one split: of which algorithm or union, within which share of the cost, and what came of it."""

    side: str
    share: float
    point: Point
    covered: bool
    best: float


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("tables", nargs="*")
    given.add_argument("--splits", type=int, default=5)
    given.add_argument("--algorithms")
    given.add_argument("--folds", type=int)
    given.add_argument("--keep", type=Path)
    asked = given.parse_args()
    for name in asked.tables or (EMBEDDED, *shared_bench().OPEN):
        score, cases = SCORES.get(shared_bench().METRIC.get(name, ""), "roc_auc"), []
        for seed in range(1, asked.splits + 1):
            data = table(name, seed)
            wanted = None if asked.algorithms is None else asked.algorithms.split(",")
            sides = {
                one: fitted(data, f"{name}-{seed}-{one}", score, asked)
                for one in check_algorithms(data.task, wanted, len(data.classes))
            }
            sides = {one: found for one, found in sides.items() if found}
            if len(sides) > 1:
                sides["union"] = [each for found in sides.values() for each in found]
            for side, found in sides.items():
                cases += choices(side, frontier_of(found, score, data.costs.unit, data.full_cost))
        say(name, cases)


def table(name: str, seed: int) -> Dataset:
    """Return a table with its rows split anew, in parts of the same sizes; whole queries."""
    if name == EMBEDDED:
        data = load(name)
        return evolve(data, split=split_rows(data.y, None, len(data.y), seed)[0])
    data = read_table(SHARED / "data" / name / "data.parquet", "label", SHARED / "data" / name / "costs.toml")
    rng = np.random.default_rng([seed, 20261120])
    if data.qid is None:
        return evolve(data, split=rng.permutation(data.split))
    _, first, query = np.unique(data.qid, return_index=True, return_inverse=True)
    return evolve(data, split=rng.permutation(data.split[first])[query])


def fitted(data: Dataset, label: str, score: str, asked: Any) -> list[Fitted]:
    """Fit an algorithm along its path or at its grid, or read what was kept; nothing where it fails."""
    kept = None if asked.keep is None else asked.keep / f"{label}.pickle"
    if kept is not None and kept.exists():
        return list(pickle.loads(kept.read_bytes()))  # noqa: S301 - our own file
    began = time.perf_counter()
    try:
        found = fit_all(trials(data, score, asked.folds, {})(label.rpartition("-")[2]), None, None, None, silent)
    except CostframeError as error:
        print(f"{label}: {error}", flush=True)
        found = []
    print(f"  {label}: {len(found)} models, {time.perf_counter() - began:.0f} s", flush=True)
    found = [evolve(each, model=None) for each in found]
    if kept is not None:
        kept.write_bytes(pickle.dumps(found))
    return found


def choices(side: str, frontier: Frontier) -> list[Case]:
    """Return the case of the recommended point and of each budget that something is within."""
    found = {1.0: frontier.recommended()}
    cheapest = min(point.cost for point in frontier.points)
    found |= {
        share: frontier.within(share * frontier.full_cost)
        for share in BUDGETS
        if share * frontier.full_cost >= cheapest
    }
    cases = []
    for share, point in found.items():
        low, high = frontier.interval(point)
        test = [each.test_score for each in frontier.points if share == 1.0 or each.cost <= share * frontier.full_cost]
        cases.append(Case(side, share, point, low <= (point.test_score or 0.0) <= high, max(test)))
    return cases


def say(name: str, cases: list[Case]) -> None:
    """Print the mean test score and cost of each side's choices, coverage, and how far estimates are off."""
    within = ", ".join(f"{share:.0%}" for share in BUDGETS)
    print(f"\n{name}: chosen, on test, mean over splits; within {within}, recommended")
    for side in dict.fromkeys(case.side for case in cases):
        mine = [case for case in cases if case.side == side]
        cells = [_cell([case.point for case in mine if case.share == share]) for share in (*BUDGETS, 1.0)]
        distinct = list({id(case.point): case for case in mine}.values())
        recommended = [case for case in mine if case.share == 1.0]
        near = sum((case.point.test_score or 0.0) >= NEAR * case.best for case in recommended)
        off = np.mean([(case.point.test_score or 0.0) - case.point.score for case in distinct])
        covered = f"covered {sum(case.covered for case in distinct)} of {len(distinct)}, test - estimate {off:+.4f}"
        close = f"recommended within 1 % of the best on test: {near} of {len(recommended)}"
        print(f"  {side:8s} {'  '.join(cells)}  {covered}, {close}", flush=True)


def _cell(points: list[Point]) -> str:
    if not points:
        return "-"
    score, cost = (np.mean([getattr(point, name) for point in points]) for name in ("test_score", "test_cost"))
    return f"{score:.4f} @ {cost:.4g}"


if __name__ == "__main__":
    main()
