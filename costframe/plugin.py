"""All imports for authors of algorithms: base estimators, their training data, models to return, and checks.

docs/writing-a-plugin.md shows their use; `costframe.testing` checks the result. Trees come from
`costframe.trees`, weights for banks from `costframe.stagewise`.
"""

from __future__ import annotations

from costframe.core.checks import check_choice, check_flag, check_number, resolve
from costframe.core.errors import CostframeError, CostModelError, DataError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.stages import Answer, Route
from costframe.core.threads import run_parallel, thread_count
from costframe.frontier.paths import FitsPath, ModelPath
from costframe.hooks import Algorithm, hookimpl
from costframe.training.data import FitRows, Rows, TrainingData
from costframe.training.estimator import CostAwareClassifier, CostAwareEstimator, CostAwareRanker, CostAwareRegressor
from costframe.training.model_path import PathPoint
from costframe.training.progress import track, track_share
from costframe.training.sampling import held_out, split_off
from costframe.training.scoring import influence, score_named
from costframe.training.shell import restore_on_error

__all__ = [
    "Algorithm",
    "Answer",
    "CostAwareClassifier",
    "CostAwareEstimator",
    "CostAwareRanker",
    "CostAwareRegressor",
    "CostModel",
    "CostModelError",
    "CostframeError",
    "DataError",
    "FitRows",
    "FitsPath",
    "ModelPath",
    "OpaqueLearner",
    "ParameterError",
    "PathPoint",
    "Predictor",
    "PriceArrays",
    "Route",
    "Rows",
    "StageTree",
    "SteppedPredictor",
    "TrainingData",
    "TreeTable",
    "WeakLearnerBank",
    "check_choice",
    "check_flag",
    "check_number",
    "held_out",
    "hookimpl",
    "influence",
    "resolve",
    "restore_on_error",
    "run_parallel",
    "score_named",
    "split_off",
    "thread_count",
    "track",
    "track_share",
]
