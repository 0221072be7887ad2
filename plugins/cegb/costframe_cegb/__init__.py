"""CEGB: gradient boosting whose splits pay for features row by row (NIPS 2017)."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl

__all__ = ["CEGBClassifier", "CEGBRanker", "CEGBRegressor"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from costframe_cegb import estimators

    return getattr(estimators, name)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return CEGB."""
    from costframe_cegb.estimators import CEGBClassifier, CEGBRanker, CEGBRegressor

    return [
        Algorithm(
            name="cegb",
            summary="Boosted best-first trees; each row pays once for each feature or resource that it meets.",
            reference="Peter, Diego, Hamprecht, Nadler: Cost efficient gradient boosting, NIPS 2017",
            classifier=CEGBClassifier,
            regressor=CEGBRegressor,
            ranker=CEGBRanker,
        )
    ]
