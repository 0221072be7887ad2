"""Dates and times as numbers: days since 1970-01-01, in UTC where they have a time zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_DATE = r"(\d{4}|\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{1,2})"
_TIME = r"(?:[ T](\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?"
_TEXT = re.compile(_DATE + _TIME)
_EXPECTED = "expected a date such as 2024-01-31"


@frozen
class Dates:
    """What stands for the labels of a feature of dates: its values are days, with times as fractions.

    Texts are ISO dates, or have the day first, as 31.01.2024 and 31/01/2024 do; with `month_first`, 01/31/2024. The
    number is the nearest double, the same for each way to write a time.
    """

    month_first: bool = False

    @classmethod
    def of(cls, texts: Sequence[str]) -> Dates | None:
        """Return how to read texts that are all dates; None if some is none, or the day and the month are confused."""
        fitting = [each for each in (cls(), cls(month_first=True)) if all(each.of_text(text) for text in texts)]
        if len(fitting) > 1 and any(fitting[0].of_text(text) != fitting[1].of_text(text) for text in texts):
            return None
        return fitting[0] if fitting else None

    def number(self, value: Any) -> Any:
        """Return the days of a date, a time or a text; a number as it is, and NaN for None."""
        found: tuple[int, int] | None = (0, 0)
        if value is None or type(value).__name__ in {"NAType", "NaTType"}:
            return np.nan
        if isinstance(value, str):
            found = self.of_text(value)
        elif isinstance(value, datetime):
            local = value.replace(tzinfo=UTC) if value.tzinfo is None else value
            since = local - datetime(1970, 1, 1, tzinfo=UTC)
            found = since.days, since.seconds * 10**9 + since.microseconds * 1000 + getattr(value, "nanosecond", 0)
        elif isinstance(value, date):
            found = value.toordinal() - date(1970, 1, 1).toordinal(), 0
        elif isinstance(value, np.datetime64):
            if np.isnat(value):
                return np.nan
            day = value.astype("datetime64[D]")  # the earlier one, also before 1970
            found = int(day.astype(np.int64)), int((value - day).astype("timedelta64[ns]").astype(np.int64))
        else:
            return value
        if found is None:
            raise DataError(f"{_EXPECTED}, got {shown(value)}")
        return found[0] + found[1] / _PER_DAY["ns"]

    def numbers(self, values: Iterable[Any]) -> NDArray[np.float64]:
        """Return values as days: float64 (values,)."""
        found = [self.number(value) for value in values]
        try:
            return np.array(found, np.float64)
        except (TypeError, ValueError):
            odd = next(value for value in found if not isinstance(value, int | float | np.number))
            raise DataError(f"{_EXPECTED}, got {shown(odd)} of type {type(odd).__name__}") from None

    def read(self, column: Any, name: str) -> NDArray[np.float64]:
        """Return a plain column of pyarrow, of dates, times or texts, as days: float64 (rows,), missing ones NaN."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        if pa.types.is_null(kind):
            return np.full(len(column), np.nan)
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("ms" if kind == pa.date64() else "s"))
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = column.unique()
            days = pa.array(self.numbers(text if text is None else text.strip() for text in texts.to_pylist()))
            places = pc.index_in(column, texts).to_numpy(zero_copy_only=False)
            return np.asarray(days.to_numpy(zero_copy_only=False)[places], np.float64)
        elif not pa.types.is_timestamp(kind):
            raise DataError(f"column {name!r}: {_EXPECTED}, got values of type {kind}")
        is_there = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
        per_day = _PER_DAY[column.type.unit]
        units = np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))
        whole = units // per_day
        return np.where(is_there, whole + (units - whole * per_day) / per_day, np.nan)

    def of_text(self, text: str) -> tuple[int, int] | None:
        """Return the whole days of a text, and the nanoseconds of the rest; None if it is no date."""
        if (found := _TEXT.fullmatch(text)) is None:
            return None
        first, sign, second, third, hour, minute, second_of, fraction, zone = found.groups()
        if len(first) == 4:
            year, month, day = first, second, third
        elif self.month_first and sign != ".":
            month, day, year = first, second, third
        else:
            day, month, year = first, second, third
        try:
            days = date(int(year), int(month), int(day)).toordinal() - date(1970, 1, 1).toordinal()
        except ValueError:
            return None
        hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second_of or 0)
        if len(year) != 4 or hours > 23 or minutes > 59 or seconds > 59:
            return None
        if zone not in {None, "Z"}:
            minutes -= int(zone[0] + "1") * (60 * int(zone[1:3]) + int(zone[-2:]))
        rest = ((hours * 60 + minutes) * 60 + seconds) * 10**9 + int((fraction or "0").ljust(9, "0"))
        more, rest = divmod(rest, _PER_DAY["ns"])
        return days + more, rest


def spells_date(text: str) -> bool:
    """Return whether a text looks like a date, though it may be none."""
    return _TEXT.fullmatch(text.strip()) is not None
