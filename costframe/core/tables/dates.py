"""Dates and times as numbers: days since 1970-01-01, in UTC where they have a time zone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from attrs import field, frozen
from attrs.validators import in_, optional

from costframe.core.arrays import F8
from costframe.core.errors import DataError, name_file, shown
from costframe.core.prices.entries import EPOCHS
from costframe.core.tables.date_texts import BEGIN, ORDERS, moments, spells_date

Days = F8  # (values,)

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_EXPECTED = "expected a date such as 2024-01-31"
_WAY_OUT = (
    '; where numbers are seconds or milliseconds since 1970-01-01, say so with epoch = "seconds" in the feature\'s '
    "price, or at its source"
)
FIRST, END = float(1 - BEGIN), float(date.max.toordinal() + 1 - BEGIN)
"""The first of the days of the years 1 to 9999, and the day after the last one."""


@frozen
class Dates:
    """What stands for the labels of a feature of dates: its values are days, with times as fractions.

    Texts are dates with the year first, or with the day first and points, as 31.01.2024; 31/01/2024 and 01/31/2024 are
    read as training read them. A text that may be read in two ways is refused, and so are numbers, unless `epoch` says
    what they count; a float that is a day of the years 1 to 9999 is in days already. The number of a time is the
    nearest double of its day, the same for each way to write it.
    """

    # which of "day" and "month" is first in texts such as 04/03/2024; None if training read none that tells
    first: str | None = field(default=None, validator=optional(in_(ORDERS)))
    # what numbers count: a key of `EPOCHS`; None where numbers are no dates
    epoch: str | None = field(default=None, validator=optional(in_(EPOCHS)))

    @classmethod
    def of(cls, texts: Sequence[str], epoch: str | None = None) -> Dates | None:
        """Return how to read texts that are all dates; None if some is none, or the day and the month are confused."""
        ways = {first: [moments(text, first) for text in texts] for first in ORDERS}
        fitting = [first for first, fits in ways.items() if all(fits)]
        if len(fitting) == 1:
            return cls(fitting[0], epoch)
        return cls(None, epoch) if fitting and ways["day"] == ways["month"] else None

    def number(self, value: Any) -> Any:
        """Return the days of a date, a time, a text or a number; a float in days as it is, and NaN for missing ones."""
        if isinstance(value, float | np.floating):
            return value if np.isnan(value) or FIRST <= value < END else self.from_outside(value)
        return self.from_outside(value)

    def from_outside(self, value: Any, epoch: str | None = None) -> Any:
        """Return the days of a value that no reader has read yet: a float counts as all numbers do.

        A source that knows what its numbers count gives their `epoch`.
        """
        epoch = self.epoch if epoch is None else epoch
        if value is None or type(value).__name__ in {"NAType", "NaTType"}:
            return np.nan
        if isinstance(value, str):
            return self._of_text(value, epoch)
        return _of_date(value) if isinstance(value, date | np.datetime64) else _of_number(value, epoch)

    def numbers(self, values: Iterable[Any]) -> Days:
        """Return values as days: float64 (values,); their texts have the day first, or the month, but not both."""
        given = list(values)
        self._check_order(value for value in given if isinstance(value, str))
        return np.array([self.number(value) for value in given], np.float64)

    def read(self, column: Any, name: str) -> Days:
        """Return a plain column of pyarrow as days: float64 (rows,), missing ones NaN; see `number`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        if pa.types.is_null(kind):
            return np.full(len(column), np.nan)
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("ms" if kind == pa.date64() else "s"))
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = column.unique()
            with name_file(f"column {name!r}"):
                days = pa.array(self.numbers(texts.to_pylist()))
            places = pc.index_in(column, texts).to_numpy(zero_copy_only=False)
            return np.asarray(days.to_numpy(zero_copy_only=False)[places], np.float64)
        elif self.epoch is not None and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            units = column.cast(pa.float64() if pa.types.is_floating(kind) else pa.int64())
            return self._read_units(units, EPOCHS[self.epoch], name)
        elif not pa.types.is_timestamp(kind):
            example = next(iter(column.drop_null().slice(0, 1).to_pylist()), None)
            more = f" such as {shown(example)}{_WAY_OUT}" if isinstance(example, int | float) else ""
            raise DataError(f"column {name!r}: {_EXPECTED}, got values of type {kind}{more}")
        return self._read_units(column.cast(pa.int64()), _PER_DAY[column.type.unit], name)

    def _read_units(self, column: Any, per_day: int, name: str) -> Days:
        """Return numbers of pyarrow, of which `per_day` make a day, as days: float64 (rows,)."""
        import pyarrow.compute as pc

        is_there = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
        units = np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))
        with np.errstate(invalid="ignore"):
            whole = units // per_day
            days = whole + (units - whole * per_day) / per_day
            days = np.where(days < whole + 1.0, days, np.nextafter(whole + 1.0, -np.inf))
        days[~is_there | np.isnan(units)] = np.nan
        days[np.isinf(units)] = np.inf
        check_days(days, f"column {name!r}: ")
        return days

    def _of_text(self, text: str, epoch: str | None) -> float:
        readings = moments(text, self.first)
        if len(readings) == 1:
            return _days(*readings[0], _PER_DAY["ns"])
        if readings:
            ways = " or ".join(str(date.fromordinal(days + BEGIN)) for days, _ in readings)
            raise DataError(f"expected a date that is read in one way, got {shown(text)}, which may be {ways}")
        if epoch is not None and _WHOLE.fullmatch(text.strip()):
            return _of_number(int(text), epoch)
        more = f"; the {self.first} comes first, as in training" if self.first and spells_date(text) else ""
        raise DataError(f"{_EXPECTED}, got {shown(text)}{more}")

    def _check_order(self, texts: Iterable[str]) -> None:
        """Refuse texts of which some have the day first for certain, and some the month."""
        if self.first is not None:
            return
        only: dict[str, str] = {}
        for text in texts:
            if not text[:4].isdigit():  # nor are these many: distinct ones of a file's column
                day, month = (moments(text, order) for order in ORDERS)
                only |= {"day": text} if day and not month else {"month": text} if month and not day else {}
        if len(only) > 1:
            raise DataError(
                f"{_EXPECTED}, got {shown(only['day'])}, with the day first, beside {shown(only['month'])}, with the "
                "month first"
            )


def check_days(days: Days, where: str = "") -> None:
    """Refuse numbers that are no days of the years 1 to 9999; NaN is missing."""
    strange = ~(np.isnan(days) | ((days >= FIRST) & (days < END)))
    if strange.any():
        raise DataError(
            f"{where}expected dates as days since 1970-01-01, got {float(days[strange][0]):.17g}; give dates, or a "
            'data frame with whole numbers where a price says what they count, such as epoch = "seconds"'
        )


def check_dates(rows: F8, names: Sequence[str], labels: Mapping[str, object]) -> None:
    """Refuse rows, float64 (n, d), in whose columns of dates, those with `Dates` as labels, a number is no day."""
    for name, dates in labels.items():
        if isinstance(dates, Dates):
            check_days(rows[:, names.index(name)], f"column {name!r}: ")


def _days(whole: float, rest: float, per_day: int) -> float:
    """Return days as the nearest double that is less than the next whole day."""
    days = whole + rest / per_day
    return float(days if days < whole + 1 else math.nextafter(whole + 1, -math.inf))


def _of_date(value: date | np.datetime64) -> float:
    if isinstance(value, datetime):
        local = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        since = local - datetime(1970, 1, 1, tzinfo=UTC)
        rest = since.seconds * 10**9 + since.microseconds * 1000 + getattr(value, "nanosecond", 0)
        return _days(since.days, rest, _PER_DAY["ns"])
    if isinstance(value, date):
        return float(value.toordinal() - BEGIN)
    if np.isnat(value):
        return math.nan
    day = value.astype("datetime64[D]")  # the earlier one, also before 1970
    rest = int((value - day).astype("timedelta64[ns]").astype(np.int64))
    return _days(int(day.astype(np.int64)), rest, _PER_DAY["ns"])


def _of_number(value: Any, epoch: str | None) -> float:
    is_number = isinstance(value, int | float | np.integer | np.floating | Decimal)
    if not is_number or isinstance(value, bool):
        raise DataError(f"{_EXPECTED}, got {shown(value)} of type {type(value).__name__}")
    number = int(value) if isinstance(value, int | np.integer) else float(value)
    if math.isnan(number):
        return math.nan
    if epoch is None or math.isinf(number):
        raise DataError(f"{_EXPECTED}, got {shown(value)}{_WAY_OUT}")
    whole, rest = divmod(number, EPOCHS[epoch])
    if not FIRST <= whole < END:
        raise DataError(f"{_EXPECTED}, got {shown(value)}, which is none in {epoch} since 1970-01-01")
    return _days(whole, rest, EPOCHS[epoch])
