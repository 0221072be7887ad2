"""Baselines: boosting, linear models, one priced tree, early exit, a gate after l1, cascades by price."""

from __future__ import annotations

from costframe import Algorithm, hookimpl
from costframe.plugin import import_lazily

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from costframe_baselines.estimators import (
        AffordableClassifier,
        AffordableRanker,
        AffordableRegressor,
        AndOrClassifier,
        AndOrRanker,
        BoostingClassifier,
        BoostingRanker,
        BoostingRegressor,
        EarlyExitClassifier,
        EarlyExitRanker,
        L1GateClassifier,
        LinearClassifier,
        LinearRegressor,
        PricedTreeClassifier,
        SoftCascadeClassifier,
        SoftCascadeRanker,
    )

__all__ = [
    "AffordableClassifier",
    "AffordableRanker",
    "AffordableRegressor",
    "AndOrClassifier",
    "AndOrRanker",
    "BoostingClassifier",
    "BoostingRanker",
    "BoostingRegressor",
    "EarlyExitClassifier",
    "EarlyExitRanker",
    "L1GateClassifier",
    "LinearClassifier",
    "LinearRegressor",
    "PricedTreeClassifier",
    "SoftCascadeClassifier",
    "SoftCascadeRanker",
]

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return the algorithms of this plugin."""
    return [
        Algorithm(
            name="boosting",
            summary="Boosted trees without prices; the tradeoff chooses how many of them.",
            reference="Friedman: Greedy function approximation: a gradient boosting machine, Annals of Statistics 2001",
            classifier="costframe_baselines.boosting:BoostingClassifier",
            regressor="costframe_baselines.boosting:BoostingRegressor",
            ranker="costframe_baselines.boosting:BoostingRanker",
            baseline=True,
        ),
        Algorithm(
            name="affordable",
            summary="Boosted trees on the features below a price; the tradeoff chooses the price and their number.",
            reference="Xu, Weinberger, Chapelle: The Greedy Miser, ICML 2012 (its baseline with feature subsets)",
            classifier="costframe_baselines.boosting:AffordableClassifier",
            regressor="costframe_baselines.boosting:AffordableRegressor",
            ranker="costframe_baselines.boosting:AffordableRanker",
            baseline=True,
        ),
        Algorithm(
            name="linear",
            summary="Logistic or linear regression on the features below a price, which the tradeoff chooses.",
            reference="Hastie, Tibshirani, Friedman: The Elements of Statistical Learning, 2009, sections 3.4 and 4.4",
            classifier="costframe_baselines.linear:LinearClassifier",
            regressor="costframe_baselines.linear:LinearRegressor",
            baseline=True,
        ),
        Algorithm(
            name="priced-tree",
            summary="One decision tree, grown by looking two splits ahead at prices, which minimizes the bill.",
            reference="Ling, Yang, Wang, Zhang: Decision trees with minimal costs, ICML 2004",
            classifier="costframe_baselines.priced_tree:PricedTreeClassifier",
            baseline=True,
        ),
        Algorithm(
            name="early-exit",
            summary="Rows leave an additive model early: classes by confidence, rows of a query by their distance.",
            reference="Cambazoglu et al.: Early exit optimizations for additive machine learned ranking systems, "
            "WSDM 2010",
            classifier="costframe_baselines.early_exit:EarlyExitClassifier",
            ranker="costframe_baselines.early_exit:EarlyExitRanker",
            baseline=True,
        ),
        Algorithm(
            name="l1-gate",
            summary="Columns by l1, a cheap linear model on them, and a gate to its errors before an expensive model.",
            reference="Nan, Saligrama: Adaptive Classification for Prediction Under a Budget, NIPS 2017 (its baseline)",
            classifier="costframe_baselines.l1_gate:L1GateClassifier",
            baseline=True,
        ),
        Algorithm(
            name="soft-cascade",
            summary="A cascade by price like and-or, trained with lambda times the expected cost of its stages.",
            reference="Raykar, Krishnapuram, Yu: Designing efficient cascaded classifiers, KDD 2010",
            classifier="costframe_baselines.cascades:SoftCascadeClassifier",
            ranker="costframe_baselines.cascades:SoftCascadeRanker",
            baseline=True,
        ),
        Algorithm(
            name="and-or",
            summary="A cascade by price; all stages must accept a positive row, one rejects a negative row.",
            reference="Dundar, Bi: Joint optimization of cascaded classifiers, CVPR 2007",
            classifier="costframe_baselines.cascades:AndOrClassifier",
            ranker="costframe_baselines.cascades:AndOrRanker",
            baseline=True,
        ),
    ]
