"""Adapt: a cheap model and a gate in front of an expensive model (NIPS 2017)."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl

__all__ = ["AdaptClassifier"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from costframe_adapt import estimators

    return getattr(estimators, name)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return Adapt."""
    from costframe_adapt.estimators import AdaptClassifier

    return [
        Algorithm(
            name="adapt",
            summary="A cheap boosted model and a gate, with an expensive model behind it for the rows that need it.",
            reference="Nan, Saligrama: Adaptive Classification for Prediction Under a Budget, NIPS 2017",
            classifier=AdaptClassifier,
        )
    ]
