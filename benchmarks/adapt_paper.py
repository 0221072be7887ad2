"""Needs ../shared, but for synthetic-1 and -2: the figures and claims of the Adapt paper (NIPS 2017) on public tables.

    python benchmarks/adapt_paper.py --quick            # the synthetic tables and two small ones
    python benchmarks/adapt_paper.py --output figures   # all tables, five re-splits each

A gate and a cheap model, linear (LIN) or boosted (GBRT), stand in front of an expensive model: a random forest, which
is also the one that BudgetPrune prunes, and on letter a support vector machine too. Adapt is fitted by default and as
printed (`recipe="paper"`), at a row of tradeoffs and shares of rows that go on. Its partners are Greedy Miser (a path,
and as printed), BudgetPrune and the gate after l1. "Saved" is the cost of the forest (machine) that the cheapest model
within 1 % of it on valid saves on test.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import costframe as cf
from harness.experiment import Claim, better, by_split, measure_all, paper_options, report_claims
from harness.fits import fit_on_train, path_points, prefix_points, tradeoffs
from harness.pictures import Panel, draw
from harness.planes import EQUAL, measure_coast, measure_islands
from harness.points import NEAR, cheapest, measure, measure_constant
from harness.tables import SCORES, fewer_rows, fitting_rows, load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from costframe.datasets import Dataset
    from harness.points import Point

PLANES = {"synthetic-1": measure_coast, "synthetic-2": measure_islands}
TABLES = (*PLANES, "letter", "heart", "nhanes", "cover", "sat12")
QUICK = (*PLANES, "letter", "heart")
KNOWN = {**SCORES, "synthetic-1": "accuracy", "synthetic-2": "accuracy"}
ROWS, QUICK_ROWS = 3_000, 800  # most training rows
GBRT, LIN, PRINTED = "Adapt-GBRT", "Adapt-LIN", ", as printed"
L1, MISER, PRUNED, FOREST, MACHINE = "l1 gate", "Greedy Miser", "BudgetPrune", "forest", "SVM"
WAYS: dict[str, dict[str, Any]] = {
    GBRT: {"variant": "gbrt"},
    LIN: {"variant": "lin"},
    GBRT + PRINTED: {"variant": "gbrt", "recipe": "paper", "n_estimators": 40},
    LIN + PRINTED: {"variant": "lin", "recipe": "paper"},
    L1: {"algorithm": "l1-gate"},
    L1 + PRINTED: {"algorithm": "l1-gate", "recipe": "paper"},
}
SHARES = (0.3, 0.5, 0.7)  # of rows that go on, as printed
MOST, LEAST = 2.0, 0.03  # tradeoffs, in units of the constant's loss per cost of all features
SAVED, BEST_COST, NEAR_BEST, NEVER = (
    0.31,
    1.5,
    0.03,
    0.995,
)  # the paper's saving on letters, its cost of Synthetic-2; no errors


def main() -> None:
    asked = paper_options(__doc__, TABLES, quick=QUICK, known=KNOWN, free=tuple(PLANES))
    found = measure_all(measure_split, asked, asked.quick, asked.output)
    figures = {
        "3": ("Synthetic-2", ["synthetic-2"], (LIN, LIN + PRINTED, GBRT, L1)),
        "4": ("Adapt-GBRT and partners; a random forest is the expensive model", TABLES[2:],
              (MISER, MISER + PRINTED, PRUNED, GBRT + PRINTED, GBRT, FOREST)),
        "5": ("In front of a random forest", TABLES[2:], (L1, LIN, LIN + PRINTED, GBRT, GBRT + PRINTED, FOREST)),
        "5_svm": ("In front of a support vector machine", ["letter"],
                  [f"{way}, {MACHINE}" for way in (L1, LIN, GBRT, GBRT + PRINTED)] + [MACHINE]),
    }  # fmt: skip
    for figure, (title, tables, names) in figures.items():
        panels = [_panel(table, found[table], names) for table in tables if table in found]
        if panels:
            draw(asked.output / f"adapt_{figure}", title, panels)
    report_claims("adapt", claims(found), asked)


def measure_split(table: str, split: int, quick: bool, output: Path) -> dict[str, list[Point]]:
    """Fit all ways on one split; return points by way."""
    warnings.simplefilter("ignore", FutureWarning)
    if table in PLANES:
        return PLANES[table](split, output)
    data = fewer_rows(load(table, split), QUICK_ROWS if quick else ROWS)
    start, found = [measure_constant(data, SCORES[table])], {}
    forest = RandomForestClassifier(50 if quick else 100, min_samples_leaf=2, n_jobs=1, random_state=0)
    machine = CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC(C=10)), ensemble=False)
    for name, model in {FOREST: forest, **({MACHINE: machine} if table == "letter" else {})}.items():
        train = data.part("train")
        proba = cross_val_predict(model, train.X, train.y, method="predict_proba")
        expensive = model.fit(train.X, train.y)
        for way, settings in WAYS.items():
            end = "" if name == FOREST else f", {name}"
            found[way + end] = start + in_front(data, expensive, proba, settings, quick=quick)
        found[name] = [*start, alone(data, expensive, proba)]
    score = SCORES[table]
    found[PRUNED] = start + path_points(data, "budgetprune", score, {"n_estimators": 50})
    found[PRUNED + PRINTED] = start + path_points(data, "budgetprune", score, {"model": forest, "recipe": "paper"})
    found[MISER] = start + path_points(data, "miser", score, {})
    found[MISER + PRINTED] = list(start)
    for tradeoff in tradeoffs(data, MOST, LEAST, 2 if quick else 4):
        whole = fit_on_train(data, "miser", tradeoff, recipe="paper", n_estimators=40 if quick else 100)
        found[MISER + PRINTED] += prefix_points(data, whole, score)
    return found


def in_front(data: Dataset, expensive: Any, proba: np.ndarray, settings: dict[str, Any], *, quick: bool) -> list[Point]:
    """Fit gates and cheap models in front of an expensive model, at a grid of tradeoffs."""
    linear = settings.get("variant") == "lin"
    asked: dict[str, Any] = {"expensive_proba": proba}
    asked["tradeoffs"] = tradeoffs(data, MOST, LEAST, 2 if quick or linear else 4)
    more = {"expensive": expensive} | {key: value for key, value in settings.items() if key != "algorithm"}
    if "recipe" in settings and "algorithm" not in settings:
        asked["full_shares"], more["full_share"] = SHARES, SHARES[0]
    return path_points(data, settings.get("algorithm", "adapt"), SCORES[data.name], more, **asked)


def alone(data: Dataset, expensive: Any, proba: np.ndarray) -> Point:
    """Measure the expensive model without a gate, as Adapt has it."""
    settings = {"costs": data.costs, "expensive": expensive, "n_jobs": 1, "variant": "gbrt", "tradeoff": 0.0}
    model: Any = cf.estimator("adapt", data.task, **settings)
    given = {"tradeoffs": tradeoffs(data, MOST, LEAST, 1), "expensive_proba": proba, "scoring": SCORES[data.name]}
    path = model.fit_path(**fitting_rows(data), **given)
    return measure(data, path.predictor(path.plain()), SCORES[data.name])


def _panel(table: str, ways: Mapping[str, Any], names: Any) -> Panel:
    data = cf.datasets.make_islands(shares=EQUAL) if table in PLANES else load(table, 1)
    return Panel(table, KNOWN[table], data.costs.unit, data.full_cost, {way: ways[way] for way in names if way in ways})


def claims(found: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """Return what the paper says, in its order."""
    several, coast = [], {table: ways for table, ways in found.items() if table == "synthetic-1"}
    planes = {table: ways for table, ways in found.items() if table == "synthetic-2"}
    real = {table: ways for table, ways in found.items() if table not in PLANES}
    for way in ("LIN", "GBRT"):
        several.append(by_split(f"2: {way} is within 1 % of the SVM", coast, (way,), _kept, "points"))
        several.append(by_split(f"2: {way} sends at most 65 % of the rows on", coast, (way,), _stays, "% of rows"))
    for way in (LIN, LIN + PRINTED):
        text = f"3: {way} makes no error at a cost of {BEST_COST}, but for {NEAR_BEST:.0%}"
        several.append(by_split(text, planes, (way,), _at_best_cost, "% of cost"))
        several.append(
            by_split(
                f"3: {way} pays less than the l1 gate without errors", planes, (way, L1), _cheaper, "% of the cost"
            )
        )
    for way, end in ((GBRT, ""), (GBRT + PRINTED, PRINTED)):
        several += [better(f"4: {way} beats {one}{end}", real, one + end, way) for one in (MISER, PRUNED)]
        several.append(by_split(f"4: {way} saves {SAVED:.0%} within 1 %", real, (way, FOREST), _saved, "% beyond that"))
        for one in (MISER + end, PRUNED + end, L1 + end, LIN + end):
            text = f"4: {way} saves more within 1 % than {one}"
            several.append(by_split(text, real, (way, one, FOREST), _saves_more, "% of cost"))
    for end, (expensive, after) in [
        (end, pair) for end in ("", PRINTED) for pair in ((FOREST, ""), (MACHINE, f", {MACHINE}"))
    ]:
        before = f"5: before the {expensive}, "
        several.append(better(f"{before}{GBRT}{end} beats {LIN}{end}", real, LIN + end + after, GBRT + end + after))
        several.append(better(f"{before}{LIN}{end} beats {L1}{end}", real, L1 + end + after, LIN + end + after))
    return several


def _kept(_table: str, points: list[Point]) -> float:
    return 100 * (points[0]["test"] - NEAR * points[0]["svm"])


def _stays(_table: str, points: list[Point]) -> float:
    return 100 * (0.65 - points[0]["sent"])


def _least_cost(points: list[Point]) -> float:
    """Return the test cost of the cheapest model that errs almost never on valid, 2 if there is none."""
    right = [point for point in points if point["val"] >= NEVER]
    return float(cheapest(right, -np.inf)["test_cost"]) if right else 2.0


def _at_best_cost(_table: str, points: list[Point]) -> float:
    return 100 * (1 + NEAR_BEST - _least_cost(points) / BEST_COST)


def _cheaper(_table: str, points: list[Point], other: list[Point]) -> float:
    return 100 * (1 - _least_cost(points) / _least_cost(other))


def _saving(points: list[Point], expensive: list[Point]) -> float:
    """Return the share of the expensive model's test cost that the cheapest model within 1 % of it on valid saves."""
    whole = expensive[-1]
    near = cheapest([whole, *points], NEAR * whole["val"])
    return 1 - near["test_cost"] / whole["test_cost"]


def _saved(_table: str, points: list[Point], expensive: list[Point]) -> float:
    return 100 * (_saving(points, expensive) - SAVED)


def _saves_more(_table: str, points: list[Point], other: list[Point], expensive: list[Point]) -> float:
    return 100 * (_saving(points, expensive) - _saving(other, expensive))


if __name__ == "__main__":
    main()
