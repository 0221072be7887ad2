"""Models that stay accurate while acquiring few features, with the exact cost of every prediction."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # importing typing takes as long as all else here, before a command can handle an interrupt
if TYPE_CHECKING:
    from typing import Any

    from costframe import datasets
    from costframe.adoption import adopt
    from costframe.core.cost.expected import CostReport, ExpectedCost
    from costframe.core.errors import CostframeError
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.plugins.registry import algorithms, estimator
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.predictors.inquiry import Prediction
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.predictors.stepped import SteppedPredictor
    from costframe.core.prices.costs import CostModel
    from costframe.core.stages.stages import Answer, Route
    from costframe.core.storage.saving import load, save
    from costframe.frontier import BudgetSearch, Frontier
    from costframe.hooks import Algorithm, hookimpl
    from costframe.report.stages_plot import plot_stages
    from costframe.sources import predict_many, predict_one, predict_one_async
    from costframe.stagewise.train_bank import train_bank

__version__ = "0.1.0"

# Public names and their modules; each module loads at the first use of its name.
_HOME = {
    "Algorithm": "costframe.hooks",
    "Answer": "costframe.core.stages.stages",
    "BudgetSearch": "costframe.frontier",
    "CostModel": "costframe.core.prices.costs",
    "CostReport": "costframe.core.cost.expected",
    "CostframeError": "costframe.core.errors",
    "ExpectedCost": "costframe.core.cost.expected",
    "FittedEstimator": "costframe.core.predictors.fitted",
    "Frontier": "costframe.frontier",
    "Prediction": "costframe.core.predictors.inquiry",
    "Predictor": "costframe.core.predictors.predictor",
    "Route": "costframe.core.stages.stages",
    "StageTree": "costframe.core.predictors.stage_tree",
    "SteppedPredictor": "costframe.core.predictors.stepped",
    "WeakLearnerBank": "costframe.core.learners.bank",
    "adopt": "costframe.adoption",
    "algorithms": "costframe.core.plugins.registry",
    "datasets": "costframe",
    "estimator": "costframe.core.plugins.registry",
    "hookimpl": "costframe.hooks",
    "load": "costframe.core.storage.saving",
    "plot_stages": "costframe.report.stages_plot",
    "predict_many": "costframe.sources",
    "predict_one": "costframe.sources",
    "predict_one_async": "costframe.sources",
    "save": "costframe.core.storage.saving",
    "train_bank": "costframe.stagewise.train_bank",
}

__all__ = [
    "Algorithm",
    "Answer",
    "BudgetSearch",
    "CostModel",
    "CostReport",
    "CostframeError",
    "ExpectedCost",
    "FittedEstimator",
    "Frontier",
    "Prediction",
    "Predictor",
    "Route",
    "StageTree",
    "SteppedPredictor",
    "WeakLearnerBank",
    "adopt",
    "algorithms",
    "datasets",
    "estimator",
    "hookimpl",
    "load",
    "plot_stages",
    "predict_many",
    "predict_one",
    "predict_one_async",
    "save",
    "train_bank",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'costframe' has no attribute {name!r}")
    home = _HOME[name]
    value = (
        importlib.import_module("costframe.datasets")
        if home == "costframe"
        else getattr(importlib.import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
