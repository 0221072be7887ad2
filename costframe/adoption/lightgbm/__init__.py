"""Adoption of LightGBM: boosted trees, dart and random forests, leaf for leaf, from live models and from files."""

from costframe.adoption.lightgbm.adopting import (
    adopt_lightgbm,
    adopt_lightgbm_file,
    is_lightgbm,
    looks_like_lightgbm,
    pandas_categories,
)

__all__ = ["adopt_lightgbm", "adopt_lightgbm_file", "is_lightgbm", "looks_like_lightgbm", "pandas_categories"]
