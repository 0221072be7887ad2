"""Tables of notebooks: HTML that is escaped, and takes its colors from the page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from costframe.core.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CELL = "border:0;border-bottom:1px solid;border-color:color-mix(in srgb,currentColor 25%,transparent);padding:2px 10px"


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
        f'<{tag}{scope} style="{_CELL};text-align:{side}{weight}">{_text(each)}</{tag}>'
        for side, each in zip(sides, cells, strict=True)
    ]
    return f"<tr>{''.join(made)}</tr>"


def _text(text: str) -> str:
    return escape(printable(text))
