"""The l1 baseline of Adapt: columns by l1, then a cheap model on them, then a gate to the cheap model's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from costframe import StageTree, WeakLearnerBank
from costframe.gates import (
    Candidate,
    ExpensiveModel,
    GateCurve,
    GatedClassifier,
    GatedPair,
    GatePoints,
    PenalizedObjective,
    Scores,
    fit_logistic,
    read_several,
    read_tradeoffs,
)
from costframe.plugin import (
    F8,
    I8,
    DeferredPath,
    ParameterError,
    PricedGroups,
    Rows,
    TrainingData,
    check_choice,
    loss_for,
    resolve,
    thread_count,
)
from costframe.stagewise import BankRows, find_bank
from costframe.trees import Scorer

_MOST = 1e100  # loss per unit of weight: at this price no column is chosen
_PENALTIES = (1.0, 0.3, 3.0)  # times the tradeoff: the norm of weights is not the cost of their columns


@frozen(eq=False)
class _Columns:
    """The columns of training rows."""

    bank: WeakLearnerBank
    H: F8  # (n, C)
    rows: Rows
    n_classes: int
    priced: PricedGroups

    @classmethod
    def of(cls, data: TrainingData, n_threads: int) -> _Columns:
        bank, rows = find_bank("columns", data, {}), data.train
        prices = data.costs.select(bank.feature_names)
        H = BankRows.outputs_of(bank, rows.X, n_threads).dense
        return cls(bank, H, rows, data.n_classes, PricedGroups.of_bank(bank, prices, n_rows=rows.total_weight))

    def cheap(self, price: float) -> tuple[F8, I8]:
        """Return the cheap model with the columns that pay at a price of one unit of cost, and these columns."""
        rows = self.rows
        with np.errstate(over="ignore"):
            groups = evolve(self.priced, price=np.minimum(self.priced.price * min(price, _MOST), _MOST))
        used = choose_columns(self.H, rows.y, self.n_classes, rows.weight, groups)
        return _on_all(fit_logistic(self.H[:, used], rows.y, self.n_classes, rows.weight), used, self.H), used

    def pair(self, price: float) -> tuple[GatedPair, F8]:
        """Return the cheap model with its gate, and the weights of both, (1 + K, C + 1), the gate's first."""
        rows, (cheap, used) = self.rows, self.cheap(price)
        gate = _on_all(
            fit_gate(self.H[:, used], rows.y, rows.weight, PenalizedObjective.scores_of(self.H, cheap)), used, self.H
        )
        weights = np.vstack([gate, cheap])
        constants = weights[:, -1]
        return GatedPair(self.bank, cheap[:, :-1].T, constants[1:], gate[0, :-1], float(constants[0])), weights


def choose_columns(H: F8, y: I8, n_classes: int, weight: F8, groups: PricedGroups) -> I8:
    """Return the columns with a weight in l1 logistic regression; groups are priced in units of loss."""
    return np.flatnonzero(fit_logistic(H, y, n_classes, weight, groups)[:, :-1].any(axis=0))


def fit_gate(H: F8, y: I8, weight: F8, scores: F8) -> F8:
    """Fit logistic regression of where a cheap model with scores (K, n) is wrong: float64 (1, C + 1).

    If it is always right, or always wrong, all weights are zero.
    """
    answers = scores[0] > 0 if len(scores) == 1 else scores.argmax(axis=0)
    wrong = (answers != y).astype(np.int64)
    if wrong.min() == wrong.max():
        return np.zeros((1, H.shape[1] + 1))
    return fit_logistic(H, wrong, 2, weight)


def _on_all(weights: F8, used: I8, H: F8) -> F8:
    """Return weights of some columns as weights of all."""
    on_all = np.zeros((len(weights), H.shape[1] + 1))
    on_all[:, [*used, -1]] = weights
    return on_all


@frozen(eq=False)
class _Bench:
    """All that candidates need: columns, held-out rows, and the expensive model on both."""

    data: TrainingData
    columns: _Columns
    held: Rows
    held_columns: F8
    expensive: ExpensiveModel
    paper: bool
    n_threads: int

    def candidates(self, tradeoff: float, full_share: float | None) -> Iterator[Candidate]:
        """Yield the models with columns chosen at the tradeoff, and at similar ones beyond the paper's recipe."""
        for penalty in _PENALTIES[:1] if self.paper else _PENALTIES:
            yield self.evaluate(*self.columns.pair(tradeoff * penalty), tradeoff, full_share)

    def evaluate(self, pair: GatedPair, weights: F8, tradeoff: float, full_share: float | None) -> Candidate:
        """Evaluate a pair on the held-out rows: at threshold 0 by the paper's recipe, else at the best threshold."""
        train, held = (_scores(H, weights) for H in (self.columns.H, self.held_columns))
        accounts = pair.accounts(self.data.costs, self.held.X, self.n_threads)
        losses = loss_for(self.data.n_classes).by_row(self.held.y, held.cheap)
        curve = GateCurve.of(held.gate, losses, self.expensive.held, accounts, self.held, self.data.prices)
        if self.paper:
            one_way = "expensive" if pair.gate_intercept > 0 else "cheap"
            point = curve.at(0.0) if pair.has_gate else curve.without_gate(one_way)
        else:
            point = curve.best(tradeoff, full_share)
        return Candidate(pair, train, held, accounts, curve, point)


def _scores(H: F8, weights: F8) -> Scores:
    gate, *cheap = PenalizedObjective.scores_of(H, weights)
    return Scores(np.stack(cheap, axis=1), gate)


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class L1GateClassifier(GatedClassifier):
    """l1, then a gate: the baseline of Adapt, whose columns are chosen for the cheap model alone.

    Logistic regression with an l1 penalty chooses columns, a cheap model is fitted to all rows on these, and a gate to
    the cheap model's errors sends rows on to the expensive model.

    Parameters
    ----------
    costs, tradeoff, expensive, class_weight, random_state, n_jobs, verbose
        As for `AdaptClassifier`.
    full_share : float, optional
        Largest share of rows that go on, in [0, 1]; without it, the tradeoff decides. With 0 there is no gate.
    recipe : {"paper"}, optional
        One choice of columns, and rows with gate scores above 0 go on. By default also the columns at 0.3 and 3 times
        the tradeoff, and the threshold of the least loss + tradeoff * exact cost on held-out rows.

    Attributes
    ----------
    predictor_ : StageTree
    expensive_ : object
        The fitted expensive model; None with full_share=0.
    expensive_predictor_ : StageTree
        The expensive model within the predictor, whose cost can be measured.
    classes_ : ndarray (M,)
    """

    full_share: float | None = field(default=None, kw_only=True)
    recipe: str | None = field(default=None, kw_only=True)

    def _train(self, data: TrainingData, proba: F8 | None = None) -> StageTree:
        self._check_expensive(data)
        share, tradeoff = self._share(), data.tradeoff
        if share == 0:
            self.expensive_ = None
            self.__dict__.pop("expensive_predictor_", None)  # of an earlier fit
            columns = _Columns.of(data, thread_count(self.n_jobs))
            (cheap, _), no_gate = columns.cheap(tradeoff), np.zeros(columns.H.shape[1])
            return GatedPair(columns.bank, cheap[:, :-1].T, cheap[:, -1], no_gate, 0.0).cheap_tree()
        bench = self._bench(data, proba)
        best = min(bench.candidates(tradeoff, share), key=lambda candidate: candidate.point.total(tradeoff))
        return best.pair.at(best.point, bench.expensive.tree)

    def _sweep(
        self, data: TrainingData, proba: F8 | None, tradeoffs: Any, full_shares: Any, scoring: Any,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath:  # fmt: skip
        self._check_expensive(data)
        levels, shares = read_tradeoffs(tradeoffs), (self._share(),)
        if full_shares is not None:
            shares = tuple(
                resolve("full_shares", share, None, high=1) for share in read_several("full_shares", full_shares)
            )
        score = Scorer.of(scoring)
        bench = self._bench(data, proba)
        points = GatePoints(data, bench.held, score, only_own=bench.paper)
        points.begin(bench.expensive)
        if levels is None:
            levels = bench.expensive.held.default_tradeoffs(bench.held, data.prices)
        for done, tradeoff in enumerate(levels.tolist(), 1):
            for share in shares:
                for candidate in bench.candidates(tradeoff, share):
                    points.record(candidate, tradeoff, share, bench.expensive)
            if progress is not None:
                progress(done / len(levels))
        return points.models.path(data.costs)

    def _bench(self, data: TrainingData, proba: F8 | None) -> _Bench:
        paper, n_threads = self.recipe is not None, thread_count(self.n_jobs)
        trained, held, expensive = self._hold_out(data, n_threads, proba, paper=paper)
        columns = _Columns.of(trained, n_threads)
        return _Bench(
            trained,
            columns,
            held,
            BankRows.outputs_of(columns.bank, held.X, n_threads).dense,
            expensive,
            paper,
            n_threads,
        )

    def _share(self) -> float | None:
        """Check the parameters, and return the limit of the share."""
        share = resolve("full_share", self.full_share, None, high=1)
        if check_choice("recipe", self.recipe, (None, "paper")) and share:
            raise ParameterError("full_share: has no effect with recipe='paper', which limits no share")
        return None if share is None else float(share)
