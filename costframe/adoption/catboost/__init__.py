"""Adoption of CatBoost: trees of all forms over numbers and one-hot categories, leaf for leaf."""

from costframe.adoption.catboost.adopting import adopt_catboost, adopt_catboost_file, is_catboost, looks_like_catboost

__all__ = ["adopt_catboost", "adopt_catboost_file", "is_catboost", "looks_like_catboost"]
