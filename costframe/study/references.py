"""References of a study: the simple models that everyone would try, beside its algorithms and the constant."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from costframe.core.errors import format_count
from costframe.study.points import CONSTANT, Point


@frozen
class Reference:
    """A simple model: an algorithm of a plugin, fitted once, without prices to the free features or to all.

    One that is `billed` is fitted at the prices, where errors have some too.
    """

    label: str  # of its point, and in the names of files
    algorithm: str
    words: str
    free: bool = False
    billed: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of its estimator."""
        return {"max_price": 0.0} if self.free else {"tradeoff": None} if self.billed else {}


def is_reference(point: Point) -> bool:
    """Return whether a point is that of a reference, or of the constant."""
    return point.algorithm in _BY_LABEL or point.algorithm == CONSTANT


def describe_reference(point: Point) -> str | None:
    """Return what a point is if it is that of a reference, such as "a linear model on 10 free features".

    One that reads nothing is a constant, whatever made it.
    """
    reference = _BY_LABEL.get(point.algorithm)
    if reference is None or not point.n_features:
        return None
    features = format_count(point.n_features, "free feature" if reference.free else "feature")
    return f"{reference.words} on {features}"


# Stands below the classes that it names.
REFERENCES = (
    Reference("linear-free", "linear", "a linear model", free=True),
    Reference("boosting-free", "affordable", "boosting", free=True),
    Reference("linear-all", "linear", "a linear model"),
    Reference("boosting-all", "boosting", "boosting"),
    Reference("tree-priced", "priced-tree", "a single priced tree", billed=True),
)
_BY_LABEL = {reference.label: reference for reference in REFERENCES}
