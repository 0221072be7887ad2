"""Greedy Miser: boosting whose trees pay for each feature once (ICML 2012)."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl

__all__ = ["MiserClassifier", "MiserRanker", "MiserRegressor"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from costframe_miser import estimators

    return getattr(estimators, name)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return Greedy Miser."""
    from costframe_miser.estimators import MiserClassifier, MiserRanker, MiserRegressor

    return [
        Algorithm(
            name="miser",
            summary="Boosted shallow trees; the first tree that uses a feature or resource pays for it.",
            reference="Xu, Weinberger, Chapelle: The Greedy Miser, ICML 2012",
            classifier=MiserClassifier,
            regressor=MiserRegressor,
            ranker=MiserRanker,
        )
    ]
