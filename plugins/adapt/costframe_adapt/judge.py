"""How models of a stage are judged on held-out rows, and the shares of rows (OPT1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit

from costframe.gates import Candidate, ExpensiveModel, GateCurve, GatedPair, Scores
from costframe.plugin import F8, Account, Rows, TrainingData, exact_sum, loss_for
from costframe.trees import BinnedData
from costframe_adapt.settings import AdaptSettings

SURE = 1e-6  # shares are clipped to [SURE, 1 - SURE], as the authors do
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
    def of(cls, parts: tuple[TrainingData, Rows, ExpensiveModel], settings: AdaptSettings) -> Judge:
        """Take the rows to train on, the held-out rows and the expensive model on both."""
        data, held, expensive = parts
        bins = BinnedData.of(data.train, settings.binning, data.categorical) if settings.trees else None
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
        return evolve(self, expensive=self.expensive.behind(best, self.data, self.held, self.settings.n_threads))

    def candidate(
        self, pair: GatedPair, train: Scores, held: Scores, accounts: tuple[Account, Account] | None = None
    ) -> Candidate:
        """Evaluate a cheap model and a gate by their scores of training rows and of held-out rows.

        `accounts` are those of both on the held-out rows, if known.
        """
        settings, rows = self.settings, self.held
        if accounts is None:
            accounts = self._accounts(pair, rows)
        cheap_loss = loss_for(self.data.n_classes).by_row(rows.y, held.cheap)
        curve = GateCurve.of(held.gate, cheap_loss, self.expensive.held, accounts, rows, self.data.prices)
        if settings.paper:
            one_way = "expensive" if pair.gate_intercept > 0 else "cheap"
            point = curve.at(0.0) if pair.has_gate else curve.without_gate(one_way)
        else:
            point = curve.best(settings.tradeoff, settings.full_share)
        candidate = Candidate(pair, train, held, accounts, curve, point)
        if self.record is not None:
            self.record(candidate)
        return candidate

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
        below = loss_for(self.data.n_classes).by_row(self.rows.y, train.cheap) + np.logaddexp(0.0, train.gate)
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
    mean = exact_sum(q * weight) / exact_sum(weight)
    return q * (full_share / mean) if mean > full_share else q  # clipped shares cannot meet a limit below SURE
