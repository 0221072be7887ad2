"""What adoptions share: names, thresholds, and parsed model files, whose every type, number and length is checked.

A float32 library rounds a value x to float32 (to nearest, ties to even) and compares the result with its threshold.
Rounding is monotone, so the doubles that pass are all doubles up to a largest one, T, and `x <= T` is the same test on
float64.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import AdoptionError, shown
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.tables.categories import Categories


class OpaqueOnlyError(AdoptionError):
    """Error: a model can be adopted only as one opaque learner, which `costframe.adopt` then does."""


_BEYOND = 2.0**128
"""The next number after float32's largest one, if it had a larger exponent."""


def one_answer(
    table: TreeTable,
    feature_names: tuple[str, ...],
    weights: F8,
    intercept: F8,
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
    `classes` those of the classes; with a `cut`, scores tell the class: the largest, or 1 if the one is above it.
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


def float32_less(threshold: ArrayLike) -> F8:
    """Convert the test of xgboost: T, float64, with `(x <= T) == (float32(x) < t)` for every double x but NaN.

    Thresholds t, float32, may be infinite or NaN; T is NaN if no value passes.
    """
    limit = np.asarray(threshold, np.float32)
    below = _neighbor(limit, -np.inf)
    return np.where(limit > -np.inf, _largest_rounding_to(below), np.nan)


def float32_at_most(threshold: ArrayLike) -> F8:
    """Convert the test of scikit-learn's trees: T, float64, with `(x <= T) == (float32(x) <= t)` for every x but NaN.

    Thresholds t, float64, may be infinite or NaN; T is NaN if no value passes.
    """
    limit = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, like the original's cast
        nearest = limit.astype(np.float32)
    largest = np.where(nearest > limit, _neighbor(nearest, -np.inf), nearest)
    return np.where(np.isnan(limit), np.nan, _largest_rounding_to(largest))


def _largest_rounding_to(value: NDArray[np.float32]) -> F8:
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


def _place_infinity(value: NDArray[np.float32]) -> F8:
    """Return the values, with infinity at its place in the rounding rule: float64."""
    return np.clip(value.astype(np.float64), -_BEYOND, _BEYOND)


_LARGEST = 2**53


def parse_json(data: bytes, where: str) -> Part:
    """Return a JSON document; refuse other data, and documents too deep to read."""
    try:
        return Part(json.loads(data), where)
    except (ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        reason = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise AdoptionError(f"{where}: is not a whole JSON document ({reason})") from error


@frozen(eq=False)
class Part:
    """A value of a parsed document and its place there, which errors name."""

    value: Any
    where: str

    def refuse(self, text: str) -> AdoptionError:
        """Return the error of a wrong part."""
        return AdoptionError(f"{self.where}: {text}")

    def has(self, name: str) -> bool:
        """Return whether the part is an object with a member that is not null."""
        return isinstance(self.value, Mapping) and self.value.get(name) is not None

    def get(self, name: str) -> Part:
        """Return a member of an object; refuse other values, and objects without it."""
        if not isinstance(self.value, Mapping):
            raise self.refuse(f"expected an object with {name!r}, got {shown(self.value)}")
        if name not in self.value:
            raise self.refuse(f"lacks {name!r}")
        return Part(self.value[name], f"{self.where}: {name}")

    def only(self, *names: str) -> Part:
        """Return an object; refuse one with members of other names, whose meaning nobody knows."""
        if isinstance(self.value, Mapping):
            for name in self.value.keys() - set(names):
                raise self.refuse(
                    f"has the unknown field {name[:40]!r}, which may change what it predicts; costframe.adopt(model, "
                    "features=[...]) takes the loaded model as one opaque learner"
                )
        return self

    def items(self) -> Iterator[Part]:
        """Return the items of a list, one by one."""
        if not isinstance(self.value, list | np.ndarray):
            raise self.refuse(f"expected a list, got {shown(self.value)}")
        return (Part(value, f"{self.where} {number}") for number, value in enumerate(self.value))

    def __len__(self) -> int:
        """Count the items of a list."""
        if not isinstance(self.value, list | np.ndarray):
            raise self.refuse(f"expected a list, got {shown(self.value)}")
        return len(self.value)

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            raise self.refuse(f"expected a text, got {shown(self.value)}")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(item.text() for item in self.items())

    def whole(self, low: int = 0, high: int = _LARGEST) -> int:
        """Return a whole number from `low` to `high`; a text that spells it will do."""
        value = self.value
        if isinstance(value, str) and len(value) < 20 and value.removeprefix("-").isdecimal():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
            wanted = f"a whole number from {low:,} to {high:,}" if low < high else f"{low:,}"
            raise self.refuse(f"expected {wanted}, got {shown(self.value)}")
        return int(value)

    def number(self) -> float:
        """Return a finite number; a text that spells it will do."""
        try:
            found = np.nan if isinstance(self.value, bool | list) else float(self.value)
        except (TypeError, ValueError, OverflowError):
            found = np.nan
        if not np.isfinite(found):
            raise self.refuse(f"expected a finite number, got {shown(self.value)}")
        return found

    def wholes(self, length: int | None = None, low: int = 0, high: int = _LARGEST) -> I8:
        """Return a list of whole numbers from `low` to `high`: int64 (length,)."""
        array = self._array(length)
        if array.size == 0:
            return np.zeros(0, np.int64)
        if array.dtype.kind not in "iub":
            raise self.refuse(f"expected whole numbers, got some of type {array.dtype}")
        wrong = (array < low) | (array > high)
        if wrong.any():
            raise self.refuse(f"expected numbers from {low:,} to {high:,}, got {array[wrong][0]}")
        return array.astype(np.int64)

    def reals(self, length: int | None = None, *, finite: bool = True) -> F8:
        """Return a list of numbers: float64 (length,); only finite ones unless said otherwise."""
        array = self._array(length)
        if array.size and array.dtype.kind not in "iuf":
            raise self.refuse(f"expected numbers, got some of type {array.dtype}")
        with np.errstate(invalid="ignore"):  # of a NaN that signals
            numbers = array.astype(np.float64)
        if finite and not np.isfinite(numbers).all():
            raise self.refuse("expected finite numbers, got NaN or infinity")
        return numbers

    def _array(self, length: int | None) -> NDArray[Any]:
        if length is not None and len(self) != length:
            raise self.refuse(f"expected {length:,} entries, got {len(self):,}")
        if isinstance(self.value, list) and any(isinstance(one, list | str | Mapping) for one in self.value):
            raise self.refuse("expected numbers, got something else in the list")
        try:
            array = np.asarray(self.value)
        except (TypeError, ValueError, OverflowError):
            raise self.refuse("expected a list of numbers") from None
        if array.ndim != 1 or array.dtype.kind == "O":
            raise self.refuse("expected a list of numbers, got something else")
        return array
