"""Cronus: new weights for weak learners, few of which remain (AISTATS 2012)."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_cronus.estimators import (
        CronusClassifier,
        CronusRanker,
        ReweightedClassifier,
        ReweightedRanker,
        ReweightedRegressor,
    )

__all__ = ["CronusClassifier", "CronusRanker", "ReweightedClassifier", "ReweightedRanker", "ReweightedRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return the cascade and its single stage."""
    return [
        Algorithm(
            name="cronus",
            summary="A cascade over any bank: early stages read few features, and reject rows of the common class.",
            reference="Chen, Xu, Weinberger, Chapelle, Kedem: Classifier cascade, AISTATS 2012",
            classifier="costframe_cronus.estimators:CronusClassifier",
            ranker="costframe_cronus.estimators:CronusRanker",
            usual=False,
        ),
        Algorithm(
            name="reweighted",
            summary="New weights for the weak learners of any bank, without those that are not worth their price.",
            reference="Chen, Xu, Weinberger, Chapelle, Kedem: Classifier cascade, AISTATS 2012, section 3.1",
            classifier="costframe_cronus.estimators:ReweightedClassifier",
            regressor="costframe_cronus.estimators:ReweightedRegressor",
            ranker="costframe_cronus.estimators:ReweightedRanker",
            usual=False,
        ),
    ]
