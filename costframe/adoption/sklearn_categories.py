"""Categorical columns of scikit-learn's histogram gradient boosting: its order of columns, and its bit sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import AdoptionError
from costframe.core.tables.categories import is_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ModelCategories"]


@frozen(eq=False)
class ModelCategories:
    """The encoding of columns before the model's trees read them.

    Attributes
    ----------
    column : int64 (d,)
        Original column of each column of the trees, which have the categorical ones first.
    values : tuple of float64
        Value in X for each code of each categorical column: a number, or the position of a label.
    labels : mapping of str to tuple of str
        Labels of the columns whose categories are texts.
    """

    column: NDArray[np.int64]
    values: tuple[NDArray[np.float64], ...]
    labels: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, model: Any, names: tuple[str, ...]) -> ModelCategories:
        """Read a fitted model's encoder."""
        categorical = model.is_categorical_
        if categorical is None:
            return cls(np.arange(len(names)), (), {})
        column = np.argsort(~categorical, kind="stable")
        encoder = model._preprocessor.named_transformers_["encoder"]  # noqa: SLF001 - there is no public name
        values: list[NDArray[np.float64]] = []
        labels: dict[str, tuple[str, ...]] = {}
        for f, known in zip(column, encoder.categories_, strict=False):
            present = [value for value in known.tolist() if not is_missing(value) or value is None]
            if all(isinstance(value, str) for value in present) and present:
                labels[names[f]] = tuple(present)
                values.append(np.arange(len(present), dtype=np.float64))
            elif all(isinstance(value, bool | int | float) for value in present):
                values.append(np.array(present, np.float64))
            else:
                raise AdoptionError(
                    f"{type(model).__name__}: the categories of {names[f]!r} are neither all texts nor all numbers"
                )
        return cls(column, tuple(values), labels)

    def against(self, predictor: Any, node: Any) -> NDArray[np.float64]:
        """Return the categories that go against a node's missing way: those of the left, or all other known ones."""
        values = self.values[node["feature_idx"]]
        left = _members(predictor.raw_left_cat_bitsets[node["bitset_idx"]], len(values))
        return np.sort(values[~left if node["missing_go_to_left"] else left])


def _members(bits: NDArray[np.uint32], count: int) -> NDArray[np.bool_]:
    """Return which codes are in a set: bool (count,)."""
    codes = np.arange(count)
    return np.asarray(bits[codes >> 5] >> (codes & 31).astype(np.uint32) & 1, np.bool_)
