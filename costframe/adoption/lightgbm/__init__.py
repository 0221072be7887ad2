"""Adoption of LightGBM: boosted trees, dart and random forests, leaf for leaf, from live models and from files.

Every double goes the same way, NaN and infinities included: LightGBM takes |x| <= float32(1e-35) for zero before it
compares, and NaN too unless NaN is a missing value of its own. It saves the categories of the columns of pandas'
category dtype, column by column, but not which columns these are. Columns that are split by categories are among them
if the user named no others; a column of ordered categories is compared by its codes 0, 1, ... and was a range of whole
numbers in training. Only where one choice of columns fits all this are they known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from costframe.adoption.documents import Part
from costframe.adoption.foreign import is_of
from costframe.adoption.lightgbm.text import CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT, Range, SavedModel, read_text
from costframe.adoption.names import choose_names
from costframe.adoption.trees import one_answer
from costframe.core.arrays import B1, F8, I8
from costframe.core.errors import AdoptionError, BankError, StageError, quote_names, shown
from costframe.core.learners.tree_table import PLAIN, TINY, WHOLE, ZERO_MISSING, TreeTable, ranges
from costframe.core.predictors.stage_tree import StageTree

_SQUARED = ("regression", "regression_l2", "regression_l1", "fair", "quantile", "mape")  # may end in "sqrt"
_LINKS = dict.fromkeys((*_SQUARED, "huber", "lambdarank", "rank_xendcg"), "identity") | {
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "binary": "sigmoid",
    "multiclassova": "sigmoid",
    "multiclass": "softmax",
    "cross_entropy": "sigmoid",
    "xentropy": "sigmoid",
    "cross_entropy_lambda": "softplus",
    "xentlambda": "softplus",
}
_CLASSES = ("multiclass", "multiclassova")
_OF_CLASSES = ("sigmoid", "softmax")
_WITH_SLOPE = ("binary", "multiclassova")
_IMAGES = {"sigmoid": (0.0, 1.0), "exp": (0.0, np.inf), "softplus": (0.0, np.inf)}
_FREE_WEIGHTS = 2**20  # of a small file; its trees times its scores
_NO_MISSING, _ZERO = 0, 1  # how a split reads NaN; 2: as a missing value
_MOST_COMPARED = 2**18  # numbers of ordered categories, summed over their splits
_MOST_CELLS = 2**22  # of a table of columns and lists
_HELP = (
    "give the trained Booster the attribute pandas_categorical = None, or the file the line 'pandas_categorical:null', "
    "to adopt it for codes in place of categories"
)


def is_lightgbm(model: object) -> bool:
    """Return whether a model is LightGBM's, without importing lightgbm."""
    return is_of(model, "lightgbm", "Booster", "CVBooster", "LGBMModel")


def looks_like_lightgbm(data: bytes) -> bool:
    """Return whether the content of a file is a model of LightGBM, its text."""
    return re.match(rb"tree[ \t\r]*\n\s*version=", data) is not None


def adopt_lightgbm(model: Any, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt a LightGBM model exactly.

    Every row reaches the original's leaf in every tree, and raw scores are the original's to the last bit; NaN,
    infinities, ties and numbers that LightGBM takes for zero included.

    A feature of pandas' category dtype has texts or numbers as its categories, and a data frame is read as the
    original reads it, whatever its order of categories. In an array of numbers, which the original reads as codes, a
    number is the code of a text, but a numeric category itself.

    Parameters
    ----------
    model : lightgbm.Booster or a scikit-learn wrapper (LGBMClassifier, LGBMRegressor, LGBMRanker)
        As in its own predict, a model that stopped early is cut at its best iteration.
    feature_names : sequence of str, optional
        Names by position. By default the model's own.

    Raises
    ------
    AdoptionError
        If the model is not fitted, or has a part that cannot be adopted exactly: linear leaves, an unknown objective,
        categories of pandas in columns that cannot be told from others.
    """
    name = type(model).__name__
    if not is_lightgbm(model) or is_of(model, "lightgbm", "CVBooster"):
        raise AdoptionError(f"{name}: expected one lightgbm Booster or scikit-learn wrapper; adopt one of its boosters")
    booster, classes = model, None
    if not hasattr(model, "model_to_string"):
        if not model.__sklearn_is_fitted__():
            raise AdoptionError(f"{name}: is not fitted; fit it before adopting it")
        booster, classes = model.booster_, getattr(model, "classes_", None)
    return _assemble(read_text(booster.model_to_string().encode(), f"lightgbm {name}"), feature_names, classes)


def adopt_lightgbm_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a model file, LightGBM's text; `where` names it in errors.

    The file predicts as it would in today's LightGBM, but for one kind: random forests by LightGBM before 2.2.3. Their
    leaves hold predictions, not scores; the mean of these is the prediction, as it was when they were written.

    Raises
    ------
    AdoptionError
        If the file is malformed, truncated or of an unknown version, or cannot be adopted exactly; see
        `adopt_lightgbm`.
    """
    model = read_text(data, where)
    weights = len(model.trees) * model.n_scores
    if weights > max(_FREE_WEIGHTS, 4 * len(data)):
        raise AdoptionError(f"{where}: has {model.n_scores:,} classes, too many for a file of {len(data):,} bytes")
    return _assemble(model, feature_names)


def pandas_categories(model: Any) -> dict[str, tuple[Any, ...]]:
    """Return the categories of the columns of pandas' category dtype of a fitted model, as far as it tells them."""
    booster = getattr(model, "booster_", model)
    if not getattr(booster, "pandas_categorical", None):
        return {}
    try:
        saved = read_text(booster.model_to_string().encode(), "lightgbm")
        return {saved.names[f]: tuple(labels) for f, labels in zip(_place(saved), saved.labels, strict=True)}
    except AdoptionError:
        return {}


def _assemble(model: SavedModel, feature_names: Sequence[str] | None, classes: NDArray[Any] | None = None) -> StageTree:
    """Return the predictor of a model, with labels of its `classes` if it predicts their probabilities."""
    n_trees, n_scores = len(model.trees), model.n_scores
    if n_trees == 0:
        raise AdoptionError(f"{model.where}: it has no trees; train it for at least one round")
    if n_trees % n_scores:
        raise AdoptionError(f"{model.where}: has {n_trees} trees, expected {n_scores} in each round")
    names = choose_names(feature_names, model.names, model.n_features, model.where)
    meanings = _find_meanings(model)
    table = _make_table(model, meanings.numbers)
    link, temperature = _link(model, table.values)
    weights = np.tile(np.eye(n_scores), (n_trees // n_scores, 1))
    texts = {names[f]: labels for f, labels in meanings.texts.items()}
    if link not in _OF_CLASSES or classes is None or len(classes) != max(2, n_scores):
        classes = None
    try:
        return one_answer(
            table, names, weights, np.zeros(n_scores), link, texts, temperature=temperature, classes=classes
        )
    except StageError as error:
        raise AdoptionError(f"{model.where}: {error}") from error


def _link(model: SavedModel, outputs: F8) -> tuple[str, float]:
    """Return the link of a model's objective, and the temperature of its scores."""
    rounds = len(model.trees) // model.n_scores if model.averages else 1
    if not model.objective.strip():
        return "identity", rounds
    name, *settings = model.objective.split()
    if name not in _LINKS:
        raise AdoptionError(
            f"{model.where}: objective {shown(name)} is unknown, and so is its link; known are {', '.join(_LINKS)}"
        )
    told = dict(setting.partition(":")[::2] for setting in settings)
    expected = str(model.n_scores) if name in _CLASSES else None
    if told.get("num_class") != expected or (model.n_scores > 1) != (name in _CLASSES):
        raise AdoptionError(
            f"{model.where}: objective {shown(model.objective)} does not go with {model.n_scores} scores"
        )
    link, slope = _LINKS[name], 1.0
    if name in _WITH_SLOPE:
        slope = Part(told.get("sigmoid"), f"{model.where}: sigmoid of {name}").number()
        if slope <= 0.0:
            raise AdoptionError(f"{model.where}: the sigmoid of {name} must be positive, got {slope:g}")
    if "sqrt" in told:
        if name not in _SQUARED:
            raise AdoptionError(f"{model.where}: objective {shown(model.objective)} is unknown")
        link = "signed-square"
    if model.averages and _hold_predictions(model, link, outputs):
        return "identity", rounds
    return link, rounds / slope


def _hold_predictions(model: SavedModel, link: str, outputs: F8) -> bool:
    """Return whether leaves of a forest hold predictions, as LightGBM wrote them in format v2 up to version 2.2.2."""
    low, high = _IMAGES.get(link, (np.inf, -np.inf))
    return model.version == 2 and bool(((low <= outputs) & (outputs <= high)).all())


def at_most(threshold: ArrayLike) -> F8:
    """Return T, float64, with `(x <= T) == (z <= t)` for every double x but NaN; z is 0 where |x| <= TINY, else x."""
    limit = np.asarray(threshold, np.float64)
    below = np.where((limit >= -TINY) & (limit < 0.0), np.nextafter(-TINY, -np.inf), limit)
    return np.where((limit >= 0.0) & (limit < TINY), TINY, below)


@frozen(eq=False)
class _Tests:
    """The tests of all splits of all trees, as a `TreeTable` has them; `sets` are the categories of some."""

    feature: I8
    threshold: F8
    missing_left: B1
    reading: I8
    sets: dict[int, F8]


def _make_table(model: SavedModel, values: Mapping[int, F8]) -> TreeTable:
    """Return the trees of a model.

    `values` are the numbers for which the codes of a feature stand: a split by its codes becomes one by the numbers.
    """
    trees = model.trees
    leaves = np.array([len(tree.outputs) for tree in trees])
    inner = leaves - 1
    first = np.concatenate([[0], np.cumsum(leaves + inner)])
    tests, at, shift = _make_tests(model, values), ranges(first[:-1], inner), np.repeat(inner, inner)
    left, right = (np.concatenate([getattr(tree, side) for tree in trees]) for side in ("left", "right"))

    def spread(of_splits: NDArray[Any], of_leaves: Any) -> NDArray[Any]:
        """Return values by node, given those of the splits and the one of all leaves."""
        nodes = np.full(first[-1], of_leaves, of_splits.dtype)
        nodes[at] = of_splits
        return nodes

    counts = np.zeros(len(left), np.int64)
    counts[sorted(tests.sets)] = [len(tests.sets[split]) for split in sorted(tests.sets)]
    number = np.full(first[-1], -1)
    number[ranges(first[:-1] + inner, leaves)] = np.arange(leaves.sum())
    try:
        return TreeTable(
            first,
            spread(tests.feature, -1),
            spread(tests.threshold, np.nan),
            spread(tests.missing_left, False),
            spread(np.where(left < 0, shift + ~left, left), -1),
            spread(np.where(right < 0, shift + ~right, right), -1),
            np.ones(len(trees)),
            number,
            np.concatenate([tree.outputs for tree in trees]),
            spread(counts, 0),
            np.concatenate([np.zeros(0), *(tests.sets[split] for split in sorted(tests.sets))]),
            spread(tests.reading, PLAIN),
        )
    except BankError as error:
        raise AdoptionError(f"{model.where}: {error}") from error


def _make_tests(model: SavedModel, values: Mapping[int, F8]) -> _Tests:
    trees = model.trees
    feature, decision, threshold = (
        np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "decision", "threshold")
    )
    by_category, kind = (decision & CATEGORICAL) > 0, decision >> MISSING_SHIFT
    default_left = np.where(kind == _NO_MISSING, threshold >= 0.0, (decision & DEFAULT_LEFT) > 0)
    given = (each for tree in trees for each in tree.categories)
    tests = _Tests(
        feature,
        np.where(by_category, np.nan, at_most(threshold)),
        default_left & ~by_category,
        np.where(by_category, WHOLE, np.where(kind == _ZERO, ZERO_MISSING, PLAIN)),
        {split: next(given).astype(np.float64) for split in np.flatnonzero(by_category).tolist()},
    )
    coded = np.flatnonzero(np.isin(feature, list(values))).tolist()
    if sum(len(values[int(feature[split])]) for split in coded if split not in tests.sets) > _MOST_COMPARED:
        raise AdoptionError(
            f"{model.where}: has too many comparisons of ordered categories that are numbers; make them texts"
        )
    for split in coded:
        _decode(tests, split, values[int(feature[split])])
    for split in [split for split, each in tests.sets.items() if not len(each)]:  # every value goes the missing way
        tests.threshold[split] = np.inf if tests.missing_left[split] else np.nan
        tests.reading[split] = PLAIN
    return tests


def _decode(tests: _Tests, split: int, numbers: F8) -> None:
    """Make a split by codes one by the numbers for which they stand; any other number is missing, as NaN is."""
    if split in tests.sets:
        codes = tests.sets[split].astype(np.int64)
        codes = codes[codes < len(numbers)]
    else:
        codes = np.arange(len(numbers))
        goes_left = codes <= tests.threshold[split]
        if tests.reading[split] == ZERO_MISSING:
            goes_left[:1] = tests.missing_left[split]
        codes = codes[goes_left != tests.missing_left[split]]
    tests.sets[split] = np.sort(numbers[codes])
    tests.threshold[split], tests.reading[split] = np.nan, PLAIN


@frozen(eq=False)
class _Meanings:
    """What the codes of features stand for, by feature: texts, or numbers, float64."""

    texts: dict[int, tuple[str, ...]]
    numbers: dict[int, F8]


def _find_meanings(model: SavedModel) -> _Meanings:
    """Find the column of each list of categories; refuse a model where several choices are possible."""
    meanings = _Meanings({}, {})
    columns = _place(model) if model.labels else []
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


def _place(model: SavedModel) -> list[int]:
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
    for f, each in enumerate(ranges):
        given = np.concatenate([[0], ways[-1][:-1] * (sizes > _largest_code(each))])
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


def _largest_code(each: Range) -> float:
    """Return the largest code that a feature had in training, infinity if its values were no codes."""
    if isinstance(each, tuple):
        low, high = each
        return high if low >= 0 and low.is_integer() and high.is_integer() else np.inf
    return max(each) if each else -1.0


def _refuse_twins(model: SavedModel, f: int, meanings: _Meanings, columns: Sequence[int]) -> None:
    """Refuse numeric categories that another column may have: one with just as many values, all whole.

    Where the user named the categorical features, the category columns may be others. Texts in a wrong place are
    noticed when rows are read; numbers are not.
    """
    numbers = meanings.numbers[f]
    count = len(numbers)
    if np.array_equal(numbers, np.arange(count)):
        return
    twins = [g for g, each in enumerate(model.ranges) if isinstance(each, tuple) and each == (0.0, count - 1.0)]
    names = [model.names[g] for g in twins if g not in columns]
    if names:
        raise AdoptionError(
            f"{model.where}: it does not tell whether the categories {shown(numbers.tolist())} are of feature "
            f"{model.names[f]!r} or of {quote_names(names)}, with values 0 to {count - 1}; make them texts, or {_HELP}"
        )
