"""Adapt: a cheap model and a gate in front of an expensive model (NIPS 2017)."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_adapt.estimators import AdaptClassifier

__all__ = ["AdaptClassifier"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return Adapt."""
    return [
        Algorithm(
            name="adapt",
            summary="A cheap boosted model and a gate, with an expensive model behind it for the rows that need it.",
            reference="Nan, Saligrama: Adaptive Classification for Prediction Under a Budget, NIPS 2017",
            classifier="costframe_adapt.estimators:AdaptClassifier",
            usual=False,
        )
    ]
