"""Prices of features and resources as arrays for kernels, in the order of a predictor's columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PriceArrays"]


@attrs.frozen(eq=False)
class PriceArrays:
    """Prices in the order of a predictor's d columns; every array is read-only.

    Attributes
    ----------
    names : tuple of str
        The d features.
    cost, once, split : ndarray of float64, shape (d,)
        Per row, per batch, and per comparison; features without a `split` of their own have the model's.
    resource_names : tuple of str
        All R resources of the model.
    resource_cost : ndarray of float64, shape (R,)
        Per row.
    needs : ndarray of bool, shape (d, R)
        Whether a feature needs a resource, directly or through other resources.
    resource_needs : ndarray of bool, shape (R, R)
        Whether a resource needs another; each needs itself.
    learner, reuse : float
        Per evaluation of a weak learner with e_t = 1, and per further use of an acquired feature.
    unit : str
        Unit of all prices.
    """

    names: tuple[str, ...]
    cost: NDArray[np.float64]
    once: NDArray[np.float64]
    split: NDArray[np.float64]
    resource_names: tuple[str, ...]
    resource_cost: NDArray[np.float64]
    needs: NDArray[np.bool_]
    resource_needs: NDArray[np.bool_]
    learner: float
    reuse: float
    unit: str

    def __attrs_post_init__(self) -> None:
        for array in (self.cost, self.once, self.split, self.resource_cost, self.needs, self.resource_needs):
            array.setflags(write=False)

    @cached_property
    def needed(self) -> tuple[frozenset[int], ...]:
        """For each feature, the resources that it needs, directly or through other resources."""
        return tuple(frozenset(np.flatnonzero(row).tolist()) for row in self.needs)
