"""Priced stumps, a third-party algorithm for costframe."""

from collections.abc import Iterable

import costframe as cf

__all__ = ["costframe_algorithms"]


@cf.hookimpl
def costframe_algorithms() -> Iterable[cf.Algorithm]:
    """Return one algorithm with three estimators."""
    return [
        cf.Algorithm(
            name="stumps",
            summary="Boosted one-split trees; each round buys the split that is worth more than it costs",
            reference="the costframe tutorial, docs/writing-a-plugin.md",
            classifier="costframe_stumps.estimators:StumpsClassifier",
            regressor="costframe_stumps.estimators:StumpsRegressor",
            ranker="costframe_stumps.estimators:StumpsRanker",
        )
    ]
