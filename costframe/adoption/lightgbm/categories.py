"""Categories of pandas in LightGBM's models: which columns have them.

LightGBM saves the categories of the columns of pandas' category dtype, column by column, but not which columns these
are. Columns that are split by categories are among them if the user named no others; a column of ordered categories is
compared by its codes 0, 1, ... and was a range of whole numbers in training. Only where one choice of columns fits all
this are they known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from costframe.adoption.lightgbm.text import LightGBMModel, Range
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError, quote_names, shown

_MOST_CELLS = 2**22  # of a table of columns and lists
_HELP = (
    "give the trained Booster the attribute pandas_categorical = None, or the file the line 'pandas_categorical:null', "
    "to adopt it for codes in place of categories"
)


@frozen(eq=False)
class Meanings:
    """What the codes of features stand for, by feature: texts, or numbers, float64."""

    texts: dict[int, tuple[str, ...]]
    numbers: dict[int, F8]


def find_meanings(model: LightGBMModel) -> Meanings:
    """Find the column of each list of categories; refuse a model where several choices are possible."""
    meanings = Meanings({}, {})
    columns = place_lists(model)
    for f, labels in zip(columns, model.labels, strict=True):
        where = f"{model.where}: feature {model.names[f]!r}"
        texts = sum(isinstance(label, str) for label in labels)
        if texts == len(labels) > 0:
            meanings.texts[f] = tuple(labels)
        elif texts or not all(isinstance(label, bool | int | float) for label in labels):
            raise AdoptionError(f"{where}: its categories must be all texts or all numbers, got {shown(labels)}")
        else:
            meanings.numbers[f] = _as_numbers(labels, where)
        if len(set(labels)) < len(labels):
            raise AdoptionError(f"{where}: its categories must be distinct, got {shown(labels)}")
    for f in meanings.numbers:
        _refuse_twins(model, f, meanings, columns)
    return meanings


def _as_numbers(labels: Sequence[Any], where: str) -> F8:
    try:
        numbers = np.array([float(label) for label in labels])
    except OverflowError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all() or len(np.unique(numbers)) < len(labels):
        raise AdoptionError(f"{where}: its categories must be distinct finite doubles, got {shown(labels)}")
    return numbers


def place_lists(model: LightGBMModel) -> list[int]:
    """Return the column of each list of categories, ascending.

    `ways[f][k]` counts, up to 2, the ways to give the first k lists to the first f columns, in order, such that each
    column that is split by categories has one.
    """
    lists, ranges = [len(labels) for labels in model.labels], model.ranges
    if len(ranges) != model.n_features or len(model.names) != model.n_features:
        raise AdoptionError(f"{model.where}: expected names and ranges of {model.n_features} features")
    if (len(lists) + 1) * len(ranges) > _MOST_CELLS:
        raise AdoptionError(f"{model.where}: has too many lists of pandas' categories to place them; {_HELP}")
    sizes = np.array(lists)
    ways = [np.eye(1, len(lists) + 1, dtype=np.int8)[0]]
    for f, seen in enumerate(ranges):
        given = np.concatenate([[0], ways[-1][:-1] * (sizes > _largest_code(seen))])
        ways.append(np.minimum(given + (0 if f in model.categorical else ways[-1]), 2).astype(np.int8))
    if ways[-1][-1] != 1:
        raise AdoptionError(
            f"{model.where}: it does not tell which columns have the {len(lists)} lists of pandas' categories: "
            f"{len(model.categorical)} columns are split by categories, and "
            f"{'several choices fit' if ways[-1][-1] else 'none fits'}; {_HELP}"
        )
    columns, left = [], len(lists)
    for f in reversed(range(len(ranges))):
        if left and ways[f][left - 1] and lists[left - 1] > _largest_code(ranges[f]):
            left -= 1
            columns.append(f)
    return columns[::-1]


def _largest_code(seen: Range) -> float:
    """Return the largest code that a feature had in training, infinity if its values were no codes."""
    if isinstance(seen, tuple):
        low, high = seen
        return high if low >= 0 and low.is_integer() and high.is_integer() else np.inf
    return max(seen) if seen else -1.0


def _refuse_twins(model: LightGBMModel, f: int, meanings: Meanings, columns: Sequence[int]) -> None:
    """Refuse numeric categories that another column may have: one with just as many values, all whole.

    Where the user named the categorical features, the category columns may be others. Texts in a wrong place are
    noticed when rows are read; numbers are not.
    """
    numbers = meanings.numbers[f]
    count = len(numbers)
    if np.array_equal(numbers, np.arange(count)):
        return
    twins = [g for g, seen in enumerate(model.ranges) if isinstance(seen, tuple) and seen == (0.0, count - 1.0)]
    names = [model.names[g] for g in twins if g not in columns]
    if names:
        raise AdoptionError(
            f"{model.where}: it does not tell whether the categories {shown(numbers.tolist())} are of feature "
            f"{model.names[f]!r} or of {quote_names(names)}, with values 0 to {count - 1}; make them texts, or {_HELP}"
        )
