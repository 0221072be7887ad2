"""Parts of dates, such as their months and weekdays: columns made of days since 1970-01-01."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.prices.entries import DATE_PARTS
from costframe.core.tables.dates import END, FIRST, Days


def _of_calendar(days: Days, part: Callable[[NDArray[Any]], NDArray[Any]]) -> Days:
    """Return a part of the calendar for days since 1970-01-01: NaN for what is no day."""
    is_day = (days >= FIRST) & (days < END)
    parts = np.full(len(days), np.nan)
    parts[is_day] = part(np.floor(days[is_day]).astype(np.int64).astype("datetime64[D]"))
    return parts


def _year(days: Days) -> Days:
    return _of_calendar(days, lambda day: day.astype("datetime64[Y]").astype(np.int64) + 1970)


def _month(days: Days) -> Days:
    return _of_calendar(days, lambda day: day.astype("datetime64[M]").astype(np.int64) % 12 + 1)


def _day(days: Days) -> Days:
    return _of_calendar(days, lambda day: (day - day.astype("datetime64[M]")).astype(np.int64) + 1)


def _weekday(days: Days) -> Days:
    return _of_calendar(days, lambda day: (day.astype(np.int64) + 3) % 7)  # 1970-01-01 was a Thursday


def _hour(days: Days) -> Days:
    whole = np.floor(days)
    return np.minimum(np.floor((days - whole + np.spacing(np.abs(days))) * 24.0), 23.0)


# Stands below the functions that it names.
MAKERS: dict[str, Callable[[Days], Days]] = dict(zip(DATE_PARTS, (_year, _month, _day, _weekday, _hour), strict=True))
"""What makes each part of dates of days since 1970-01-01: weekdays are 0, a Monday, to 6."""
