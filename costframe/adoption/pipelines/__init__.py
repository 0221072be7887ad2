"""Pipelines and scikit-learn's transformers as data: what they do to columns, and a predictor of the raw ones."""

from costframe.adoption.pipelines.adopting import adopt_pipeline
from costframe.adoption.pipelines.preparing import is_transformer, prepare
from costframe.adoption.pipelines.steps import is_pipeline

__all__ = ["adopt_pipeline", "is_pipeline", "is_transformer", "prepare"]
