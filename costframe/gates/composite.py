"""A gate and a cheap model before an expensive model, and rows held out of its training.

The composite is a stage tree, which can be the expensive model of another gate. A row pays once for a feature that
several of the models read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.accounts import Account
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route, apply_link, squeeze
from costframe.gates.gate_curve import BOTH, CHEAP, EXPENSIVE, ModelOutputs
from costframe.training.duplicates import dominated_duplicates
from costframe.training.sampling import held_out, split_off
from costframe.trees.boosting.boost import boost_at_prices
from costframe.trees.boosting.grower import bin_rows, tree_grower
from costframe.trees.boosting.losses import LogisticLoss, SoftmaxLoss, loss_for
from costframe.trees.boosting.monitor import Monitor
from costframe.trees.growing.prices import NoPrices
from costframe.trees.settings import TreeSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.adoption.given.fitted_model import FittedModel, GivenModel
    from costframe.core.prices.costs import CostModel
    from costframe.core.stages.stages import Stage
    from costframe.gates.gate_curve import GateCurve, OperatingPoint
    from costframe.training.data import Rows, TrainingData

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
    cheap: NDArray[np.float64]
    cheap_intercept: NDArray[np.float64]
    gate: NDArray[np.float64]
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

    def gate_tree(self, some: NDArray[np.bool_] | None = None) -> StageTree:
        """Return a model that answers with the gate's score, or with the part of it from some learners."""
        used = np.flatnonzero(self.gate != 0 if some is None else some)
        return StageTree(
            self.bank.restrict(used), (Answer(np.arange(len(used)), self.gate[used], self.gate_intercept),)
        )

    def accounts(self, costs: CostModel, X: NDArray[np.float64], n_jobs: int | None = None) -> tuple[Account, Account]:
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

    cheap: NDArray[np.float64]
    gate: NDArray[np.float64]

    @classmethod
    def without_gate(cls, cheap: NDArray[np.float64]) -> Scores:
        """Join scores of a cheap model, (n,) or (n, K), with gate scores of zero."""
        return cls(cheap if cheap.ndim == 2 else cheap[:, np.newaxis], np.zeros(len(cheap)))


@frozen(eq=False)
class Predictions:
    """Held-out rows, with a model's probabilities."""

    rows: Rows
    predictions: NDArray[np.float64]


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


def mix_predictions(
    cheap: NDArray[np.float64], expensive: NDArray[np.float64], goes_on: NDArray[np.bool_]
) -> NDArray[np.float64]:
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
    scores: Scores,
    going: NDArray[np.bool_],
    rows: Rows,
    expensive: ModelOutputs,
    accounts: tuple[Account, Account],
    kind: str,
) -> ModelOutputs:
    cheap, gate = accounts
    account = expensive.account.where(going, cheap)
    proba = mix_predictions(scores.cheap, expensive.proba, going)
    return ModelOutputs.of(proba, rows.y, account if kind != BOTH else account | gate)


def cheap_losses(scores: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
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

    def on(part: Rows, values: NDArray[np.float64]) -> ModelOutputs:
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
