"""A gate and a cheap model before an expensive model: composition, curves of thresholds, and rows held out of training.

The composite is a stage tree, which can be the expensive model of another gate. A row pays once for a feature that
several of the models read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import evolve, frozen

from costframe.adoption.given.model import FittedModel, GivenModel
from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.accounts import Account
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.links import apply_link, squeeze
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.training.data import Rows, TrainingData
from costframe.training.dominated import dominated_duplicates
from costframe.training.sampling import held_out, split_off
from costframe.trees.boost import bin_rows, boost_at_prices, tree_grower
from costframe.trees.losses import LogisticLoss, SoftmaxLoss, loss_for
from costframe.trees.monitor import Monitor
from costframe.trees.prices import NoPrices
from costframe.trees.settings import TreeSettings

BOTH, CHEAP, EXPENSIVE = "both", "cheap", "expensive"
SURE = 1e-6  # probabilities of the expensive model, and shares, are clipped to [SURE, 1 - SURE], as the authors do
_ALONE = {CHEAP: 2, EXPENSIVE: 3}  # columns of costs: below the gate, above it, and each model without a gate
_ROUNDING = 1e-12
_AROUND = (0.25, 1.0, 4.0)  # times the training tradeoff: the tradeoffs of a grid's points
_SHARES = (0.03, 0.1, 0.25, 0.5, 0.75)  # of rows that go on, at a grid's points


@frozen(eq=False)
class ModelOutputs:
    """Probabilities, losses and account of a model on some rows."""

    proba: F8  # (n,) or (n, M)
    loss: F8  # (n,): -log P(y_i | x_i), with the probability clipped to [SURE, 1 - SURE]
    account: Account

    @classmethod
    def of(cls, proba: F8, y: I8, account: Account) -> ModelOutputs:
        """Look up the labels' probabilities."""
        of_label = np.where(y == 1, proba, 1 - proba) if proba.ndim == 1 else proba[np.arange(len(y)), y]
        return cls(proba, np.asarray(-np.log(np.clip(of_label, SURE, 1 - SURE))), account)


@frozen
class OperatingPoint:
    """A gate with its threshold, or one model alone, if all rows go the same way.

    Attributes
    ----------
    kind : {"both", "cheap", "expensive"}
    threshold : float
    loss, cost : float
        Means over the held-out rows.
    batch : float
        Each held-out row's share of once-prices.
    """

    kind: str
    threshold: float
    loss: float
    cost: float
    batch: float

    def total(self, tradeoff: float) -> float:
        """Return mean loss + tradeoff * mean cost."""
        return self.loss + (tradeoff * (self.cost + self.batch) if tradeoff else 0.0)


@frozen(eq=False)
class GateCurve:
    """Held-out rows sorted by the gate's score, ascending, with the loss and cost of each way.

    Their order among equal scores is that of their values: so sums do not depend on the order of rows.

    Attributes
    ----------
    gate : float64 (n,)
    weight : float64 (n,)
        Sums to one.
    loss : float64 (n, 2)
        Below and above the gate.
    cost, batch : float64 (n, 4)
        Below and above, both with the gate; then the cheap and the expensive model without a gate. `batch` is each
        row's equal share of once-prices, which `cost` leaves out.
    own : float64 (rows,)
        The gate's scores of the rows in their first order.
    """

    gate: F8
    weight: F8
    loss: F8
    cost: F8
    batch: F8
    own: F8

    @classmethod
    def of(
        cls,
        gate: F8,
        cheap_loss: F8,
        expensive: ModelOutputs,
        accounts: tuple[Account, Account],
        rows: Rows,
        prices: PriceArrays,
    ) -> GateCurve:
        """Sort the held-out rows and price all ways; `accounts` are those of the cheap model and of the gate."""
        cheap, own = accounts
        ways = (own | cheap, own | expensive.account, cheap, expensive.account)
        parts = [gate, rows.weight / rows.total_weight, cheap_loss, expensive.loss]
        parts += [way.cost(prices) for way in ways] + [way.batch(prices) / rows.total_weight for way in ways]
        table: F8 = np.stack(parts, axis=1)
        table = table[np.lexsort(table.T[::-1])]
        sorted_gate, weight, *_ = table.T
        loss, cost, batch = (np.ascontiguousarray(part) for part in np.split(table[:, 2:], [2, 6], axis=1))
        return cls(sorted_gate.copy(), weight.copy(), loss, cost, batch, gate)

    def at(self, threshold: float) -> OperatingPoint:
        """Return the point of a threshold."""
        n_below = int(np.searchsorted(self.gate, threshold, side="right"))
        loss, cost, batch = (self._mean(values, n_below) for values in (self.loss, self.cost, self.batch))
        return OperatingPoint(BOTH, threshold, loss, cost, batch)

    def without_gate(self, kind: str) -> OperatingPoint:
        """Return the point that sends all rows to one model."""
        way = _ALONE[kind]
        loss, cost, batch = (
            float(self.weight @ values[:, column])
            for values, column in ((self.loss, way - 2), (self.cost, way), (self.batch, way))
        )
        return OperatingPoint(kind, np.inf if kind == CHEAP else -np.inf, loss, cost, batch)

    def best(self, tradeoff: float, full_share: float | None) -> OperatingPoint:
        """Return the point of least loss + tradeoff * cost, with at most this share going on, or without a gate."""
        found = [self.without_gate(CHEAP)]
        if full_share in (None, 1):
            found.append(self.without_gate(EXPENSIVE))
        both = self.divide(tradeoff, full_share)
        if both is not None:
            found.append(both)
        return min(found, key=lambda point: point.total(tradeoff))

    def divide(self, tradeoff: float, full_share: float | None) -> OperatingPoint | None:
        """Return the best point with rows on both sides; None if all gate scores are equal or the share forbids it."""
        paid = self.cost[:, :2] + self.batch[:, :2]
        objective = self.loss + (tradeoff * paid if tradeoff else 0.0)
        totals = np.cumsum(self.weight * (objective[:, 0] - objective[:, 1]))[:-1]
        possible = np.diff(self.gate) > 0
        if full_share is not None:
            possible &= 1 - np.cumsum(self.weight)[:-1] <= full_share + _ROUNDING
        return self.at(self._between(int(np.where(possible, totals, np.inf).argmin()))) if possible.any() else None

    def divide_at_share(self, share: float, full_share: float | None) -> OperatingPoint | None:
        """Return the point where about this share of rows goes on, at most `full_share`; None if there is none."""
        possible = np.flatnonzero(np.diff(self.gate) > 0)
        above = 1 - np.cumsum(self.weight)[possible]
        if full_share is not None:
            meets = above <= full_share + _ROUNDING
            possible, above = possible[meets], above[meets]
        if not len(possible):
            return None
        return self.at(self._between(int(possible[np.abs(above - share).argmin()])))

    def points(self, own: OperatingPoint, tradeoff: float, full_share: float | None) -> Iterator[OperatingPoint]:
        """Yield a point, others within the share, and the cheap model alone; never the expensive one."""
        found: list[OperatingPoint | None] = [own, self.without_gate(CHEAP)]
        if self.gate[0] < self.gate[-1]:
            found += [self.divide(tradeoff * times, full_share) for times in _AROUND]
            shares = [share for share in _SHARES if full_share is None or share <= full_share]
            found += [self.divide_at_share(share, full_share) for share in shares]
        yielded = set()
        for point in found:
            if point is not None and point.kind != EXPENSIVE and (point.kind, point.threshold) not in yielded:
                yielded.add((point.kind, point.threshold))
                yield point

    def goes_on(self, point: OperatingPoint) -> B1:
        """Return which rows go on, bool (rows,)."""
        if point.kind != BOTH:
            return np.full(len(self.own), point.kind == EXPENSIVE)
        return np.asarray(self.own > point.threshold)

    def _between(self, at: int) -> float:
        """Return the threshold half-way between a score and the next one."""
        middle = self.gate[at] + 0.5 * (self.gate[at + 1] - self.gate[at])
        return float(middle if middle < self.gate[at + 1] else self.gate[at])

    def _mean(self, values: F8, n_below: int) -> float:
        below, above = self.weight[:n_below], self.weight[n_below:]
        return float(below @ values[:n_below, 0] + above @ values[n_below:, 1])


STEEPNESS = 1.0  # soft routing sends a row on with probability sigma(g), as in training


@frozen(eq=False)
class GatedPair:
    """A cheap model and a gate.

    Attributes
    ----------
    bank : WeakLearnerBank
        Of one output a learner.
    cheap : float64 (T, K)
        Weights of the scores f1.
    cheap_intercept : float64 (K,)
    gate : float64 (T,)
        Weights of g.
    gate_intercept : float
    """

    bank: WeakLearnerBank
    cheap: F8
    cheap_intercept: F8
    gate: F8
    gate_intercept: float

    @classmethod
    def of(cls, cheap: StageTree, gate: StageTree | None = None) -> GatedPair:
        """Join a cheap model and a gate, of one answer each; without a gate, its weights are zero."""
        answer = cls._only_answer(cheap)
        if gate is None:
            return cls(cheap.bank, answer.weights, answer.intercept, np.zeros(len(cheap.bank)), 0.0)
        own, (n_cheap, n_gate) = cls._only_answer(gate), (len(cheap.bank), len(gate.bank))
        return cls(
            WeakLearnerBank.concatenate([cheap.bank, gate.bank]),
            np.vstack([answer.weights, np.zeros((n_gate, len(answer.intercept)))]),
            answer.intercept,
            np.append(np.zeros(n_cheap), own.weights[:, 0]),
            float(own.intercept[0]),
        )

    @staticmethod
    def _only_answer(tree: StageTree) -> Answer:
        answer = tree.stages[0]
        assert isinstance(answer, Answer)  # noqa: S101 - boosting makes one answer
        return answer

    @property
    def has_gate(self) -> bool:
        """Whether the gate has weights."""
        return bool((self.gate != 0).any())

    def cheap_tree(self) -> StageTree:
        """Return the cheap model without a gate."""
        answer = self._answer
        return StageTree(
            self.bank.restrict(answer.learners), (evolve(answer, learners=np.arange(len(answer.learners))),)
        )

    def gate_tree(self, some: B1 | None = None) -> StageTree:
        """Return a model that answers with the gate's score, or with the part of it from some learners."""
        used = np.flatnonzero(self.gate != 0 if some is None else some)
        return StageTree(
            self.bank.restrict(used), (Answer(np.arange(len(used)), self.gate[used], self.gate_intercept),)
        )

    def accounts(self, costs: CostModel, X: F8, n_jobs: int | None = None) -> tuple[Account, Account]:
        """Return the accounts of the cheap model and of the gate on rows; both compute a shared learner only once."""
        cheap, gate = (Account.of(tree, costs, X, n_jobs) for tree in (self.cheap_tree(), self.gate_tree()))
        of_both = (self.gate != 0) & (self.cheap != 0).any(axis=1)
        if of_both.any():
            cheap = evolve(cheap, shared=Account.of(self.gate_tree(of_both), costs, X, n_jobs).computed)
        return cheap, gate

    def in_front_of(self, expensive: StageTree, threshold: float) -> StageTree:
        """Return the composite: rows with gate scores above the threshold go on to the expensive model."""
        used = np.flatnonzero(self.gate != 0)
        route = Route(used, self.gate[used], self.gate_intercept, threshold, STEEPNESS, 1, 2)
        stages = (route, self._answer, *(_moved(stage, 2, len(self.bank)) for stage in expensive.stages))
        return StageTree(WeakLearnerBank.concatenate([self.bank, expensive.bank]), stages)

    @property
    def _answer(self) -> Answer:
        used = np.flatnonzero((self.cheap != 0).any(axis=1))
        link = "sigmoid" if self.cheap.shape[1] == 1 else "softmax"
        return Answer(used, self.cheap[used], self.cheap_intercept, link)


def _moved(stage: Stage, n_stages: int, n_learners: int) -> Stage:
    """Renumber a stage for a tree with n stages before it and a bank with other learners before its own."""
    moved = evolve(stage, learners=stage.learners + n_learners)
    if isinstance(moved, Route):
        return evolve(moved, below=moved.below + n_stages, above=moved.above + n_stages)
    return moved


@frozen(eq=False)
class ExpensiveModel:
    """The expensive model, or a composite in its place.

    Attributes
    ----------
    tree : StageTree
        It reads the data's features and predicts the probability of class 1, or those of more classes.
    train, held : ModelOutputs
        Outputs on training rows, out of fold if possible, and on held-out rows.
    """

    tree: StageTree
    train: ModelOutputs
    held: ModelOutputs


@frozen(eq=False)
class Scores:
    """Scores of some rows.

    Attributes
    ----------
    cheap : float64 (n, K)
    gate : float64 (n,)
    """

    cheap: F8
    gate: F8

    @classmethod
    def without_gate(cls, cheap: F8) -> Scores:
        """Join scores of a cheap model, (n,) or (n, K), with gate scores of zero."""
        return cls(cheap if cheap.ndim == 2 else cheap[:, np.newaxis], np.zeros(len(cheap)))


@frozen(eq=False)
class Candidate:
    """A gate and a cheap model.

    Attributes
    ----------
    pair : GatedPair
    train, held : Scores
        Of the training rows, and of the held-out rows.
    accounts : (Account, Account)
        Of the cheap model and the gate, on the held-out rows.
    curve : GateCurve
        On the held-out rows.
    point : OperatingPoint
        The threshold, with its loss and cost.
    """

    pair: GatedPair
    train: Scores
    held: Scores
    accounts: tuple[Account, Account]
    curve: GateCurve
    point: OperatingPoint


def compose(pair: GatedPair, point: OperatingPoint, expensive: StageTree) -> StageTree:
    """Return the model of a gate at an operating point."""
    if point.kind == EXPENSIVE:
        return expensive
    if point.kind == CHEAP:
        return pair.cheap_tree()
    return pair.in_front_of(expensive, point.threshold)


def mix_predictions(cheap: F8, expensive: F8, goes_on: B1) -> F8:
    """Return a composite's probabilities, (n,) or (n, M): of `expensive` for rows that go on, else of scores (n, K)."""
    own = squeeze(apply_link("sigmoid" if cheap.shape[1] == 1 else "softmax", cheap))
    return np.where(goes_on if own.ndim == 1 else goes_on[:, np.newaxis], expensive, own)


def stack(
    candidate: Candidate, expensive: ExpensiveModel, data: TrainingData, held: Rows, n_jobs: int
) -> ExpensiveModel:
    """Make one expensive model of a candidate and the expensive model behind it."""
    pair, point, rows = candidate.pair, candidate.point, data.train
    going = np.full(len(rows), point.kind == EXPENSIVE)
    if point.kind == BOTH:
        going = candidate.train.gate > point.threshold
    accounts = pair.accounts(data.costs, rows.X, n_jobs)
    train = _mix(candidate.train, going, rows, expensive.train, accounts, point.kind)
    going = candidate.curve.goes_on(point)
    on_held = _mix(candidate.held, going, held, expensive.held, candidate.accounts, point.kind)
    return ExpensiveModel(compose(pair, point, expensive.tree), train, on_held)


def _mix(
    scores: Scores, going: B1, rows: Rows, expensive: ModelOutputs, accounts: tuple[Account, Account], kind: str
) -> ModelOutputs:
    cheap, gate = accounts
    account = expensive.account.where(going, cheap)
    proba = mix_predictions(scores.cheap, expensive.proba, going)
    return ModelOutputs.of(proba, rows.y, account if kind != BOTH else account | gate)


def cheap_losses(scores: F8, y: I8) -> F8:
    """Return log(1 + exp(-y f1)), or the cross-entropy of more classes: float64 (n,) for scores (n, K)."""
    loss: LogisticLoss | SoftmaxLoss = LogisticLoss() if scores.shape[1] == 1 else SoftmaxLoss(scores.shape[1])
    return loss.each(y, scores)


_PLAIN = TreeSettings(
    n_estimators=300, max_leaves=31, min_samples_leaf=20, min_hessian_leaf=1e-3, l2_regularization=1.0
)
_PATIENCE = 30


def hold_out(
    data: TrainingData, fitted: FittedModel, n_threads: int, *, paper: bool
) -> tuple[TrainingData, Rows, ExpensiveModel]:
    """Hold out rows if there are no validation rows; the paper's recipe then uses the training rows.

    Return the data to train on, the held-out rows, and the expensive model on both.
    """
    tree, proba = fitted.tree, fitted.proba
    rows, held, held_proba = data.train, data.valid, fitted.proba_val
    if held is None or held_proba is None:
        out = None if paper else held_out(data)
        held, held_proba = (rows, proba) if out is None else (rows.take(out), proba[out])
        if out is not None:
            rows, proba = rows.take(~out), proba[~out]

    def on(part: Rows, values: F8) -> ModelOutputs:
        return ModelOutputs.of(values, part.y, Account.of(tree, data.costs, part.X, n_threads))

    return evolve(data, train=rows), held, ExpensiveModel(tree, on(rows, proba), on(held, held_proba))


def fit_default(given: GivenModel, data: TrainingData, n_threads: int) -> FittedModel:
    """Boost trees without prices; held-out rows choose their number."""
    trained, held = split_off(data)
    _, n_rounds = boost_without_prices(trained.train, data, n_threads, None if held is data.train else held)

    def fit(rows: Rows) -> tuple[StageTree, StageTree]:
        tree, _ = boost_without_prices(rows, data, n_threads, n_rounds=max(1, n_rounds))
        return tree, tree

    return given.fit_anew(data, fit)


def boost_without_prices(
    rows: Rows, data: TrainingData, n_threads: int, held: Rows | None = None, n_rounds: int = _PLAIN.n_estimators
) -> tuple[StageTree, int]:
    """Boost trees of 31 leaves without prices; they do not read copies of columns at higher prices.

    Return also the number of rounds: with held-out rows, that of the least loss on them.
    """
    loss, trees = loss_for(data.n_classes), evolve(_PLAIN, n_estimators=n_rounds, n_threads=n_threads)
    # No tree splits on a column without values.
    read = evolve(rows, X=np.where(dominated_duplicates(rows.X, data.prices), np.nan, rows.X))
    monitor = None if held is None else Monitor(held, loss, data.prices, 0.0, _PATIENCE, "loss")
    grow = tree_grower(rows, bin_rows(read, trees, data.categorical), trees)
    ensemble, best = boost_at_prices(rows, loss, trees, grow, NoPrices(), monitor=monitor)
    return ensemble.finish(data.feature_names, best), best
