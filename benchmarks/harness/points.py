"""Points of cost and score: measured, compared over splits, and printed; rows followed level by level.

A point is {"val", "val_cost", "test", "test_cost"} and further notes of a script. Scripts choose points by "val" and
report "test". Several splits are a list of lists of points. `figures` needs ../shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

import costframe as cf
from costframe.comparison.levels import LEVELS
from costframe.report.stage_statistics import see_stages
from costframe.training.scoring import score_named
from harness.tables import shared_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from costframe.datasets import Dataset

Point = dict[str, Any]
PARTS = (("valid", "val"), ("test", "test"))
BUDGETS = LEVELS  # shares of the cost of all features, as in ../shared/bench
COMPARED = 40  # budgets at which two ways are compared
NEGLIGIBLE, CLOSE = 0.05, 1.0  # differences, in points
NEAR = 0.99  # of the best score


def measure(data: Dataset, model: cf.Predictor, score: str, **noted: Any) -> Point:
    """Return a model's score and exact mean cost on valid and test, and the notes."""
    point, evaluator = dict(noted), cf.ExpectedCost(data.costs)
    for part, key in PARTS:
        rows = data.part(part)
        report = evaluator.evaluate(model.of_queries(rows.qid), rows.X, n_jobs=1)
        value = score_named(score)(data.codes(rows.y), report.predictions, None, rows.qid)
        point |= {key: float(value), f"{key}_cost": report.mean}
    return point


def measure_constant(data: Dataset, score: str) -> Point:
    """Return the point of the model that buys nothing and gives all rows one answer."""
    answer, point = data.codes(data.part("train").y), Point()
    mean = np.bincount(answer) / len(answer) if data.classes else answer.mean()
    for part, key in PARTS:
        rows = data.part(part)
        answers = np.tile(mean, (len(rows), 1))
        shown = answers if len(data.classes) > 2 else answers[:, -1]
        point |= {key: float(score_named(score)(data.codes(rows.y), shown, None, rows.qid)), f"{key}_cost": 0.0}
    return point


def prefix(model: cf.StageTree, count: int) -> cf.StageTree:
    """Return the model that the first trees of a boosted one make."""
    answer, trees = model.stages[0], np.arange(count)
    assert isinstance(answer, cf.Answer)  # noqa: S101 - a boosted model has no other stage
    first = cf.Answer(trees, answer.weights[:count], answer.intercept, answer.link)
    return cf.StageTree(model.bank.restrict(trees), (first,))


def at_budgets(points: Iterable[Point], budgets: Iterable[float]) -> np.ndarray:
    """Return the test score of the best model on valid within each budget on valid, NaN where there is none."""
    ranked = sorted(points, key=lambda point: (-point["val"], point["val_cost"]))
    within = ((point["test"] for point in ranked if point["val_cost"] <= most) for most in budgets)
    return np.array([next(scores, np.nan) for scores in within])


def cheapest(points: Iterable[Point], level: float) -> Point:
    """Return the cheapest model on valid that scores as much there."""
    return min((point for point in points if point["val"] >= level), key=lambda point: point["val_cost"])


def gains(first: Sequence[list[Point]], second: Sequence[list[Point]], budgets: Iterable[float]) -> np.ndarray:
    """Return by how many points (hundredths) the second scores higher, mean over budgets: float64 (splits,)."""
    pairs = zip(first, second, strict=True)
    return np.array([100 * (at_budgets(two, budgets) - at_budgets(one, budgets)).mean() for one, two in pairs])


def compare(first: Sequence[list[Point]], second: Sequence[list[Point]]) -> np.ndarray:
    """Return the second's mean gain at equal budgets, in points: (splits,), NaN where a split has constants only."""
    return np.array([_compare(*pair) for pair in zip(first, second, strict=True)], np.float64)


def _compare(first: list[Point], second: list[Point]) -> float:
    """Return the mean gain of one split in points."""
    costs = [[point["val_cost"] for point in points if point["val_cost"] > 0] for points in (first, second)]
    if not all(costs):
        return np.nan
    budgets = np.geomspace(max(map(min, costs)), max(map(max, costs)), COMPARED) * (1 + 1e-9)
    return float(gains([first], [second], budgets)[0])


def figures(points: list[Point], full_cost: float) -> dict[str, Any]:
    """Return the scores at budgets, and the cheapest within 1 % of the best, as ../shared/bench does."""
    found: dict[str, Any] = shared_module("common").figures(points, full_cost)
    return found


def scores_at_budgets(several: Iterable[dict[str, Any]]) -> np.ndarray:
    """Return the scores at budgets of several figures: float64 (splits, budgets)."""
    return np.array([one["by_budget"] for one in several], np.float64)


def with_errors(means: Iterable[float], errors: Iterable[float], form: str) -> list[str]:
    """Write means with their standard errors, those of a single split without."""
    plain = form.replace("+", "")
    return [
        f"{mean:{form}}" if np.isnan(error) else f"{mean:{form}} ± {error:{plain}}"
        for mean, error in zip(means, errors, strict=True)
    ]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


@frozen(eq=False)
class Level:
    """One level.

    Attributes
    ----------
    rows, positives : float
        Shares of all rows, and of the positive ones, that come there.
    acquired : float64 (d,)
        Share of all rows that have acquired each feature there or before.
    """

    rows: float
    positives: float
    acquired: np.ndarray


def follow_rows(tree: cf.StageTree, costs: cf.CostModel, X: np.ndarray, positive: np.ndarray) -> list[Level]:
    """Send rows through the stages; an answer that evaluates no new learner belongs to the level before it."""
    seen = see_stages(tree, costs.select(tree.feature_names), X, n_jobs=1)
    depth, own = np.zeros(len(tree.stages), int), np.ones(len(tree.stages), bool)
    for at, stage in enumerate(tree.stages):
        if isinstance(stage, cf.Route):
            for after in (stage.below, stage.above):
                own[after] = seen[after].n_new > 0 or isinstance(tree.stages[after], cf.Route)
                depth[after] = depth[at] + own[after]
    place = {name: f for f, name in enumerate(costs.names)}
    rows, positives = np.zeros(depth.max() + 1), np.zeros(depth.max() + 1)
    acquired = np.zeros((depth.max() + 1, len(place)))
    for level, counts, stage in zip(depth, own, seen, strict=True):
        there = np.empty(0, int) if stage.rows is None else stage.rows
        if counts:
            rows[level] += len(there) / len(X)
            positives[level] += positive[there].sum() / positive.sum()
        for one in stage.acquired:
            if not one.is_resource:
                acquired[level, place[one.name]] += len(there) / len(X) * one.share
    return [Level(*each) for each in zip(rows, positives, acquired.cumsum(axis=0), strict=True)]
