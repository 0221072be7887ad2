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
    from costframe.core.predictors.certain import certain
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.predictors.importances import importances
    from costframe.core.predictors.inquiry import Prediction
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.predictors.stepped import SteppedPredictor
    from costframe.core.prices.costs import CostModel
    from costframe.core.stages.stages import Answer, Route
    from costframe.core.storage.saving import load, save
    from costframe.frontier import BudgetSearch, Frontier
    from costframe.hooks import Algorithm, hookimpl
    from costframe.report.frontier_display import FrontierDisplay
    from costframe.report.stages_display import StagesDisplay
    from costframe.report.step_displays import AcquisitionDisplay, RowAcquisitionDisplay, RowsPerStageDisplay
    from costframe.sources import (
        CallSource,
        Field,
        HTTPSource,
        InquiryLog,
        Lookup,
        Policy,
        Predictions,
        PrometheusCounters,
        RedisSource,
        Source,
        Sources,
        SQLSource,
        TableSource,
        audit,
        measure,
        predict_many,
        predict_one,
        predict_one_async,
        predict_stream,
        predict_stream_async,
        trace_rounds,
    )
    from costframe.stagewise.train_bank import train_bank
    from costframe_adapt.estimators import AdaptClassifier as AdaptClassifier
    from costframe_baselines.estimators import AffordableClassifier as AffordableClassifier
    from costframe_baselines.estimators import AffordableRanker as AffordableRanker
    from costframe_baselines.estimators import AffordableRegressor as AffordableRegressor
    from costframe_baselines.estimators import AndOrClassifier as AndOrClassifier
    from costframe_baselines.estimators import AndOrRanker as AndOrRanker
    from costframe_baselines.estimators import BoostingClassifier as BoostingClassifier
    from costframe_baselines.estimators import BoostingRanker as BoostingRanker
    from costframe_baselines.estimators import BoostingRegressor as BoostingRegressor
    from costframe_baselines.estimators import EarlyExitClassifier as EarlyExitClassifier
    from costframe_baselines.estimators import EarlyExitRanker as EarlyExitRanker
    from costframe_baselines.estimators import L1GateClassifier as L1GateClassifier
    from costframe_baselines.estimators import SoftCascadeClassifier as SoftCascadeClassifier
    from costframe_baselines.estimators import SoftCascadeRanker as SoftCascadeRanker
    from costframe_budgetforest.estimators import BudgetPruneClassifier as BudgetPruneClassifier
    from costframe_budgetforest.estimators import BudgetRFClassifier as BudgetRFClassifier
    from costframe_cegb.estimators import CEGBClassifier as CEGBClassifier
    from costframe_cegb.estimators import CEGBRanker as CEGBRanker
    from costframe_cegb.estimators import CEGBRegressor as CEGBRegressor
    from costframe_cronus.estimators import CronusClassifier as CronusClassifier
    from costframe_cronus.estimators import CronusRanker as CronusRanker
    from costframe_cronus.estimators import ReweightedClassifier as ReweightedClassifier
    from costframe_cronus.estimators import ReweightedRanker as ReweightedRanker
    from costframe_cronus.estimators import ReweightedRegressor as ReweightedRegressor
    from costframe_cstc.estimators import CSTCClassifier as CSTCClassifier
    from costframe_cstc.estimators import CSTCRanker as CSTCRanker
    from costframe_cstc.estimators import CSTCRegressor as CSTCRegressor
    from costframe_miser.estimators import MiserClassifier as MiserClassifier
    from costframe_miser.estimators import MiserRanker as MiserRanker
    from costframe_miser.estimators import MiserRegressor as MiserRegressor
    from costframe_planner.estimators import PlannerClassifier as PlannerClassifier
    from costframe_planner.estimators import PlannerRanker as PlannerRanker
    from costframe_planner.estimators import PlannerRegressor as PlannerRegressor

__version__ = "0.1.0"

# Public names and their modules; each module loads at the first use of its name.
_HOME = {
    "AcquisitionDisplay": "costframe.report.step_displays",
    "Algorithm": "costframe.hooks",
    "Answer": "costframe.core.stages.stages",
    "BudgetSearch": "costframe.frontier",
    "CallSource": "costframe.sources",
    "CostModel": "costframe.core.prices.costs",
    "CostReport": "costframe.core.cost.expected",
    "CostframeError": "costframe.core.errors",
    "ExpectedCost": "costframe.core.cost.expected",
    "Field": "costframe.sources",
    "FittedEstimator": "costframe.core.predictors.fitted",
    "Frontier": "costframe.frontier",
    "FrontierDisplay": "costframe.report.frontier_display",
    "HTTPSource": "costframe.sources",
    "InquiryLog": "costframe.sources",
    "Lookup": "costframe.sources",
    "Policy": "costframe.sources",
    "Prediction": "costframe.core.predictors.inquiry",
    "Predictions": "costframe.sources",
    "Predictor": "costframe.core.predictors.predictor",
    "PrometheusCounters": "costframe.sources",
    "RedisSource": "costframe.sources",
    "Route": "costframe.core.stages.stages",
    "RowAcquisitionDisplay": "costframe.report.step_displays",
    "RowsPerStageDisplay": "costframe.report.step_displays",
    "SQLSource": "costframe.sources",
    "Source": "costframe.sources",
    "Sources": "costframe.sources",
    "StageTree": "costframe.core.predictors.stage_tree",
    "StagesDisplay": "costframe.report.stages_display",
    "SteppedPredictor": "costframe.core.predictors.stepped",
    "TableSource": "costframe.sources",
    "WeakLearnerBank": "costframe.core.learners.bank",
    "adopt": "costframe.adoption",
    "algorithms": "costframe.core.plugins.registry",
    "audit": "costframe.sources",
    "certain": "costframe.core.predictors.certain",
    "datasets": "costframe",
    "estimator": "costframe.core.plugins.registry",
    "hookimpl": "costframe.hooks",
    "importances": "costframe.core.predictors.importances",
    "load": "costframe.core.storage.saving",
    "measure": "costframe.sources",
    "predict_many": "costframe.sources",
    "predict_one": "costframe.sources",
    "predict_one_async": "costframe.sources",
    "predict_stream": "costframe.sources",
    "predict_stream_async": "costframe.sources",
    "save": "costframe.core.storage.saving",
    "trace_rounds": "costframe.sources",
    "train_bank": "costframe.stagewise.train_bank",
}

__all__ = [
    "AcquisitionDisplay",
    "Algorithm",
    "Answer",
    "BudgetSearch",
    "CallSource",
    "CostModel",
    "CostReport",
    "CostframeError",
    "ExpectedCost",
    "Field",
    "FittedEstimator",
    "Frontier",
    "FrontierDisplay",
    "HTTPSource",
    "InquiryLog",
    "Lookup",
    "Policy",
    "Prediction",
    "Predictions",
    "Predictor",
    "PrometheusCounters",
    "RedisSource",
    "Route",
    "RowAcquisitionDisplay",
    "RowsPerStageDisplay",
    "SQLSource",
    "Source",
    "Sources",
    "StageTree",
    "StagesDisplay",
    "SteppedPredictor",
    "TableSource",
    "WeakLearnerBank",
    "adopt",
    "algorithms",
    "audit",
    "certain",
    "datasets",
    "estimator",
    "hookimpl",
    "importances",
    "load",
    "measure",
    "predict_many",
    "predict_one",
    "predict_one_async",
    "predict_stream",
    "predict_stream_async",
    "save",
    "trace_rounds",
    "train_bank",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        if name[:1].isupper():  # a class of an algorithm, if of any; plugins load to tell
            from costframe.core.plugins.registry import registry

            return registry().estimator_class(name, __all__)
        import difflib

        near = difflib.get_close_matches(name, __all__, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'costframe' has no attribute {name!r}{hint}")
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
