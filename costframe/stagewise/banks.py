"""A bank's outputs on rows with losses; banks found or trained, and the weights of their ensembles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_softmax, softmax

from costframe.adoption.names import of_columns
from costframe.core.arrays import B1, F8, I8
from costframe.core.checks import check_choice
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.outputs import BankOutputs
from costframe.core.learners.tree_table import TREE
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.sums import AccurateSums, exact_sum, product, sum_over_rows, sum_products
from costframe.core.tables.categorical import find_categorical
from costframe.core.tables.frames import column_names
from costframe.core.tables.rows import as_feature_names, as_rows, check_target, check_weights
from costframe.training.data import Rows, TrainingData
from costframe.training.dominated import dominated_duplicates
from costframe.trees.banks import USUAL, boost_trees, train_priced_bank
from costframe.trees.losses import SoftmaxLoss, loss_for
from costframe.trees.scaling import check_sizes

_MOST = 1 << 26  # numbers held as a matrix: half a GiB
_BLOCK = 1 << 15  # rows
LEAST = 0.01  # least curvature, for rows with sure answers: steps would else move their scores far


def targets_of(y: NDArray[Any], n_classes: int) -> F8:
    """Turn labels into targets, float64 (n, M): numbers, -1 and 1 for two classes, or one 0/1 column per class."""
    if n_classes > 2:
        return np.asarray(np.eye(n_classes)[y])
    return np.asarray(2.0 * y - 1.0 if n_classes else y, np.float64)[:, np.newaxis]


def as_counts(weight: F8) -> F8:
    """Scale weights up to a mean of one, if it is less: sums of weights then count rows."""
    factor: float = max(1.0, len(weight) / exact_sum(weight))
    return weight * factor


@frozen(eq=False)
class BankRows:
    """n rows, and C outputs of a bank on them.

    Attributes
    ----------
    outputs : BankOutputs
    target : float64 (n, M)
    weight : float64 (n,)
    loss_weight : float64 (n,)
        Weights in means of loss; they sum to one.
    matrix : float64 (n, C), optional
        The outputs as a dense matrix.
    """

    outputs: BankOutputs
    target: F8
    weight: F8
    loss_weight: F8
    matrix: F8 | None = None

    @cached_property
    def share(self) -> F8:
        """Weights in means of cost; they sum to one: float64 (n,)."""
        return np.asarray(self.weight / exact_sum(self.weight))

    def columns(self, used: I8) -> BankRows:
        """Keep few outputs, as a dense matrix if it fits, for many products."""
        part = self.outputs.columns(used)
        n_rows = len(self.target)
        fits = n_rows * len(used) <= _MOST
        return evolve(self, outputs=part, matrix=part.block(slice(0, n_rows)) if fits else None)

    def take(self, chosen: B1) -> BankRows:
        """Keep some rows, bool (n,)."""
        some = self.loss_weight[chosen]
        kept = self.outputs.rows(chosen), self.target[chosen], self.weight[chosen]
        return BankRows(*kept, some / exact_sum(some))

    def times(self, weights: F8) -> F8:
        """Return H B: float64 (n, M) for weights (C, M)."""
        return self.outputs.times(weights) if self.matrix is None else product(self.matrix, weights)

    def rmatvec(self, values: F8) -> F8:
        """Return H' V: float64 (C, M) for values (n, M)."""
        return self.outputs.rmatvec(values) if self.matrix is None else sum_products(self.matrix, values)

    @cached_property
    def variance(self) -> F8:
        """The variance of each output, by loss weights: float64 (C,)."""
        mean = self.outputs.mean(self.loss_weight)
        centered, sums = self.outputs.centered(mean), AccurateSums(self.outputs.shape[1], 1)
        for begin in range(0, len(self.target), _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, len(self.target)))
            sums.add(np.square(centered.block(rows)), self.loss_weight[rows, np.newaxis])
        return sums.total()[:, 0]

    def scores(self, weights: F8, intercept: F8) -> F8:
        """Return H B + b: float64 (n, M) for weights (C, M) and constants (M,); read only outputs with a weight."""
        if self.matrix is not None:
            return self.times(weights) + intercept
        used = np.flatnonzero(weights.any(axis=1))
        return self.outputs.columns(used).times(weights[used]) + intercept


class Loss(Protocol):
    """The loss of one row as a function of its scores."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0: float64 (n,)."""


@frozen
class Squared:
    """1/2 |y - s|^2."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(0.5 * np.square(target - scores).sum(axis=1))

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""
        return scores - target

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        return np.ones(len(scores))


@frozen
class Logistic:
    """log(1 + exp(-y s)), for targets -1 and 1."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, 1) for targets (n, 1): float64 (n,)."""
        return np.asarray(np.logaddexp(0.0, -target * scores)[:, 0])

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, 1)."""
        return np.asarray(-target * expit(-target * scores))

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0: float64 (n,)."""
        chance = expit(scores[:, 0])
        return np.asarray(np.maximum(chance * (1.0 - chance), LEAST))


@frozen
class Softmax:
    """Minus the logarithm of the probability of the class, for targets of one 0/1 column per class."""

    def value(self, scores: F8, target: F8) -> F8:
        """Return the loss of scores (n, M) for targets (n, M): float64 (n,)."""
        return np.asarray(-(target * log_softmax(scores, axis=1)).sum(axis=1))

    def slope(self, scores: F8, target: F8) -> F8:
        """Differentiate it by the scores: float64 (n, M)."""
        return np.asarray(softmax(scores, axis=1) - target)

    def curvature(self, scores: F8) -> F8:
        """Return about the second derivative by a score, > 0, the mean over directions: float64 (n,)."""
        chance = softmax(scores, axis=1)
        return np.asarray(np.maximum((1.0 - np.square(chance).sum(axis=1)) / (scores.shape[1] - 1), LEAST))


LOSSES = ("squared", "logistic", "softmax")


def train_bank(
    X: Any,
    y: ArrayLike,
    *,
    loss: str = "squared",
    n_estimators: int = 100,
    learning_rate: float = 0.1,
    max_depth: int = 4,
    min_samples_leaf: int = 1,
    l2_regularization: float = 1.0,
    max_bins: int = 255,
    max_features: float = 1.0,
    sample_weight: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    categorical_features: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> WeakLearnerBank:
    """Boost trees and return them as a bank; outputs include the learning rate, the bank has no constants.

    Parameters
    ----------
    X : float64 (n, d), or data frame
    y : (n,)
        Numbers; for "logistic" (K = 2) and "softmax" (one tree per class and round) class codes 0..K-1, which must all
        occur.
    loss : {"squared", "logistic", "softmax"}
    n_estimators : int
        Rounds.
    learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins
        As everywhere.
    max_features : float
        Share of the columns drawn for each tree, in (0, 1].
    sample_weight : float64 (n,), optional
    feature_names : sequence of str, optional
        Names of an array's columns, x0, x1, ... by default.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns to split by categories, as of `MiserClassifier`; by default a data frame's texts and category dtypes.

    Raises
    ------
    CostframeError
        A ValueError that names the wrong argument.
    """
    check_choice("loss", loss, LOSSES)
    settings = USUAL.replaced(
        n_estimators=n_estimators,
        learning_rate=learning_rate,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        l2_regularization=l2_regularization,
        max_bins=max_bins,
        max_features=max_features,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    own = column_names(X) or tuple(f"x{f}" for f in range(np.shape(X)[1] if np.ndim(X) == 2 else 0))
    names = own if feature_names is None else as_feature_names(feature_names)
    columns = find_categorical(categorical_features, X, names)
    rows = _read_rows(as_rows(X, names, columns.categories), y, sample_weight, loss)
    columns.check(rows.X, "X")
    softmax = loss == "softmax"
    n_classes = int(rows.y.max()) + 1 if softmax else 0
    minimized = SoftmaxLoss(n_classes) if softmax else loss_for(0 if loss == "squared" else 2)
    trees = boost_trees(rows, settings, minimized, categorical=columns.chosen)
    return evolve(WeakLearnerBank.from_trees(trees, names), categories=columns.categories)


def _read_rows(values: F8, y: ArrayLike, sample_weight: ArrayLike | None, loss: str) -> Rows:
    if not values.size:
        raise DataError(f"X: must be a table with at least one row and one column, got shape {values.shape}")
    weight = check_weights(sample_weight, len(values), "sample_weight")
    target = check_target(y, len(values), "y")
    keep = weight > 0
    rows = Rows(values[keep], _labels(target[keep], loss), weight[keep])
    check_sizes(rows)
    return rows


def _labels(y: F8, loss: str) -> NDArray[Any]:
    """Return numbers as they are, class codes as int64."""
    if loss == "squared":
        return y
    present = np.unique(y)
    if len(present) < 2:
        raise DataError(f"y: expected at least two classes, got one: {present[0]:g}")
    n_classes = 2 if loss == "logistic" else len(present)
    if not np.array_equal(present, np.arange(n_classes)):
        expected = (
            "0 and 1" if loss == "logistic" else f"the class codes 0 to {n_classes - 1}, one for each of its values,"
        )
        raise DataError(
            f"y: expected {expected} for loss={loss!r}, got {', '.join(f'{code:g}' for code in present[:6])}"
        )
    return y.astype(np.int64)


TRAINED = (None, "boosted")
ENGINES = ("priced", "cart")
_LARGEST = 1e75  # largest size of an output, as of a label


def find_bank(bank: Any, data: TrainingData, settings: Mapping[str, Any], tradeoff: float = 0.0) -> WeakLearnerBank:
    """Return the bank that a parameter `bank` names, over the columns of the data.

    Parameters
    ----------
    bank : None, "boosted", "columns", WeakLearnerBank, StageTree or fitted estimator
    data : TrainingData
    settings : mapping
        Of training a bank; for a given bank all but `random_state` must be None.
    tradeoff : float
        Price of trees in units of loss, for the engine "priced".

    Raises
    ------
    CostframeError
        If it names no bank, its learners read features that the data do not have, or settings would have no effect.
    """
    named = isinstance(bank, str)
    if bank is None or (named and bank in TRAINED):
        return _trained(data, settings, tradeoff)
    for name, value in settings.items():
        if value is not None and name != "random_state":
            raise ParameterError(f"{name}: has no effect, it is for a bank trained inside, and bank is {_shown(bank)}")
    if named and bank == "columns":
        if data.categorical is not None:
            name = data.feature_names[int(data.categorical.argmax())]
            raise ParameterError(f"bank: 'columns' are numbers, and column {name!r} has categories; use 'boosted'")
        return _columns(data)
    found = _model(bank)
    found = found.bank if isinstance(found, StageTree) else found
    if not isinstance(found, WeakLearnerBank):
        raise ParameterError(
            "bank: expected 'boosted', 'columns', a WeakLearnerBank, a StageTree as of cf.adopt, or a fitted estimator "
            f"of costframe, got {_shown(bank)}"
        )
    if not len(found):
        raise ParameterError("bank: expected at least one learner, it has none")
    for name, labels in found.categories.items():
        if data.categories.get(name, labels) != labels:
            raise DataError(f"bank: has other labels of {name!r} than X; give X with those of the bank")
    return of_columns(found, data.feature_names)


def _model(bank: Any) -> Any:
    return bank if isinstance(bank, WeakLearnerBank | StageTree) else getattr(bank, "predictor_", None)


def outputs_on(bank: WeakLearnerBank, X: F8, n_jobs: int | None) -> BankOutputs:
    """Evaluate a bank on rows, for fits of weights.

    Raises
    ------
    DataError
        If a learner gives infinity or NaN, or numbers too large to be squared and added up.
    """
    outputs = BankOutputs.of(bank, X, n_jobs)
    wrong = ~np.asarray((np.abs(outputs.dense) <= _LARGEST).all(axis=0))
    if wrong.any():
        others = np.flatnonzero(np.repeat(bank.kind, bank.widths) != TREE)
        learner = int(np.repeat(np.arange(len(bank)), bank.widths)[others[wrong.argmax()]])
        features = bank.F.tocsc()[:, [learner]].indices
        raise DataError(
            f"X: expected finite outputs of learner {learner}, which reads "
            f"{', '.join(bank.feature_names[f] for f in features)}, got NaN, infinity, or more than {_LARGEST:g}; "
            "trees take such values"
        )
    return outputs


def ensemble_weights(given: Any, bank: WeakLearnerBank) -> F8 | None:
    """Return the weights of a bank's outputs in its model, float64 (C,): for one answer of one score, or boosted trees.

    Return None for other models, and for a bank without learners.

    Parameters
    ----------
    given : object
        The value of the parameter `bank`.
    bank : WeakLearnerBank
        The result of `find_bank`.
    """
    model = _model(given)
    if not len(bank):
        return None
    if isinstance(model, StageTree):
        answer = model.stages[0]
        if len(model.stages) > 1 or not isinstance(answer, Answer) or len(answer.intercept) > 1:
            return None
        answer = answer.divided()
        if answer.blends:
            return None
        found = np.zeros(int(bank.widths.sum()))
        owner = np.repeat(np.arange(len(bank)), bank.widths)
        found[np.isin(owner, answer.learners)] = answer.weights[:, 0]
        return found
    return np.ones(len(bank)) if (bank.kind == TREE).all() and (bank.widths == 1).all() else None


def default_max_features(n_features: int) -> float:
    """Return the default share of columns for each tree: a tenth, but at least three of six or more.

    If trees read all columns, there are no cheap learners to choose.
    """
    return max(-(-n_features // 10), min(3, n_features // 2), 1) / n_features


def _trained(data: TrainingData, settings: Mapping[str, Any], tradeoff: float) -> WeakLearnerBank:
    """Boost trees on columns sorted by name, so that random draws do not depend on the order of columns."""
    chosen = {name: value for name, value in settings.items() if value is not None}
    engine = check_choice("engine", chosen.pop("engine", "priced"), ENGINES)
    rows, dominated = data.train, dominated_duplicates(data.train.X, data.prices)
    order = sorted(range(len(data.feature_names)), key=data.feature_names.__getitem__)
    names = [data.feature_names[f] for f in order]
    X = rows.X[:, order]
    X[:, dominated[order]] = np.nan  # no tree splits on a column without values
    categorical = None if data.categorical is None else data.categorical[order]
    if engine == "priced":
        prices = data.costs.select(names)
        bank = train_priced_bank(evolve(rows, X=X), prices, data.n_classes, tradeoff, categorical=categorical, **chosen)
    else:
        signs = {2: 2.0 * rows.y - 1.0}
        chosen = {"max_features": default_max_features(len(names))} | chosen
        bank = train_bank(
            X,
            signs.get(data.n_classes, rows.y),
            loss="softmax" if data.n_classes > 2 else "squared",
            sample_weight=rows.weight,
            feature_names=names,
            categorical_features=categorical,
            **chosen,
        )
    return bank.with_features(data.feature_names)


def _columns(data: TrainingData) -> WeakLearnerBank:
    """Return all columns as a bank, sorted by name; the mean replaces missing values."""
    rows = data.train
    there = np.isfinite(rows.X)
    total = sum_over_rows(there.astype(np.float64), rows.weight)
    sums = sum_over_rows(np.where(there, rows.X, 0.0), rows.weight)
    fill = np.divide(sums, total, out=sums * 0, where=total > 0)
    dominated, names = dominated_duplicates(rows.X, data.prices), data.feature_names
    read = sorted(np.flatnonzero(~dominated).tolist(), key=names.__getitem__)
    return WeakLearnerBank.columns(names, read, fill=fill[read])


def _shown(bank: Any) -> str:
    return shown(bank) if isinstance(bank, str) else type(bank).__name__
