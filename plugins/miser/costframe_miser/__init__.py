"""Greedy Miser: boosting whose trees pay for each feature once (ICML 2012)."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl, import_lazily

__all__ = ["MiserClassifier", "MiserRanker", "MiserRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Bring Greedy Miser."""
    from costframe_miser.estimators import MiserClassifier, MiserRanker, MiserRegressor

    return [
        Algorithm(
            name="miser",
            summary="Boosted shallow trees; a feature or resource is paid for once, by the first tree that uses it.",
            reference="Xu, Weinberger, Chapelle: The Greedy Miser, ICML 2012",
            classifier=MiserClassifier,
            regressor=MiserRegressor,
            ranker=MiserRanker,
        )
    ]
