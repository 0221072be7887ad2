"""What columns tell of the target of some rows: by their values, and by marks such as a missing value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy.special import ndtr

from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import shown

_FEWEST = 10  # rows of each class, or with and without a value
_BINS, _ROWS_OF_BIN = 64, 20
_FOLDS = 5
_TELLS = 0.99  # AUC or R2, less two standard errors, from which a column nearly tells the target
MISSING = "missing"  # what the mark of a missing value is
_BESIDE = 0.05  # AUC above a half from which a mark tells something of the target


@frozen
class Mark:
    """What a column's mark, such as whether its value is missing, tells of the target."""

    what: str  # "missing", or a value that may stand for that
    auc: float  # of the mark for the target, or of the target for the mark, from a half on
    chance: float  # of as much without any relation
    words: str = field(eq=False)


@frozen(eq=False)
class Target:
    """The target of some rows, codes of K classes or, with K = 0, numbers."""

    y: F8  # (n,)
    sizes: I8  # (K,): rows of each class
    classes: tuple[Any, ...]  # (K,): their labels
    distinct: NDArray[Any]  # (k,): its values, ascending
    codes: I8  # (n,): their places
    ranks: F8  # (n,)
    fold: I8  # (n,)

    @classmethod
    def of(cls, y: F8 | I8, classes: Sequence[Any]) -> Target:
        """Make it of values, or of numbers of classes, (n,)."""
        n_classes = len(classes)
        values, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        sizes = np.bincount(y.astype(np.int64), minlength=n_classes)[:n_classes] if n_classes else counts[:0]
        fold = np.arange(len(y), dtype=np.int64) % _FOLDS
        return cls(y.astype(np.float64), sizes, tuple(classes), values, codes, _ranks(codes, counts), fold)

    def describe(self, x: F8, *, is_categorical: bool) -> str | None:
        """Return what a column, float64 (n,), tells, with * for its name; None if that is no leak."""
        if len(self.distinct) < 2 or len(x) < _FOLDS * _FEWEST or (self.sizes < _FEWEST).any():
            return None
        values, codes, counts = np.unique(x, return_inverse=True, return_counts=True)  # NaN is the last
        n_missing = int(counts[-1]) if np.isnan(values[-1]) else 0
        is_missing = (codes == len(values) - 1).astype(np.int64)
        if _FEWEST <= n_missing <= len(x) - _FEWEST and (score := self._score(is_missing)):
            return f"whether * is missing nearly tells the target ({score})"
        score = self._score(codes if is_categorical else _bins(codes, counts, n_missing))
        if not score and not is_categorical and not n_missing:
            score = self._score_in_order(codes, counts)
        if not score:
            return None
        return (
            "* is the target coded twice" if self._is_coded(codes, counts) else f"* nearly tells the target ({score})"
        )

    def find_mark(self, x: F8, *, is_categorical: bool) -> Mark | None:
        """Return what tells most: missing values of a column, float64 (n,), or one in their place; None if nothing."""
        missing = np.isnan(x)
        apart = [] if is_categorical else _values_apart(x[~missing])
        marks = [self.judge_mark(missing, MISSING), *(self.judge_mark(x == value, f"{value:g}") for value in apart)]
        return max((mark for mark in marks if mark is not None), key=lambda mark: mark.auc, default=None)

    def judge_mark(self, mark: B1, what: str) -> Mark | None:
        """Return what a mark, bool (n,), tells of the target; None if that is little, or on few rows."""
        if not _FEWEST <= (count := int(mark.sum())) <= len(mark) - _FEWEST or len(self.distinct) < 2:
            return None
        if len(self.sizes):
            return self._judge_by_class(mark, count, what)
        auc = _auc(np.arange(len(self.distinct)), np.bincount(self.codes, mark), np.bincount(self.codes, ~mark))
        z = (auc - 0.5) / np.sqrt((len(mark) + 1) / (12 * count * (len(mark) - count)))
        means = f"(its mean is {self.y[mark].mean():.4g} where so, else {self.y[~mark].mean():.4g})"
        return _mark(what, abs(auc - 0.5), float(z), f"tells the target {means}")

    def _judge_by_class(self, mark: B1, count: int, what: str) -> Mark | None:
        n, sizes = len(mark), self.sizes
        with_mark = np.bincount(self.codes[mark], minlength=len(sizes))
        shares = with_mark / count, (sizes - with_mark) / (n - count)
        inside, outside = with_mark / np.maximum(sizes, 1), (count - with_mark) / np.maximum(n - sizes, 1)
        even = np.maximum(sizes * (n - sizes), 1) / n**2
        z = (shares[0] - shares[1]) / np.sqrt(even * (1 / count + 1 / (n - count)))
        beside = np.maximum(np.abs(shares[0] - shares[1]), np.abs(inside - outside)) / 2
        beside[(sizes < _FEWEST) | (z == 0)] = 0
        k = int(beside.argmax()) if len(sizes) > 2 else 1
        words = (
            f"tells the target: {shares[0][k]:.1%} of such rows are {shown(self.classes[k])}, {shares[1][k]:.1%} of "
        )
        return _mark(what, float(beside[k]), float(z[k]) if beside[k] else 0.0, f"{words}the others", len(sizes))

    def association(self, x: F8, most: int) -> float:
        """Return how a column of at most `most` values goes with classes (Cramer's V), or any with numbers (ranks)."""
        if len(x) < _FOLDS * _FEWEST or (self.sizes < _FEWEST).any():
            return 0.0
        values, codes, counts = np.unique(x, return_inverse=True, return_counts=True)
        if np.isnan(values[-1]) or len(values) < 2 or len(self.distinct) < 2:
            return 0.0
        if not len(self.sizes):
            return abs(_correlation(_ranks(codes, counts), self.ranks))
        if len(values) > most:
            return 0.0
        k = len(self.sizes)
        table = np.bincount(codes * k + self.codes, minlength=len(values) * k).reshape(-1, k)
        expected = np.outer(counts, self.sizes) / len(x)
        chi = ((table - expected) ** 2 / np.maximum(expected, 1e-300)).sum()
        return float(np.sqrt(chi / len(x) / (min(table.shape) - 1)))

    def _is_coded(self, codes: I8, counts: I8) -> bool:
        """Return whether each value stands for one of the target, and the other way round."""
        k = len(self.distinct)
        if 2 * k > len(codes):  # as many as rows: any other column of as many values would do
            return _correlation(_ranks(codes, counts), self.ranks) ** 2 > 1 - 1e-12
        return len(counts) == k == len(np.unique(codes * k + self.codes))

    def _score(self, bins: I8) -> str | None:
        """Return the score of means by bin, out of fold, as a text; None if it does not nearly tell the target."""
        n, n_bins, n_classes = len(bins), int(bins.max()) + 1, len(self.sizes)

        def by_fold(weights: NDArray[Any] | None = None) -> NDArray[Any]:
            return np.bincount(self.fold * n_bins + bins, weights, _FOLDS * n_bins).reshape(_FOLDS, n_bins)

        count = by_fold()
        others = count.sum(axis=0) - count
        if not n_classes:
            sums = by_fold(self.y)
            mean = (sums.sum(axis=0) - sums + self.y.mean()) / (others + 1)
            errors = np.bincount(self.fold, (self.y - mean[self.fold, bins]) ** 2) / np.bincount(self.fold)
            return _as_text("R2", 1 - errors / self.y.var())
        scores = np.zeros(_FOLDS)
        asked = [1] if n_classes == 2 else range(n_classes)
        for k in asked:
            ones = by_fold(self.codes == k)
            share = (ones.sum(axis=0) - ones + self.sizes[k] / n) / (others + 1)
            by_part = [_auc(*parts) for parts in zip(share, ones, count - ones, strict=True)]
            scores += np.array(by_part) * (1.0 if n_classes == 2 else self.sizes[k] / n)
        return _as_text("AUC", scores)

    def _score_in_order(self, codes: I8, counts: I8) -> str | None:
        """Return the score of a column's order, as a text; None if it does not nearly tell the target."""
        if len(self.sizes) > 2:
            return None
        if not len(self.sizes):
            return _as_text("R2", np.array([_correlation(_ranks(codes, counts), self.ranks) ** 2]))
        ones = np.bincount(codes, self.codes == 1)
        auc = _auc(np.arange(len(counts)), ones, counts - ones)
        return _as_text("AUC", np.array([max(auc, 1 - auc)]))


def _as_text(what: str, scores: F8) -> str | None:
    mean, error = float(scores.mean()), float(scores.std() / np.sqrt(len(scores)))
    return f"{what} {mean:.3f} ±{error:.3f}" if mean - 2 * error >= _TELLS else None


def _mark(what: str, beside: float, z: float, words: str, tried: int = 1) -> Mark | None:
    """Make a mark of an AUC beside a half and a standardized difference; None if it tells little."""
    chance = float(2 * ndtr(-abs(z))) * tried
    return Mark(what, 0.5 + beside, chance, f"{words} (AUC {0.5 + beside:.2f})") if beside >= _BESIDE else None


def _values_apart(x: F8) -> list[float]:
    """Return the least and the largest value, where many rows have it and it looks like a mark of missing values.

    All others are far from it, as from -999, or none of them is below zero, as beside -1; or it is of nines alone, and
    more often than any of them, as 99 in a column of ages.
    """
    values, counts = np.unique(x, return_counts=True)
    if len(values) < 3 or not np.isfinite(values[[0, -1]]).all():
        return []
    apart = []
    for value, count, others, often in (
        (values[0], counts[0], values[1:], counts[1:]),
        (values[-1], counts[-1], values[:-1], counts[:-1]),
    ):
        is_far = np.abs(others - value).min() > np.ptp(others)
        is_below = value < 0 <= others.min()
        is_nines = set(f"{abs(value):.17g}") == {"9"} and abs(value) > 9 and count > often.max()
        if count >= _FEWEST and (is_far or is_below or is_nines):
            apart.append(float(value))
    return apart


def _bins(codes: I8, counts: I8, n_missing: int) -> I8:
    """Return bins of about as many rows each, int64 (n,), of places among values; missing ones are apart."""
    n = len(codes)
    most = int(np.clip(n // _ROWS_OF_BIN, 2, _BINS))
    if len(counts) <= most:
        return codes
    bins = (np.cumsum(counts) - 1) * most // n
    if n_missing:
        bins[-1] = most
    return np.asarray(bins[codes])


def _auc(score: NDArray[Any], ones: NDArray[Any], zeros: NDArray[Any]) -> float:
    """Return the area under the ROC curve of counted scores; half where a side is empty."""
    place = np.unique(score, return_inverse=True)[1]
    high, low = np.bincount(place, ones), np.bincount(place, zeros)
    pairs = high.sum() * low.sum()
    return float(high @ (np.cumsum(low) - low / 2) / pairs) if pairs else 0.5


def _ranks(codes: I8, counts: I8) -> F8:
    """Return the rank of each value, equal ones the same: float64 (n,)."""
    return np.asarray((np.cumsum(counts) - counts / 2)[codes])


def _correlation(x: F8, y: F8) -> float:
    a, b = x - x.mean(), y - y.mean()
    size = np.sqrt((a * a).sum() * (b * b).sum())  # sums of products of few numbers: threads of BLAS take longer
    return float((a * b).sum() / size) if size > 0 else 0.0
