"""Costs, scores, times and shares as short texts, and tables of notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from costframe.core.errors import printable

_NOTHING = 1e-9  # a share that is rounding, not a saving
_CELL = "border:0;border-bottom:1px solid;border-color:color-mix(in srgb,currentColor 25%,transparent);padding:2px 10px"
_KNOWN = 0.05  # least share of the work that allows an estimate of the time left


def format_cost(value: float | None) -> str:
    """Return a cost as text: two decimals, whole if it is large, or with an exponent if it is very small or large."""
    if value is None:
        return "-"
    if value and not 0.005 <= abs(value) < 1e15:
        return f"{value:.1e}"
    return f"{value:,.2f}" if abs(value) < 1e5 else f"{value:,.0f}"


def with_error(score: float, error: float) -> str:
    """Return a score with its standard error as text."""
    return f"{score:.4f} \u00b1{error:.3f}".replace("\u00b10.", "\u00b1.")


def round_up(count: float) -> int:
    """Return a whole number that is no less, with two digits."""
    unit: int = 10 ** max(math.floor(math.log10(max(count, 1.0))) - 1, 0)
    return math.ceil(count / unit) * unit


def milliseconds(time: float) -> str:
    """Return a time as text."""
    return f"{time:.4g} ms"


def whole_percent(share: float) -> str:
    """Return a share in percent as text; "<1%" and ">99%" for less than one percent from nothing and from all."""
    if _NOTHING < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def saving(paid: float, full: float) -> str:
    """Return the share of the price of all features that a cost saves, as text; "0%" if these are free."""
    return whole_percent(max(0.0, 1 - paid / full) if full > 0 else 0.0)


def compare_cost(paid: float, full: float) -> str:
    """Return a text that compares a cost with that of all features."""
    if abs(paid - full) <= _NOTHING * full:
        return "as much as"
    if abs(paid - full) < 0.01 * full:
        return "hardly less than" if paid <= full else "hardly more than"
    return f"{saving(paid, full)} less than" if paid < full else f"{paid / full - 1:.0%} more than"


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], bold: int | None = None) -> str:
    """Return a table with a caption; its first column is of names, the others are of numbers, and one row is bold."""
    head = _row("th", header)
    body = "".join(_row("td", row, bold=number == bold) for number, row in enumerate(rows))
    caption = f'<caption style="text-align:left;caption-side:top;color:inherit">{_text(title)}</caption>'
    return (
        f'<table style="border-collapse:collapse;color:inherit;background:transparent">{caption}'
        f"<thead>{head}</thead><tbody>{body}</tbody></table>"
    )


def _row(tag: str, cells: Sequence[str], *, bold: bool = False) -> str:
    sides, weight = ["left", *["right"] * (len(cells) - 1)], ";font-weight:bold" * bold
    scope = ' scope="col"' * (tag == "th")
    made = [
        f'<{tag}{scope} style="{_CELL};text-align:{side}{weight}">{_text(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    ]
    return f"<tr>{''.join(made)}</tr>"


def _text(text: str) -> str:
    return escape(printable(text))


def time_left(seconds: float, share: float) -> str:
    """Return a text with the estimated time to go, from the seconds so far and the share of work that is done."""
    if not _KNOWN <= share < 1:
        return ""
    left = seconds * (1 - share) / share
    return f"about {left:.0f} s left; " if left < 100 else f"about {left / 60:.0f} min left; "
