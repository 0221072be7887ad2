"""Planner: strong models on a few sets of features, and a plan of each row's next set during prediction."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_planner.estimators import PlannerClassifier, PlannerRanker, PlannerRegressor

__all__ = ["PlannerClassifier", "PlannerRanker", "PlannerRegressor"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return the planner."""
    return [
        Algorithm(
            name="planner",
            summary="Strong models on a few sets of features; a row buys the next set if its gain is worth the price.",
            reference="costframe's own",
            classifier="costframe_planner.estimators:PlannerClassifier",
            regressor="costframe_planner.estimators:PlannerRegressor",
            ranker="costframe_planner.estimators:PlannerRanker",
        )
    ]
