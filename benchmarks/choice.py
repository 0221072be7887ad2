"""Choice that survives the test rows: do estimates hold there, and is the union as good as its best.

    python benchmarks/choice.py [heart thyroid ...] [--splits 5] [--algorithms cegb,miser] [--keep DIR]

Tables are those of ../shared/data, and `breast-cancer`; split 0 is the table's own, others are drawn by seed. A case is
a choice: the one that is recommended, and those within 2, 5, 10, 20 and 50 % of the cost of all features, of each
algorithm and of their union; equal choices of one frontier are one case. It is covered if the test score is in
`Frontier.interval`, which should be so nine times of ten. `--keep` keeps what was fitted, or finds it there: also what
peers_frontier.py has fitted and kept.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
from attrs import evolve, frozen
from cegb_frontier import SCORES, shared_bench
from peers_sides import as_dataset, fitted

from costframe.core.errors import CostframeError
from costframe.datasets import load
from costframe.datasets.splits import split_rows
from costframe.frontier.checks import check_algorithms
from costframe.frontier.frontier import Frontier

if TYPE_CHECKING:
    from costframe.datasets import Dataset
    from costframe.frontier.points import Point

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
    given.add_argument("--keep", type=Path)
    asked = given.parse_args()
    wanted = None if asked.algorithms is None else asked.algorithms.split(",")
    for name in asked.tables or (EMBEDDED, *shared_bench().OPEN):
        score, cases = SCORES.get(shared_bench().METRIC.get(name, ""), "roc_auc"), []
        for split in range(asked.splits):
            data = table(name, split)
            names, sides = check_algorithms(data.task, wanted, len(data.classes)), {}
            for one in names:
                try:
                    sides[one] = fitted(data, split, one, score, asked.keep)
                except CostframeError as error:
                    print(f"{name} {split}: no {one}: {error}", flush=True)
            if len(sides) > 1:
                sides["union"] = [each for found in sides.values() for each in found]
            for side, found in sides.items():
                cases += choices(side, Frontier.of(found, score, data.costs.unit, data.full_cost))
        say(name, cases)


def table(name: str, split: int) -> Dataset:
    """Return a table with its own split, or drawn anew in parts of the same sizes."""
    if name != EMBEDDED:
        return as_dataset(shared_bench().Table(name, split or None))
    data = load(name)
    return evolve(data, split=split_rows(data.y, None, len(data.y), split)[0]) if split else data


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
