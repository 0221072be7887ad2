"""A data set: rows, answers, prices, and how its rows are split."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.checks import check_number
from costframe.core.errors import (
    CostModelError,
    DataError,
    ParameterError,
    brief,
    format_count,
    quote_names,
    suggestion,
)
from costframe.core.prices.costs import CostModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.tables.dates import Dates

# Parts of the shuffled rows of each class, in turn: 60/20/20, and a class's first row is in train.
_TURNS = np.array(["train", "valid", "train", "test", "train"])


def split_rows(
    classes: NDArray[Any] | None, queries: NDArray[np.int64] | None, n: int, seed: int
) -> tuple[NDArray[np.str_], list[str]]:
    """Split n rows into train, valid and test, 60/20/20: str (n,), and notes about the split.

    Classes, (n,), have equal shares in each part; rows of one query, int64 (n,), stay together.
    """
    rng = np.random.default_rng(seed)
    if queries is not None:
        return _deal(None, int(queries.max(initial=-1)) + 1, rng)[queries], [_note("queries", seed)]
    return _deal(classes, n, rng), [_note("rows" if classes is None else "the rows of each class", seed)]


def check_parts(split: NDArray[np.str_], y: NDArray[Any], classes: Sequence[Any] | None) -> None:
    """Refuse a split, str (n,), without rows in some part, and for classes, one of which has no row to train on."""
    unknown = sorted(set(np.unique(split).tolist()) - set(PARTS))
    if unknown:
        raise DataError(f"split: expected {', '.join(PARTS)}, got {unknown[0]!r}")
    if classes is not None and len(classes) < 2:
        raise DataError(f"expected rows of at least two classes, got only {', '.join(map(repr, classes))}")
    for part in PARTS:
        if not (split == part).any():
            raise DataError(f"split: none of the {len(split)} rows is in {part!r}")
    absent = set(classes or ()) - set(np.unique(y[split == "train"]).tolist())
    if absent:
        raise DataError(f"class {min(absent)!r} has no row in 'train'")


def obey_split(
    split: NDArray[np.str_], classes: NDArray[Any] | None, queries: NDArray[np.int64] | None, seed: int
) -> tuple[NDArray[np.str_], list[str]]:
    """Check a given split, str (n,); take a missing valid or test part from train by seed."""
    check_split(split)
    split, notes = split.astype(_TURNS.dtype), []
    for part in PARTS[1:]:
        if part not in split:
            _take_from_train(split, part, classes, queries, np.random.default_rng(seed))
            notes.append(f"no row is in {part!r}: a fifth of 'train' is taken for it, by seed {seed}")
    if queries is not None:
        pairs = np.unique(np.stack([queries, np.unique(split, return_inverse=True)[1]]), axis=1)
        if pairs.shape[1] > len(np.unique(queries)):
            notes.append("some queries have rows in more than one part")
    return split, notes


def _take_from_train(
    split: NDArray[np.str_],
    part: str,
    classes: NDArray[Any] | None,
    queries: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> None:
    turns = np.array(["train", "train", part, "train", "train"], split.dtype)
    train = np.flatnonzero(split == "train")
    if queries is None:
        split[train] = _deal(None if classes is None else classes[train], len(train), rng, turns)
    else:
        mine, query = np.unique(queries[train], return_inverse=True)
        split[train] = _deal(None, len(mine), rng, turns)[query]


def _deal(classes: NDArray[Any] | None, n: int, rng: np.random.Generator, turns: NDArray[np.str_] = _TURNS) -> Any:
    """Deal parts to n items in turn, in random order, class by class: str (n,)."""
    order = rng.permutation(n)
    codes = np.zeros(n, np.int64) if classes is None else np.unique(classes, return_inverse=True)[1]
    order = order[np.argsort(codes[order], kind="stable")]
    begin = np.searchsorted(codes[order], codes[order])
    split = np.empty(n, turns.dtype)
    split[order] = turns[(np.arange(n) - begin) % len(turns)]
    return split


def _note(what: str, seed: int) -> str:
    return f"no split column: {what} are split 60/20/20 into train, valid and test by seed {seed}"


TASKS = ("classification", "regression", "ranking")


@frozen(eq=False)
class Rows:
    """Some rows of a data set.

    Attributes
    ----------
    X : float64 (rows, d)
    y : (rows,)
        Class labels, values, or grades of relevance.
    qid : int64 (rows,) or None
        The query of each row, ascending; for rankings.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    qid: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.y)


@frozen(eq=False, repr=False)
class Dataset:
    """A table of n rows and d features, with the prices of the features.

    Attributes
    ----------
    name : str
    X : float64 (n, d)
        NaN is a missing value.
    y : (n,)
        Class labels, values, or grades of relevance.
    feature_names : tuple of str (d,)
    costs : CostModel
        Prices of exactly the features, in the order of the columns.
    task : {"classification", "regression", "ranking"}
    split : str (n,)
        "train", "valid" or "test" for each row; each has rows, and train has every class.
    qid : int64 (n,) or None
        The query of each row, ascending; for rankings.
    classes : tuple
        Class labels in ascending order; empty for other tasks.
    categorical : mapping of str to tuple of str or None
        Categorical features, each with the labels of the numbers in X, or None if the numbers are the categories.
    notes : tuple of str
        Texts about the choices that costframe made.
    perfect_cost : float or None
        Least expected cost per row of a model without errors, in the cost model's unit, if theory gives it.
    seed : int or None
        Seed of the split; None if the rows came in parts.
    reading : mapping of str to JSON values
        The arguments by which `read_table` makes the same table of its file, prices aside; empty for other tables.
    dates : mapping of str to Dates
        Features that are dates in a file, and days since 1970-01-01 in X.

    Raises
    ------
    DataError
        If the parts do not fit together; a `CostModelError` if the prices do not fit the features.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    costs: CostModel
    task: str
    split: NDArray[np.str_]
    qid: NDArray[np.int64] | None = None
    classes: tuple[Any, ...] = ()
    categorical: Mapping[str, tuple[str, ...] | None] = field(factory=dict)
    notes: tuple[str, ...] = ()
    perfect_cost: float | None = None
    seed: int | None = None
    reading: Mapping[str, Any] = field(factory=dict)
    dates: Mapping[str, Dates] = field(factory=dict)

    def __repr__(self) -> str:
        """Name its size, task and parts; the arrays would fill pages."""
        size = f"{self.X.shape[0]:,} rows, {format_count(self.X.shape[1], 'feature')}"
        task = self.task + (f" of {quote_names(self.classes)}" if self.classes else "")
        parts = ", ".join(f"{part} {np.count_nonzero(self.split == part):,}" for part in PARTS)
        return brief(self, self.name, size, task, parts)

    def __attrs_post_init__(self) -> None:
        rows = {"X": self.X, "y": self.y, "split": self.split} | ({} if self.qid is None else {"qid": self.qid})
        if self.X.ndim != 2 or len({len(part) for part in rows.values()}) > 1:
            shapes = ", ".join(f"{name} {part.shape}" for name, part in rows.items())
            raise DataError(f"expected as many rows everywhere, got {shapes}")
        if len(self.feature_names) != self.X.shape[1]:
            raise DataError(f"{len(self.feature_names)} names for {self.X.shape[1]} columns")
        if self.task not in TASKS or (self.task == "ranking") != (self.qid is not None):
            raise DataError(f"task {self.task!r}; rankings, and only they, have queries (qid)")
        if self.costs.names != self.feature_names:
            raise CostModelError(f"prices {self.costs.names} are not those of the columns, in their order")
        held = set(self.feature_names) if self.categorical else ()
        if unknown := [name for name in self.categorical if name not in held]:
            raise DataError(f"categorical: {unknown[0]!r} is no column; these are {quote_names(self.feature_names)}")
        check_parts(self.split, self.y, self.classes if self.task == "classification" else None)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        costs: object = None,
        *,
        feature_names: Sequence[str] | None = None,
        split: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        task: str = "classification",
        name: str = "arrays",
        seed: int = 0,
        categorical: Mapping[str, tuple[str, ...] | None] | None = None,
        notes: Sequence[str] = (),
        perfect_cost: float | None = None,
    ) -> Dataset:
        """Make a data set from arrays.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,)
        costs : CostModel, or anything `CostModel.of` accepts
            None prices every feature at one.
        feature_names : sequence of str (d,), optional
            x0, x1, ... by default.
        split : array-like of str (n,), optional
            "train", "valid" and "test"; by default a split 60/20/20 by seed, with equal shares of classes and whole
            queries.
        qid : array-like (n,), optional
            Query of each row, of any type; rankings need it. Rows are sorted by query.
        task : {"classification", "regression", "ranking"}
        name : str
        seed : int
        categorical : mapping of str to tuple of str or None, optional
            Categorical features, with their labels; empty by default.
        notes : sequence of str
        perfect_cost : float, optional
        """
        rows, labels = np.asarray(X, np.float64), np.asarray(y)
        names = tuple(feature_names if feature_names is not None else (f"x{i}" for i in range(rows.shape[1])))
        queries = None if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1].astype(np.int64)
        if split is None:
            parts, remarks = split_rows(labels if task == "classification" else None, queries, len(labels), seed)
        else:
            parts, remarks = np.asarray(split, np.str_), []
        used = seed if split is None else None
        if queries is not None and len(queries) == len(labels):
            order = np.argsort(queries, kind="stable")
            rows, labels, parts, queries = rows[order], labels[order], parts[order], queries[order]
        classes = tuple(np.unique(labels).tolist()) if task == "classification" else ()
        model = order_prices(CostModel.of(costs, names), names)
        remarks = [*notes, *remarks]
        return cls(
            name,
            rows,
            labels,
            names,
            model,
            task,
            parts,
            queries,
            classes,
            categorical or {},
            tuple(remarks),
            perfect_cost,
            used,
        )

    def split_anew(self, seed: int) -> Dataset:
        """Return the same rows, split by another seed; refuse rows that came in parts."""
        check_number("seed", seed, whole=True)
        if self.seed is None:
            raise ParameterError(f"seed: has no effect, the rows of {self.name} come in train, valid and test")
        split, remarks = self._split(seed)
        others = [note for note in self.notes if note not in self._split(self.seed)[1]]
        reading = {**self.reading, "seed": seed} if self.reading else {}
        return evolve(self, split=split, seed=seed, notes=(*others, *remarks), reading=reading)

    def _split(self, seed: int) -> tuple[NDArray[np.str_], list[str]]:
        return split_rows(self.y if self.task == "classification" else None, self.qid, len(self.y), seed)

    def part(self, name: str) -> Rows:
        """Return the rows of "train", "valid" or "test"."""
        if name not in PARTS:
            raise DataError(f"part: expected one of {', '.join(PARTS)}, got {name!r}")
        chosen = self.split == name
        return Rows(self.X[chosen], self.y[chosen], None if self.qid is None else self.qid[chosen])

    def with_costs(self, costs: object) -> Dataset:
        """Return the same rows with other prices of exactly the same features, without the perfect cost."""
        prices = CostModel.of(costs, self.feature_names)
        given = source_of(costs, "the prices given")
        model = order_prices(prices, self.feature_names, table=self.name, source=given)
        return evolve(self, costs=model, perfect_cost=None)

    @property
    def full_cost(self) -> float:
        """Price of all features for one row, in the cost model's unit."""
        return self.costs.full_cost(self.feature_names)

    def codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels for scores: int64 positions in `classes`, or the values of other tasks."""
        if self.task != "classification":
            return np.asarray(y, np.float64)
        return np.searchsorted(np.asarray(self.classes), y).astype(np.int64)


def order_prices(
    costs: CostModel,
    names: Sequence[str],
    *,
    table: str = "the table",
    source: str = "its prices",
    others: Mapping[str, str] | None = None,
    ignored: Iterable[str] = (),
    way_out: str = "",
) -> CostModel:
    """Return the prices in the order of the columns `names`; refuse prices of other features.

    Prices of columns in `ignored`, and of those that the prices themselves ignore, are left out. The error names the
    table and the source of the prices; `others` are columns that are not features, with a text for each, and `way_out`
    says what helps where a column has no price.
    """
    price, known = {feature.name: feature for feature in costs.features}, {*names, *ignored, *costs.ignore}
    unpriced = [name for name in names if name not in price]
    absent = [name for name in costs.names if name not in known]
    if unpriced or absent:
        parts = [
            f"columns without a price: {_side(unpriced, absent)}",
            f"prices without a column: {_side(absent, unpriced)}",
        ]
        parts += [f"{name!r} is {what}" for name, what in (others or {}).items() if name in absent]
        parts += [way_out] if unpriced and way_out else []
        raise CostModelError(f"{table} and {source} do not fit: {'; '.join(parts)}")
    return evolve(costs, features=tuple(price[name] for name in names), ignore=())


def source_of(costs: object, otherwise: str) -> str:
    """Return a name for prices: their file, if they have one."""
    return os.fsdecode(costs) if isinstance(costs, str | os.PathLike) else otherwise


def _side(lone: Sequence[str], other: Sequence[str]) -> str:
    return f"{quote_names(lone)}{suggestion(lone[0], other)}" if lone else "none"


SPLIT = "split"
PARTS = ("train", "valid", "test")


def check_split(split: NDArray[np.str_]) -> None:
    """Refuse a part of another name, and a table without rows to train on; the split is str (n,)."""
    unknown = sorted(set(np.unique(split).tolist()) - set(PARTS))
    if unknown:
        raise DataError(f"column {SPLIT!r}: expected {', '.join(PARTS)}, got {unknown[0]!r}")
    if "train" not in split:
        raise DataError(f"column {SPLIT!r}: no row is in 'train'")
