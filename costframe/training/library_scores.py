"""Scores that scikit-learn computes, by its own names or of a caller, and scores of rankings, means over queries."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from costframe.core.arrays import F8, I8
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
    alike = {name: one for name, one in _library().items() if getattr(one, "_score_func", None) is metric}
    if metric is not scoring:
        same = (name for name, one in alike.items() if _settings(one) == _settings(scoring))
        named = repr(scoring).replace(", response_method='predict'", "")
        return next(same, LibraryScore(named, scoring, of_classes=True, own=True))
    given = [one for one in _parameters(scoring).values() if one.kind <= one.POSITIONAL_OR_KEYWORD]
    needed = [one for one in given if one.default is one.empty]
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

    for known, one in alike.items():
        if not getattr(one, "_kwargs", True):
            return known
    if not alike and name.endswith(("_error", "_loss")):
        raise ParameterError(
            f"{parameter}: {name} seems to be lower where predictions are better; say so by "
            f"make_scorer({name}, greater_is_better=False)"
        )
    how = {name.removeprefix("_"): getattr(one, name) for one in alike.values() for name in ("_response_method",)}
    better = all(getattr(one, "_sign", 1) > 0 for one in alike.values())
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


_NAME = re.compile(r"(?:(ndcg)|(precision|average_precision))@([1-9][0-9]{0,17})(?(2)(?::([1-9][0-9]{0,2}))?)")


@frozen
class QueryScore:
    """A score of the first places of each query, 1 at best; the score of a ranking is its mean over queries.

    NDCG has gains 2^y - 1, and counts each document once. For the other scores a document is relevant if its grade is
    at least `least`, by default if it is above half of the largest grade: 1 of 0 and 1, or 3 and 4 of 0 to 4; and a
    document of weight w takes w places, as if given w times. Precision is the share of relevant documents on all k
    places, empty ones are misses. Average precision is the sum of the precisions at relevant documents up to place k,
    divided by the number of relevant documents, at most k. Documents with equal predictions share their places evenly,
    as in scikit-learn; for average precision, the precision at each of them is that of the last.
    """

    kind: str
    places: int  # k, 1 or more
    least: int | None = None  # least relevant grade

    @classmethod
    def named(cls, name: object) -> Self | None:
        """Return the score called "ndcg@k", "precision@k" or "average_precision@k"; ":g" sets the least relevant grade.

        None for other names.
        """
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            return None
        least = found[4]
        return cls(found[1] or found[2], int(found[3]), None if least is None else int(least))

    def __call__(self, y: NDArray[Any], p: F8, weight: F8 | None = None, qid: ArrayLike | None = None) -> float:
        """Return the mean over counted queries, see `by_query`; 0 if none counts. Some row must have grade `least`."""
        self.check_grades(y, "score")
        each = self.by_query(y, p, weight, _numbered(qid, len(p)))
        each = each[~np.isnan(each)]
        return float(each.mean()) if len(each) else 0.0

    def check_grades(self, y: NDArray[Any], where: str) -> None:
        """Refuse rows of which none has grade `least`; the error begins with `where`."""
        if self.least is not None and len(y) and (best := np.max(y)) < self.least:
            name = f"{self.kind}@{self.places}:{self.least}"
            raise DataError(f"{where}: no row is relevant for {name}, the highest grade is {best:g}")

    def influence(self, y: NDArray[Any], p: F8, weight: F8 | None, qid: ArrayLike | None) -> F8:
        """Return the influence of each query on the score, at its first row: float64 (n,)."""
        queries = _numbered(qid, len(p))
        each = self.by_query(y, p, weight, queries)
        counted, moved = ~np.isnan(each), np.zeros(len(p))
        if counted.any():
            first = np.unique(queries, return_index=True)[1]
            moved[first[counted]] = (each[counted] - each[counted].mean()) / counted.sum()
        return moved

    def by_query(self, y: NDArray[Any], p: F8, weight: F8 | None, queries: I8) -> F8:
        """Return the score of each query, numbered from 0: float64 (queries,).

        NaN for a query without a relevant row; NDCG also for a query of one row.
        """
        y, p = np.asarray(y, np.float64), np.asarray(p, np.float64)
        if not len(y):
            return np.empty(0)
        if self.kind == "ndcg":
            gain = 2.0**y - 1
            total = self._dcg(_Tied.of(queries, y, gain, None))
            counted = (np.bincount(queries) > 1) & (total > 0)
            found = self._dcg(_Tied.of(queries, p, gain, None))
        else:
            relevant = (y > y.max() / 2) if self.least is None else y >= self.least
            worth = np.where(relevant, 1.0 if weight is None else weight, 0.0)
            total = np.asarray(np.bincount(queries, worth), np.float64)
            counted, tied = total > 0, _Tied.of(queries, p, worth, weight)
            if self.kind == "precision":
                found, total = tied.worth_until(self.places), np.full(len(total), float(self.places))
            else:
                found, total = tied.precisions_until(self.places), np.minimum(total, self.places)
        return np.asarray(np.divide(found, total, out=np.full(len(total), np.nan), where=counted), np.float64)

    def _dcg(self, tied: _Tied) -> F8:
        places = min(self.places, int(tied.end.max()))
        discounts = np.append(0.0, np.cumsum(1 / np.log2(np.arange(2, places + 2))))
        first, last = (discounts[np.minimum(at, places).astype(np.int64)] for at in (tied.start, tied.end))
        return np.asarray(np.bincount(tied.query, tied.worth * (last - first) / (tied.end - tied.start)), np.float64)


@frozen(eq=False)
class _Tied:
    """Documents with equal predictions, together, in the order of queries and descending predictions; (m,) each.

    `worth` is the sum of their gains; in their query they take the places from `start` to `end`, numbers >= 0.
    """

    query: I8
    worth: F8
    start: F8
    end: F8

    @classmethod
    def of(cls, queries: I8, p: F8, worth: F8, weight: F8 | None) -> _Tied:
        order = np.lexsort((-p, queries))
        queries, p = queries[order], p[order]
        first = np.flatnonzero(np.append(True, (queries[1:] != queries[:-1]) | (p[1:] != p[:-1])))
        query = queries[first]
        size = np.diff(first, append=len(p)) if weight is None else np.add.reduceat(np.asarray(weight)[order], first)
        end = np.cumsum(size, dtype=np.float64)
        before = np.append(0.0, end)[np.searchsorted(query, query)]
        return cls(query, np.add.reduceat(worth[order], first), end - size - before, end - before)

    def worth_until(self, places: int) -> F8:
        """Return the gains of each query up to a place, which cuts ties in proportion: float64 (queries,)."""
        return np.asarray(np.bincount(self.query, self._parts(places)), np.float64)

    def precisions_until(self, places: int) -> F8:
        """Return the sum of precisions at each query's relevant documents up to a place: float64 (queries,)."""
        parts = self._parts(places)
        hits = np.cumsum(parts)
        hits -= np.append(0.0, hits)[np.searchsorted(self.query, self.query)]
        reached = np.minimum(self.end, places)
        return np.asarray(np.bincount(self.query, parts * hits / np.where(reached > 0, reached, 1.0)), np.float64)

    def _parts(self, places: int) -> F8:
        """Return the gains of tied documents that lie before a place: float64 (m,)."""
        size, taken = self.end - self.start, np.minimum(self.end, places) - np.minimum(self.start, places)
        return np.asarray(self.worth * np.divide(taken, size, out=np.zeros(len(size)), where=size > 0), np.float64)


def _numbered(qid: ArrayLike | None, n: int) -> I8:
    """Return the number of each row's query, from 0; all rows are one query without `qid`: int64 (n,)."""
    return np.zeros(n, np.int64) if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1]
