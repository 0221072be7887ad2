"""Adoption of xgboost: boosted trees, random forests, dart and linear models, leaf for leaf, live and from files."""

from costframe.adoption.xgboost.adopting import (
    adopt_xgboost,
    adopt_xgboost_file,
    has_trees,
    is_xgboost,
    looks_like_xgboost,
)

__all__ = ["adopt_xgboost", "adopt_xgboost_file", "has_trees", "is_xgboost", "looks_like_xgboost"]
