"""Training data of an algorithm: checked rows, labels, weights and prices, with validation or held-out rows."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.errors import ParameterError, shown
from costframe.core.exact_sums import exact_sum
from costframe.core.tables.row_hashes import hash_table, number_copies
from costframe.core.workers import ALONE, Workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.prices.costs import CostModel
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.tables.categories import Categories


_CELLS = 1 << 20  # of a table at a time
_MANY = 255  # mean number of repetitions of a row that the tree engine can count
_SHARE = 0.2  # of the rows to hold out
_FEWEST = 20  # held-out rows of each class, or queries; with fewer, training rows replace them


class FitRows(TypedDict, total=False):
    """The arguments of `fit` beside rows, labels and weights: validation data, and queries of both.

    A method that takes them too says `**others: Unpack[FitRows]`, and passes them on to `training_data`.
    """

    X_val: Any
    y_val: ArrayLike | None
    sample_weight_val: ArrayLike | None
    qid: ArrayLike | None
    qid_val: ArrayLike | None


@frozen(eq=False)
class Rows:
    """Rows with labels and positive weights: all of them, or the part that one of several workers has.

    Attributes
    ----------
    X : float64 (n, d)
        May hold NaN (missing) and infinities.
    y : float64 (n,), or int64 class codes
    weight : float64 (n,)
        Positive.
    qid : int64 (n,) or None
        Query of each row, for rankings; a worker has all rows of its queries.
    labels : (K,) or None
        Class labels, in the order of their codes.
    workers : Workers
        Who have all rows together. What follows from all rows, as `total_weight`, is the same on every worker, and all
        must ask for it.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    qid: NDArray[np.int64] | None = None
    workers: Workers = field(default=ALONE, repr=False)
    labels: NDArray[Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """Count this worker's rows."""
        return len(self.X)

    @cached_property
    def total_rows(self) -> int:
        """Number of rows of all workers."""
        return self.workers.count_all(len(self))

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Keep some rows, by number or by mask."""
        queries = None if self.qid is None else self.qid[chosen]
        return Rows(self.X[chosen], self.y[chosen], self.weight[chosen], queries, self.workers, self.labels)

    @cached_property
    def uneven_weight(self) -> NDArray[np.float64] | None:
        """The weights, or None if all are one, on all workers."""
        return self.weight if self.workers.any((self.weight != 1).any()) else None

    @cached_property
    def counts(self) -> NDArray[np.int64] | None:
        """Number of times each row counts, int64 (n,), if all weights are whole numbers, not all one, and not huge.

        None otherwise: each row counts once.
        """
        weight = self.weight
        if self.uneven_weight is None or self.total_weight > _MANY * self.total_rows:
            return None
        return None if self.workers.any((weight != np.floor(weight)).any()) else weight.astype(np.int64)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """Number of times each row counts, ones if `counts` is None: int64 (n,)."""
        return np.ones(len(self), np.int64) if self.counts is None else self.counts

    @cached_property
    def total_repeats(self) -> int:
        """Sum of `repeats` of all workers."""
        return self.workers.count_all(int(self.repeats.sum()))

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights: n, as the equations use it."""
        return exact_sum(self.weight, self.workers)

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the weighted mean of finite values of all workers' rows, from those of this one's: float64 (n,)."""
        return exact_sum(values * self.weight, self.workers) / self.total_weight


@frozen(eq=False)
class TrainingData:
    """The checked arguments of `fit`.

    Attributes
    ----------
    train : Rows
    valid : Rows or None
    costs : CostModel
    prices : PriceArrays
        The prices in `costs`, in the order of X's columns.
    n_classes : int
        2 or more for classification, else 0.
    categorical : bool (d,), or None
        Columns of X that hold categories; None if not one does.
    categories : mapping of str to tuple of str
        Labels of the columns whose categories are texts; X holds their positions.
    """

    train: Rows
    valid: Rows | None
    costs: CostModel
    prices: PriceArrays
    n_classes: int = 0
    categorical: NDArray[np.bool_] | None = None
    categories: Categories = field(factory=dict)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of X's columns."""
        return self.prices.names

    def reading_only(self, columns: Sequence[int]) -> TrainingData:
        """Return the same data with all other columns constant, so that a model trained on it never reads these."""
        width = len(self.feature_names)
        chosen = np.asarray(columns if len(columns) else np.empty(0, np.int64))
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < width)).all():
            raise ParameterError(f"columns: expected numbers of columns from 0 to {width - 1}, got {shown(columns)}")

        def hide(rows: Rows) -> Rows:
            X = np.zeros_like(rows.X)
            X[:, chosen] = rows.X[:, chosen]
            return evolve(rows, X=X)

        return evolve(self, train=hide(self.train), valid=None if self.valid is None else hide(self.valid))


def split_off(data: TrainingData) -> tuple[TrainingData, Rows]:
    """Split training data into data to train on and held-out rows; equal rows, or rows of a query, stay together.

    If there are too few rows to hold out, the training rows are the held-out rows too.
    """
    if data.valid is not None:
        return data, data.valid
    out = held_out(data)
    if out is None:
        return data, data.train
    return evolve(data, train=data.train.take(~out)), data.train.take(out)


def held_out(data: TrainingData) -> NDArray[np.bool_] | None:
    """Return which training rows to hold out, bool (n,); None if there are too few."""
    rows = data.train
    numbers = row_numbers(rows, data)
    out = np.asarray(numbers < _SHARE * 2.0**64)
    return out if _enough(rows, data, numbers, out) else None


def halves(rows: Rows, data: TrainingData) -> NDArray[np.bool_] | None:
    """Split rows into two halves, bool (n,), that keep equal rows, and queries if many, together; None for few rows."""
    one_by_one = () if rows.qid is None else (evolve(rows, qid=None),)
    for apart in (rows, *one_by_one):  # by queries, or by rows if there are few queries
        numbers = row_numbers(apart, data)
        half = np.asarray(numbers % np.uint64(2) == 1)
        if _enough(apart, data, numbers, half):
            return half
    return None


def _enough(rows: Rows, data: TrainingData, numbers: NDArray[np.uint64], out: NDArray[np.bool_]) -> bool:
    kinds = rows.y if data.n_classes else np.zeros(len(rows), np.int64)
    sides = [(kind, side) for kind in np.unique(kinds).tolist() for side in (False, True)]
    found = {(kind, side): np.unique(numbers[(kinds == kind) & (out == side)])[:_FEWEST] for kind, side in sides}
    parts = rows.workers.gather(found)
    return all(
        len(np.unique(np.concatenate([part[side] for part in parts if side in part]))) >= _FEWEST
        for side in dict.fromkeys(side for part in parts for side in part)
    )


def row_keys(rows: Rows, n_threads: int = 1) -> NDArray[np.uint64]:
    """Return a number for each row of all workers, uint64 (n,), from its values, label, weight, query and copies.

    Copies of a row have different numbers. Which of them has which is open, and makes no difference.
    """
    labels = np.column_stack([np.asarray(rows.y, np.float64), rows.weight])
    keys = hash_table(rows.X, hash_table(labels, n_threads=n_threads), n_threads=n_threads)
    if rows.qid is not None:
        query = np.unique(rows.qid, return_inverse=True)[1]
        sums = np.zeros(int(query.max(initial=-1)) + 1, np.uint64)
        np.add.at(sums, query, keys)  # modulo 2^64, in any order
        keys = hash_table(np.empty((len(keys), 0)), keys ^ sums[query])
    copies = number_copies(keys, rows.workers)
    return hash_table(copies[:, np.newaxis], keys, n_threads=n_threads)


def row_numbers(rows: Rows, data: TrainingData) -> NDArray[np.uint64]:
    """Return a hash of each row's values, or of its query's, that does not depend on order or weights: uint64 (n,)."""
    names = data.feature_names
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    numbers, step = np.empty(len(rows), np.uint64), max(1, _CELLS // (len(names) + 1))
    for begin in range(0, len(rows), step):  # a copy of the whole table would be large
        table = np.empty((len(rows.X[begin : begin + step]), len(names) + 1))
        table[:, :-1], table[:, -1] = rows.X[begin : begin + step, order], rows.y[begin : begin + step]
        table += 0.0  # one zero, and one NaN
        table[np.isnan(table)] = np.nan
        numbers[begin : begin + step] = [int.from_bytes(blake2b(row.data, digest_size=8).digest()) for row in table]
    if rows.qid is not None:
        query = np.unique(rows.qid, return_inverse=True)[1]
        _, first = np.unique(np.stack([query.astype(np.uint64), numbers], axis=1), axis=0, return_index=True)
        sums = np.zeros(int(query.max(initial=-1)) + 1, np.uint64)
        np.add.at(sums, query[first], numbers[first])  # modulo 2^64, in any order
        numbers = sums[query]
    return numbers
