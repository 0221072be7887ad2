"""Texts of dates and times: the moments that each may mean."""

from __future__ import annotations

import re
from datetime import date

ORDERS = ("day", "month")
"""What may come first in texts such as 04/03/2024."""
BEGIN = date(1970, 1, 1).toordinal()

_NANOSECONDS = 86_400_000_000_000  # in a day
_DATE = r"(\d{4}|\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{1,2})"
_ZONE = r"(Z|[+-]\d\d(?::?\d\d)?)?"
_TIME = rf"(?:[ T](\d{{1,2}}):(\d\d)(?::(\d\d)(?:[.,](\d{{1,9}}))?)?{_ZONE})?"
_TEXT = re.compile(_DATE + _TIME, re.ASCII)


def spells_date(text: str) -> bool:
    """Return whether a text looks like a date, though it may be none."""
    return _TEXT.fullmatch(text.strip()) is not None


def moments(text: str, first: str | None = None) -> list[tuple[int, int]]:
    """Return the moments that a text may mean: whole days since 1970-01-01, and nanoseconds of the rest.

    There are none if it is no date, and two if the day and the month may be either; `first` says which comes first
    where both are before the year. With points between them, it is the day.
    """
    if (match := _TEXT.fullmatch(text.strip())) is None:
        return []
    first_part, sign, second_part, third_part, *time = match.groups()
    if (rest := _nanoseconds(*time)) is None:
        return []
    if len(first_part) == 4:
        ways = [(first_part, second_part, third_part)]
    else:
        orders = ("day",) if sign == "." else ORDERS if first is None else (first,)
        ways = [
            (third_part, first_part, second_part) if order == "month" else (third_part, second_part, first_part)
            for order in orders
        ]
    days = dict.fromkeys(_count_days(*way) for way in ways)
    more, rest = divmod(rest, _NANOSECONDS)
    return [(day + more, rest) for day in days if day is not None]


def _count_days(year: str, month: str, day: str) -> int | None:
    """Return the days since 1970-01-01; None if there is no such day."""
    try:
        return date(int(year), int(month), int(day)).toordinal() - BEGIN if len(year) == 4 else None
    except ValueError:
        return None


def _nanoseconds(
    hour: str | None, minute: str | None, second: str | None, fraction: str | None, zone: str | None
) -> int | None:
    """Return a time of the day in UTC, maybe of the day before or after; None if it is none."""
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    if zone is not None and zone != "Z":
        ahead, beyond = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
        if ahead > 23 or beyond > 59:
            return None
        minutes -= int(zone[0] + "1") * (60 * ahead + beyond)
    return ((hours * 60 + minutes) * 60 + seconds) * 10**9 + int((fraction or "0").ljust(9, "0"))
