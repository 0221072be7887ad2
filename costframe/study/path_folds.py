"""Estimates of a path's points by paths that leave folds out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.study.estimates import (
    NINE_OF_TEN,
    Estimate,
    difference_error,
    join_folds,
    mix_estimates,
    model_variance,
)
from costframe.study.folds import Fold
from costframe.study.path_points import same_point
from costframe.study.path_protocol import ModelPath
from costframe.study.service import estimate_in_service
from costframe.study.trial import Trial

_JUMP = 0.25  # least difference of neighbors that is a jump, as a share of the gain of a whole path


def estimate_on_fold(
    trial: Trial, fold: Fold, model: Any, path: ModelPath, whole: ModelPath, chosen: Sequence[Any], *, has_own: bool
) -> list[Estimate | None]:
    """Estimate each chosen point of the whole path on a fold's held-out rows, by a point of the fold's path.

    It is the path's counterpart of the point, or for the plain point the plain one; else a random choice between the
    two models of the frontier with the nearest costs. It is None where the score jumps between these two, as with the
    last of some features that tell little alone: neither stands for the point, which valid estimates, unless it has
    trained on that, as an algorithm does that `has_own` estimates.
    """

    def estimate(point: Any) -> Estimate:
        predict = path.predictor(point).of_queries(fold.out.qid).predict
        return estimate_in_service(trial.score, fold.out, model, predict, trial.more_donors(fold, model))

    @functools.cache
    def at(place: int) -> Estimate:
        return estimate(front[place])

    front, plain = path.frontier(), whole.plain()
    costs = np.array([point.cost for point in front])
    counterpart = getattr(path, "counterpart", None)
    estimates = list[Estimate | None]()
    for point in chosen:
        same = path.plain() if same_point(point, plain) else counterpart and counterpart(point, whole)
        if same is not None:
            estimates.append(estimate(same))
            continue
        below = max(int(np.searchsorted(costs, point.cost, "right")) - 1, 0)
        above = min(below + 1, len(front) - 1)
        share = (point.cost - costs[below]) / (costs[above] - costs[below]) if above > below else 0.0
        share = float(np.clip(share, 0.0, 1.0))
        jumps = not has_own and 0 < share < 1 and _jumps(at(below), at(above), at(len(front) - 1).score - at(0).score)
        estimates.append(None if jumps else mix_estimates(at(below), at(above), share))
    return estimates


def _jumps(below: Estimate, above: Estimate, gain: float) -> bool:
    """Return whether two scores on the same rows surely differ, and by a large share of the gain of a whole path."""
    assert below.influence is not None  # noqa: S101 - both come from `estimate_on_rows`
    assert above.influence is not None  # noqa: S101
    apart = abs(above.score - below.score)
    return apart > _JUMP * gain and apart > NINE_OF_TEN * difference_error(below.influence, above.influence)


def join_over_folds(
    chosen: Sequence[Any],
    folds: Sequence[Fold],
    by_fold: Sequence[Sequence[Estimate | None]],
    lacked: float,
    *,
    has_own: bool,
) -> list[Estimate | None]:
    """Join the estimates of each point over folds, with one variance of trained models for all points.

    It is the mean variance of models that cost something: the F1 of a constant jumps between folds. Of a search, whose
    algorithm `has_own` estimates, each point has its own variance, as some sets are found on all folds and
    others on few. A point that no model of some fold stands for has none. Their models `lacked` a share of the rows.
    """
    by_point = [None if None in estimates else estimates for estimates in zip(*by_fold, strict=True)]
    known = [(number, estimates) for number, estimates in enumerate(by_point) if estimates is not None]
    paid = [estimates for number, estimates in known if chosen[number].cost > 0] or [
        estimates for _, estimates in known
    ]
    varied = [model_variance(estimates) for estimates in paid if _vary(estimates)]
    shared = float(np.mean(varied)) if varied else 0.0
    places = [fold.place for fold in folds]
    joined: list[Estimate | None] = [None] * len(by_point)
    for number, estimates in known:
        variance = model_variance(estimates) if has_own else shared
        joined[number] = join_folds(estimates, places, variance if _vary(estimates) else 0.0, rows_lacked=lacked)
    return joined


def _vary(estimates: Sequence[Estimate]) -> bool:
    return len({estimate.score for estimate in estimates}) > 1
