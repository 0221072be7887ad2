"""Settings of Adapt, and how its models are judged on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit

from costframe.adoption import FittedModel
from costframe.gates import (
    CHEAP,
    EXPENSIVE,
    SURE,
    Candidate,
    ExpensiveModel,
    GateCurve,
    GatedPair,
    Scores,
    cheap_losses,
    hold_out,
    read_several,
    read_tradeoffs,
    stack,
)
from costframe.plugin import (
    F8,
    Account,
    ParameterError,
    Rows,
    TrainingData,
    check_choice,
    check_number,
    exact_mean,
    exact_sum,
    resolve,
    thread_count,
)
from costframe.trees import BinnedData, TreeSettings, bin_rows

_PAPER_SHARES = (0.2, 0.4, 0.6, 0.8)  # default shares of a grid


@frozen(kw_only=True)
class AdaptTrees(TreeSettings):
    """Settings of the trees of the cheap model and of the gate, and their kind of prices."""

    by_row: bool = False  # whether rows pay prices one by one; else the model pays once


PAID_BY_ROW = AdaptTrees(
    n_estimators=200,
    learning_rate=0.2,
    max_leaves=31,
    min_samples_leaf=20,
    min_hessian_leaf=1e-3,
    l2_regularization=1.0,
    by_row=True,
)
_USUAL = (PAID_BY_ROW, evolve(PAID_BY_ROW, by_row=False))
# Of Greedy Miser, without a gate.
_MISER = AdaptTrees(
    n_estimators=300, learning_rate=0.3, growth="breadth", newton=False, max_depth=3, min_samples_leaf=10
)
_PAPER = evolve(_MISER, n_estimators=100, learning_rate=1.0, min_samples_leaf=1)


@frozen
class AdaptSettings:
    """Checked parameters of `AdaptClassifier`."""

    tradeoff: float
    full_share: float | None  # P; None lets the price of the expensive model decide
    variant: str
    paper: bool  # whether to train exactly the paper's algorithm
    trees: tuple[AdaptTrees, ...]  # all kinds to try; empty for linear models
    n_stages: int
    n_threads: int
    verbose: int

    @property
    def binning(self) -> TreeSettings:
        """Settings of the bins, which all trees share."""
        return evolve(PAID_BY_ROW, n_threads=self.n_threads)


def read_settings(given: Any, data: TrainingData, *, grid: bool = False) -> AdaptSettings:
    """Check an estimator's parameters; a grid has its own shares.

    Raises
    ------
    ParameterError
        If a parameter is out of its range, or would have no effect.
    """
    variant = check_choice("variant", given.variant, (None, "gbrt", "lin")) or "gbrt"
    paper = check_choice("recipe", given.recipe, (None, "paper")) is not None
    full_share = resolve("full_share", given.full_share, None, high=1)
    if variant != "gbrt" and given.n_estimators is not None:
        raise ParameterError(f"n_estimators: has no effect on variant={variant!r}")
    if full_share == 0 and given.n_stages is not None:
        raise ParameterError("n_stages: has no effect with full_share=0, which leaves no gate")
    if paper and full_share is None and not grid:
        raise ParameterError("full_share: expected a number from 0 to 1, as recipe='paper' needs P")
    return AdaptSettings(
        tradeoff=data.tradeoff,
        full_share=None if full_share is None else float(full_share),
        variant=variant,
        paper=paper,
        trees=_trees(given, data, paper=paper) if variant == "gbrt" else (),
        n_stages=resolve("n_stages", given.n_stages, 1, low=1, whole=True),
        n_threads=thread_count(given.n_jobs),
        verbose=check_number("verbose", given.verbose, whole=True),
    )


def read_grid(
    given: Any, settings: AdaptSettings, tradeoffs: Any, full_shares: Any
) -> tuple[F8 | None, tuple[float | None, ...]]:
    """Check the tradeoffs, descending, and the shares of a grid."""
    shares: tuple[Any, ...] = (given.full_share,)
    if full_shares is not None:
        shares = read_several("full_shares", full_shares)
    elif settings.paper and given.full_share is None:
        shares = _PAPER_SHARES
    found = tuple(resolve("full_shares", share, None, high=1) for share in shares)
    if settings.paper and None in found:
        raise ParameterError("full_shares: expected numbers from 0 to 1, as recipe='paper' needs them, got None")
    return read_tradeoffs(tradeoffs), found


def _trees(given: Any, data: TrainingData, *, paper: bool) -> tuple[AdaptTrees, ...]:
    """Return the kinds of trees: the paper's, Greedy Miser's without a gate, or all kinds to try."""
    usual = (_PAPER,) if paper else (_MISER,) if given.full_share == 0 else _USUAL
    for leaf in {trees.min_samples_leaf for trees in usual}:
        if data.train.total_weight < 2 * leaf <= data.train.total_rows:
            raise ParameterError(
                f"sample_weight: two leaves of {leaf} rows need a total of {2 * leaf}, got "
                f"{data.train.total_weight:g}; a weight of one is one row"
            )
    return tuple(trees.replaced(n_estimators=given.n_estimators, n_jobs=given.n_jobs) for trees in usual)


_FARTHEST = 2.0**11  # largest b of the search: far above any difference of losses
_HALVINGS = 200  # enough for all digits of a double
_UNITS = 2.0**60  # of a mean share


@frozen(eq=False)
class Judge:
    """Training rows and held-out rows of one stage, the model behind it, and settings."""

    data: TrainingData  # without the held-out rows
    held: Rows  # held-out rows: those of validation, or part of the training rows
    expensive: ExpensiveModel  # the model behind the gate
    bins: BinnedData | None  # of the training rows; None for linear models
    settings: AdaptSettings
    record: Callable[[Candidate], None] | None = None  # called with every candidate

    @classmethod
    def of(cls, data: TrainingData, fitted: FittedModel, settings: AdaptSettings) -> Judge:
        """Hold out rows if there are no validation rows; see `hold_out`."""
        data, held, expensive = hold_out(data, fitted, settings.n_threads, paper=settings.paper)
        bins = bin_rows(data.train, settings.binning, data.categorical) if settings.trees else None
        return cls(data, held, expensive, bins, settings)

    @property
    def binned(self) -> BinnedData:
        """Bins of the training rows, for trees."""
        assert self.bins is not None  # noqa: S101 - for the type checker
        return self.bins

    @property
    def rows(self) -> Rows:
        """Training rows."""
        return self.data.train

    def behind(self, best: Candidate) -> Judge:
        """Put a candidate in front of the expensive model, for the next stage in front of both."""
        return evolve(self, expensive=stack(best, self.expensive, self.data, self.held, self.settings.n_threads))

    def candidate(
        self, pair: GatedPair, train: Scores, held: Scores, accounts: tuple[Account, Account] | None = None
    ) -> Candidate:
        """Evaluate a cheap model and a gate by their scores of training rows and of held-out rows.

        `accounts` are those of both on the held-out rows, if known.
        """
        settings, rows = self.settings, self.held
        if accounts is None:
            accounts = self._accounts(pair, rows)
        cheap_loss = cheap_losses(held.cheap, rows.y)
        curve = GateCurve.of(held.gate, cheap_loss, self.expensive.held, accounts, rows, self.data.prices)
        if settings.paper:
            one_way = EXPENSIVE if pair.gate_intercept > 0 else CHEAP
            point = curve.at(0.0) if pair.has_gate else curve.without_gate(one_way)
        else:
            point = curve.best(settings.tradeoff, settings.full_share)
        found = Candidate(pair, train, held, accounts, curve, point)
        if self.record is not None:
            self.record(found)
        return found

    def total(self, candidate: Candidate) -> float:
        """Return loss + tradeoff * cost of a candidate on the held-out rows."""
        return candidate.point.total(self.settings.tradeoff)

    def shares(self, pair: GatedPair, train: Scores) -> F8:
        """Solve (OPT1): q, float64 (n,), for a cheap model and a gate with these scores of the training rows."""
        below, above = self.losses(train)
        if self.settings.full_share is None and self.settings.tradeoff:
            above = above + self.settings.tradeoff * self._extra_cost(pair)
        return solve_shares(below, above, self.rows.weight, self.settings.full_share)

    def losses(self, train: Scores) -> tuple[F8, F8]:
        """Return the paper's A and B of the training rows: float64 (n,) each."""
        below = cheap_losses(train.cheap, self.rows.y) + np.logaddexp(0.0, train.gate)
        return below, self.expensive.train.loss + np.logaddexp(0.0, -train.gate)

    def _extra_cost(self, pair: GatedPair) -> F8:
        """Return each training row's cost of going on minus that of staying: float64 (n,)."""
        prices, expensive = self.data.prices, self.expensive.train.account
        cheap, gate = self._accounts(pair, self.rows)
        goes, stays = gate | expensive, gate | cheap
        batch = (goes.batch(prices) - stays.batch(prices)) / self.rows.total_weight
        return goes.cost(prices) - stays.cost(prices) + batch

    def _accounts(self, pair: GatedPair, rows: Rows) -> tuple[Account, Account]:
        return pair.accounts(self.data.costs, rows.X, self.settings.n_threads)


def solve_shares(cheap: F8, full: F8, weight: F8, full_share: float | None) -> F8:
    """Minimize mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] over q, with mean q <= P.

    q_i = 1 / (1 + exp(B_i - A_i + b)) with the smallest b >= 0 that meets the constraint, found by bisection.

    Parameters
    ----------
    cheap, full : float64 (n,)
        A and B: loss and price of each row with the answer of the cheap model, and of the expensive model.
    weight : float64 (n,)
        Of the rows in the mean.
    full_share : float or None
        P in [0, 1]; None for no constraint.

    Returns
    -------
    float64 (n,)
        q, in [SURE, 1 - SURE]; zeros if the expensive model may get nothing.
    """
    if full_share == 0:
        return np.zeros(len(cheap))
    odds = cheap - full

    def q_at(shift: float) -> F8:
        return np.clip(expit(odds - shift), SURE, 1 - SURE)

    if full_share is None:
        return q_at(0.0)
    share = weight / exact_sum(weight) * _UNITS

    def mean_at(shift: float) -> float:  # a sum of whole numbers: it does not depend on the order of rows
        return float(np.rint(share * q_at(shift)).astype(np.int64).sum()) / _UNITS

    if mean_at(0.0) <= full_share:
        return q_at(0.0)
    low, high = 0.0, 1.0
    while mean_at(high) > full_share and high < _FARTHEST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if mean_at(middle) > full_share else (low, middle)
    q = q_at(high)
    mean = exact_mean(q, weight)
    return q * (full_share / mean) if mean > full_share else q  # clipped shares cannot meet a limit below SURE
