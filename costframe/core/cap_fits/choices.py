"""What rows under a cap choose by: what the answers of a stage tree lose without features, and under caps."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Protocol

import numpy as np
from attrs import evolve

from costframe.core.arrays import B1, F8, I8
from costframe.core.cap_fits.partial_scores import PartialScores
from costframe.core.caps import walk_under_limits
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.cap_ranks import MOST_PAIRED, Choice, Wares
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.links import SMALLEST
from costframe.core.stages.run_stages import predict_rows
from costframe.core.stages.set_losses import SetLosses
from costframe.core.stages.split_losses import count_tests, step_sizes
from costframe.core.stages.stage_model import StageModel
from costframe.core.sums import exact_mean, to_grid

ALL_SETS = 6  # units of which all sets are tried
MOST_DRAWN = 160  # sets
PAIRED = 8  # units whose pairs have losses of their own
MOST_FREE = 16  # units of features that cost nothing
REFINED, CAPS = 2, 10  # rounds of further sets, and caps of each
STEPS = 16  # caps from which a better set is within
FACTORS = (1.0, 1.5, np.inf)
EVALUATIONS, WALKED = 1_200_000, 10_000  # of learners, for a set, by `PartialScores` and by walks
FEWEST_ROWS = 200
SURE = 2.0  # standard errors, as many ways are tried
SLOWER = 10  # times that a walk takes longer than `PartialScores`
_LARGEST = 1e100  # larger predictions, whose squares overflow, are left out
_PROBABILITIES = ({"sigmoid"}, {"softmax"})
_LESS = 1.0 - 1e-9

Lost = tuple[F8, F8]  # losses of rows, and their weights, zero of those left out: float64 (n,) each


class Trial:
    """What a tree's answers lose without features, and under caps, on rows without labels.

    Rows are crossed with near ones; see `cross_with_near_rows`.
    """

    def __init__(self, tree: StageModel, rows: FallbackRows) -> None:
        is_plain = len(tree.stages) == 1
        evaluations = EVALUATIONS if is_plain else WALKED
        some = slice(0, max(FEWEST_ROWS, evaluations // max(1, len(tree.layout.learner))))
        self.tree = tree
        self._X, self._weight = rows.X[some], to_grid(rows.weight[some])
        self._final, exits = predict_rows(tree.layout, self._X, 1)
        self._whole = tree.linked(self._final, exits)
        assert tree.fallbacks is not None  # noqa: S101 - the caller made them
        self._partial = PartialScores(tree, self._X, tree.fallbacks) if is_plain else None
        self._prices = CostModel.uniform(tree.feature_names).select(tree.feature_names)

    def of(self, tree: StageModel) -> Trial:
        """Return the same trial of the same tree with other fallbacks."""
        other = copy(self)
        other.tree = tree
        return other

    def lost_by_sets(self, sets: B1) -> list[Lost]:
        """Return what rows lose that have only the features of each set, bool (m, U)."""
        return [self._lost_by_set(each) for each in sets]

    def lost_by_cap(self, prices: PriceArrays, cap: float) -> Lost:
        """Return what some rows lose under a cap."""
        some = slice(0, max(FEWEST_ROWS, len(self._X) // SLOWER))
        walked = walk_under_limits(self.tree, prices, Limits(cap), self._X[some], by_path=True, n_jobs=1)
        return self._distances(walked.final, walked.exits)

    def _lost_by_set(self, there: B1) -> Lost:
        if self._partial is not None:
            return self._distances(self._partial.without(~there), np.zeros(len(self._X), np.int64))
        absent = frozenset(self.tree.layout.used[~there].tolist())
        limits = Limits(barred=absent)
        walked = walk_under_limits(self.tree, self._prices, limits, self._X, by_path=True, n_jobs=1)
        return self._distances(walked.final, walked.exits)

    def _distances(self, scores: F8, exits: I8) -> Lost:
        """Return how far scores of the first rows, float64 (m, K), moved by a line, are from whole answers."""
        some = slice(0, len(scores))
        with np.errstate(over="ignore", invalid="ignore"):
            part = self.tree.linked(_move(scores, self._final[some], self._weight[some]), exits)
        return _distances(self.tree, self._whole[some], part, self._weight[some])


def _move(scores: F8, final: F8, weight: F8) -> F8:
    """Move scores towards final ones, by a line for each output: float64 (n, K)."""
    ok = np.asarray((np.maximum(np.abs(scores), np.abs(final)) < _LARGEST).all(axis=1))  # False for NaN
    share = np.where(ok, weight, 0.0)
    if not (total := share.sum()) > 0:
        return scores
    share, clean = share / total, np.where(ok[:, None], scores, 0.0)
    mean, target = (np.atleast_1d(share @ each) for each in (clean, np.where(ok[:, None], final, 0.0)))
    gap = clean - mean
    pull = np.atleast_1d(share @ (gap * np.where(ok[:, None], final - target, 0.0)))
    spread = np.atleast_1d(share @ (gap * gap))
    slope = np.divide(pull, spread, out=np.zeros(len(spread)), where=spread > 0)
    return np.asarray(target + slope * (scores - mean))


class SetTrial(Protocol):
    """What answers of a tree lose without features."""

    @property
    def tree(self) -> StageModel:
        """The tree."""

    def lost_by_sets(self, sets: B1) -> list[Lost]:
        """Return what rows lose that have only the features of each set, bool (m, U), of those that the tree uses."""


def fit_set_losses(trial: SetTrial, prices: PriceArrays) -> SetLosses:
    """Measure what answers lose by sets of features: first sets drawn at random, then those that seem best for caps.

    Features that a price holds together are there together, and those that cost nothing always. At other prices they
    may cost something, so each of them adds what is lost without it alone.
    """
    tree = trial.tree
    wares, base = Wares.of(tree.layout.used, prices).priced()
    units = _as_units(trial, wares.features)
    tried = base | (_draw_sets(len(units)).astype(np.float64) @ units > 0)
    lost = trial.lost_by_sets(tried)
    losses = _means(lost)
    for _ in range(REFINED):
        choice = Choice(SetLosses(_regress(losses, tried, units), tried, losses), wares, base)
        caps = wares.price * (np.arange(CAPS) + 0.5) / CAPS
        chosen = [one.units for cap in caps.tolist() for one in (choice.expected(cap), choice.filled(cap))]
        further = np.unique(base | (np.array(chosen).astype(np.float64) @ wares.features > 0), axis=0)
        further = further[~(further[:, None] == tried).all(axis=2).any(axis=1)]
        tried, lost = np.vstack([tried, further]), [*lost, *trial.lost_by_sets(further)]
        losses = _means(lost)
    found = SetLosses(_regress(losses, tried, units), tried, losses)
    _, price, _ = Choice(found, wares, base).tried
    preferred = _prefer_fewer_tests(lost, price, tried @ count_tests(tree.bank, tree.layout))
    return evolve(found, absence=_with_free(found.absence, trial, base, float(losses.max())), losses=preferred)


def _means(lost: Sequence[Lost]) -> F8:
    return np.array([exact_mean(losses, weight) if weight.any() else 0.0 for losses, weight in lost])


def _prefer_fewer_tests(lost: Sequence[Lost], price: F8, tests: I8) -> F8:
    """Return the mean losses of sets; of nearly equal ones, a dearer set of fewer tests has the smaller loss.

    All tests of a model repeat some chance of its training. A set with more of them is nearer to the model for that
    alone, so the one that is hardly farther with fewer tests is nearer to the truth.
    """
    losses = _means(lost)
    preferred, best = losses.copy(), -1
    for s in np.lexsort((losses, price)).tolist():
        if best < 0 or losses[s] < losses[best]:
            best = s
        elif tests[s] < tests[best]:
            gain, weight = lost[s][0] - lost[best][0], lost[s][1] * (lost[best][1] > 0)
            if not _sure_gain(gain, weight, 1.0):
                preferred[s] = min(preferred[s], losses[best] * _LESS)
    return preferred


def fit_factors(trial: Trial, prices: PriceArrays, caps: F8) -> tuple[F8, F8]:
    """Return caps as shares of the price of all features, and the factor of each that loses least; see `Fallbacks`.

    Caps that just pay for a better set are tried too.
    """
    fallbacks = trial.tree.fallbacks
    assert fallbacks is not None  # noqa: S101 - the caller made them
    wares = Wares.of(trial.tree.layout.used, prices)
    limits, best = Choice(fallbacks.set_losses, *wares.priced()).best_tried
    steps = limits[np.append(True, best[1:] != best[:-1])]
    caps = np.unique(np.concatenate([caps, steps[np.linspace(0, len(steps) - 1, min(len(steps), STEPS)).astype(int)]]))
    known = (evolve(fallbacks, cap_shares=[0.0], cap_factors=[factor]) for factor in FACTORS)
    trials = [trial.of(evolve(trial.tree, fallbacks=each)) for each in known]
    chosen = [_surely_least([each.lost_by_cap(prices, cap) for each in trials]) for cap in caps.tolist()]
    price = max(wares.price, np.finfo(np.float64).tiny)
    return np.nan_to_num(caps / price), np.array(FACTORS)[chosen]


def _surely_least(lost: Sequence[Lost]) -> int:
    """Return the place of the losses, with weights, that are least in the mean; 0 if not surely less than the first."""
    first, own = lost[0]
    return int(np.argmax([0.0, *(_sure_gain(first - losses, own * (weight > 0)) for losses, weight in lost[1:])]))


def _sure_gain(gain: F8, weight: F8, errors: float = SURE) -> float:
    """Return the mean of gains, float64 (n,), or zero if it is not above so many standard errors."""
    if not weight.any():
        return 0.0
    mean = exact_mean(gain, weight)
    error = np.sqrt(exact_mean((gain - mean) ** 2, weight) / np.count_nonzero(weight))
    return mean if mean > errors * error else 0.0


def _as_units(trial: SetTrial, units: B1, most: int = MOST_PAIRED) -> B1:
    """Return the units, bool (n, U), whose losses are told apart, those that gain least together."""
    tree = trial.tree
    if len(units) <= most:
        return units
    order = np.argsort(-(units @ step_sizes(tree.bank, tree.layout)), kind="stable")
    first, rest = np.sort(order[: most - 1]), order[most - 1 :]
    return np.vstack([units[first], units[rest].any(axis=0)])


def _draw_sets(n: int) -> B1:
    """Return sets of n units: all of them, or the whole one, none, single units, all others, and sets at random."""
    if n <= ALL_SETS:
        return (np.arange(1 << n)[::-1, None] >> np.arange(n) & 1).astype(np.bool_)
    alone = np.eye(n, dtype=np.bool_)
    keys = np.random.default_rng(n).random((max(0, min(MOST_DRAWN, 6 * n) - 2 * n), n))
    sizes = 1 + np.arange(len(keys)) % (n - 1)
    drawn = keys.argsort(axis=1).argsort(axis=1) < sizes[:, None]
    return np.vstack([np.ones((1, n), np.bool_), np.zeros((1, n), np.bool_), alone, ~alone, drawn])


def _distances(tree: StageModel, whole: F8, part: F8, weight: F8) -> Lost:
    """Return divergences of predictions from whole ones, or squared distances if they are no probabilities; weights."""
    ok = np.asarray((np.abs(np.hstack([whole, part])) < _LARGEST).all(axis=1))  # False for NaN
    whole, part, weight = (np.where(ok[:, None], each, 0.0) for each in (whole, part, weight[:, None]))
    weight = weight[:, 0]
    if {*tree.links} not in _PROBABILITIES:
        return ((whole - part) ** 2).sum(axis=1), weight
    if whole.shape[1] == 1:
        whole, part = (np.hstack([each, 1.0 - each]) for each in (whole, part))
    whole, part = (np.clip(each, SMALLEST, 1.0) for each in (whole, part))
    return (whole * np.log(whole / part)).sum(axis=1), weight


def _regress(losses: F8, tried: B1, units: B1) -> AbsenceLosses:
    """Regress the losses of sets, bool (m, U), of which the first is whole, on the units that these lack: (n, U)."""
    if not len(units) or not (largest := float(losses.max())) > 0:
        return AbsenceLosses.none(units.shape[1])
    there = (tried.astype(np.float64) @ units.T) == units.sum(axis=1)
    found = AbsenceLosses.regress(losses / largest, np.ones(len(losses)), there, 1, _pairs(losses, there))
    some, every = np.split(to_grid(np.concatenate([found.some, found.every])), 2)  # sums of some depend on no order
    return evolve(found, sets=(found.sets.astype(np.float64) @ units) > 0, some=some, every=every)


def _with_free(found: AbsenceLosses, trial: SetTrial, free: B1, largest: float) -> AbsenceLosses:
    """Add losses without features that cost nothing, bool (U,): of each the mean beside all others and beside none."""
    units = _as_units(trial, np.eye(len(free), dtype=np.bool_)[free], MOST_FREE)
    ends = np.zeros((2, len(free)), np.bool_)
    ends[1] = True
    lost = _means(trial.lost_by_sets(np.vstack([ends, units, ~units]))) if len(units) else np.zeros(2)
    largest = largest or float(lost.max())
    if not largest > 0:
        return found
    beside_none, beside_all = np.split(lost[2:], 2)
    added = np.maximum(0.0, (lost[0] - beside_none + beside_all - lost[1]) / 2) / largest
    some, every = np.concatenate([found.some, added]), np.concatenate([found.every, np.zeros(len(added))])
    some, every = np.split(to_grid(np.concatenate([some, every])), 2)
    return evolve(found, sets=np.vstack([found.sets, units]), some=some, every=every)


def _pairs(losses: F8, sets: B1) -> Sequence[tuple[int, int]]:
    """Return the pairs of the units without which losses are largest in the mean."""
    without = ~sets
    means = losses @ without / np.maximum(without.sum(axis=0), 1)
    chosen = sorted(np.argsort(-means, kind="stable")[:PAIRED].tolist())
    return [(i, j) for place, i in enumerate(chosen) for j in chosen[:place]]
