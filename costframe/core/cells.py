"""Texts in cells of CSV files that a spreadsheet opens: none is a formula to it, and each reads back as it was.

A spreadsheet runs a cell that begins with =, +, - or @, also behind a tab or the end of a line. Such a text gets an
apostrophe in front, as OWASP advises, unless it is a plain number; so does one that has apostrophes there already, so
that taking one away gives back any text that was written here.
"""

from __future__ import annotations

import re

FORMULA = r"^'*[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""The pattern, as RE2 spells it, of texts to look at."""

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?")


def guard(text: str) -> str:
    """Return a text for a cell of a CSV file."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguard(text: str) -> str:
    """Return the text of a cell that `guard` made."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
