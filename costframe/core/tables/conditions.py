"""Conditions on the columns of rows, in plain words: regions of a table are rows that meet all of some conditions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import B1, F8
from costframe.core.errors import ParameterError, printable
from costframe.core.tables.categories import OTHER

Label = str | float
"""A category: its text, or the number that it is."""


@frozen
class Condition:
    """A condition on one feature: a range of numbers, a label, or none of some labels.

    Parameters
    ----------
    feature : str
    above, up_to : float
        The range, without and with its end.
    label : str, float or None
        The only category that meets it; None for a range, or for all but some.
    others : tuple of str or float
        The categories that do not meet it.
    missing : bool
        Whether a missing value meets it.
    known : bool
        Whether other values meet it at all.
    """

    feature: str
    above: float = field(default=-math.inf, converter=float)
    up_to: float = field(default=math.inf, converter=float)
    label: Label | None = None
    others: tuple[Label, ...] = ()
    missing: bool = False
    known: bool = True

    def __attrs_post_init__(self) -> None:
        if not self.above < self.up_to:
            raise ParameterError(f"up_to: expected more than {self.above:g}, got {self.up_to:g}")

    @property
    def texts(self) -> tuple[str, ...]:
        """The labels in it that are texts."""
        return tuple(label for label in (self.label, *self.others) if isinstance(label, str))

    def holds(self, values: F8, numbers: Mapping[Label, float]) -> B1:
        """Return which values, float64 (n,), meet it: bool (n,); `numbers` are those of the labels that are texts."""
        held = (values > self.above) & (values <= self.up_to)
        if self.label is not None:
            held &= values == _number(self.label, numbers)
        held &= self.known
        for label in self.others:
            held &= values != _number(label, numbers)
        return np.asarray(np.where(np.isnan(values), self.missing, held), np.bool_)

    def meet(self, other: Condition) -> Condition:
        """Return the condition of rows that meet both this one and another on the same feature."""
        return Condition(
            self.feature,
            max(self.above, other.above),
            min(self.up_to, other.up_to),
            other.label if self.label is None else self.label,
            tuple(dict.fromkeys([*self.others, *other.others])),
            self.missing and other.missing,
            self.known and other.known,
        )

    def __str__(self) -> str:
        name, said = printable(self.feature), []
        if not self.known:
            return f"{name} is missing"
        if self.label is not None:
            said.append(f"is {_told(self.label)}")
        elif self.others:
            said.append(f"is not {' or '.join(map(_told, self.others))}")
        if self.above > -math.inf:
            said.append(f"is above {self.above:g}")
        if self.up_to < math.inf:
            said.append(f"{'and ' if self.above > -math.inf else 'is '}up to {self.up_to:g}")
        if not said:
            said.append("is known")
        if self.missing and not self.others:
            said.append("or missing")
        return f"{name} {' '.join(said)}"


def find_rows(conditions: Sequence[Condition], X: F8, column: Mapping[str, int], numbers: Mapping[str, Any]) -> B1:
    """Return which rows, float64 (n, d), meet all conditions: bool (n,); `numbers` of labels are by feature."""
    met = np.ones(len(X), np.bool_)
    for condition in conditions:
        met &= condition.holds(X[:, column[condition.feature]], numbers.get(condition.feature, {}))
    return met


def in_words(conditions: Sequence[Condition]) -> str:
    """Return conditions as words, such as "age is up to 40 and sex is male"."""
    return " and ".join(map(str, conditions))


def _number(label: Label, numbers: Mapping[Label, float]) -> float:
    return numbers.get(label, math.nan) if isinstance(label, str) else label


def _told(label: Label) -> str:
    if label == OTHER:
        return "any other"
    return printable(label) if isinstance(label, str) else f"{label:g}"
