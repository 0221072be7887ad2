"""Needs ../shared, but for breast-cancer and drawn: counts how often estimates hold on test rows, also of the union.

    python benchmarks/choice.py [heart thyroid ...] [--splits 5] [--algorithms cegb miser] [--keep DIR]
    python benchmarks/choice.py drawn --splits 14

A case is a choice: the recommended model, and those within 2, 5, 10, 20 and 50 % of the cost of all features, of each
algorithm and of their union; equal choices of one frontier are one case. It is covered if the test score is in
`Frontier.interval`, which should hold nine times of ten. `--keep` stores the fitted points in a folder and reads them
from it. Split 0 is the table's own, others are drawn by seed. Each split of "drawn" has rows of its own, and 20,000
test rows.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe import CostframeError
from costframe.choices.frontier import Frontier
from costframe.study.algorithms import choose_algorithms
from costframe.study.all_fits import fit_all
from costframe.study.division import Division
from costframe.study.entrants import Entrant
from costframe.study.events import FitTask
from costframe.study.fitted import StudyResult
from costframe.study.paths import has_path
from costframe.study.progress import silent
from costframe.study.settings import StudyPlan
from costframe.study.study import Study
from harness.points import NEAR, markdown
from harness.tables import FREE, SCORES, STORED, load, options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from costframe.datasets import Dataset
    from costframe.study.fitted import Fitted
    from costframe.study.points import Point

BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.5)
POINTS = 42  # of a path
RECOMMENDED = 1.0  # stands for the recommended model, which has no budget


@frozen
class Case:
    """A choice on one split.

    Attributes
    ----------
    side : str
        The algorithm, or "union".
    share : float
        Of the cost of all features that it is within.
    point : Point
    covered : bool
        Whether its test score is in the interval.
    best : float
        The best test score within the share.
    """

    side: str
    share: float
    point: Point
    covered: bool
    best: float


def main() -> None:
    asked = options(
        __doc__,
        (*FREE, *STORED),
        splits={"type": int, "default": 5},
        algorithms={"nargs": "*", "help": "all that are installed by default"},
        keep={"type": Path, "help": "folder for fitted points"},
    )
    for name in asked.tables:
        cases: list[Case] = []
        for split in range(asked.splits):
            cases += choose(name, split, asked.algorithms, asked.keep)
        print_cases(name, cases)


def choose(name: str, split: int, wanted: list[str] | None, keep: Path | None) -> Iterator[Case]:
    """Yield the cases of each algorithm on one split, and of their union."""
    data, sides = load(name, split), {}
    for one in choose_algorithms(data.task, wanted, len(data.classes))[0]:
        try:
            sides[one] = fit_algorithm(data, split, one, keep)
        except CostframeError as error:
            print(f"{name} {split}: no {one}: {error}", flush=True)
    if len(sides) > 1:
        sides["union"] = [each for found in sides.values() for each in found]
    for side, found in sides.items():
        yield from choices(side, Frontier.of(StudyResult(found, SCORES[name], data.costs.unit, data.full_cost)))


def fit_algorithm(data: Dataset, split: int, name: str, keep: Path | None) -> list[Fitted]:
    """Fit an algorithm as `costframe compare` does, and measure its points; or read stored points, without models."""
    kept = None if keep is None else keep / f"{data.name}-{split}-{name}.pickle"
    if kept is not None and kept.exists():
        return list(pickle.loads(kept.read_bytes()))  # noqa: S301 - our own file
    study = Study([Entrant.of(name, data, {"n_jobs": 2})], Division.of_data(data, None), SCORES[data.name])
    trial = study.trial(FitTask(name))
    found = fit_all(trial, StudyPlan(points=POINTS if has_path(trial) else None), silent)
    found = [evolve(each, model=None) for each in found]
    if kept is not None:
        kept.write_bytes(pickle.dumps(found))
    return found


def choices(side: str, frontier: Frontier) -> Iterator[Case]:
    """Yield the case of the recommended point and of each budget that something is within."""
    cheapest = min(point.cost for point in frontier.points)
    for share in (RECOMMENDED, *BUDGETS):
        budget = np.inf if share == RECOMMENDED else share * frontier.full_cost
        if budget < cheapest:
            continue
        point = frontier.recommended(None if share == RECOMMENDED else budget)
        low, high = frontier.interval(point)
        best = max(each.test_score or 0.0 for each in frontier.points if each.cost <= budget)
        yield Case(side, share, point, low <= (point.test_score or 0.0) <= high, best)


def print_cases(name: str, cases: list[Case]) -> None:
    """Print the mean test score and cost of each side's choices, coverage, and how far estimates are off."""
    heads = [*(f"{share:.0%}" for share in BUDGETS), "recommended", "covered", "test - estimate", "within 1 % of best"]
    rows = []
    for side in dict.fromkeys(case.side for case in cases):
        own = [case for case in cases if case.side == side]
        cells = [_mean([case.point for case in own if case.share == share]) for share in (*BUDGETS, RECOMMENDED)]
        distinct = list({id(case.point): case for case in own}.values())
        recommended = [case for case in own if case.share == RECOMMENDED]
        near = sum((case.point.test_score or 0.0) >= NEAR * case.best for case in recommended)
        off = np.mean([(case.point.test_score or 0.0) - case.point.score for case in distinct])
        covered = f"{sum(case.covered for case in distinct)} of {len(distinct)}"
        rows.append([side, *cells, covered, f"{off:+.4f}", f"{near} of {len(recommended)}"])
    print(f"\n{name}: chosen models, on test, mean over splits\n\n{markdown(['side', *heads], rows)}", flush=True)


def _mean(points: list[Point]) -> str:
    if not points:
        return "-"
    score, cost = (np.mean([getattr(point, name) for point in points]) for name in ("test_score", "test_cost"))
    return f"{score:.4f} at {cost:.4g}"


if __name__ == "__main__":
    main()
