"""Leaks of the answer into columns, and remarks on a table's columns.

A leak is a value that is written down after, or because of, what is to be predicted. A model that reads it looks
perfect, and costs nothing.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import format_count, shown
from costframe.datasets.dataset import PARTS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from costframe.datasets.dataset import Dataset

_BEGIN = "possible leak: "
_MOST_ROWS = 20_000  # drawn at random
_FEWEST = 10  # rows of each class, with and without a value, or of test that are in train too
_BINS, _ROWS_OF_BIN = 64, 20
_FOLDS = 5
_TELLS = 0.99  # AUC or R2, less two standard errors, from which a column nearly tells the target
_SHARE = 0.01  # of the rows of test that are in train too
_CHANCE = 0.001  # rows of train that independent columns would make equal to one of test
_VALUES = 100  # of a column that tells rows apart


class Leak(str):
    """A remark on a possible leak, and the feature that it is about; None if it is about rows."""

    __slots__ = ("feature",)
    feature: str | None

    @classmethod
    def of(cls, text: str, feature: str | None = None) -> Leak:
        """Make a remark of what leaks."""
        made = cls(f"{_BEGIN}{text}")
        made.feature = feature
        return made

    @property
    def what(self) -> str:
        """What leaks, without the words that say that it does."""
        return self.removeprefix(_BEGIN)


def find_leaks(data: Dataset) -> list[Leak]:
    """Return a remark on each possible leak: on columns, by the rows of train and valid, and on rows in two parts."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(data.split != "test"))[:_MOST_ROWS]
    target = _Target.of(data.codes(data.y[rows]), len(data.classes))
    notes = []
    for f, name in enumerate(data.feature_names):
        if said := target.describe(data.X[rows, f], is_categorical=name in data.categorical):
            ending = f"if it is not known before the target, --ignore {shlex.quote(name)} leaves it out"
            notes.append(Leak.of(f"{said.replace('*', shown(name), 1)}; {ending}", name))
    if share := _share_in_both(data, rng):
        notes.append(Leak.of(f"{share:.0%} of the rows of test are in train too, equal in all features"))
    return notes


@frozen(eq=False)
class _Target:
    """The target of some rows, codes of K classes or, with K = 0, numbers."""

    y: NDArray[np.float64]  # (n,)
    sizes: NDArray[np.int64]  # (K,): rows of each class
    distinct: NDArray[Any]  # (k,): its values, ascending
    codes: NDArray[np.int64]  # (n,): their places
    ranks: NDArray[np.float64]  # (n,)
    fold: NDArray[np.int64]  # (n,)

    @classmethod
    def of(cls, y: NDArray[np.float64] | NDArray[np.int64], n_classes: int) -> _Target:
        values, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        sizes = np.bincount(y.astype(np.int64), minlength=n_classes)[:n_classes] if n_classes else counts[:0]
        fold = np.arange(len(y), dtype=np.int64) % _FOLDS
        return cls(y.astype(np.float64), sizes, values, codes, _ranks(codes, counts), fold)

    def describe(self, x: NDArray[np.float64], *, is_categorical: bool) -> str | None:
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

    def _is_coded(self, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
        """Return whether each value stands for one of the target, and the other way round."""
        k = len(self.distinct)
        if 2 * k > len(codes):  # as many as rows: any other column of as many values would do
            return _correlation(_ranks(codes, counts), self.ranks) ** 2 > 1 - 1e-12
        return len(counts) == k == len(np.unique(codes * k + self.codes))

    def _score(self, bins: NDArray[np.int64]) -> str | None:
        """Return the score of means by bin, out of fold, as a text; None if it does not nearly tell the target."""
        n, n_bins, n_classes = len(bins), int(bins.max()) + 1, len(self.sizes)

        def by_fold(weights: NDArray[Any] | None = None) -> NDArray[Any]:
            return np.bincount(self.fold * n_bins + bins, weights, _FOLDS * n_bins).reshape(_FOLDS, n_bins)

        count = by_fold()
        others = count.sum(axis=0) - count
        if not n_classes:
            sums = by_fold(self.y)
            mean = (sums.sum(axis=0) - sums + self.y.mean()) / (others + 1)
            lost = np.bincount(self.fold, (self.y - mean[self.fold, bins]) ** 2) / np.bincount(self.fold)
            return _as_text("R2", 1 - lost / self.y.var())
        scores = np.zeros(_FOLDS)
        asked = [1] if n_classes == 2 else range(n_classes)
        for k in asked:
            ones = by_fold(self.codes == k)
            share = (ones.sum(axis=0) - ones + self.sizes[k] / n) / (others + 1)
            each = [_auc(*parts) for parts in zip(share, ones, count - ones, strict=True)]
            scores += np.array(each) * (1.0 if n_classes == 2 else self.sizes[k] / n)
        return _as_text("AUC", scores)

    def _score_in_order(self, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> str | None:
        """Return the score of a column's order, as a text; None if it does not nearly tell the target."""
        if len(self.sizes) > 2:
            return None
        if not len(self.sizes):
            return _as_text("R2", np.array([_correlation(_ranks(codes, counts), self.ranks) ** 2]))
        ones = np.bincount(codes, self.codes == 1)
        auc = _auc(np.arange(len(counts)), ones, counts - ones)
        return _as_text("AUC", np.array([max(auc, 1 - auc)]))


def _as_text(what: str, scores: NDArray[np.float64]) -> str | None:
    mean, error = float(scores.mean()), float(scores.std() / np.sqrt(len(scores)))
    return f"{what} {mean:.3f} ±{error:.3f}" if mean - 2 * error >= _TELLS else None


def _bins(codes: NDArray[np.int64], counts: NDArray[np.int64], n_missing: int) -> NDArray[np.int64]:
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


def _ranks(codes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the rank of each value, equal ones the same: float64 (n,)."""
    return np.asarray((np.cumsum(counts) - counts / 2)[codes])


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    a, b = one - one.mean(), other - other.mean()
    size = np.sqrt((a * a).sum() * (b * b).sum())  # sums of products of few numbers: threads of BLAS take longer
    return float((a * b).sum() / size) if size > 0 else 0.0


def _share_in_both(data: Dataset, rng: np.random.Generator) -> float:
    """Return the share of rows of test that are in train too; 0 where these are few, or features tell no rows apart."""
    train, test = (
        data.X[rng.permutation(np.flatnonzero(data.split == part))[:_MOST_ROWS]] + 0.0 for part in ("train", "test")
    )
    seen = {row.tobytes() for row in train}
    found = sum(row.tobytes() in seen for row in test)
    if found < max(_FEWEST, _SHARE * len(test)):
        return 0.0
    counts = [np.unique(column, return_counts=True)[1] for column in train.T]
    chance = len(train) * np.prod([((each / len(train)) ** 2).sum() for each in counts])
    tells = max(map(len, counts)) >= min(_VALUES, len(train) // 4)
    return found / len(test) if tells and chance < _CHANCE else 0.0


_FEW = {"train": 20, "valid": 10, "test": 10}  # rows of a class, queries, or rows with values
_LIKE_IDS = 20  # rows from which ascending whole numbers are hardly chance
_PAIRS = 10.0  # equal pairs that chance would make among as many whole numbers within the same limits
_ID_NAMES = {"id", "ids", "uid", "uuid", "guid", "key", "no", "nr", "number", "nummer", "index"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def describe_columns(X: NDArray[np.float64], names: Sequence[str], categorical: Collection[str]) -> list[str]:
    """Return remarks on the features, float64 (n, d), in the order of the file's rows."""
    notes = []
    for f in np.flatnonzero(np.isinf(X).any(axis=0)).tolist():
        count = format_count(int(np.isinf(X[:, f]).sum()), "infinite cell")
        notes.append(
            f"{shown(names[f])}: {count}, to trees beyond all numbers; models that are sums of columns refuse them"
        )
    numbers = [f for f, name in enumerate(names) if name not in categorical]
    notes += [
        Leak.of(
            f"{shown(names[f])} looks like an id, a whole number that differs in every row; "
            f"--ignore {shlex.quote(names[f])} leaves it out",
            names[f],
        )
        for f in numbers
        if is_like_id(X[:, f], names[f])
    ]
    return notes


def describe_few_rows(data: Dataset) -> str | None:
    """Return a remark on parts with few rows, few of a class, or few queries; None if all have enough."""
    few = [text for part in PARTS if (text := _describe_few(data, part))]
    return f"few rows: {', '.join(few)}; scores on so few say little" if few else None


def _describe_few(data: Dataset, part: str) -> str | None:
    rows, least = data.part(part), _FEW[part]
    if data.task == "classification":
        counts = {label: int((rows.y == label).sum()) for label in data.classes}
        label = min(counts, key=lambda one: counts[one])
        return f"{part} has {counts[label]} of class {shown(label)}" if counts[label] < least else None
    count = len(rows) if rows.qid is None else len(np.unique(rows.qid))
    noun = ("row", "rows") if rows.qid is None else ("query", "queries")
    return f"{part} has {format_count(count, *noun)}" if count < least else None


def is_like_id(column: NDArray[np.float64], name: str) -> bool:
    """Return whether a column, float64 (n,), holds whole numbers that all differ, and that are no measurements.

    They grow from row to row, or have the name of an id, or lie so close together that some measurements would be
    equal by chance.
    """
    n = len(column)
    if n < _LIKE_IDS or not np.isfinite(column[:_LIKE_IDS]).all() or len(np.unique(column[:_LIKE_IDS])) < _LIKE_IDS:
        return False  # quick for most
    if not np.isfinite(column).all() or (column != np.floor(column)).any() or len(np.unique(column)) < n:
        return False
    grows = bool((np.diff(column) > 0).all())
    close = n * (n - 1) / 2 >= _PAIRS * (np.ptp(column) + 1)
    return bool(grows or close) or not _ID_NAMES.isdisjoint(map(str.lower, _WORD.findall(name)))
