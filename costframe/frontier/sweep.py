"""Sweeps: fits at many tradeoffs, each with its score and exact cost."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.checks import check_number
from costframe.core.errors import CostframeError, DataError, ParameterError
from costframe.core.plugins.registry import estimator
from costframe.frontier.checks import (
    check_algorithms,
    check_amounts,
    check_fits,
    joint_error,
    name_failures,
    skipped_algorithms,
)
from costframe.frontier.estimates import correct_choice
from costframe.frontier.paths import fit_along, has_path
from costframe.frontier.progress import FitCount, count_on
from costframe.frontier.promises import Promises, fit_promising
from costframe.frontier.refine import REFINEMENTS, fill, refine
from costframe.frontier.rows import Rows, folds_of
from costframe.frontier.trial import Trial, fit_at, silent
from costframe.training.scoring import default_score, score_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from costframe.datasets import Dataset
    from costframe.frontier.trial import Fitted, Progress

__all__ = ["POINTS_OF_FITS", "POINTS_OF_PATHS", "check_score", "fit_all", "grid", "sweep", "trial_maker"]

POINTS_OF_FITS, POINTS_OF_PATHS = 12, 24  # of an algorithm; points of a path need no fit


def sweep(
    data: Dataset | str,
    algorithms: Iterable[str] | None,
    tradeoffs: Sequence[float] | None,
    *,
    points: int | None,
    score: str | None,
    budget: float | None,
    folds: int | None,
    parameters: Mapping[str, Any],
    progress: Progress | None,
    failed: Callable[[str, CostframeError], None] | None = None,
) -> tuple[list[Fitted], str, Dataset]:
    """Fit algorithms at many tradeoffs; see `Frontier.sweep`. Return models, score and data."""
    if isinstance(data, str):
        from costframe.datasets import load

        data = load(data)
    check_amounts(tradeoffs, budget)
    score = check_score(data, score)
    names = check_algorithms(data.task, algorithms, len(data.classes))
    if algorithms is None and failed is not None:
        for name, unfit in skipped_algorithms(data.task, len(data.classes)).items():
            failed(name, unfit)
    make_trial = trial_maker(data, score, folds, parameters)
    found: list[Fitted] = []
    errors: dict[str, CostframeError] = {}
    count = FitCount(progress or silent)
    for left, name in reversed(list(enumerate(reversed(names)))):
        try:
            found += fit_all(make_trial(name), tradeoffs, points, budget, count.then(left))
        except CostframeError as error:
            if failed is None:
                raise
            errors[name] = error
            failed(name, error)
    if errors and not found:
        raise joint_error(errors)
    return found, score, data


def fit_all(
    trial: Trial, tradeoffs: Sequence[float] | None, points: int | None, budget: float | None, progress: Progress
) -> list[Fitted]:
    """Fit at given tradeoffs, along a path, or at 0 and a grid; then fit close to a budget, and within sets."""
    if points is not None:
        check_number("points", points, low=1, whole=True)
    along = tradeoffs is None and has_path(trial)
    front: list[tuple[float, float]] = []
    if along:
        found, front = fit_along(trial, points or POINTS_OF_PATHS, budget, progress)
    elif tradeoffs is None:
        found = _fit_grid(trial, points or POINTS_OF_FITS, progress)
    else:
        found = [fit_at(trial, tradeoff, progress, done, len(tradeoffs)) for done, tradeoff in enumerate(tradeoffs)]
    if budget is not None and not along:
        found += refine(trial, found, budget, count_on(progress, len(found), REFINEMENTS))
    if tradeoffs is None or budget is not None:
        counted_on = count_on(progress, points or POINTS_OF_PATHS if along else len(found), 0)
        found += fit_promising(trial, found, front, budget, counted_on, repeat=along or trial.fits_repeat)
    found = correct_choice(found)
    return found if along or tradeoffs is not None else sorted(found, key=lambda fitted: fitted.point.tradeoff)


def _fit_grid(trial: Trial, points: int, progress: Progress) -> list[Fitted]:
    """Fit at 0 and at a grid whose scale follows from the fit at 0.

    If the upper end of the grid gives constants only, these fits go between costs that differ most.
    """
    plain = fit_at(trial, 0.0, progress, 0, points)
    found = [plain]
    for tradeoff in grid(*cost_scales(plain), loss_of_constant(plain.model, trial.train), points - 1):
        found.append(fit_at(trial, float(tradeoff), progress, len(found), points))
        if found[-1].point.n_features == 0:  # all larger tradeoffs give constants too
            return fill(trial, found, points, progress)
    return found


def grid(cost: float, cheapest: float, loss: float, points: int) -> NDArray[np.float64]:
    """Return ascending tradeoffs, geometric, in units of loss / cost.

    Parameters
    ----------
    cost : float
        Price of all features for one row; prices have no effect far below loss / cost.
    cheapest : float
        Price of the cheapest feature that is not free; models buy nothing near loss / cheapest.
    loss : float
        Mean loss of the best constant, the largest possible gain.
    points : int
    """
    if not (cost > 0 and loss > 0):
        return np.empty(0)
    top = min(max(0.3 * cost / cheapest, 1.0), 30.0)
    return np.geomspace(1e-3, top, points) * (loss / cost)


def cost_scales(plain: Fitted) -> tuple[float, float]:
    """Return the price of all features and of the cheapest one; if features are free, the cost of evaluation."""
    predictor = plain.model.predictor_
    prices = plain.model.costs_.select(predictor.feature_names)
    each = prices.cost + prices.needs @ prices.resource_cost
    full = max(plain.model.costs_.full_cost(predictor.feature_names), plain.point.cost)
    return full, float(min(each[each > 0], default=full / 10))


def loss_of_constant(model: Any, rows: Rows) -> float:
    """Return the mean loss of the best constant: the entropy of the classes, or half the variance."""
    y = rows.codes(model)
    weight = np.ones(len(y)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    if getattr(model, "classes_", None) is None:
        mean = np.average(y, weights=weight)
        return 0.5 * float(np.average((y - mean) ** 2, weights=weight))
    share = np.bincount(y, weights=weight) / weight.sum()
    return float(-np.sum(share[share > 0] * np.log(share[share > 0])))


def check_score(data: Dataset, score: str | None) -> str:
    """Return the score to use; refuse one of another task, and data that lack rows of some class."""
    name = default_score(data.task, len(data.classes)) if score is None else score
    score_named(name)
    check_fits("score", name, data.task, len(data.classes))
    for part in ("valid", "test") if name in {"roc_auc", "average_precision"} else ():
        absent = set(data.classes) - set(np.unique(data.part(part).y).tolist())
        if absent:
            raise DataError(f"{data.name}: class {min(absent)!r} has no row in {part!r}, so there is no {name}")
    return name


def trial_maker(data: Dataset, score: str, folds: int | None, parameters: Mapping[str, Any]) -> Callable[[str], Trial]:
    """Return a function that makes the trial of an algorithm; all trials share rows and folds."""
    given = dict(parameters)
    if data.categorical:
        given["categorical_features"] = dict(data.categorical)
    train, valid, test = (Rows(part.X, part.y, None, part.qid) for part in map(data.part, ("train", "valid", "test")))
    divided, promises = folds_of(train, valid, folds, classes=data.task == "classification"), Promises()

    def make_trial(name: str) -> Trial:
        if data.categorical:
            _check_categories(data, name)

        def make(tradeoff: float) -> Any:
            return estimator(name, data.task, costs=data.costs, tradeoff=tradeoff, **given)

        guard = functools.partial(name_failures, name)
        return Trial(name, make, train, valid, test, score, guard, divided, folds is not None, promises)

    return make_trial


def _check_categories(data: Dataset, name: str) -> None:
    """Refuse an algorithm that does not split by categories."""
    if "categorical_features" not in estimator(name, data.task).get_params():
        raise ParameterError(
            f"{name}: does not split by categories, and column {next(iter(data.categorical))!r} has some"
        )
