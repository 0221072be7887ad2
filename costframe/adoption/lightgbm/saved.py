"""What a model file of LightGBM tells, in whichever form; and the part that both forms share, the head."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import AdoptionError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.adoption.documents import Part

__all__ = [
    "CATEGORICAL",
    "DEFAULT_LEFT",
    "MISSING_SHIFT",
    "SavedModel",
    "SavedTree",
    "read_head",
    "read_labels",
    "refuse_linear",
]

OLDEST, NEWEST = 2, 4
CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2  # bits of a split's decision type; above these, how it reads NaN

_NO_WHOLES, _NO_REALS = np.zeros(0, np.int64), np.zeros(0)

Range = list[int] | tuple[float, float] | None
"""A feature in training: codes of its categories, its smallest and largest number, or None where it had one value."""


@frozen(eq=False)
class SavedTree:
    """A tree of L leaves as LightGBM writes it.

    Attributes
    ----------
    outputs : float64 (L,)
        Of the leaves.
    feature, decision : int64 (L - 1,)
        Of each split; a decision is a sum of bits.
    threshold : float64 (L - 1,)
    left, right : int64 (L - 1,)
        Children: the number of a split, or ~number of a leaf.
    categories : sequence of int64 arrays
        The categories that go left, of each split by categories, in the order of the splits.
    """

    outputs: NDArray[np.float64]
    feature: NDArray[np.int64] = _NO_WHOLES
    decision: NDArray[np.int64] = _NO_WHOLES
    threshold: NDArray[np.float64] = _NO_REALS
    left: NDArray[np.int64] = _NO_WHOLES
    right: NDArray[np.int64] = _NO_WHOLES
    categories: Sequence[NDArray[np.int64]] = ()


@frozen(eq=False)
class SavedModel:
    """A model of LightGBM.

    Attributes
    ----------
    where : str
        Its name in errors.
    version, n_scores, n_features : int
    names : tuple of str
    objective : str
        With its settings; empty where predictions are raw scores.
    averages : bool
        Whether predictions are made of the mean of all rounds, not of their sum.
    trees : sequence of SavedTree
        Round by round, one tree for each score.
    labels : sequence of lists
        The categories of the columns of pandas' category dtype, column by column; these columns are not named.
    ranges : sequence of Range
        Of all features; empty where there are no labels.
    categorical : frozenset of int
        Features that are split by categories; empty where there are no labels.
    """

    where: str
    version: int
    n_scores: int
    n_features: int
    names: tuple[str, ...]
    objective: str
    averages: bool
    trees: Sequence[SavedTree] = ()
    labels: Sequence[list[Any]] = ()
    ranges: Sequence[Range] = ()
    categorical: frozenset[int] = frozenset()


def read_head(head: Part, names: tuple[str, ...]) -> SavedModel:
    """Return a model still without trees; refuse unknown versions."""
    version = head.get("version").text()
    if not re.fullmatch(r"v[0-9]{1,4}", version):
        raise head.refuse(f"expected a version such as 'v{NEWEST}', got {shown(version)}")
    if not OLDEST <= int(version[1:]) <= NEWEST:
        side = "older" if int(version[1:]) < OLDEST else "newer"
        raise head.refuse(f"was written in LightGBM's format {version}, {side} than known (v{OLDEST} to v{NEWEST})")
    n_scores = head.get("num_tree_per_iteration").whole(1)
    if head.get("num_class").whole(1) != n_scores:
        raise head.refuse(f"has {n_scores:,} trees in a round, expected one for each of 'num_class' classes")
    averages = head.value.get("average_output", False)
    if not isinstance(averages, bool):
        raise head.refuse(f"expected 'average_output' to be true or false, got {shown(averages)}")
    return SavedModel(
        where=head.where,
        version=int(version[1:]),
        n_scores=n_scores,
        n_features=head.get("max_feature_idx").whole() + 1,
        names=names,
        objective=head.get("objective").text() if head.has("objective") else "",
        averages=averages,
    )


def read_labels(part: Part, model: SavedModel) -> list[list[Any]]:
    """Return lists of categories of pandas, not more than features."""
    if part.value is None:
        return []
    if len(part) > model.n_features:
        raise part.refuse(f"expected lists for at most {model.n_features:,} features, got {len(part):,}")
    lists = list(part.items())
    return [each.value for each in lists if len(each) >= 0]  # what is no list is refused by its length


def refuse_linear(where: str, feature: int, model: SavedModel) -> AdoptionError:
    """Return the error of a tree with a linear leaf that reads a feature."""
    name = repr(model.names[feature]) if feature < len(model.names) else f"number {feature}"
    return AdoptionError(
        f"{where}: has linear leaves, one of which reads feature {name}; adopted trees have constant leaves: "
        "train with linear_tree=False"
    )
