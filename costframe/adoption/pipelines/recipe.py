"""A recipe: operations over raw columns, in order, as the steps of a pipeline are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from numbers import Real
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import ArrayLike

from costframe.adoption.names import free_name
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError, shown
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import ONLY, OTHER, is_missing
from costframe.core.tables.operations import CHECKS, Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation


class Recipe:
    """Operations over raw columns, in order; columns are numbers, as in `Preparation`."""

    def __init__(
        self, names: tuple[str, ...], given: Collection[int] = (), known: Mapping[str, list[Any]] | None = None
    ) -> None:
        self.names, self.known = names, known or {}  # values of raw columns, by name
        self.given = set[int]()  # raw columns that foreign code reads as they came; others have read them as numbers
        self._operations: list[Operation | OpaqueOperation] = []
        self._size = len(names)
        self._made: dict[tuple[Any, ...], list[int]] = {}  # equal operations make the same columns
        self._own: dict[int, Any] = {}  # of raw columns whose texts a model numbers without a list
        self._labels: dict[int, Any] = {}  # of columns with texts; imputed ones share those of their origin
        self._extremes: dict[int, F8] = {}  # of columns of limited values, with NaN if it may come
        self._rounded = set[int]()  # columns whose last bits are not the original's
        self._filled = set[int]()  # columns without missing values
        self._closed: list[Any] = []  # labels of columns whose other texts are refused
        self._doubles: dict[int, int] = {}  # raw columns by those with their values as doubles
        for column in sorted(given):
            self._own[column] = AsGiven()
            self._doubles[self.apply("doubles", column)[0]] = column

    @property
    def raw(self) -> list[int]:
        """The raw columns, as known operations read them."""
        doubles = {raw: column for column, raw in self._doubles.items()}
        return [doubles.get(column, column) for column in range(len(self.names))]

    def give(self, columns: Iterable[int]) -> list[int]:
        """Return raw columns as foreign code reads them: each value as it came."""
        raw = [self._doubles.get(column, column) for column in columns]
        self.given.update(raw)
        return raw

    def apply(self, kind: str, *reads: int, numbers: ArrayLike = ()) -> list[int]:
        """Add an operation, and return the columns that it makes."""
        if kind not in {"doubles", "lookup", "replace", *CHECKS}:
            self.refuse_texts(reads, kind)
        operation = Operation(kind, reads, numbers)
        key = (kind, reads, operation.numbers.tobytes())
        if key not in self._made:
            self._made[key] = self._add(operation)
            if kind == "linear" or (self._rounded.intersection(reads) and kind not in {"bin", "greater", "lookup"}):
                self._rounded.update(self._made[key])
        return self._made[key]

    def apply_each(self, kind: str, columns: Sequence[int], numbers: ArrayLike) -> list[int]:
        """Apply an operation of one column and one number to each column."""
        every = np.broadcast_to(np.asarray(numbers, np.float64), (len(columns),)).tolist()
        return [self.apply(kind, column, numbers=number)[0] for column, number in zip(columns, every, strict=True)]

    def look_up(self, column: int, keys: Iterable[Any], values: Iterable[float], default: float, what: str) -> int:
        """Make a column with a value for each key, a number, text or missing value, and a default for all others."""
        numbers = self._as_numbers(column, keys, what)
        table = _as_table(numbers, values, what)
        made = self.apply("lookup", column, numbers=[default, *table])[0]
        self._extremes[made] = np.array([default, *table[len(table) // 2 :]])
        return made

    def mark_rounded(self, columns: Iterable[int]) -> None:
        """Note that the last bits of what is made of some columns are not the original's."""
        self._rounded.update(columns)

    def check_categories(self, column: int, keys: Iterable[Any], what: str) -> None:
        """Refuse to tell categories of a column by values that are not the original's to the last bit, or are lost."""
        if column in self._rounded:
            raise AdoptionError(
                f"{what}: categories of numbers that a linear map, or an encoder of dtype float32, makes would depend "
                "on their last bits"
            )
        if column in self._filled and any(map(is_missing, keys)):
            raise AdoptionError(
                f"{what}: met None where SimpleImputer had filled NaN, but both are one missing value here; "
                "fit them to a table without None, or with missing_values=None"
            )

    def require_known(self, column: int, keys: Iterable[Any], what: str) -> None:
        """Refuse all values of a column but some, numbers, texts or a missing value."""
        numbers = np.array(self._as_numbers(column, keys, what))
        self.apply("known", column, numbers=np.unique(numbers))
        if column in self._labels:
            self._closed.append(self._labels[column])

    def require_within(self, columns: Iterable[int], low: float, high: float, *, missing: bool) -> None:
        """Refuse numbers below a lowest or above a highest one in some columns, and NaN if it is not allowed."""
        limits = np.array([low, high, missing])
        for column in (column for column in columns if column not in self._own):  # others have texts as they are
            extremes = self._extremes.get(column)  # a check that can refuse nothing is left out
            if extremes is None or CHECKS["within"](extremes, limits) is not None:
                self.apply("within", column, numbers=limits)
                self._extremes[column] = np.array([low, high, *([np.nan] if missing else [])])

    def replace(self, column: int, key: Any, value: Any, what: str) -> int:
        """Make a column with a value, a number or a text, in place of a key, and all others as they are."""
        if is_missing(value):
            raise AdoptionError(f"{what}: expected a value in place of {shown(key)}, got a missing one")
        text = isinstance(value, str) or isinstance(key, str)
        numbers = self._as_numbers(column, [value, key] if text else [key], what)
        new = numbers[0] if text else float(value)
        made = self.apply("replace", column, numbers=_as_table(numbers[-1:], [new], what))[0]
        if column in self._labels:
            self._labels[made] = self._labels[column]
        if is_missing(key):
            self._filled.add(made)
            if column in self._extremes:
                before = self._extremes[column]
                self._extremes[made] = np.append(before[~np.isnan(before)], new)
        return made

    def hide_zeros(self, columns: Sequence[int]) -> list[int]:
        """Make columns with NaN in place of zeros."""
        made = [self.apply("replace", column, numbers=[0.0, np.nan])[0] for column in columns]
        known = zip(made, columns, strict=True)
        self._extremes |= {new: np.append(self._extremes[old], np.nan) for new, old in known if old in self._extremes}
        return made

    def call(self, name: str, function: Callable[..., Any], reads: Sequence[int], width: int) -> list[int]:
        """Add an opaque operation, and return the columns that it makes."""
        return self._add(OpaqueOperation(name, function, tuple(reads), width))

    def refuse_texts(self, reads: Iterable[int], what: str) -> None:
        """Refuse columns with texts, where numbers are read."""
        for column in reads:
            if column in self._labels:
                raise AdoptionError(
                    f"{what}: reads {self._title(column)}, whose values are texts; only encoders and SimpleImputer can"
                )

    def renumber(self, column: int, labels: Any, what: str) -> int:
        """Make a column with the numbers that a model gives to texts: the positions of labels, NaN for other texts.

        Labels that are no tuple, such as hashes of all texts, become those of the raw column.
        """
        if isinstance(labels, tuple):
            return self.look_up(column, labels, range(len(labels)), np.nan, what)
        if column >= len(self.names) or self._own.setdefault(column, labels) != labels:
            raise AdoptionError(f"{what}: expected texts of a raw column as they are")
        self.refuse_texts([column], what)
        return column

    def finish(self, outputs: Sequence[int], names: Sequence[str]) -> Preparation:
        """Return the preparation that makes some columns, by the operations that they need."""
        listed = {
            f: (*labels, ONLY if any(labels is closed for closed in self._closed) else OTHER)
            for f, labels in self._labels.items()
            if f < len(self.names)
        }
        categories = {self.names[f]: labels for f, labels in (listed | self._own).items()}
        return Preparation(self.names, *self._needed(outputs), tuple(names), categories)

    def _needed(self, outputs: Sequence[int]) -> tuple[list[Operation | OpaqueOperation], list[int]]:
        """Return the operations behind some columns, with different names of opaque ones, and the columns' places."""
        first = list(accumulate((operation.width for operation in self._operations), initial=len(self.names)))
        wanted, numbers = set(outputs), list[int]()
        for number in reversed(range(len(self._operations))):
            if not wanted.isdisjoint(range(first[number], first[number + 1])):
                numbers.append(number)
                wanted.update(self._operations[number].reads)
        pairs = enumerate(self._operations)
        checks = (number for number, check in pairs if not check.width and check.reads[0] in wanted)
        numbers = sorted([*numbers, *checks], reverse=True)
        place = {column: column for column in range(len(self.names))}
        needed, titles = list[Operation | OpaqueOperation](), set[str]()
        for number in reversed(numbers):
            operation = self._operations[number]
            if isinstance(operation, OpaqueOperation):
                operation = evolve(operation, name=free_name(operation.name, titles))
                titles.add(operation.name)
            needed.append(evolve(operation, reads=[place[column] for column in operation.reads]))
            for column in range(first[number], first[number + 1]):
                place[column] = len(place)
        return needed, [place[column] for column in outputs]

    def _reads(self, column: int) -> bool:
        return any(column in operation.reads for operation in self._operations)

    def _add(self, operation: Operation | OpaqueOperation) -> list[int]:
        self._operations.append(operation)
        self._size += operation.width
        return list(range(self._size - operation.width, self._size))

    def _as_numbers(self, column: int, values: Iterable[Any], what: str) -> list[float]:
        """Return categories as numbers: those of labels, which become known here, and NaN for a missing one."""
        given = list(values)
        present = [value for value in given if not is_missing(value)]
        texts = sum(isinstance(value, str) for value in present)
        alike = texts == len(present) if texts or column in self._labels else all(map(_is_number, present))
        if present and not alike:
            raise AdoptionError(f"{what}: categories of {self._title(column)} are neither all texts nor all numbers")
        if texts and not self._is_raw(column) and column not in self._labels:
            raise AdoptionError(f"{what}: expected numbers in {self._title(column)}, got texts")
        if not texts:
            return [np.nan if is_missing(value) else float(value) for value in given]
        labels = self._labels.setdefault(column, _Hashed() if column in self._doubles else _Listed())
        return [np.nan if is_missing(value) else labels.number(str(value)) for value in given]

    def _is_raw(self, column: int) -> bool:
        return column < len(self.names) or column in self._doubles

    def _title(self, column: int) -> str:
        raw = self._doubles.get(column, column)
        return f"column {self.names[raw]!r}" if raw < len(self.names) else "a column made before"


class _Listed(dict[str, int]):
    """The texts of a column, numbered as they become known."""

    def number(self, text: str) -> float:
        """Return the number of a text."""
        return float(self.setdefault(text, len(self)))


class _Hashed:
    """The texts of a column that foreign code reads as they came."""

    def number(self, text: str) -> float:
        """Return the number of a text."""
        return AsGiven(plain=True).number(text)


def _is_number(value: object) -> bool:
    return isinstance(value, Real | np.bool_)


def _as_table(keys: Sequence[float], values: Iterable[float], what: str) -> F8:
    """Return different keys, ascending with NaN last, and their values; refuse one key with two values."""
    table = np.array([keys, list(values)], np.float64)
    table = table[:, np.argsort(table[0], kind="stable")]
    different = np.append(True, table[0, 1:] != table[0, :-1]) & ~(
        np.isnan(table[0]) & (np.cumsum(np.isnan(table[0])) > 1)
    )
    if not np.array_equal(table[1, different][np.cumsum(different) - 1], table[1], equal_nan=True):
        raise AdoptionError(f"{what}: two categories that are one number here, such as None and NaN, differ")
    return table[:, different].ravel()
