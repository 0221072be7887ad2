"""What a trip asks of a table in a database, and what a kind of database must do for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from attrs import define, field

from costframe.core.errors import InquiryError, shown
from costframe.sources.source import MOST_BYTES, LackingError, Wanted

_MOST_STATEMENTS = 500

Rows = list[tuple[int, list[Any]]]
"""The number of each row's key in the question, and its values in the order of the places."""


@define
class Question:
    """Keys, as the database spells them, and places, each for all keys or for those of a mask.

    Parameters
    ----------
    keys : list
    places : collection of str
    mask_of : mapping of str to int
        For places that some keys do not want, the number of their mask.
    masks : list of list of bool (keys,)
    """

    keys: list[Any]
    places: Collection[str]
    mask_of: Mapping[str, int] = field(factory=dict)
    masks: list[list[bool]] = field(factory=list)

    @classmethod
    def of(cls, asked: Sequence[tuple[Hashable, Any]], wanted: Wanted, places: Collection[str]) -> Question:
        """Return the question for keys with their spellings; places that the same keys want share a mask."""
        keys = [spelled for _, spelled in asked]
        masks: dict[tuple[bool, ...], int] = {}
        mask_of: dict[str, int] = {}
        if any(len(wanted[key]) < len(places) for key, _ in asked):
            for place in places:
                mask = tuple(place in wanted[key] for key, _ in asked)
                if not all(mask):
                    mask_of[place] = masks.setdefault(mask, len(masks))
        return cls(keys, places, mask_of, [list(mask) for mask in masks])

    def wants(self, number: int, place: str) -> bool:
        """Return whether a key, by its number, wants a place."""
        return place not in self.mask_of or self.masks[self.mask_of[place]][number]

    @property
    def most(self) -> int:
        """Most rows that are read: more than one for each key is an error anyway."""
        return 2 * len(self.keys) + 1000

    @property
    def shape(self) -> Hashable:
        """What questions of one statement have in common."""
        return tuple(self.places), tuple(self.mask_of.items()), min(len(self.keys), 2)


def too_long() -> InquiryError:
    """Return the error in the place of a value that is left where it is."""
    return InquiryError(f"expected a value of at most {MOST_BYTES:,} bytes, got more")


def decode_text(raw: bytes) -> str | bytes:
    """Return a text; bytes that are none stay bytes, which the field of a feature then refuses."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def quote_name(name: str) -> str:
    """Return a name as SQL quotes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


class Database(ABC):
    """One table of a database, with its connections.

    `columns` has the table's columns by name when it is open.
    """

    table: str
    key: str
    schema: str | None
    columns: Mapping[str, Any]
    _statements: dict[Any, Any]

    @abstractmethod
    async def open(self) -> None:
        """Connect, and read the table's columns; a `LackingError` says that the table is not there."""

    async def look_at_key(self) -> None:  # noqa: B027 - its column may tell all
        """Look how the column of keys compares."""

    @abstractmethod
    def spell(self, key: Hashable) -> list[Any]:
        """Return the values of the column that a key stands for; a `KeyRefusedError` refuses others."""

    @abstractmethod
    async def select(self, question: Question) -> Rows:
        """Return the rows of a question's keys, in any order; an `InquiryError` is in the place of an odd value."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    def statement(self, question: Question) -> Any:
        """Return the statement of a question, which others of its shape share."""
        if (shape := question.shape) not in self._statements:
            if len(self._statements) >= _MOST_STATEMENTS:
                self._statements.clear()
            self._statements[shape] = self._make_statement(question)
        return self._statements[shape]

    @abstractmethod
    def _make_statement(self, question: Question) -> Any:
        """Make the statement of a question."""

    def names(self) -> list[tuple[str | None, str]]:
        """Return what the table's name may mean: schema and table; a whole name goes before one with a schema."""
        before, dot, after = self.table.partition(".")
        return [(self.schema, self.table), *([(before, after)] if dot and self.schema is None else [])]

    def lacking(self, hint: str = "") -> LackingError:
        """Return the error that the table is not there."""
        if self.schema is not None:
            return LackingError(f"no table {shown(self.table)} in the schema {shown(self.schema)}")
        return LackingError(f"no table {shown(self.table)}" + ("" if "." in self.table else hint))
