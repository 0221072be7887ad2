"""Ids: columns that say which row it is, or whose, and are no features; names and values show them.

A sure id is left out of the features. A column that may be one stays, and is told.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, format_count
from costframe.core.tables.columns import MISSING_TEXTS, decode_column, is_text, null_texts

_QUICK = 2_000  # values that tell most measurements from ids
_FEWEST = 20  # different values of an id
_ENOUGH = 150  # rows whose values alone are enough to be sure
_FEWEST_PERSONS = 5  # the same, of an id of persons
_MOST_ROWS = 20  # of a value, in the mean; with more, it may be the code of something, such as a region
_NEARLY_ALL = 0.95  # of the values differ
_PAIRS = 10.0  # equal pairs that chance would make among values that all differ
_SMOOTH = 0.5  # correlation
_SURELY = 6.0  # standard deviations

_ID_WORDS = frozenset({"id", "ids", "uid", "uuid", "guid", "identifier", "kennung", "mrn", "ssn", "pid", "rowid"})
_NUMBER_WORDS = frozenset({"key", "no", "nr", "number", "nummer", "index", "idx"})
# Whose rows: they have the same name for one person, and none of them is a count or an amount.
_PERSONS = frozenset({
    "patient", "person", "subject", "participant", "proband", "customer", "client", "kunde", "kunden", "user",
    "employee", "student", "pupil", "borrower", "applicant", "donor", "citizen",
})  # fmt: skip
_THINGS = frozenset({
    "member", "household", "family", "account", "animal", "driver", "player", "author", "case", "record", "sample",
    "specimen", "order", "invoice", "transaction", "ticket", "visit", "encounter", "admission", "stay", "hadm",
    "session", "message", "request", "application", "loan", "contract", "policy", "claim", "vehicle", "device",
    "machine", "product", "item", "row", "line", "image", "file", "document", "event", "trip", "ride", "cust", "emp",
})  # fmt: skip
# Whole numbers that may all differ and mean something: times, and places in an order that somebody judged.
_MEANT = frozenset({
    "year", "month", "week", "day", "date", "time", "hour", "minute", "second", "timestamp", "epoch", "jahr", "tag",
    "age", "rank", "rang", "ranking", "percentile", "score", "points", "position", "distance", "depth", "height",
})  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_UUID = r"^\{?[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?$"


@frozen
class IdColumn:
    """A column that is an id, or may be one."""

    n_values: int
    n_different: int
    kind: str  # "whole number" or "text"
    is_sure: bool

    @property
    def repeats(self) -> bool:
        """Whether several rows may be of one value."""
        return self.n_different < self.n_values

    def describe(self) -> str:
        """Describe the column in words."""
        if not self.repeats:
            return f"an id, a {self.kind} that differs in every row"
        return f"an id, {format_count(self.n_different, f'different {self.kind}')} in {self.n_values:,} rows"

    def way_out(self, name: str) -> str:
        """Return how to keep the rows of one value together, as the end of a text; nothing if each has one row."""
        return f"; --group {shlex.quote(name)} keeps the rows of one in one part" if self.repeats else ""


def find_ids(table: Mapping[str, Any], names: Collection[str]) -> dict[str, IdColumn]:
    """Return the columns among `names` of a table, pyarrow columns by name, that are ids, or may be."""
    ids = {}
    for name in names:
        with contextlib.suppress(DataError):  # the reader of the feature says why it cannot be read
            if (column := describe_id(table[name], name)) is not None:
                ids[name] = column
    return ids


def describe_id(column: Any, name: str) -> IdColumn | None:
    """Return what makes a pyarrow column an id; None if it looks like none."""
    said = _kind_of_name(name)
    values = _identifying(column, name, is_named=said != "")
    if values is None or len(values) < _FEWEST:
        return None
    counted = pc.value_counts(values)
    different, counts = counted.field("values"), counted.field("counts").to_numpy()
    n, k = len(values), len(counts)
    by_name = _judge_name(said, n, k)
    if is_text(values.type):
        is_sure = by_name or (k == n and pc.all(pc.match_substring_regex(values, _UUID)).as_py())
        return IdColumn(n, k, "text", is_sure=True) if is_sure else None
    if by_name and said == "numbered" and _count_something(_as_doubles(different), counts):
        by_name = False
    is_sure = by_name if by_name is not None else _judge_numbers(_as_doubles(values), counts, said)
    return None if is_sure is None else IdColumn(n, k, "whole number", is_sure)


def number_values(column: Any, name: str) -> I8:
    """Return the number of each row's value among those of a pyarrow column, -1 for missing ones: int64 (n,)."""
    column = null_texts(decode_column(column, f"column {name!r}"), MISSING_TEXTS)
    codes = pc.index_in(column, column.unique().drop_null()).fill_null(-1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)


def _kind_of_name(name: str) -> str:
    """Return what a column's name says: "person", "id", "numbered", "number", "meant", or nothing."""
    words = [part for word in map(str.lower, _WORD.findall(name)) for part in _parts(word)]
    last, before = (words[-1], words[-2:-1]) if words else ("", [])
    entities = _PERSONS | _THINGS
    if last in _ID_WORDS or (len(words) == 2 and words[0] in _ID_WORDS and last in entities):
        return "person" if _PERSONS.intersection(words) else "id"
    if last in _NUMBER_WORDS:
        return "numbered" if entities.intersection(before) else "number" if last != "index" or not before else ""
    if len(words) == 1 and last in _PERSONS:
        return "numbered"
    return "meant" if _MEANT.intersection(words) else ""


def _parts(word: str) -> tuple[str, ...]:
    """Return the words of one such as patientid; one that has no such parts alone."""
    for end in ("id", "no", "nr", "number", "nummer"):
        if word.endswith(end) and word.removesuffix(end) in _PERSONS | _THINGS:
            return word.removesuffix(end), end
    return (word,)


def _judge_name(said: str, n: int, k: int) -> bool | None:
    """Return whether n values, of which k differ, are surely an id by what its name says; None if it says nothing."""
    few_rows = k >= _FEWEST and n <= _MOST_ROWS * k
    if (said == "person" and k >= _FEWEST_PERSONS) or (said in {"id", "numbered"} and few_rows):
        return True
    if said == "number" and k == n:
        return n >= _ENOUGH
    return False if said == "id" and k >= _FEWEST else None


def _judge_numbers(values: F8, counts: I8, said: str) -> bool | None:
    """Return whether whole numbers are surely an id by their values, (n,), and the rows of each, (k,); None if not.

    They differ although they lie so close together that draws of anything would be equal more often.
    """
    n, k = len(values), len(counts)
    if k < max(_FEWEST, _NEARLY_ALL * n):
        return None
    by_chance = n * (n - 1) / 2 / (np.ptp(values) + 1)  # equal pairs of even draws, which have the fewest
    equal = float(counts @ (counts - 1)) / 2
    if by_chance >= _PAIRS and (equal == 0 or equal < by_chance - _SURELY * np.sqrt(by_chance)):
        return said != "meant" and n >= _ENOUGH
    return False if k == n and bool((np.diff(values) > 0).all()) else None


def _count_something(different: F8, counts: I8) -> bool:
    """Return whether the rows of each value, (k,), vary smoothly with it, as those of visits 1, 2, 3 do."""
    if len(counts) == counts.sum():
        return False
    ordered = counts[np.argsort(different)].astype(np.float64)
    falls = np.corrcoef(np.argsort(np.argsort(ordered)), np.arange(len(ordered)))[0, 1]
    centered = ordered - ordered.mean()
    smoothness = centered[1:] @ centered[:-1] / max(centered @ centered, 1e-300)
    return bool(max(-falls, smoothness) > _SMOOTH)


def _as_doubles(values: Any) -> F8:
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _identifying(column: Any, name: str, *, is_named: bool) -> Any:
    """Return the values of a column, without missing ones, if they are texts or whole numbers; None if not."""
    column = decode_column(column, f"column {name!r}")
    if is_text(column.type):
        texts = null_texts(column, MISSING_TEXTS).drop_null()
        some = texts[:_QUICK]
        return texts if is_named or len(some.unique()) == len(some) else None
    if not any(check(column.type) for check in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)):
        return None
    values = column.drop_null()
    for some in (values[:_QUICK], values):  # the first few rule out most
        if not pa.types.is_integer(some.type):
            numbers = _as_doubles(some)
            if not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any():
                return None
        if not is_named and len(some.unique()) < _NEARLY_ALL / 2 * len(some):
            return None
    return values
