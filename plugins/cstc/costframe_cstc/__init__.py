"""CSTC: a tree of classifiers, each of which acquires what its part of the rows is worth (ICML 2013)."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl, import_lazily

__all__ = ["CSTCClassifier", "CSTCRanker", "CSTCRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Bring the tree."""
    from costframe_cstc.estimators import CSTCClassifier, CSTCRanker, CSTCRegressor

    return [
        Algorithm(
            name="cstc",
            summary="A tree of classifiers over any bank: each part of the rows buys what it is worth there.",
            reference="Xu, Kusner, Weinberger, Chen: Cost-sensitive tree of classifiers, ICML 2013",
            classifier=CSTCClassifier,
            regressor=CSTCRegressor,
            ranker=CSTCRanker,
        )
    ]
