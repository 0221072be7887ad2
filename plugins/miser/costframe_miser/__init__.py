"""Greedy Miser: boosting whose trees pay for each feature once (ICML 2012)."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_miser.estimators import MiserClassifier, MiserRanker, MiserRegressor

__all__ = ["MiserClassifier", "MiserRanker", "MiserRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return Greedy Miser."""
    return [
        Algorithm(
            name="miser",
            summary="Boosted shallow trees; the first tree that uses a feature or resource pays for it.",
            reference="Xu, Weinberger, Chapelle: The Greedy Miser, ICML 2012",
            classifier="costframe_miser.estimators:MiserClassifier",
            regressor="costframe_miser.estimators:MiserRegressor",
            ranker="costframe_miser.estimators:MiserRanker",
            usual=False,
        )
    ]
