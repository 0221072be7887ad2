"""A data set: rows, answers, prices, and how its rows are split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.checks import check_choice, check_mapping, check_name_list, check_number
from costframe.core.errors import CostModelError, DataError, ParameterError, brief, format_count, quote_names, shown
from costframe.core.plugins.entries import TASKS
from costframe.core.prices.costs import CostModel
from costframe.core.tables.dates import Dates
from costframe.core.tables.row_labels import check_nested, check_queries
from costframe.core.tables.rows import refuse_text
from costframe.datasets.column_prices import order_prices, source_of
from costframe.datasets.parts import PARTS, Kinds, check_parts, split_rows
from costframe.records.made import find_made, read_mask


@frozen(eq=False)
class PartRows:
    """Some rows of a data set.

    Attributes
    ----------
    X : float64 (n, d)
        Of a table larger than memory a lazy array of dask.
    y : (n,)
        Class labels, values, or grades of relevance.
    qid : int64 (n,) or None
        The query of each row, ascending; for rankings.
    groups : int64 (n,) or None
        The group of each row, such as the patient.
    made : bool (n, d) or None
        Which cells were asked for; None as prices say.
    """

    X: F8
    y: NDArray[Any]
    qid: I8 | None = None
    groups: I8 | None = None
    made: B1 | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, chosen: B1) -> PartRows:
        """Keep some rows, bool (n,)."""
        X = self.X if chosen.all() else self.X[np.flatnonzero(chosen)]
        qid, groups = (None if values is None else values[chosen] for values in (self.qid, self.groups))
        return PartRows(X, self.y[chosen], qid, groups, None if self.made is None else self.made[chosen])


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
    groups : int64 (n,) or None
        The group of each row, such as the patient: a split by seed and folds keep its rows together, and errors of
        estimates are those of fresh groups.
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
    made : bool (n, d) or None
        Which cells were asked for, in place of what prices say by `absent`; see docs/records.md.
    decimal : {".", ","} or None
        The decimal sign of numbers in a file that is a text and tells it; models keep it for tables that do not tell.

    Raises
    ------
    DataError
        If the parts do not fit together; a `CostModelError` if the prices do not fit the features.
    """

    name: str
    X: F8
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    costs: CostModel
    task: str
    split: NDArray[np.str_]
    qid: I8 | None = None
    classes: tuple[Any, ...] = ()
    categorical: Mapping[str, tuple[str, ...] | None] = field(factory=dict)
    notes: tuple[str, ...] = ()
    perfect_cost: float | None = None
    seed: int | None = None
    reading: Mapping[str, Any] = field(factory=dict)
    dates: Mapping[str, Dates] = field(factory=dict)
    groups: I8 | None = None
    decimal: str | None = None
    made: B1 | None = None

    def __repr__(self) -> str:
        """Name its size, task and parts; the arrays would fill pages."""
        size = f"{self.X.shape[0]:,} rows, {format_count(self.X.shape[1], 'feature')}"
        task = self.task + (f" of {quote_names(self.classes)}" if self.classes else "")
        parts = ", ".join(f"{part} {np.count_nonzero(self.split == part):,}" for part in PARTS)
        return brief(self, self.name, size, task, parts)

    def __attrs_post_init__(self) -> None:
        given = {"X": self.X, "y": self.y, "split": self.split, "qid": self.qid, "groups": self.groups}
        rows = {name: part for name, part in given.items() if part is not None}
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
        if self.made is not None:
            find_made(self.X, self.feature_names, (), self.made)  # refuses a mask that does not fit

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
        groups: ArrayLike | None = None,
        task: str = "classification",
        name: str = "arrays",
        seed: int = 0,
        categorical: Mapping[str, tuple[str, ...] | None] | None = None,
        notes: Sequence[str] = (),
        perfect_cost: float | None = None,
        made: Any = None,
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
        groups : array-like (n,), optional
            Group of each row, of any type, such as the patient; each query is in one group.
        task : {"classification", "regression", "ranking"}
        name : str
        seed : int
        categorical : mapping of str to tuple of str or None, optional
            Categorical features, with their labels; empty by default.
        notes : sequence of str
        perfect_cost : float, optional
        made : bool (n, d) or data frame of bool, optional
            Which cells were asked for, in place of what prices say by `absent`: the values of others are what nobody
            knows; see docs/records.md.
        """
        rows, labels = _read_arrays(X, y, split, qid)
        check_choice("task", task, tuple(TASKS))
        check_number("seed", seed, whole=True)
        check_mapping("categorical", categorical)
        usual = tuple(f"x{i}" for i in range(rows.shape[1]))
        names = usual if feature_names is None else check_name_list("feature_names", feature_names, error=DataError)
        notes = check_name_list("notes", notes)
        queries, numbers = _number_units(qid, groups, len(labels))
        if split is None:
            kinds = Kinds(len(labels), labels if task == "classification" else None, queries, numbers)
            parts, remarks = split_rows(kinds, seed)
        else:
            parts, remarks = np.asarray(split, np.str_), []
        used = seed if split is None else None
        mask = None if made is None else read_mask(made, rows.shape, names)
        if queries is not None and len(queries) == len(labels):
            order = np.argsort(queries, kind="stable")
            rows, labels, parts, queries = rows[order], labels[order], parts[order], queries[order]
            numbers = None if numbers is None else numbers[order]
            mask = None if mask is None else mask[order]
        classes = tuple(np.unique(labels).tolist()) if task == "classification" else ()
        model = order_prices(CostModel.of(costs, names), names)
        remarks = [*notes, *remarks]
        return cls(
            name, rows, labels, names, model, task, parts, queries, classes, categorical or {}, tuple(remarks),
            perfect_cost, used, groups=numbers, made=mask,
        )  # fmt: skip

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
        classes = self.y if self.task == "classification" else None
        return split_rows(Kinds(len(self.y), classes, self.qid, self.groups), seed)

    def part(self, name: str) -> PartRows:
        """Return the rows of "train", "valid" or "test"."""
        if not isinstance(name, str) or name not in PARTS:
            raise DataError(f"part: expected one of {', '.join(PARTS)}, got {shown(name)}")
        return PartRows(self.X, self.y, self.qid, self.groups, self.made).take(self.split == name)

    @property
    def has_records(self) -> bool:
        """Whether prices or a mask say that some tests were not made."""
        return bool(self.costs.panels) or self.made is not None

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


def _read_arrays(X: Any, y: Any, split: Any, qid: Any) -> tuple[F8, NDArray[Any]]:
    """Return rows, float64 (n, d), and labels; refuse arrays of other shapes by name."""
    refuse_text(X, "X")
    try:
        rows = np.asarray(X, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"X: expected a table of numbers: {error}") from None
    if rows.ndim != 2:
        raise DataError(f"X: expected rows x features, got an array of shape {rows.shape}")
    for name, values in (("y", y), ("split", split), ("qid", qid)):
        if (values is not None or name == "y") and np.ndim(values) != 1:
            raise DataError(f"{name}: expected one value a row, got {shown(values)}")
        if values is not None and len(values) != len(rows):
            raise DataError(f"expected as many rows everywhere, got X {rows.shape} and {name} ({len(values)},)")
    return rows, np.asarray(y)


def _number_units(qid: Any, groups: Any, n_rows: int) -> tuple[I8 | None, I8 | None]:
    """Return the numbers of queries and of groups, int64 (n,), if there are any; refuse queries across groups."""
    queries = None if qid is None else np.unique(np.asarray(qid), return_inverse=True)[1].astype(np.int64)
    numbers = None if groups is None else check_queries(groups, n_rows, "groups", "group")
    if numbers is not None and queries is not None:
        check_nested(queries, numbers, "groups")
    return queries, numbers
