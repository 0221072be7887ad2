"""Operations that make columns of numbers from other columns: a small closed set, described by data only.

Each works row by row, in a fixed order of floating-point operations, so that one row and a table agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from costframe.core.arrays import B1, F8
from costframe.core.errors import DataError, shown
from costframe.core.tables.as_given import as_doubles
from costframe.core.tables.date_parts import MAKERS

Column = F8  # (rows,)

_READS = {"constant": 0, "product": 2}  # others read one column, "linear" any number of them

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        "absolute", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "exp", "exp2",
        "expm1", "fabs", "floor", "log", "log10", "log1p", "log2", "negative", "positive", "reciprocal", "rint",
        "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    )
} | {f"{part} of days": make for part, make in MAKERS.items()}  # fmt: skip
"""Functions of one column, by name."""


def _yeo_johnson(x: Column, power: float) -> Column:
    from scipy import stats

    return np.asarray(stats.yeojohnson(x, power))


def _box_cox(x: Column, power: float) -> Column:
    from scipy.special import boxcox

    return np.asarray(boxcox(x, power))


# Stands below the functions that it names.
WITH_NUMBER: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "greater": np.greater,
    "yeo-johnson": _yeo_johnson,
    "box-cox": _box_cox,
}
"""Functions of one column and one number, by name."""


def _constant(_columns: Sequence[Column], numbers: Column, rows: int) -> list[Column]:
    return [np.full(rows, numbers[0])]


def _product(columns: Sequence[Column], _numbers: Column, _rows: int) -> list[Column]:
    return [columns[0] * columns[1]]


def _doubles(columns: Sequence[Column], _numbers: Column, _rows: int) -> list[Column]:
    """Return whole numbers and truth values that came as such as doubles, and each text as its one number."""
    return [as_doubles(columns[0])]


def _lookup(columns: Sequence[Column], numbers: Column, _rows: int) -> list[Column]:
    """Replace keys by their values and all other numbers by the first of `numbers`; NaN may be a key."""
    return [_replaced(columns[0], np.full(len(columns[0]), numbers[0]), numbers[1:])]


def _replace(columns: Sequence[Column], numbers: Column, _rows: int) -> list[Column]:
    """Replace keys by their values and keep all other numbers."""
    return [_replaced(columns[0], columns[0].copy(), numbers)]


def _replaced(x: Column, values: Column, table: Column) -> Column:
    """Set values[i] where x[i] is a key; the table has the keys, ascending with NaN last, and then their values."""
    keys, targets = table[: len(table) // 2], table[len(table) // 2 :]
    if len(keys) and np.isnan(keys[-1]):
        values[np.isnan(x)] = targets[-1]
        keys, targets = keys[:-1], targets[:-1]
    if len(keys):
        place = np.minimum(np.searchsorted(keys, x), len(keys) - 1)
        is_key = keys[place] == x
        values[is_key] = targets[place[is_key]]
    return values


def _bin(columns: Sequence[Column], numbers: Column, _rows: int) -> list[Column]:
    """Count the edges that a number reaches."""
    return [np.searchsorted(numbers, columns[0], side="right").astype(np.float64)]


def _linear(columns: Sequence[Column], numbers: Column, rows: int) -> list[Column]:
    """Multiply rows by a matrix, (reads, width), column by column in their order, and add an offset, (width,)."""
    matrix = numbers.reshape(len(columns) + 1, -1)
    made = []
    for weights in matrix.T:
        total = np.zeros(rows)
        for column, weight in zip(columns, weights[:-1], strict=True):
            total += column * weight
        made.append(total + weights[-1])
    return made


def _find_unknown(x: Column, numbers: Column) -> int | None:
    """Return the first row whose number is no key; NaN may be one."""
    keys = numbers[:-1] if len(numbers) and np.isnan(numbers[-1]) else numbers
    strange = (
        keys[np.minimum(np.searchsorted(keys, x), len(keys) - 1)] != x
        if len(keys)
        else np.full(len(x), fill_value=True)
    )
    return _first(strange if len(keys) == len(numbers) else strange & ~np.isnan(x))


def _find_outside(x: Column, numbers: Column) -> int | None:
    """Return the first row whose number is not between the first two; NaN may come if the third one is 1."""
    low, high, missing = numbers.tolist()
    if len(x) == 1 and low <= x.item() <= high:
        return None
    strange = ~((x >= low) & (x <= high))
    return _first(strange & ~np.isnan(x) if missing else strange)


def _first(chosen: B1) -> int | None:
    return int(chosen.argmax()) if chosen.any() else None


# Stands below the functions that it names.
CHECKS: dict[str, Callable[[Column, Column], int | None]] = {"known": _find_unknown, "within": _find_outside}
"""Checks of one column, by name: they make no column, and return the first row that they refuse."""

# How each other operation makes its columns, by name; stands below these functions.
_OTHERS: dict[str, Callable[[Sequence[Column], Column, int], list[Column]]] = {
    "constant": _constant, "doubles": _doubles, "product": _product, "lookup": _lookup, "replace": _replace,
    "bin": _bin, "linear": _linear,
}  # fmt: skip


def _are_keys(numbers: Column) -> bool:
    """Return whether numbers are ascending, with NaN last."""
    rising = numbers[:-1] < numbers[1:]
    return bool(rising[:-1].all() and (rising[-1:] | np.isnan(numbers[1:][-1:])).all())


def as_column_tuple(columns: Iterable[int]) -> tuple[int, ...]:
    """Return numbers of columns as a tuple."""
    return tuple(columns)


def _as_numbers(numbers: ArrayLike) -> F8:
    array = np.array(numbers, np.float64).reshape(-1)
    array.setflags(write=False)
    return array


@frozen(eq=False)
class Operation:
    """One operation: its kind, the columns that it reads, and its numbers.

    Raises
    ------
    DataError
        If the kind is unknown, or reads or numbers do not fit it.
    """

    # a name in `ELEMENTWISE` or `WITH_NUMBER`, or "constant" (one number, no column), "product" (of two columns),
    # "lookup" (a default; keys, ascending with NaN last; their values), "replace" (keys and values), "bin" (edges,
    # ascending), "doubles" (of a column with values as they came), "linear" (a matrix, one row a column that it reads,
    # and a last row to add); or a check, "known" (keys, ascending with NaN last) or "within" (lowest, highest, and 1 if
    # NaN is allowed, else 0)
    kind: str
    reads: tuple[int, ...] = field(converter=as_column_tuple)  # columns by number
    numbers: F8 = field(default=(), converter=_as_numbers)  # (any,)

    def __attrs_post_init__(self) -> None:
        if all(self.kind not in kinds for kinds in (ELEMENTWISE, WITH_NUMBER, _OTHERS, CHECKS)):
            raise DataError(f"operation: expected a known kind, got {shown(self.kind)}")
        if self.kind != "linear" and len(self.reads) != _READS.get(self.kind, 1):
            raise DataError(f"operation {self.kind!r}: does not read {len(self.reads)} columns")
        if not self._has_fitting_numbers():
            raise DataError(f"operation {self.kind!r}: {len(self.numbers)} numbers that do not fit it")

    @property
    def width(self) -> int:
        """Number of columns that it makes; a check makes none."""
        if self.kind == "linear":
            return len(self.numbers) // (len(self.reads) + 1)
        return int(self.kind not in CHECKS)

    def __call__(self, columns: Sequence[F8], rows: int) -> list[F8]:
        """Return the columns made, each float64 (rows,), from those that it reads."""
        with np.errstate(all="ignore"):  # infinity and NaN are results like others
            if self.kind in ELEMENTWISE:
                return [ELEMENTWISE[self.kind](columns[0])]
            if self.kind in WITH_NUMBER:
                made = WITH_NUMBER[self.kind](columns[0], float(self.numbers[0]))
                return [made.astype(np.float64, copy=False)]
            return _OTHERS[self.kind](columns, self.numbers, rows)

    def _has_fitting_numbers(self) -> bool:
        count = len(self.numbers)
        if self.kind in {"lookup", "replace"}:
            table = self.numbers[self.kind == "lookup" :]
            return not len(table) % 2 and _are_keys(table[: len(table) // 2])
        if self.kind == "known":
            return _are_keys(self.numbers)
        if self.kind == "within":
            return count == 3 and bool(self.numbers[0] <= self.numbers[1]) and self.numbers[2] in {0.0, 1.0}
        if self.kind == "bin":
            return bool((self.numbers[:-1] <= self.numbers[1:]).all() and not np.isnan(self.numbers).any())
        if self.kind == "linear":
            return count > 0 and count % (len(self.reads) + 1) == 0
        return count == (self.kind in WITH_NUMBER or self.kind == "constant")
