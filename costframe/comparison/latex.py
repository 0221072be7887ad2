"""Tables for papers, in LaTeX with booktabs: every text from elsewhere is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, count

from costframe.comparison.sheets import PLUS_MINUS, Sheet
from costframe.core.errors import printable

_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",  # \textquotedbl is not in all font encodings
    "[": "{[}",  # else what is in brackets is an option of the row's end before it
    "*": "{*}",
    "±": r"$\pm$",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_NUMBER = re.compile(r"[+-]?[0-9.,]+(?:e[+-]?[0-9]+)?")


def escape_latex(text: str) -> str:
    """Return a text as LaTeX sets it, whatever signs it has."""
    return "".join(_SIGNS.get(sign, sign) for sign in printable(text))


def to_latex(sheets: Iterable[Sheet]) -> str:
    """Return a `table` of each sheet; the document needs the package booktabs."""
    every = list(sheets)
    return "\n".join(map(_table, every, _labels(every)))


def _labels(sheets: Iterable[Sheet]) -> list[str]:
    """Return a label of each sheet: its name with plain signs alone, and a number where an earlier one has the same."""
    labels: list[str] = []
    for sheet in sheets:
        plain = re.sub(r"[^a-zA-Z0-9-]+", "-", sheet.name).strip("-")
        ways = (f"{plain}-{number}" for number in count(2))
        labels.append(next(label for label in chain([plain], ways) if label not in labels))
    return labels


def _table(sheet: Sheet, label: str) -> str:
    columns = "l" + "r" * (len(sheet.head) - 1)
    lines = [" & ".join(map(escape_latex, sheet.head)) + r" \\"]
    lines += [r"\midrule"]
    for number, row in enumerate(sheet.rows):
        cells = [_cell(text, (number, column) in sheet.best) for column, text in enumerate(row)]
        lines.append(" & ".join(cells) + r" \\")
    body = "\n".join(["\\toprule", *lines, "\\bottomrule"])
    return (
        f"\\begin{{table}}\n\\caption{{{escape_latex(sheet.caption)}}}\n\\label{{tab:{label}}}\n\\centering\n"
        f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def _cell(text: str, is_best: bool) -> str:
    """Return a number in mathematics, so that its sign is a minus, and another text escaped; the best in bold."""
    parts = text.split(PLUS_MINUS)
    if all(_NUMBER.fullmatch(part) for part in parts):
        numbers = [part.replace(",", "{,}") for part in parts]
        first = f"\\mathbf{{{numbers[0]}}}" if is_best else numbers[0]
        joined = " \\pm ".join([first, *numbers[1:]])
        return f"${joined}$"
    return f"\\textbf{{{escape_latex(text)}}}" if is_best else escape_latex(text)
