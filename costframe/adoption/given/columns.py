"""Columns of the data that a given model reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.tables.remembered import ColumnType


@frozen
class GivenColumns:
    """The data's columns, and those for a model that does not name its own."""

    names: tuple[str, ...]  # all columns; each has a price
    given: tuple[int, ...]  # columns for the model
    parameter: str  # name of the model in errors
    named: bool = False  # whether the user named the columns for the model
    types: Mapping[str, ColumnType] = field(factory=dict, eq=False)  # with which they came, by name

    @classmethod
    def choose(
        cls, names: tuple[str, ...], wanted: Any, parameter: str, types: Mapping[str, ColumnType] | None = None
    ) -> GivenColumns:
        """Take all columns, or the wanted ones; refuse other things than names of columns, and an empty list."""
        if wanted is None:
            return cls(names, tuple(range(len(names))), parameter, types=types or {})
        if (
            isinstance(wanted, str)
            or not isinstance(wanted, Iterable)
            or not all(isinstance(name, str) for name in wanted)
        ):
            raise ParameterError(f"{parameter}: expected a list of feature names, got {shown(wanted)}")
        listed = list(dict.fromkeys(wanted))
        _check_priced(f"{parameter}: names", listed, names)
        if not listed:
            raise ParameterError(f"{parameter}: expected at least one feature name, got none")
        return cls(names, tuple(names.index(name) for name in listed), parameter, named=True, types=types or {})

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of the columns for a model."""
        return tuple(self.names[f] for f in self.given)

    def read_by(self, read: Sequence[str]) -> GivenColumns:
        """Return the columns that a model names; refuse names that the data lack, or that the user left out."""
        _check_priced(f"{self.parameter}: it reads", read, self.names)
        further = [name for name in read if name not in set(self.given_names)]
        if further:
            raise DataError(f"{self.parameter}: it reads {further[0]!r}, which is not among its features")
        return evolve(self, given=tuple(self.names.index(name) for name in read))

    def of_model(self, model: Any) -> GivenColumns:
        """Return the columns that a fitted model names, else these; refuse other names, or another number."""
        read = getattr(model, "feature_names_in_", None)
        if read is not None and all(isinstance(name, str) for name in read):
            return self.read_by([str(name) for name in read])
        count = getattr(model, "n_features_in_", len(self.given))
        if count != len(self.given):
            raise DataError(
                f"{self.parameter}: {type(model).__name__} reads {count} features, the data have {len(self.given)}; "
                "name those that it reads"
            )
        return self


def _check_priced(what: str, names: Sequence[str], known: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in set(known)]
    if unknown:
        raise DataError(f"{what} {unknown[0]!r}, which is none of the priced features {', '.join(known)}")
