"""CEGB: gradient boosting whose splits pay for features row by row (NIPS 2017)."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_cegb.estimators import CEGBClassifier, CEGBRanker, CEGBRegressor

__all__ = ["CEGBClassifier", "CEGBRanker", "CEGBRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return CEGB."""
    return [
        Algorithm(
            name="cegb",
            summary="Boosted best-first trees; each row pays once for each feature or resource that it meets.",
            reference="Peter, Diego, Hamprecht, Nadler: Cost efficient gradient boosting, NIPS 2017",
            classifier="costframe_cegb.estimators:CEGBClassifier",
            regressor="costframe_cegb.estimators:CEGBRegressor",
            ranker="costframe_cegb.estimators:CEGBRanker",
        )
    ]
