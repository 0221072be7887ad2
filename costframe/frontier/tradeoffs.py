"""Tradeoffs to fit at: a grid, bisection towards a budget, mixtures for it, and fits within promising sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8, I8
from costframe.core.checks import check_number
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.storage.saving import opaque_names
from costframe.core.tables.row_hashes import hash_table
from costframe.core.tables.rows import as_rows
from costframe.frontier.estimates import Estimate, beyond_rows, mix_estimates
from costframe.frontier.paths import fit_along, has_path
from costframe.frontier.rows import Rows
from costframe.frontier.store import Fitted
from costframe.frontier.trial import Progress, PromisingSet, Trial, continue_progress, fit_at
from costframe.training.scoring import score_named, with_labels
from costframe.training.shell import CostAwareEstimator

FITS, FITS_OF_BUDGET = 3, 2  # most further fits of an algorithm
_DRAWS, _PARTS = 16, 10  # of which model answers each row; and parts of the rows, each left out once
_ERRORS = 2.0  # least standard errors of a set above the algorithm's scores
_CLEARLY = 0.03  # least gain of a set, as a share of the best point's gain over the constant


def fit_promising(
    trial: Trial,
    found: list[Fitted],
    front: list[tuple[float, float]],
    budget: float | None,
    progress: Progress,
    *,
    repeat: bool,
) -> list[Fitted]:
    """Fit an algorithm within sets that promise clearly more than its own models of no higher cost.

    It trains at tradeoff 0 as if all other columns were constant, so that rows buy the whole set. It skips algorithms
    that search sets themselves, and those that are not a `CostAwareEstimator`. `found` are the algorithm's own fits,
    `front` has cost and score of its further models. With a budget, sets cost at most that much, and the first set that
    improves on all models within it ends the trials. With `repeat`, the trial's folds repeat the fits.
    """
    with trial.guard():
        model = trial.make(0.0)
        if not isinstance(model, CostAwareEstimator) or model.traits.searches_sets:
            return []
        nothing, *sets = trial.promising.of(model, trial.train, trial.score) or [PromisingSet((), 0.0, 0.0, 0.0)]
    reached = [*front, *((fitted.point.cost, fitted.point.score) for fitted in found)]
    constant = max([nothing.score, *(each.point.score for each in found if not each.point.n_features)])
    clearly = _CLEARLY * (max([constant, *(score for _, score in reached)]) - constant)
    error = max(fitted.point.score_error for fitted in found)
    added: list[Fitted] = []

    def own(cost: float) -> float:
        return max([constant, *(score for paid, score in reached if paid <= (cost if budget is None else budget))])

    def is_worth(one: PromisingSet) -> bool:
        least = one.error if own(one.cost) == constant else _ERRORS * math.hypot(one.error, error)
        affordable = budget is None or one.cost <= budget
        return affordable and one.score - own(one.cost) > max(clearly, least)

    while len(added) < (FITS if budget is None else FITS_OF_BUDGET):
        left = [each for each in sets if is_worth(each)]
        if not left:
            break
        best = max(left, key=lambda each: each.score - own(each.cost))
        sets.remove(best)
        what = f"{trial.algorithm} within {len(best.columns)} of the features"
        progress(len(added), len(added) + 1, what)
        added.append(_within(trial, best.columns, repeat=repeat).fit(0.0))
        point = added[-1].point
        progress(len(added), len(added), f"{what}: {trial.score} {point.score:.4f}, cost {point.cost:.4g}")
        kept = point.score - own(best.cost) > clearly
        if kept == (budget is not None):  # the budget has a better model, or the estimates without fits were too high
            break
        reached.append((best.cost, point.score))
    return sorted(added, key=lambda fitted: -fitted.point.cost)


def _within(trial: Trial, columns: tuple[int, ...], *, repeat: bool) -> Trial:
    def make(tradeoff: float) -> Any:
        return trial.make(tradeoff).reading_only(columns)

    return evolve(trial, make=make, fits_repeat=repeat, settings=(*trial.settings, "within", *columns))


POINTS_OF_FITS, POINTS_OF_PATHS = 12, 24  # of an algorithm; points of a path need no fit
EXTENSIONS, REFINEMENTS = 8, 5
CLOSE, APART = 1.1, 1.3  # tradeoffs within this factor give similar models
NEARLY_ALL = 0.95  # of a budget
_FILLED = 0.99  # of a budget, by a mixture: the shares of rows differ a little from table to table
_MOST_ALIKE = 0.02  # of the rows, with equal values of all free features


def fit_all(
    trial: Trial, tradeoffs: Sequence[float] | None, points: int | None, budget: float | None, progress: Progress
) -> list[Fitted]:
    """Fit at given tradeoffs, along a path, or at 0 and a grid; then fit close to a budget, and within sets."""
    if points is not None:
        check_number("points", points, low=1, whole=True)
    found, front = _fit_own(trial, tradeoffs, points, budget, progress)
    done, repeat = points or POINTS_OF_PATHS if front else len(found), bool(front) or trial.fits_repeat
    if tradeoffs is None and trial.has_bills:
        found += fit_for_bill(evolve(trial, fits_repeat=repeat), continue_progress(progress, done))
    if tradeoffs is None or budget is not None:
        found += fit_promising(trial, found, front, budget, continue_progress(progress, done), repeat=repeat)
    found += mix_to_budget(trial, found, budget)
    return found if front or tradeoffs is not None else sorted(found, key=lambda fitted: fitted.point.tradeoff)


def fit_for_bill(trial: Trial, progress: Progress) -> list[Fitted]:
    """Fit at the tradeoff that follows from the prices of errors, if the algorithm does not plan in money itself."""
    with trial.guard():
        model, rows = trial.make(0.0), trial.train
        if not isinstance(model, CostAwareEstimator) or model.traits.plans_bills:
            return []
        data = model.set_params(tradeoff=None).training_data(rows.X, rows.y, rows.weight)
    return [fit_at(trial, data.tradeoff, progress, 0, 1)]


def _fit_own(
    trial: Trial, tradeoffs: Sequence[float] | None, points: int | None, budget: float | None, progress: Progress
) -> tuple[list[Fitted], list[tuple[float, float]]]:
    """Return fits of a trial, and cost and score of all models of its path."""
    if tradeoffs is None and has_path(trial):
        return fit_along(trial, points or POINTS_OF_PATHS, budget, progress)
    if tradeoffs is None:
        found = fit_grid(trial, points or POINTS_OF_FITS, progress)
    else:
        found = [fit_at(trial, tradeoff, progress, done, len(tradeoffs)) for done, tradeoff in enumerate(tradeoffs)]
    if budget is not None:
        found += refine(trial, found, budget, continue_progress(progress, len(found), least=REFINEMENTS))
    return found, []


def fit_grid(trial: Trial, points: int, progress: Progress) -> list[Fitted]:
    """Fit at 0 and at a grid whose scale follows from the fit at 0.

    If the upper end of the grid gives constants only, these fits go between costs that differ most.
    """
    plain = fit_at(trial, 0.0, progress, 0, points)
    found, model = [plain], plain.estimator
    for tradeoff in grid(*_cost_scales(model, plain.point.cost), _loss_of_constant(model, trial.train), points - 1):
        found.append(fit_at(trial, float(tradeoff), progress, len(found), points))
        if found[-1].point.n_features == 0:  # all larger tradeoffs give constants too
            return fill(trial, found, points, progress)
    return found


def grid(cost: float, cheapest: float, loss: float, points: int) -> F8:
    """Return ascending tradeoffs, geometric, in units of loss / cost.

    Prices have no effect far below loss / cost, with the price of all features for one row, and the loss of the best
    constant, the largest possible gain. Models buy nothing near loss / cheapest, the least price above zero.
    """
    if not (cost > 0 and loss > 0):
        return np.empty(0)
    top = min(max(0.3 * cost / cheapest, 1.0), 30.0)
    return np.geomspace(1e-3, top, points) * (loss / cost)


def _cost_scales(model: Any, paid: float) -> tuple[float, float]:
    """Return the price of all features and of the cheapest one; if features are free, the cost of evaluation."""
    names = model.predictor_.feature_names
    each = model.costs_.select(names).alone
    full = max(model.costs_.full_cost(names), paid)
    return full, float(min(each[each > 0], default=full / 10))


def _loss_of_constant(model: Any, rows: Rows) -> float:
    """Return the mean loss of the best constant: the entropy of the classes, or half the variance."""
    y = rows.codes(model)
    weight = np.ones(len(y)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    if getattr(model, "classes_", None) is None:
        mean = np.average(y, weights=weight)
        return 0.5 * float(np.average((y - mean) ** 2, weights=weight))
    share = np.bincount(y, weights=weight) / weight.sum()
    return float(-np.sum(share[share > 0] * np.log(share[share > 0])))


def fill(trial: Trial, found: Sequence[Fitted], points: int, progress: Progress) -> list[Fitted]:
    """Fit until there are `points`, each time between the neighboring tradeoffs whose costs on valid differ most."""
    every = sorted(found, key=lambda fitted: fitted.point.tradeoff)
    while len(every) < points:
        gaps = [
            (abs(a.point.cost - b.point.cost), place)
            for place, (a, b) in enumerate(itertools.pairwise(every))
            if b.point.tradeoff > APART * a.point.tradeoff > 0
        ]
        if not gaps:
            break
        place = max(gaps)[1]
        middle = math.sqrt(every[place].point.tradeoff * every[place + 1].point.tradeoff)
        every.insert(place + 1, fit_at(trial, middle, progress, len(every), points))
    return every


def refine(trial: Trial, tried: Sequence[Fitted], budget: float, progress: Progress) -> list[Fitted]:
    """Fit at further tradeoffs, so that costs on valid approach a budget from below.

    It is a bisection on the logarithm of the tradeoff, between the largest that exceeds the budget and the smallest
    above it that does not; if all exceed the budget, it tries larger ones first.
    """
    found: list[Fitted] = []

    def attempt(tradeoff: float) -> Fitted:
        found.append(fit_at(trial, tradeoff, progress, len(found), max(REFINEMENTS, len(found) + 1)))
        return found[-1]

    known = sorted(tried, key=lambda fitted: fitted.point.tradeoff)
    top = known[-1]
    while top.point.cost > budget and top.point.tradeoff > 0 and len(found) < EXTENSIONS:
        top = attempt(4 * top.point.tradeoff)
    dear = [fitted.point.tradeoff for fitted in [*known, *found] if fitted.point.cost > budget]
    if not dear or top.point.cost > budget:
        return found
    low = max(dear)
    high = min(f.point.tradeoff for f in [*known, *found] if f.point.tradeoff > low)
    for _ in range(REFINEMENTS):
        if high < CLOSE * low:
            break
        middle = attempt(math.sqrt(low * high) if low > 0 else high / 10)
        within = middle.point.cost <= budget
        if within and middle.point.cost >= NEARLY_ALL * budget:
            break
        low, high = (low, middle.point.tradeoff) if within else (middle.point.tradeoff, high)
    return found


def mix_to_budget(trial: Trial, found: Sequence[Fitted], budget: float | None) -> list[Fitted]:
    """Return the mixture with the best score at a budget on the mean cost, if it is better than each fit within it.

    It mixes a fit within the budget and one beyond: the pair on the upper hull of cost and score. There is none for
    rankings, for fits without influences of rows, and where the free features tell few rows apart, for their hash draws
    the model of a row.
    """
    if budget is None or trial.valid.qid is not None:
        return []
    known = [each for each in found if each.influence is not None]
    within, most = [each for each in known if each.point.cost <= budget], _FILLED * budget
    pairs = [
        (one, other, (most - one.point.cost) / (other.point.cost - one.point.cost))
        for one in within
        for other in known
        if one.point.cost < most < other.point.cost and len(one.influence) == len(other.influence)  # type: ignore[arg-type]
    ]
    best = max(pairs, key=lambda pair: _mean(pair, "score"), default=None)
    if best is None or _mean(best, "score") <= max(each.point.score for each in within):
        return []
    models = [each.estimator for each in best[:2]]
    if not all(isinstance(each, CostAwareEstimator) and not opaque_names(each.predictor_) for each in models):
        return []
    if not (by := _free_features(models[0], trial)):
        return []
    recalled = {"mixed": budget, "tradeoffs": [each.point.tradeoff for each in best[:2]]}
    return trial.recall(recalled, lambda: ([_mix(trial, best, models, by)], []))[0]


def _mean(pair: tuple[Fitted, Fitted, float], name: str) -> float:
    one, other, share = pair
    return float((1 - share) * getattr(one.point, name) + share * getattr(other.point, name))


def _mix(trial: Trial, pair: tuple[Fitted, Fitted, float], models: Sequence[Any], by: tuple[str, ...]) -> Fitted:
    one, other, share = pair
    mixed = MixedPredictor(models[0].predictor_, models[1].predictor_, share, by)
    copy = models[0].with_predictor(mixed, tradeoff=one.point.tradeoff)
    errors = ((1 - share) * one.point.cost_error, share * other.point.cost_error)
    cost = _mean(pair, "cost"), float(np.hypot(*errors))
    first, second = _estimate(one), _estimate(other)
    known, (beyond, more) = mix_estimates(first, second, share), _beyond_mean(trial, models, share)
    varied = ((1 - share) ** 2 * beyond_rows(first), share**2 * beyond_rows(second))
    shared = (1 - share) * first.shared + share * second.shared
    error = math.sqrt(known.error**2 + more**2 + sum(varied) + shared**2)
    known = evolve(known, score=known.score + beyond, error=error, shared=shared)
    measured = trial.measure(copy, one.point.tradeoff, 0.0, known, cost)
    spent = None if one.spent is None or other.spent is None else (1 - share) * one.spent + share * other.spent
    return evolve(
        measured,
        point=evolve(measured.point, mixed_with=other.point.tradeoff),
        spent=spent,
        repeated=one.repeated and other.repeated,
    )


def _beyond_mean(trial: Trial, models: Sequence[Any], share: float) -> tuple[float, float]:
    """Return by how much the score of mixed answers exceeds the mixture of both scores, on valid; and its error.

    It is about 0 for means over rows, and not for ROC AUC or F1, which compare rows that either model has answered. It
    is the mean of a few draws of which model answers; the error is a jackknife's.
    """
    rows, rng = trial.valid, np.random.default_rng(0)
    first, second = (each.predictor_.predict(rows.X) for each in models)
    taken = rng.random((_DRAWS, len(first))) < share
    mixed = [np.where(each if first.ndim == 1 else each[:, np.newaxis], second, first) for each in taken]

    def beyond(kept: I8) -> float:
        some = rows.take(kept)
        name = with_labels(trial.score, getattr(models[0], "classes_", None), some.X)
        score, y = score_named(name), some.codes(models[0])
        scores = [float(score(y, each[kept], some.weight, None)) for each in (first, second, *mixed)]
        return float(np.mean(scores[2:])) - (1 - share) * scores[0] - share * scores[1]

    part = rng.permutation(len(first)) % _PARTS
    without = [beyond(np.flatnonzero(part != k)) for k in range(_PARTS)]
    found, error = beyond(np.arange(len(first))), math.sqrt((_PARTS - 1) * float(np.var(without)))
    return (found, error) if math.isfinite(found + error) else (0.0, 0.0)


def _estimate(fitted: Fitted) -> Estimate:
    point = fitted.point
    return Estimate(point.score, point.score_error, fitted.influence, point.rows_lacked, point.shared_error)


def _free_features(model: Any, trial: Trial) -> tuple[str, ...]:
    """Return the features that cost nothing, if they tell the rows of valid apart."""
    costs, predictor = model.costs_, model.predictor_
    prices = costs.select(predictor.feature_names)
    free = [f for f, price in enumerate(prices.alone) if price == 0 and prices.once[f] == 0]
    rows = as_rows(trial.valid.X, predictor.feature_names, predictor.categories)
    hashes = hash_table(np.ascontiguousarray(rows[:, free]))
    alike = np.unique(hashes, return_counts=True)[1].max(initial=0)
    return tuple(predictor.feature_names[f] for f in free) if free and alike <= _MOST_ALIKE * len(rows) else ()
