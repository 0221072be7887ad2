"""Predictors around predictors: mixtures, other facts on a card, and operations before a model."""

from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.predictor import AnnotatedPredictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.tables.operations import Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation

__all__ = ["AnnotatedPredictor", "MixedPredictor", "OpaqueOperation", "Operation", "Preparation", "PreparedPredictor"]
