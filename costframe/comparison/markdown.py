"""Tables for READMEs, issues and pages, in Markdown as GitHub has it: every text from elsewhere is escaped."""

from __future__ import annotations

from collections.abc import Iterable

from costframe.comparison.sheets import Sheet
from costframe.core.errors import printable

# Entities where readers of Markdown differ in what a backslash escapes.
_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;"} | {sign: f"\\{sign}" for sign in "\\`*_{}[]#|!"}


def escape_markdown(text: str) -> str:
    """Return a text as Markdown sets it, whatever signs it has."""
    return "".join(_SIGNS.get(sign, sign) for sign in printable(text))


def to_markdown(sheets: Iterable[Sheet]) -> str:
    """Return a table of each sheet below its caption, the best cells in bold."""
    return "\n".join(map(_table, sheets))


def _table(sheet: Sheet) -> str:
    head = _row(map(escape_markdown, sheet.head))
    marks = _row(["---", *["--:"] * (len(sheet.head) - 1)])
    rows = (
        _row(_cell(text, (number, column) in sheet.best) for column, text in enumerate(row))
        for number, row in enumerate(sheet.rows)
    )
    return "\n".join([escape_markdown(sheet.caption), "", head, marks, *rows, ""])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str, is_best: bool) -> str:
    return f"**{escape_markdown(text)}**" if is_best else escape_markdown(text)
