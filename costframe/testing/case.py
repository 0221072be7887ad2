"""The laws that every algorithm keeps, and their cases: each kind of estimator of an algorithm, with a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import PluginError
from costframe.core.plugins.entries import TASKS
from costframe.core.plugins.estimators import two_classes_only
from costframe.core.plugins.registry import registry
from costframe.core.prices.costs import CostModel
from costframe.hooks import Algorithm

COSTS = CostModel.from_dict({
    "unit": "CAD",
    "features": {
        "free": 0.0,
        "cheap": 1.0,
        "noise": 1.5,
        "iron": {"cost": 0.5, "needs": ["blood"]},
        "sugar": {"cost": 0.25, "needs": ["blood"]},
        "scan": {"cost": 4.0, "needs": ["scanner"]},
    },
    "resources": {"blood": 2.0, "scanner": {"cost": 5.0, "needs": ["visit"]}, "visit": 1.0},
})  # fmt: skip
"""Prices of the table's features. The blood draw is shared; the scan needs a scanner, which needs a visit."""

QUICK = {"n_estimators": 20, "min_samples_leaf": 5, "random_state": 0}
"""Default settings of estimators that have them: a few learners are enough for every law."""
LAWS: dict[str, Law] = {}
KINDS = {
    "classifier-2": ("classification", 2),
    "classifier-3": ("classification", 3),
    "regressor": ("regression", 0),
    "ranker": ("ranking", 0),
}
"""Task and number of classes of each kind of estimator, by its name in expected failures and tests."""


@frozen(eq=False)
class Table:
    """Rows, labels and queries for one kind of estimator, with fresh rows of the same distribution."""

    X: Any  # float64 (rows, d), or data frame; some values are NaN
    y: NDArray[Any]
    fresh: Any
    y_fresh: NDArray[Any]
    qid: I8 | None = None  # for rankers
    qid_fresh: I8 | None = None
    names: tuple[str, ...] = field(default=COSTS.names)

    def take(self, rows: NDArray[Any]) -> Table:
        """Return the table with these training rows."""
        return evolve(self, X=self.X[rows], y=self.y[rows], qid=None if self.qid is None else self.qid[rows])

    def with_columns(self, **columns: F8) -> Table:
        """Append training columns, which are missing in fresh rows."""
        added = np.stack(list(columns.values()), axis=1)
        missing = np.full((len(self.fresh), added.shape[1]), np.nan)
        return evolve(
            self, X=np.hstack([self.X, added]), fresh=np.hstack([self.fresh, missing]), names=(*self.names, *columns)
        )


def make_table(task: str, n_classes: int = 0) -> Table:
    """Make 160 training rows and 80 fresh ones for a task; `n_classes` is for classification."""
    rng = np.random.default_rng(0)
    n_train, n = 160, 240
    body, mind = rng.standard_normal((2, n))
    signal = body + 0.6 * mind
    X = np.stack([
        0.4 * signal + rng.standard_normal(n),          # free
        signal + 0.8 * rng.standard_normal(n),          # cheap
        rng.standard_normal(n),                         # noise
        body + 0.5 * rng.standard_normal(n),            # iron
        mind + 0.5 * rng.standard_normal(n),            # sugar
        signal + 0.1 * rng.standard_normal(n),          # scan
    ], axis=1)  # fmt: skip
    X[rng.random(X.shape) < 0.06] = np.nan
    y, qid = _labels(task, n_classes, signal + 0.1 * rng.standard_normal(n)), None
    if task == "ranking":
        qid = np.arange(n) // 10
    cut = slice(None, n_train), slice(n_train, None)
    queries = (None, None) if qid is None else (qid[cut[0]], qid[cut[1]])
    return Table(X[cut[0]], y[cut[0]], X[cut[1]], y[cut[1]], *queries)


def _labels(task: str, n_classes: int, signal: F8) -> NDArray[Any]:
    if task == "regression":
        return signal
    levels = n_classes if task == "classification" else 4
    edges = np.quantile(signal, np.arange(1, levels) / levels)
    codes = np.digitize(signal, edges)
    return codes if task == "classification" else codes.astype(np.float64)


@frozen
class Law:
    """A law.

    Attributes
    ----------
    name : str
    protects : str
        What a user loses where it is broken.
    check : callable
        Raises where it is broken.
    compares_fits : bool
        Whether it compares two fits, which algorithms that draw at random cannot promise.
    """

    name: str
    protects: str
    check: Callable[[Case], None]
    compares_fits: bool = False


def law(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Make a function a law; its docstring says what the law protects."""
    name, text = check.__name__, check.__doc__
    if name in LAWS or not text:
        raise ValueError(f"law {name!r}: expected a new name and a docstring")
    LAWS[name] = Law(name, text.strip().partition("\n")[0], check)
    return check


def law_of_fits(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Make a function a law that compares two fits."""
    law(check)
    LAWS[check.__name__] = evolve(LAWS[check.__name__], compares_fits=True)
    return check


@define(eq=False)
class Case:
    """One kind of estimator of one algorithm; `settings` are constructor parameters for every law."""

    algorithm: Algorithm
    title: str
    settings: Mapping[str, Any]
    task: str = field(init=False)
    n_classes: int = field(init=False)
    table: Table = field(init=False)
    _fitted: dict[float, Any] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.task, self.n_classes = KINDS[self.title]
        self.table = make_table(self.task, self.n_classes)

    @property
    def estimator_class(self) -> Any:
        """The algorithm's class for the task."""
        return getattr(self.algorithm, TASKS[self.task])

    @property
    def draws(self) -> bool:
        """Whether the estimator says by scikit-learn's tag `non_deterministic` that two fits may differ."""
        return bool(self.make().__sklearn_tags__().non_deterministic)

    @property
    def is_classifier(self) -> bool:
        """Whether the estimator is a classifier."""
        return self.task == "classification"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Constructor parameters."""
        return tuple(self.estimator_class().get_params())

    def make(self, costs: object = COSTS, tradeoff: float = 0.01, **parameters: Any) -> Any:
        """Make an unfitted estimator with small settings."""
        quick = {name: value for name, value in QUICK.items() if name in self.parameters}
        return self.estimator_class(**{"costs": costs, "tradeoff": tradeoff} | quick | dict(self.settings) | parameters)

    def fit(self, costs: object = COSTS, tradeoff: float = 0.01, **parameters: Any) -> Any:
        """Make an estimator and fit it to the table."""
        return fit(self.make(costs, tradeoff, **parameters), self.table)

    def fitted(self, tradeoff: float = 0.01) -> Any:
        """Return the estimator fitted to the table at its own prices; all laws share it, so do not change it."""
        if tradeoff not in self._fitted:
            self._fitted[tradeoff] = self.fit(tradeoff=tradeoff)
        return self._fitted[tradeoff]

    def scores(self, estimator: Any, X: Any = None) -> F8:
        """Return scores of fresh rows (or X), to compare two fits."""
        return np.asarray(estimator.predictor_.decision_function(self.table.fresh if X is None else X))


def fit(estimator: Any, table: Table, sample_weight: F8 | None = None, **more: Any) -> Any:
    """Fit an estimator to a table."""
    queries = {} if table.qid is None else {"qid": table.qid}
    return estimator.fit(table.X, table.y, sample_weight, **(queries | more))


def cases(algorithm: Algorithm | str, settings: Mapping[str, Any] | None = None) -> list[Case]:
    """List the cases of an algorithm, or of its name: the kinds of estimators it has."""
    entry, reasons = _find_algorithm(algorithm), not_for(algorithm)
    has = [kind for kind, (task, _) in KINDS.items() if getattr(entry, TASKS[task]) is not None]
    return [Case(entry, kind, settings or {}) for kind in has if kind not in reasons]


def not_for(algorithm: Algorithm | str) -> dict[str, str]:
    """Return the reasons for kinds that an algorithm has estimators for, but that are not checked."""
    classifier = _find_algorithm(algorithm).classifier
    if classifier is None or not two_classes_only(classifier):
        return {}
    reason = f"{classifier.__name__} is for two classes, as its tag classifier_tags.multi_class says"
    return {kind: reason for kind, (_, n_classes) in KINDS.items() if n_classes > 2}


def _find_algorithm(algorithm: Algorithm | str) -> Algorithm:
    entry = registry().algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    if not isinstance(entry, Algorithm):
        raise PluginError(f"algorithm: expected an Algorithm or its name, got {type(entry).__name__}")
    return entry


def expect(truth: object, otherwise: str) -> None:
    """Raise an AssertionError with the text `otherwise` unless `truth`, also with Python's assertions off."""
    if not truth:
        raise AssertionError(otherwise)


def expect_likeliest(estimator: Any, rows: Any, **limits: Any) -> None:
    """Expect that a classifier predicts the class with the largest probability."""
    likeliest = estimator.classes_[estimator.predict_proba(rows, **limits).argmax(axis=1)]
    same = np.array_equal(likeliest, estimator.predict(rows, **limits))
    expect(same, f"predict is not the likeliest class {limits or ''}".rstrip())


def same_bits(a: object, b: object) -> bool:
    """Return whether two arrays are equal, NaN included."""
    return np.array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64), equal_nan=True)


def priced(**changes: Any) -> CostModel:
    """Return the table's prices with changed entries of `from_dict`; features and resources are merged."""
    table = COSTS.to_dict()
    for key, value in changes.items():
        table[key] = {**table.get(key, {}), **value} if isinstance(value, dict) else value
    return CostModel.from_dict(table)
