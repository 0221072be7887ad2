"""Parts of the adoption of any library: stage tree of its trees, names of columns, thresholds in float64.

A float32 library rounds a value x to float32 (to nearest, ties to even) and compares the result with its threshold.
Rounding is monotone, so the doubles that pass are all doubles up to a largest one, T, and `x <= T` is the same test on
float64.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import AdoptionError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.learners.tree_table import TreeTable
    from costframe.core.tables.categories import Categories


class OpaqueOnlyError(AdoptionError):
    """Error: a model can be adopted only as one opaque learner, which `costframe.adopt` then does."""


_BEYOND = 2.0**128
"""The next number after float32's largest one, if it had a larger exponent."""


def one_answer(
    table: TreeTable,
    feature_names: tuple[str, ...],
    weights: NDArray[np.float64],
    intercept: NDArray[np.float64],
    link: str,
    categories: Categories | None = None,
    *,
    temperature: float = 1.0,
    classes: ArrayLike | None = None,
    cut: float | None = None,
) -> StageTree:
    """Return a predictor whose one answer sums up trees and applies `link` to the scores.

    Output column c of all trees, side by side in their order, times `weights[c, k]` is added to score k: `weights` are
    float64 (sum of tree widths, K), `intercept` is float64 (K,). `categories` are labels of features with texts, and
    `classes` those of the classes; with a `cut`, class 1 has the one score above it.
    """
    bank = WeakLearnerBank.from_trees(table, feature_names)
    by_scores: dict[str, Any] = {} if cut is None else {"by_scores": True, "cut": cut}
    answer = Answer(np.arange(len(bank)), weights, intercept, link, temperature=temperature, **by_scores)
    return StageTree(bank, (answer,), classes=classes).with_categories(categories or {})


def choose_names(
    given: Sequence[str] | None, own: Sequence[str] | None, n_features: int, model: str
) -> tuple[str, ...]:
    """Return names of the columns: the given ones, else the model's own, else f0, f1, ...

    `model` is its name in errors, `n_features` the number of columns that it reads.

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


def is_of(model: object, library: str, *classes: str) -> bool:
    """Return whether a model is of one of these classes of a library, or derived from one, without importing it."""
    bases = type(model).__mro__
    return any(base.__name__ in classes and base.__module__.split(".")[0] == library for base in bases)


def is_unnamed(names: Sequence[str]) -> bool:
    """Return whether these are the names of a model trained without names: f0, f1, ..., LightGBM's Column_0, ..."""
    return any(tuple(names) == tuple(f"{start}{f}" for f in range(len(names))) for start in ("f", "Column_"))


def of_columns(bank: WeakLearnerBank, names: Sequence[str]) -> WeakLearnerBank:
    """Let a bank read columns: by name, or by position if its model had no names and there are as many columns."""
    own = bank.feature_names
    if is_unnamed(own) and len(own) == len(names) and not set(own) <= set(names):
        bank = bank.renamed(names)
    return bank.with_features(names)


def _shorten(names: Sequence[str], most: int = 8) -> str:
    shown = [str(name) for name in names[:most]]
    return ", ".join(shown + ["..."] * (len(names) > most)) or "none"


def float32_less(threshold: ArrayLike) -> NDArray[np.float64]:
    """Convert the test of xgboost: T, float64, with `(x <= T) == (float32(x) < t)` for every double x but NaN.

    Thresholds t, float32, may be infinite or NaN; T is NaN if no value passes.
    """
    limit = np.asarray(threshold, np.float32)
    below = _neighbor(limit, -np.inf)
    return np.where(limit > -np.inf, _largest_rounding_to(below), np.nan)


def float32_at_most(threshold: ArrayLike) -> NDArray[np.float64]:
    """Convert the test of scikit-learn's trees: T, float64, with `(x <= T) == (float32(x) <= t)` for every x but NaN.

    Thresholds t, float64, may be infinite or NaN; T is NaN if no value passes.
    """
    limit = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, like the original's cast
        nearest = limit.astype(np.float32)
    largest = np.where(nearest > limit, _neighbor(nearest, -np.inf), nearest)
    return np.where(np.isnan(limit), np.nan, _largest_rounding_to(largest))


def _largest_rounding_to(value: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the largest double whose float32 rounding is at most `value`: float64."""
    above = _neighbor(value, np.inf)
    low, high = _place_infinity(value), _place_infinity(above)
    middle = low + (high - low) / 2  # exact: float32 neighbors have room for one more bit in a double
    with np.errstate(over="ignore"):
        stays = middle.astype(np.float32) <= value  # the tie goes to the even neighbor
    last = np.where(stays, middle, np.nextafter(middle, -np.inf))
    return np.where(value == np.inf, np.inf, last)


def _neighbor(value: NDArray[np.float32], toward: float) -> NDArray[np.float32]:
    """Return the next number in a direction, infinity after the largest one, without a warning: float32."""
    with np.errstate(over="ignore"):
        return np.nextafter(value, np.float32(toward))


def _place_infinity(value: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the values, with infinity at its place in the rounding rule: float64."""
    return np.clip(value.astype(np.float64), -_BEYOND, _BEYOND)
