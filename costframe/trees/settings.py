"""Settings of growing and boosting trees, and their ranges."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.core.checks import MOST_ROUNDS, check_choice, check_number
from costframe.core.machine import thread_count

Growth = Literal["best", "breadth"]

_RANGES: dict[str, dict[str, Any]] = {
    "n_estimators": {"low": 1, "high": MOST_ROUNDS, "whole": True},
    "learning_rate": {"strict": True, "high": 1},
    "max_leaves": {"low": 2, "whole": True},
    "max_depth": {"low": 1, "whole": True},
    "min_samples_leaf": {"low": 1, "whole": True},
    "min_hessian_leaf": {},
    "l2_regularization": {},
    "max_bins": {"low": 2, "high": 255, "whole": True},
    "subsample": {"strict": True, "high": 1},
    "max_features": {"strict": True, "high": 1},
    "n_iter_no_change": {"low": 1, "whole": True},
    "random_state": {"whole": True},
    "verbose": {"whole": True},
}


@frozen(kw_only=True)
class TreeSettings:
    """Settings of growing and boosting trees; the defaults of an algorithm are one of these.

    Attributes
    ----------
    n_estimators : int
        Most rounds of boosting.
    learning_rate : float
        Weight of every tree, in (0, 1].
    max_leaves, max_depth : int or None
        Most leaves of a tree, and most comparisons on a path; None is no limit.
    growth : {"best", "breadth"}
        The leaf with the best split first, or level by level.
    newton : bool
        Second-order steps; else trees are fitted to the negative gradients by squared distance.
    min_samples_leaf : int
        Least rows in a leaf; with whole sample weights, a row of weight two counts as two.
    min_hessian_leaf : float
        Least sum of hessians in a leaf of second-order trees.
    l2_regularization : float
        Added to every sum of hessians in a denominator.
    max_bins : int
        Most bins of a feature, at most 255.
    subsample, max_features : float
        Share of the rows and of the columns for each tree, in (0, 1].
    monotone : tuple of int, or None
        1 for features with which scores must not fall, -1 for features with which they must not rise.
    from_zero : bool
        Whether to start at zero, as in papers, or else at the loss's best constant.
    n_iter_no_change : int or None
        Rounds without a better value on held-out rows before boosting ends.
    random_state : int
        Seed of the draws.
    n_threads : int
        Does not change the result.
    verbose : int
        1 shows a progress bar.
    """

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_leaves: int | None = None
    max_depth: int | None = None
    growth: Growth = "best"
    newton: bool = True
    min_samples_leaf: int = 1
    min_hessian_leaf: float = 0.0
    l2_regularization: float = 0.0
    max_bins: int = 255
    subsample: float = 1.0
    max_features: float = 1.0
    monotone: tuple[int, ...] | None = None
    from_zero: bool = False
    n_iter_no_change: int | None = None
    random_state: int = 0
    n_threads: int = 1
    verbose: int = 0

    def replaced(self, *, n_jobs: Any = None, **given: Any) -> Self:
        """Return these settings with the given values; None keeps a setting, and `n_jobs` None takes all cores.

        Raises
        ------
        ParameterError
            If a value is out of its range.
        """
        values = {name: _checked(name, value) for name, value in given.items() if value is not None}
        return evolve(self, n_threads=thread_count(n_jobs), **values)

    @property
    def signs(self) -> NDArray[np.int8] | None:
        """Directions of the features in trees: int8 (d,)."""
        return None if self.monotone is None else np.array(self.monotone, np.int8)

    @property
    def draws(self) -> bool:
        """Whether trees have random shares of rows or columns, so that a round may split after one that did not."""
        return self.subsample < 1 or self.max_features < 1


def _checked(name: str, value: Any) -> Any:
    """Return the value if it is in the range of its setting, else refuse it."""
    if name == "growth":
        return check_choice(name, value, get_args(Growth))
    return check_number(name, value, **_RANGES[name]) if name in _RANGES else value
