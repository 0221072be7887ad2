"""Random forests that pay for their splits (BudgetRF), and forests pruned by price (BudgetPrune)."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_budgetforest.estimators import BudgetPruneClassifier, BudgetRFClassifier

__all__ = ["BudgetPruneClassifier", "BudgetRFClassifier"]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return BudgetRF and BudgetPrune."""
    return [
        Algorithm(
            name="budgetrf",
            summary="Random forest whose trees split by the least price per drop of the impurity.",
            reference="Nan, Wang, Saligrama: Feature-Budgeted Random Forest, ICML 2015",
            classifier="costframe_budgetforest.estimators:BudgetRFClassifier",
            baseline=True,
        ),
        Algorithm(
            name="budgetprune",
            summary="A forest pruned by an integer program that lets trees share the purchases of a row.",
            reference="Nan, Wang, Saligrama: Pruning Random Forests for Prediction on a Budget, NIPS 2016",
            classifier="costframe_budgetforest.estimators:BudgetPruneClassifier",
            baseline=True,
        ),
    ]
