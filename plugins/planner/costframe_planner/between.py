"""Models of sets between two others, where a step in cost is wide.

Quick fits lose to noise what many weak features gain, so the front of these may have no set for a long way. Here the
out-of-fold losses of models on all rows decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from attrs import frozen

from costframe.sets import SetArchive
from costframe.trees import Scorer
from costframe_planner.problem import Problem
from costframe_planner.set_models import SetModel

_WIDE = 4 / 3  # ratio of two costs
_CHEAPEST = 0.02  # least share of the full cost that a cost counts as in ratios
_NEAR = 1 / 4  # share of a step, in logarithms of cost, by which a set may miss its middle


@frozen(eq=False)
class _Point:
    """A model with its price and its mean out-of-fold loss."""

    model: SetModel
    cost: float
    loss: float

    @classmethod
    def of(cls, problem: Problem, model: SetModel) -> _Point:
        return cls(model, problem.prices.of_set(model.features), problem.rows.mean(model.losses))

    @property
    def features(self) -> frozenset[int]:
        return frozenset(self.model.features)


@frozen
class _Step:
    """Two neighbors on the lower hull of loss and cost."""

    lower: _Point
    upper: _Point

    def ratio(self, cheapest: float) -> float:
        """Return the ratio of both costs, where the smaller one is `cheapest` at least."""
        return self.upper.cost / max(self.lower.cost, cheapest)

    def share(self, cost: float) -> float:
        """Return the share of the upper end in the mixture of a cost."""
        return (cost - self.lower.cost) / (self.upper.cost - self.lower.cost)

    def misses(self, problem: Problem, point: _Point) -> bool:
        """Return whether a point loses less than the mixture of its cost, by more than the standard error of that."""
        share, rows = self.share(point.cost), problem.rows
        saved = (1 - share) * self.lower.model.losses + share * self.upper.model.losses - point.model.losses
        return rows.mean(saved) > Scorer.standard_error(rows.influence(saved))


def train_between(
    problem: Problem,
    archive: SetArchive,
    models: Sequence[SetModel],
    most: int,
    train: Callable[[list[frozenset[int]]], list[SetModel]],
) -> list[SetModel]:
    """Train at most `most` further models, of sets that surely lose less than a mixture of two others.

    It divides wide steps of the lower hull of loss and cost in their middles, then those to sets that gain, until it
    has tried a set in the middle of each wide step.
    """
    points, kept = [_Point.of(problem, model) for model in models], list[SetModel]()
    known, divided, cheapest = {point.features for point in points}, set[_Step](), _CHEAPEST * problem.prices.full
    while cheapest > 0 and len(kept) < most:
        steps = [step for step in _hull(points) if step.ratio(cheapest) > _WIDE and step not in divided]
        if not steps:
            break
        divided.update(steps)
        middles = {_middle(archive, step, cheapest): step for step in steps}
        new = {middle: step for middle, step in middles.items() if middle is not None and middle not in known}
        known.update(new)
        for model, step in zip(train([*new]), new.values(), strict=True):
            point = _Point.of(problem, model)
            if len(kept) < most and step.misses(problem, point):
                points.append(point)
                kept.append(model)
    return kept


def _hull(points: Sequence[_Point]) -> list[_Step]:
    """List the steps of the lower hull of loss and cost, by ascending cost."""
    hull = list[_Point]()
    for point in sorted(points, key=lambda point: (point.cost, point.loss)):
        if hull and not point.loss < hull[-1].loss:
            continue
        while len(hull) > 1 and _is_above(hull[-1], _Step(hull[-2], point)):
            hull.pop()
        hull.append(point)
    return [_Step(lower, upper) for lower, upper in pairwise(hull)]


def _is_above(point: _Point, step: _Step) -> bool:
    share = step.share(point.cost)
    return point.loss >= (1 - share) * step.lower.loss + share * step.upper.loss


def _middle(archive: SetArchive, step: _Step, cheapest: float) -> frozenset[int] | None:
    """Return a good set near the middle of a step, with all free features; None if none costs about that."""
    ratio = step.ratio(cheapest)
    cost = step.upper.cost / np.sqrt(ratio)
    found = archive.between(step.lower.features, step.upper.features, cost, ratio**_NEAR)
    return None if found is None else found | archive.free
