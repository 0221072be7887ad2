"""Settings of the algorithm."""

from __future__ import annotations

from attrs import frozen

__all__ = ["Settings"]


@frozen
class Settings:
    """Settings of the algorithm; see `PlannerClassifier`."""

    n_sets: int
    max_tries: int
    n_estimators: int
    learning_rate: float | None
    max_leaves: int | None
    min_samples_leaf: int | None
    l2: float
    max_bins: int
