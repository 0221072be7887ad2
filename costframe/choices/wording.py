"""What sentences say of points: of their scores, or where errors have prices, of their bills."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from costframe.choices.choices import Choices
from costframe.study.points import Point
from costframe.study.references import describe_reference


class Wording(ABC):
    """Parts of sentences and tables about points of a frontier, which depend on what chooses among them."""

    choices: Choices
    columns: ClassVar[dict[str, tuple[str, ...]]]  # of a table, in place of others

    @abstractmethod
    def figures(self, point: Point) -> str:
        """Return what ends the sentence on a point's cost: its estimates, and what it has on test rows."""

    @abstractmethod
    def in_records(self, point: Point) -> str | None:
        """Return a sentence on what the records alone say of a point, in which tests were not made; None if all were.

        It compares that with the figures of service, on the same rows: those of test, else held-out ones.
        """

    @abstractmethod
    def reason(self, chosen: Point) -> str:
        """Return words that say why a point was chosen, perhaps within a budget; it reads features, or others do."""

    @abstractmethod
    def nothing_better(self, constant: Point, budget: float | None) -> str:
        """Return a text on a budget within which nothing is clearly better than the constant."""

    @abstractmethod
    def comparison(self, point: Point) -> str:
        """Return sentences that compare a point with the best one, with none, and with simple ones."""

    @abstractmethod
    def open_questions(self, point: Point) -> list[tuple[str, float]]:
        """Return what the estimates leave open, with the factor by which more rows would answer it."""

    @abstractmethod
    def improvement(self) -> str:
        """Return the verb and object of a gain."""

    @abstractmethod
    def span(self, front: Sequence[Point]) -> str:
        """Return the range of scores, or of errors, of non-dominated points by ascending cost."""

    @abstractmethod
    def highlights(self) -> dict[str, Point | None]:
        """Return the points that matter most, by what they are."""

    @abstractmethod
    def record(self, point: Point) -> dict[str, float]:
        """Return further columns of a point's record."""


def best_reference(choices: Choices, point: Point, most: float = math.inf) -> Point | None:
    """Return the best reference beside a point, but the constant: of those that cost at most that, if any do."""
    others = [other for other in choices.points if describe_reference(other) and other != point]
    cheap = [other for other in others if other.cost <= most]
    return max(cheap or others, key=lambda other: (choices.worth(other), -other.cost), default=None)
