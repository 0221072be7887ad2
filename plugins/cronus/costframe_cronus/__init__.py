"""Cronus: re-weight weak learners, so that few features are acquired (AISTATS 2012)."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl, import_lazily

__all__ = ["CronusClassifier", "CronusRanker", "ReweightedClassifier", "ReweightedRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Bring the cascade, and its single stage."""
    from costframe_cronus.estimators import CronusClassifier, CronusRanker, ReweightedClassifier, ReweightedRegressor

    return [
        Algorithm(
            name="cronus",
            summary="A cascade over any bank: early stages look at little, and reject rows that are surely not wanted.",
            reference="Chen, Xu, Weinberger, Chapelle, Kedem: Classifier cascade, AISTATS 2012",
            classifier=CronusClassifier,
            ranker=CronusRanker,
        ),
        Algorithm(
            name="reweighted",
            summary="Weak learners of any bank weighted anew; learners, features and resources are left out by price.",
            reference="Chen, Xu, Weinberger, Chapelle, Kedem: Classifier cascade, AISTATS 2012, section 3.1",
            classifier=ReweightedClassifier,
            regressor=ReweightedRegressor,
        ),
    ]
