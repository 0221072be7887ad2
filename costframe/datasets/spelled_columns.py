"""Columns of texts as numbers, by the spelling of their file, and as labels that a spreadsheet does not run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from costframe.core.cells import FORMULA, unguard
from costframe.core.numerals import Evidence, Spelling
from costframe.core.tables.columns import MISSING_TEXTS, is_text, null_texts

_LIKE_NUMBERS = r"^\s*[+\-\x{2212}]?[0-9.,][0-9.,' \x{A0}\x{2007}\x{2009}\x{2019}\x{202F}]*(?:[eE][+-]?[0-9]+)?\s*$"
_FIRST = 32  # rows that mostly tell a column of texts from one of numbers


def spelled_numbers(column: Any, spelling: Spelling, missing: Sequence[str]) -> Any:
    """Return a pyarrow column of texts as numbers, int64 or float64; None if some are none, or it has no texts."""
    if not is_text(column.type):
        return None
    first = null_texts(column[:_FIRST], missing).drop_null().to_pylist()
    if any(spelling.plain(text) is None for text in first):
        return None
    texts = null_texts(column, missing)
    each = texts.unique()
    found: list[str | None] = []
    for text in each.to_pylist():
        plain = None if text is None else spelling.plain(text)
        if plain is None and text is not None:
            return None
        found.append(plain)
    return pc.take(_as_numbers(found), pc.index_in(texts, each))


def _as_numbers(texts: list[str | None]) -> Any:
    """Return numbers as Python spells them, or None, as int64 if all are whole, else as float64."""
    values = [None if text is None else float(text) for text in texts]
    if all(text is None or text.lstrip("+-").isdigit() for text in texts):
        whole = [None if text is None else int(text) for text in texts]
        if all(value is None or -(2**63) <= value < 2**63 for value in whole):
            return pa.array(whole, pa.int64())
    return pa.array(values, pa.float64())


def find_spelling_of(batches: Iterable[Any], missing: Sequence[str], separator: str) -> Spelling:
    """Return the spelling of the numbers in batches of columns of texts, read until it is clear."""
    evidence = Evidence()
    for batch in batches:
        for column in batch.columns:
            texts = null_texts(column, (*MISSING_TEXTS, *missing)).drop_null()
            alike = pc.match_substring_regex(texts, _LIKE_NUMBERS)
            if 2 * (pc.sum(alike).as_py() or 0) >= len(texts) > 0:
                signed = pc.and_(alike, pc.match_substring_regex(texts, "[^0-9]"))
                evidence.add(texts.filter(signed).unique().to_pylist())
        if not evidence.spelling(separator).unclear:
            break
    return evidence.spelling(separator)


def unguard_texts(column: Any) -> Any:
    """Return a column whose texts are as they were before `guard` wrote them; others are unchanged."""
    if not is_text(column.type):
        return column
    if not pc.any(marked := pc.starts_with(column, "'")).as_py():
        return column
    if not pc.any(pc.match_substring_regex(column.filter(marked), FORMULA)).as_py():
        return column
    each = column.unique()
    found = pa.array([text if text is None else unguard(text) for text in each.to_pylist()], each.type)
    return found.take(pc.index_in(column, each))
