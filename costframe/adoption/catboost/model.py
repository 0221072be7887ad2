"""The content of a CatBoost model, its features, numbered splits, and trees."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from costframe.adoption.adopted import float32_at_most
from costframe.core.errors import AdoptionError, quote_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "CATEGORICAL",
    "DEEPEST",
    "FLOAT",
    "CatBoostModel",
    "Feature",
    "Forest",
    "SplitGroup",
    "Splits",
    "SymmetricForest",
    "ctr_reason",
]

FLOAT, CATEGORICAL = "float", "categorical"
DEEPEST = 16  # levels of a symmetric tree, CatBoost's own limit
_UNLISTED = 2**16  # columns that a model may have beside those that its file lists


@frozen
class Feature:
    """A column of the rows: its number there, its number among features of its kind, and its name ("" if none)."""

    kind: str
    column: int
    index: int
    name: str

    @property
    def title(self) -> str:
        """Name in errors and in default names of columns."""
        return self.name or f"f{self.column}"


@frozen(eq=False)
class SplitGroup:
    """The splits of one feature, in their order.

    Attributes
    ----------
    feature : Feature or None
        None if the splits cannot be adopted; then `reason` says why.
    values : float64 (splits,)
        Borders of numbers, ascending, or hashes of categories, distinct.
    nan_right : bool
        Whether a border lets NaN pass like infinity.
    """

    feature: Feature | None
    values: NDArray[np.float64]
    nan_right: bool = False
    reason: str = ""


@frozen(eq=False)
class Splits:
    """All splits of a model by number: groups of numbers first, then categories.

    Attributes
    ----------
    column, index : int64 (splits,)
        Of the feature; -1 if the split cannot be adopted.
    value : float64 (splits,)
        Border, or hash of the category that goes right.
    categorical : bool (splits,)
    threshold : float64 (splits,)
        Largest double that goes left; NaN for categories.
    missing_left : bool (splits,)
        Whether NaN goes left.
    reasons : tuple of (int, str)
        First number of each group that cannot be adopted, ascending, and why.
    """

    column: NDArray[np.int64]
    index: NDArray[np.int64]
    value: NDArray[np.float64]
    categorical: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    reasons: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, groups: Sequence[SplitGroup], where: str) -> Splits:
        """Assign numbers to the splits of groups; refuse borders that do not ascend, and categories that repeat."""
        for group in groups:
            _check_group(group, where)
        sizes = np.array([len(group.values) for group in groups], np.int64)
        first = np.cumsum(sizes) - sizes

        def each(values: list[Any], dtype: type[np.generic]) -> NDArray[Any]:
            return np.repeat(np.array(values, dtype), sizes)

        value = np.concatenate([np.empty(0), *(group.values for group in groups)])
        categorical = each(
            [group.feature is not None and group.feature.kind == CATEGORICAL for group in groups], np.bool_
        )
        # NaN like infinity does not pass a border that is infinite itself
        missing_left = ~each([group.nan_right for group in groups], np.bool_) | (value == np.inf)
        return cls(
            each([-1 if group.feature is None else group.feature.column for group in groups], np.int64),
            each([-1 if group.feature is None else group.feature.index for group in groups], np.int64),
            value,
            categorical,
            np.where(categorical, np.nan, float32_at_most(value)),
            missing_left,
            tuple(
                (at, group.reason) for at, group in zip(first.tolist(), groups, strict=True) if group.feature is None
            ),
        )

    def __len__(self) -> int:
        """Count the splits."""
        return len(self.column)

    def check_used(self, used: NDArray[np.integer[Any]], where: str) -> None:
        """Refuse a split number that does not exist, or whose split cannot be adopted."""
        if used.size and (used.min() < 0 or used.max() >= len(self)):
            raise AdoptionError(f"{where}: a tree has a split beyond the {len(self):,} of its features")
        for split in used[self.column[used] < 0][:1]:
            reason = next(reason for first, reason in reversed(self.reasons) if first <= split)
            raise AdoptionError(f"{where}: {reason}")


def ctr_reason(names: Iterable[str]) -> str:
    """Return why splits by target statistics of categorical features cannot be adopted."""
    return (
        f"it splits by statistics of the target (CTR) of {quote_names(names)}, which cannot be adopted; train it with "
        "one_hot_max_size at or above the number of categories"
    )


def _check_group(group: SplitGroup, where: str) -> None:
    if group.feature is None:
        return
    named = f"{where}: feature {group.feature.title!r}"
    if group.feature.column < 0:
        raise AdoptionError(f"{named}: expected a column of 0 or more, got {group.feature.column}")
    if group.feature.kind == CATEGORICAL:
        if len(np.unique(group.values)) < len(group.values):
            raise AdoptionError(f"{named} has a category twice")
    elif not (group.values[1:] >= group.values[:-1]).all() or np.isnan(group.values[:1]).any():
        raise AdoptionError(f"{named}: expected ascending borders")


@frozen(eq=False)
class SymmetricForest:
    """Trees with one split for all nodes of a level; bit l of a leaf's number is the way at level l.

    Attributes
    ----------
    depth : int64 (trees,)
    split : int64 (sum of depths,)
        Number of the split of each level, from the root.
    outputs : float64 (sum of 2^depth, K)
    """

    depth: NDArray[np.int64]
    split: NDArray[np.int64]
    outputs: NDArray[np.float64]

    def __len__(self) -> int:
        """Count the trees."""
        return len(self.depth)


@frozen(eq=False)
class Forest:
    """Trees of any form.

    Attributes
    ----------
    first : int64 (trees + 1,)
        Position of each tree's root.
    left, right, split : int (nodes,)
        Children, counted from the root, and the number of the split; -1 at leaves.
    leaf : int (nodes,)
        Row of a leaf in `outputs`; -1 at other nodes.
    outputs : float64 (leaves, K)
    """

    first: NDArray[np.int64]
    left: NDArray[np.integer[Any]]
    right: NDArray[np.integer[Any]]
    split: NDArray[np.integer[Any]]
    leaf: NDArray[np.integer[Any]]
    outputs: NDArray[np.float64]

    def __len__(self) -> int:
        """Count the trees."""
        return len(self.first) - 1


def _distinct(features: Iterable[Feature]) -> tuple[Feature, ...]:
    return tuple(sorted(features, key=lambda feature: feature.column))


@frozen(eq=False)
class CatBoostModel:
    """A CatBoost model; output k is scale * (sum of the trees' output k) + bias[k].

    Attributes
    ----------
    where : str
        Name of the model in errors.
    features : tuple of Feature
        In the order of their columns.
    splits : Splits
    trees : SymmetricForest or Forest
    scale : float
    bias : float64 (K,)
    link : str
    classes : array (classes,) or None
        Labels of a classifier's classes.
    cut : float or None
        Raw value above which a row is of class 1 of two.
    """

    where: str
    features: tuple[Feature, ...] = field(converter=_distinct)
    splits: Splits
    trees: SymmetricForest | Forest
    scale: float
    bias: NDArray[np.float64]
    link: str
    classes: NDArray[Any] | None
    cut: float | None

    def __attrs_post_init__(self) -> None:
        columns = [feature.column for feature in self.features]
        if any(one >= other for one, other in pairwise(columns)):
            raise AdoptionError(f"{self.where}: two features are at the same column")
        if not columns or columns[0] < 0 or columns[-1] >= len(columns) + _UNLISTED:
            raise AdoptionError(
                f"{self.where}: expected the columns of features to be 0 or more, and at most {_UNLISTED:,} others, "
                f"got {columns[0] if columns else 'no feature'} to {columns[-1] if columns else 'none'}"
            )

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows."""
        return self.features[-1].column + 1

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of all columns, f0, f1, ... for those without; None if no column has one."""
        names = [f"f{column}" for column in range(self.n_columns)]
        for feature in self.features:
            names[feature.column] = feature.title
        return tuple(names) if any(feature.name for feature in self.features) else None
