"""Baselines that the papers compare with: boosting, early exit, a gate after l1, cascades by price."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl, import_lazily

__all__ = ["AndOrClassifier", "AndOrRanker", "SoftCascadeClassifier", "SoftCascadeRanker"]

__getattr__ = import_lazily(f"{__name__}.cascades", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return the algorithms of this plugin."""
    from costframe_baselines.cascades import AndOrClassifier, AndOrRanker, SoftCascadeClassifier, SoftCascadeRanker

    return [
        Algorithm(
            name="soft-cascade",
            summary="A cascade by price; a row is positive with the product of its stages' probabilities.",
            reference="Raykar, Krishnapuram, Yu: Designing efficient cascaded classifiers, KDD 2010",
            classifier=SoftCascadeClassifier,
            ranker=SoftCascadeRanker,
            baseline=True,
        ),
        Algorithm(
            name="and-or",
            summary="A cascade by price; all stages must accept a positive row, one rejects a negative row.",
            reference="Dundar, Bi: Joint optimization of cascaded classifiers, CVPR 2007",
            classifier=AndOrClassifier,
            ranker=AndOrRanker,
            baseline=True,
        ),
    ]
