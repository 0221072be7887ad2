"""All estimators of this plugin, by the files that hold them."""

from __future__ import annotations

from costframe_baselines.boosting import (
    AffordableClassifier,
    AffordableRanker,
    AffordableRegressor,
    BoostingClassifier,
    BoostingRanker,
    BoostingRegressor,
)
from costframe_baselines.cascades import AndOrClassifier, AndOrRanker, SoftCascadeClassifier, SoftCascadeRanker
from costframe_baselines.early_exit import EarlyExitClassifier, EarlyExitRanker
from costframe_baselines.l1_gate import L1GateClassifier
from costframe_baselines.linear import LinearClassifier, LinearRegressor
from costframe_baselines.priced_tree import PricedTreeClassifier

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
