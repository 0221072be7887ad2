"""Scores that scikit-learn computes, by its own names or of a caller."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from costframe.core.arrays import F8
from costframe.core.errors import DataError, ParameterError, format_count, shown
from costframe.training.error_costs import ErrorCosts

_NUMBERS = np.array([0.5, 1.25, 2.0, 3.5])  # labels of a regression, on which scores are tried


@frozen(eq=False)
class _Predicted:
    """Rows of which only the predictions are known: a scorer can give them to the model, and count them."""

    p: F8

    def __len__(self) -> int:
        return len(self.p)


class _Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that knows its predictions."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: _Predicted) -> F8:
        return rows.p


class _Classes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that knows its probabilities, float64 (n, K)."""

    def __init__(self, labels: NDArray[Any]) -> None:
        self.classes_ = labels

    def predict(self, rows: _Predicted) -> NDArray[Any]:
        return np.asarray(self.classes_[rows.p.argmax(axis=1)])

    def predict_proba(self, rows: _Predicted) -> F8:
        return rows.p


@frozen(eq=False)
class LibraryScore:
    """A score of `sklearn.metrics.get_scorer_names()`, or a caller's own, of labels and predictions."""

    name: str  # a caller's own has one with parentheses
    scorer: Any  # of (estimator, X, y), as scorers of scikit-learn; or `ErrorCosts`, of which it is minus the mean
    of_classes: bool  # whether labels are classes rather than numbers
    # whether it is a caller's: such a one takes labels as they are, not their codes, so it needs `with_labels`
    own: bool = False
    labels: NDArray[Any] | None = None  # (K,)

    def __str__(self) -> str:
        return self.name

    def with_labels(self, labels: NDArray[Any] | None, X: Any = None) -> LibraryScore:
        """Return the score for codes of these class labels, or for numbers, and for rows X."""
        if isinstance(self.scorer, ErrorCosts):
            return evolve(self, scorer=self.scorer.bind(labels, X))
        return evolve(self, of_classes=labels is not None, labels=labels) if self.own else self

    @staticmethod
    def named(name: object) -> LibraryScore | None:
        """Return scikit-learn's score of a name, None for other names.

        A ParameterError refuses scores that compare clusterings, or are for several labels a row.
        """
        return _find(name) if isinstance(name, str) else None

    def __call__(self, y: NDArray[Any], p: F8, weight: F8 | None = None, _qid: ArrayLike | None = None) -> float:
        """Return the score; NaN if scikit-learn warns that it is undefined and gives NaN.

        A DataError has the text of scikit-learn, or of the caller's function, that refuses labels or predictions; a
        ParameterError refuses weights if the score takes none.
        """
        if isinstance(self.scorer, ErrorCosts):
            return -float(np.average(self.scorer.of_rows(y, p), weights=weight))
        if self.own and self.labels is None and np.asarray(y).dtype.kind in "iu":
            raise ParameterError(f"score: {self.name} takes labels, and these rows have only codes of classes")
        given = {} if weight is None else {"sample_weight": weight}
        if given and "sample_weight" not in _parameters(getattr(self.scorer, "_score_func", self.scorer)):
            raise ParameterError(f"score: {self.name} takes no sample weights")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self._evaluate(y, p, given)
            except MemoryError:
                raise
            except Exception as error:  # a caller's function may raise anything
                kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
                hint = "; scores get labels and predictions, no features" if kind and self.own else ""
                raise DataError(f"score: {self.name} of {len(y)} rows: {kind}{_first_line(error)}{hint}") from error

    def _evaluate(self, y: NDArray[Any], p: F8, given: dict[str, Any]) -> float:
        rows = self._rows(p)
        if self.of_classes:
            labels = np.arange(rows.shape[1]) if self.labels is None else self.labels
            value = self.scorer(_Classes(labels), _Predicted(rows), labels[np.asarray(y, np.int64)], **given)
        else:
            value = self.scorer(_Numbers(), _Predicted(rows), y, **given)
        if isinstance(value, str | bytes):
            raise TypeError(f"expected a number, got {shown(value)}")
        return float(value)

    def _rows(self, p: F8) -> F8:
        """Return probabilities of all classes, float64 (n, K), or numbers, (n,)."""
        p = np.asarray(p, np.float64)
        if not self.of_classes:
            return p
        return np.clip(p if p.ndim == 2 else np.column_stack([1 - p, p]), 0.0, 1.0)

    @property
    def best(self) -> float:
        """The score of perfect predictions, on a few made-up rows: usually 1 or 0; infinity without a known bound."""
        for n_classes in (2, 3) if self.of_classes else (0,):
            if self.refusal(n_classes) is None:
                y, mistaken = _trial_rows(n_classes)
                score = round(self(y, np.eye(n_classes)[y] if self.of_classes else y), 12) + 0.0  # no minus zero
                return score if score >= self(y, mistaken) else np.inf  # a quotient by zero is no best value
        return np.inf

    def refusal(self, n_classes: int) -> str | None:
        """Return the reason why labels of `n_classes`, or numbers for 0, do not have this score, or None."""
        if self.own:  # its labels are not made up
            return None
        if self.of_classes != bool(n_classes):
            return f"for {'classes' if self.of_classes else 'numbers'}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self._evaluate(*_trial_rows(n_classes), {})
        except (ValueError, UserWarning) as error:
            return f"refused by it: {_first_line(error)}"
        return None

    @property
    def labels_only(self) -> bool:
        """Whether only the likeliest classes count, not their probabilities."""
        return self.of_classes and getattr(self.scorer, "_response_method", None) == "predict"


@functools.cache
def _find(name: str) -> LibraryScore | None:
    if name not in library_names():
        return None
    from sklearn.metrics import get_scorer

    scorer = get_scorer(name)
    if (metric := getattr(scorer, "_score_func", None)) is None:
        raise ParameterError(f"score: {name!r}: this version of scikit-learn may keep its metric elsewhere")
    module = metric.__module__
    if ".cluster" in module:
        raise ParameterError(f"score: {name!r} compares clusterings, not predictions with labels")
    if name.endswith("_samples"):
        raise ParameterError(f"score: {name!r} is for rows with several labels each")
    return LibraryScore(name, scorer, "_regression" not in module)


def read_scorer(scoring: Any, parameter: str) -> str | LibraryScore:
    """Return the score that a caller gives as an object: its name, if scikit-learn has one, else the score itself.

    It may be a scorer of scikit-learn, a metric function of (y_true, y_pred), taken as `make_scorer` does, or a
    function of (estimator, X, y) that needs only predictions. The error begins with `parameter`.
    """
    expected = (
        f"{parameter}: expected the name of a score, a scorer of scikit-learn, or a function of (y_true, y_pred) or "
        "(estimator, X, y)"
    )
    if not callable(scoring) or isinstance(scoring, type):
        raise ParameterError(f"{expected}, got {shown(scoring)}")
    metric = getattr(scoring, "_score_func", scoring)
    alike = {name: scorer for name, scorer in _library().items() if getattr(scorer, "_score_func", None) is metric}
    if metric is not scoring:
        same = (name for name, scorer in alike.items() if _settings(scorer) == _settings(scoring))
        named = repr(scoring).replace(", response_method='predict'", "")
        return next(same, LibraryScore(named, scoring, of_classes=True, own=True))
    given = [
        parameter for parameter in _parameters(scoring).values() if parameter.kind <= parameter.POSITIONAL_OR_KEYWORD
    ]
    needed = [parameter for parameter in given if parameter.default is parameter.empty]
    name = getattr(getattr(scoring, "func", scoring), "__name__", type(scoring).__name__)
    if alike or len(needed) == 2:
        return _score_of_metric(scoring, name, alike, parameter)
    if len(needed) == 3:
        return LibraryScore(f"{name}(estimator, X, y)", scoring, of_classes=True, own=True)
    raise ParameterError(f"{expected}, got {name}, which needs {format_count(len(needed), 'argument')}")


def _score_of_metric(
    metric: Callable[..., Any], name: str, alike: Mapping[str, Any], parameter: str
) -> str | LibraryScore:
    """Return the score of a metric function; `alike` are scorers of scikit-learn with the same one."""
    from sklearn.metrics import make_scorer

    for known, scorer in alike.items():
        if not getattr(scorer, "_kwargs", True):
            return known
    if not alike and name.endswith(("_error", "_loss")):
        raise ParameterError(
            f"{parameter}: {name} seems to be lower where predictions are better; say so by "
            f"make_scorer({name}, greater_is_better=False)"
        )
    how = {name.removeprefix("_"): getattr(scorer, name) for scorer in alike.values() for name in ("_response_method",)}
    better = all(getattr(scorer, "_sign", 1) > 0 for scorer in alike.values())
    return read_scorer(make_scorer(metric, greater_is_better=better, **how), parameter)


def _settings(scorer: Any) -> tuple[str, ...]:
    return tuple(repr(getattr(scorer, name, None)) for name in ("_sign", "_kwargs", "_response_method"))


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some compiled ones have none
        return {}


@functools.cache
def _library() -> dict[str, Any]:
    """Return scikit-learn's scorers by name."""
    from sklearn.metrics import get_scorer

    return {name: get_scorer(name) for name in library_names()}


def library_names() -> list[str]:
    """Return the names of scikit-learn's scores."""
    from sklearn.metrics import get_scorer_names

    return list(get_scorer_names())


def _trial_rows(n_classes: int) -> tuple[NDArray[Any], F8]:
    """Return a few labels, classes or numbers, and predictions with mistakes."""
    if not n_classes:
        return _NUMBERS, _NUMBERS[[1, 1, 2, 3]]
    y = np.tile(np.arange(n_classes), 3)
    guess = np.where(np.arange(len(y)) < n_classes, (y + 1) % n_classes, y)
    return y, 0.5 * np.eye(n_classes)[guess] + 0.5 / n_classes


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
