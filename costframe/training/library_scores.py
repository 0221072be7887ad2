"""Scores that scikit-learn computes, by its own names, and influences of rows on them by leaving rows out."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from costframe.core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = ["LibraryScore", "library_names"]

BLOCKS = 50  # of rows, left out in turn
_NUMBERS = np.array([0.5, 1.25, 2.0, 3.5])  # labels of a regression, on which scores are tried


class _Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor whose rows are its predictions."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return p


class _Classes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose rows are its probabilities, float64 (n, K)."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)

    def predict(self, p: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(p.argmax(axis=1), np.int64)

    def predict_proba(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return p


@frozen(eq=False)
class LibraryScore:
    """A score of `sklearn.metrics.get_scorer_names()` that needs only labels and predictions; higher is better.

    Attributes
    ----------
    name : str
    scorer : scorer of scikit-learn
    of_classes : bool
        Whether labels are classes rather than numbers.
    """

    name: str
    scorer: Any
    of_classes: bool

    @staticmethod
    def named(name: object) -> LibraryScore | None:
        """Return scikit-learn's score of a name, None for other names.

        Raises
        ------
        ParameterError
            If the score compares clusterings, or is for several labels a row.
        """
        return _find(name) if isinstance(name, str) else None

    def __call__(
        self,
        y: NDArray[Any],
        p: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        _qid: ArrayLike | None = None,
    ) -> float:
        """Return the score; NaN if scikit-learn warns that it is undefined and gives NaN.

        Raises
        ------
        DataError
            If scikit-learn refuses the labels or predictions; the text is its own.
        ParameterError
            If there are weights, and the score takes none.
        """
        given = {} if weight is None else {"sample_weight": weight}
        if given and "sample_weight" not in inspect.signature(self.scorer._score_func).parameters:  # noqa: SLF001
            raise ParameterError(f"score: {self.name} takes no sample weights")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self._evaluate(y, p, given)
            except ValueError as error:
                raise DataError(f"score: {self.name} of {len(y)} rows: {_first_line(error)}") from error

    def _evaluate(self, y: NDArray[Any], p: NDArray[np.float64], given: dict[str, Any]) -> float:
        rows = self._rows(p)
        return float(self.scorer(_Classes(rows.shape[1]) if self.of_classes else _Numbers(), rows, y, **given))

    def _rows(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities of all classes, float64 (n, K), or numbers, (n,)."""
        p = np.asarray(p, np.float64)
        if not self.of_classes:
            return p
        return np.clip(p if p.ndim == 2 else np.column_stack([1 - p, p]), 0.0, 1.0)

    @property
    def best(self) -> float:
        """The score of perfect predictions, on a few made-up rows: usually 1 or 0; infinity if it has no bound."""
        for n_classes in (2, 3) if self.of_classes else (0,):
            if self.refusal(n_classes) is None:
                y, mistaken = _trial_rows(n_classes)
                score = round(self(y, np.eye(n_classes)[y] if self.of_classes else y), 12) + 0.0  # no minus zero
                return score if score >= self(y, mistaken) else np.inf  # a quotient by zero is no best value
        return np.inf

    def refusal(self, n_classes: int) -> str | None:
        """Return the reason why labels of `n_classes`, or numbers for 0, do not have this score, or None."""
        if self.of_classes != bool(n_classes):
            return f"for {'classes' if self.of_classes else 'numbers'}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self._evaluate(*_trial_rows(n_classes), {})
        except (ValueError, UserWarning) as error:
            return f"refused by it: {_first_line(error)}"
        return None

    def influence(
        self, y: NDArray[Any], p: NDArray[np.float64], weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the influence of each row on the score, by a jackknife that leaves out rows in turn: float64 (n,).

        Rows of equal labels and predictions have equal influences, and one of them is left out. If there are more kinds
        of rows than `BLOCKS`, it leaves out blocks of rows, with equal shares of the classes; the rows of a block share
        its influence so that their squares add up to its square.
        """
        w, moved = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64), np.zeros(len(p))
        rows = np.flatnonzero(w > 0)
        y, p, w = np.asarray(y)[rows], np.asarray(p, np.float64)[rows], w[rows]

        def score(kept: NDArray[Any]) -> float:
            return self(y[kept], p[kept], None if weight is None else w[kept])

        whole = score(np.ones(len(rows), np.bool_))
        for alike, left_out in self._parts(y, p):
            kept = np.ones(len(rows), np.bool_)
            kept[left_out] = False
            try:
                lost = whole - score(kept)
            except DataError:  # a class has no other row
                continue
            moved[rows[alike]] = lost * w[kept].sum() / w.sum() * w[alike] / np.linalg.norm(w[left_out])
        return moved

    def _parts(self, y: NDArray[Any], p: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield rows with the same influence, and those of them to leave out."""
        shown = self._rows(p)
        if self.of_classes and self.scorer._response_method == "predict":  # noqa: SLF001
            shown = shown.argmax(axis=1)
        kind = np.unique(np.column_stack([y, shown]), axis=0, return_inverse=True)[1].ravel()
        if kind.max(initial=-1) < BLOCKS:
            for alike in (np.flatnonzero(kind == one) for one in range(kind.max(initial=-1) + 1)):
                yield alike, alike[:1]
            return
        order = np.argsort(y, kind="stable")
        for block in (order[first::BLOCKS] for first in range(BLOCKS)):
            yield block, block


@functools.cache
def _find(name: str) -> LibraryScore | None:
    if name not in library_names():
        return None
    from sklearn.metrics import get_scorer

    scorer = get_scorer(name)
    module = scorer._score_func.__module__  # noqa: SLF001
    if ".cluster" in module:
        raise ParameterError(f"score: {name!r} compares clusterings, not predictions with labels")
    if name.endswith("_samples"):
        raise ParameterError(f"score: {name!r} is for rows with several labels each")
    return LibraryScore(name, scorer, "_regression" not in module)


def library_names() -> list[str]:
    """Return the names of scikit-learn's scores."""
    from sklearn.metrics import get_scorer_names

    return list(get_scorer_names())


def _trial_rows(n_classes: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return a few labels, classes or numbers, and predictions with mistakes."""
    if not n_classes:
        return _NUMBERS, _NUMBERS[[1, 1, 2, 3]]
    y = np.tile(np.arange(n_classes), 3)
    guess = np.where(np.arange(len(y)) < n_classes, (y + 1) % n_classes, y)
    return y, 0.5 * np.eye(n_classes)[guess] + 0.5 / n_classes


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
