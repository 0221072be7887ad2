"""Adopted tree models of any library: trees, weights, intercept, link, names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen

from costframe.core.errors import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.tables.categories import Categories

__all__ = ["LINKS", "AdoptedTrees", "choose_names"]

LINKS = ("identity", "sigmoid", "softmax")


def _float64(values: object) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


@frozen(eq=False)
class AdoptedTrees:
    """A foreign tree model, ready for a bank and one answer.

    Parameters
    ----------
    table : TreeTable
        The original's trees in its order; each row reaches the original's leaf in each of them.
    feature_names : tuple of str
        One name a column, in the original's column order.
    weights : float64 (sum of tree widths, K)
        Output column c of all trees, side by side in ascending tree order, times `weights[c, k]` is added to score k.
    intercept : float64 (K,)
        Added to the scores.
    link : str
        "identity", "sigmoid" or "softmax": from the scores to the original's prediction.
    classes : tuple or None
        Class labels as Python scalars if the original has them, ascending as in its probabilities.
    categories : mapping of str to tuple of str
        Labels of features whose categories are texts.

    Raises
    ------
    AdoptionError
        If the parts do not fit together.
    """

    table: TreeTable
    feature_names: tuple[str, ...]
    weights: NDArray[np.float64] = field(converter=_float64)
    intercept: NDArray[np.float64] = field(converter=_float64)
    link: str = "identity"
    classes: tuple[object, ...] | None = None
    categories: Categories = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        expected = (int(self.table.width.sum()), self.intercept.size)
        if self.intercept.ndim != 1 or self.weights.shape != expected:
            raise AdoptionError(f"adopted trees: 'weights' must have shape {expected}, got {self.weights.shape}")
        if not (np.isfinite(self.weights).all() and np.isfinite(self.intercept).all()):
            raise AdoptionError("adopted trees: 'weights' and 'intercept' must be finite, got NaN or infinity")
        if self.link not in LINKS:
            raise AdoptionError(f"adopted trees: 'link' must be one of {', '.join(LINKS)}, got {self.link!r}")
        widest = int(self.table.feature.max(initial=-1))
        if widest >= len(self.feature_names):
            raise AdoptionError(
                f"adopted trees: column {widest} is tested, but there are {len(self.feature_names)} feature names"
            )


def choose_names(
    given: Sequence[str] | None, own: Sequence[str] | None, n_features: int, model: str
) -> tuple[str, ...]:
    """Return names of the columns: the given ones, else the model's own, else f0, f1, ...

    Parameters
    ----------
    given : sequence of str or None
        Names from the caller, by position.
    own : sequence of str or None
        Names from the model.
    n_features : int
        Columns that the model reads.
    model : str
        Name of the model in errors.

    Raises
    ------
    AdoptionError
        If their number differs from the model's, or a name is repeated; the text names both sides.
    """
    if given is None and own is None:
        return tuple(f"f{column}" for column in range(n_features))
    if isinstance(given, str):
        raise AdoptionError(f"{model}: feature_names must be a sequence of names, got the single text {given!r}")
    chosen = own if given is None else given
    names = () if chosen is None else tuple(str(name) for name in chosen)
    theirs = f"{n_features} features" + (f" ({_shorten(own)})" if own is not None else "")
    if len(names) != n_features:
        raise AdoptionError(f"{model}: it has {theirs}, but got {len(names)} feature names ({_shorten(names)})")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise AdoptionError(
            f"{model}: it has {theirs}, but these feature names come more than once: {', '.join(twice)}"
        )
    return names


def _shorten(names: Sequence[str], most: int = 8) -> str:
    shown = [str(name) for name in names[:most]]
    return ", ".join(shown + ["..."] * (len(names) > most)) or "none"
