"""CSTC: a tree of classifiers, each with features worth their price for its part of the rows (ICML 2013)."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_cstc.estimators import CSTCClassifier, CSTCRanker, CSTCRegressor

__all__ = ["CSTCClassifier", "CSTCRanker", "CSTCRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return the tree of classifiers."""
    return [
        Algorithm(
            name="cstc",
            summary="A tree of classifiers over any bank: each part of the rows buys the features worth their price.",
            reference="Xu, Kusner, Weinberger, Chen: Cost-sensitive tree of classifiers, ICML 2013",
            classifier="costframe_cstc.estimators:CSTCClassifier",
            regressor="costframe_cstc.estimators:CSTCRegressor",
            ranker="costframe_cstc.estimators:CSTCRanker",
            usual=False,
        )
    ]
