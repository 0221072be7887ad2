"""A check of live adopted models: on rows at their own thresholds they answer as the models themselves.

So a version of a library that means something else by the parts that adoption reads is an error, no wrong answer.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import AdoptionError
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.categories import ONLY, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.tables.operations import Operation
    from costframe.core.tables.preparation import OpaqueOperation

    Column = NDArray[np.float64]
    Pair = tuple[Callable[[Any], Any], Callable[[Any], Any], float]  # the model's answers, ours, and their tolerance

_ROWS = 64
_NODES = 2**14  # whose thresholds are looked at
_MISSING = 0.2  # of the cells in further rows
_CLOSE, _ROUGH = 1e-5, 1e-3
_FEW = 0.05  # of rows that rounding may send another way, where there are steps after a sum
_INVERSE: dict[str, Callable[[Column, float], Column]] = {
    "add": np.subtract,
    "subtract": np.add,
    "multiply": np.divide,
    "divide": np.multiply,
}


def check_answers(model: Any, predictor: Predictor) -> None:
    """Refuse a predictor that answers otherwise than the live model from which it was adopted.

    Opaque learners are the model itself, whose rounding may depend on the rows beside. Rows that one of them refuses
    show nothing, nor do numbers as categories of data frames, which only the model's own training frame tells.

    Raises
    ------
    AdoptionError
        If they differ; the text names the library, its version and a row.
    """
    values = _values(predictor)
    if values is None or _has_coded_categories(model, predictor):
        return
    plain = _draw(values, np.random.default_rng(0))
    hole = np.random.default_rng(1).random(plain.shape) < _MISSING
    if isinstance(
        predictor, PreparedPredictor
    ):  # an encoder may tell None from NaN among texts, one missing value here
        hole &= [name not in predictor.categories for name in predictor.feature_names]
    holed = np.where(hole, np.nan, plain)
    for rows in (np.vstack([plain, holed]), plain):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                given = _as_given(model, rows, predictor)
                found = [(_flat(theirs(given)), ours(rows), close) for theirs, ours, close in _pairs(model, predictor)]
            except Exception:  # noqa: BLE001, S112 - one of them refuses the rows; those without NaN may do
                continue
        for theirs, mine, close in found:
            _compare(model, predictor, rows, (theirs, mine, close))
        return


def _pairs(model: Any, predictor: Predictor) -> list[Pair]:
    """Return what can be asked of a model and of its predictor."""
    library, scores = _library(model), predictor.decision_function
    classes = predictor.classes is not None and hasattr(model, "classes_") and hasattr(model, "predict")
    labels: list[Pair] = [(model.predict, FittedEstimator(predictor).predict, 0.0)] if classes else []
    probabilities: list[Pair] = (
        [(model.predict_proba, predictor.predict, _CLOSE)] if _has(model, "predict_proba") else []
    )
    if library == "xgboost":
        if not hasattr(model, "get_booster"):
            return [(lambda rows: _margin_of_booster(model, rows), scores, _CLOSE)]
        values = probabilities or [(model.predict, predictor.predict, _CLOSE)]
        rough: list[Pair] = [(theirs, ours, _ROUGH) for theirs, ours, _ in values]
        return [(lambda rows: model.predict(rows, output_margin=True), scores, _CLOSE), *rough, *labels]
    if library == "catboost":
        raw, answer = scores, predictor.only_answer if isinstance(predictor, StageTree) else None
        kind = "RawFormulaVal"
        if answer is not None and answer.blends:
            kind, raw = "RMSEWithUncertainty", predictor.predict
        # A model of the class CatBoost predicts raw values by default.
        named = [(lambda rows: model.predict(rows, prediction_type="Class"), ours, close) for _, ours, close in labels]
        return [(lambda rows: model.predict(rows, prediction_type=kind), raw, _CLOSE), *named]
    if probabilities:
        return probabilities + labels
    if hasattr(model, "classes_"):
        return [(model.decision_function, scores, _CLOSE), *labels] if _has(model, "decision_function") else labels
    return [(getattr(model, "score_samples", model.predict), predictor.predict, _CLOSE)]


def _margin_of_booster(booster: Any, rows: Any) -> Any:
    from xgboost import DMatrix

    names, types = booster.feature_names, booster.feature_types
    named = hasattr(rows, "columns")
    matrix = (
        DMatrix(rows, enable_categorical=True) if named else DMatrix(rows, feature_names=names, feature_types=types)
    )
    return booster.predict(matrix, output_margin=True)


def _compare(model: Any, predictor: Predictor, rows: Column, found: tuple[Any, Any, float]) -> None:
    """Refuse answers that differ, but for rounding."""
    theirs, ours, close = found
    if theirs.ndim == 2 and ours.ndim == 1 and theirs.shape[1] == 2:
        theirs = theirs[:, 1]
    if theirs.shape != ours.shape:
        theirs = theirs.reshape(ours.shape) if theirs.size == ours.size else theirs
    if theirs.shape != ours.shape:
        raise _differing(model, f"gives answers of shape {theirs.shape[1:]} a row, as adopted {ours.shape[1:]}")
    if close:
        largest = max([1e-300, *np.abs(theirs[np.isfinite(theirs)])])
        differ = ~np.isclose(ours, theirs, rtol=close, atol=close * largest, equal_nan=True)
    else:
        differ = (ours != theirs) & ~_undecided(predictor, rows)
    wrong = np.flatnonzero(differ.reshape(len(rows), -1).any(axis=1))
    if len(wrong) > (_FEW * len(rows) if _has_steps(predictor) else 0):
        row, names = wrong[0], predictor.feature_names
        shown = ", ".join(f"{names[f]}={rows[row, f]!r}" for f in range(min(len(names), 8)))
        raise _differing(model, f"answers {theirs[row]} for the row {shown}, as adopted {ours[row]}")


def _differing(model: Any, how: str) -> AdoptionError:
    library = _library(model)
    version = getattr(sys.modules.get(library), "__version__", "of unknown version")
    return AdoptionError(
        f"{type(model).__name__}: {library} {version} {how}; this version may mean something new. "
        "costframe.adopt(model, features=[...]) takes the model as one opaque learner"
    )


def _undecided(predictor: Predictor, rows: Column) -> NDArray[np.bool_]:
    """Return the rows whose two likeliest classes are as good as equal."""
    p = predictor.predict(rows)
    if p.ndim == 1:
        return np.abs(p - 0.5) < _CLOSE
    best = np.sort(p, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0] < _CLOSE)


def _has_steps(predictor: Any) -> bool:
    """Return whether rounding may send a row another way: by blends, or columns made by sums."""
    inner = predictor.inner if isinstance(predictor, PreparedPredictor) else predictor
    made = predictor.preparation.operations if isinstance(predictor, PreparedPredictor) else ()
    answer = inner.only_answer
    return (
        answer is None or bool(answer.blends) or bool(inner.bank.opaques) or any(len(each.reads) > 1 for each in made)
    )


# --- rows --------------------------------------------------------------------------------------------------------


def _values(predictor: Predictor) -> list[Column] | None:
    """Return values of each column at which answers may change, None if they are not known."""
    inner = predictor.inner if isinstance(predictor, PreparedPredictor) else predictor
    if not isinstance(inner, StageTree) or not len(inner.bank.feature_names) or inner.bank.opaques:
        return None
    values = _tested(inner.bank)
    if isinstance(predictor, PreparedPredictor):
        values = _raw(predictor, values)
    for name, labels in predictor.categories.items():
        if not isinstance(labels, tuple):
            return None
        values[predictor.feature_names.index(name)] = np.arange(float(len(labels) - (labels[-1] in {ONLY, OTHER})))
    spread = np.concatenate([np.arange(-2.0, 3.0), np.random.default_rng(2).normal(size=8)])
    return [np.unique(each) if len(each) else spread for each in values]


def _tested(bank: WeakLearnerBank) -> list[Column]:
    """Return the thresholds of a bank's trees, and the next numbers, or their categories, of each column."""
    trees, n_features = bank.trees, len(bank.feature_names)
    inner = np.flatnonzero((trees.feature >= 0) & np.isfinite(trees.threshold))
    inner = inner[:: max(1, len(inner) // _NODES)]
    limits = trees.threshold[inner]
    feature = np.concatenate([trees.feature[inner]] * 2 + [np.repeat(trees.feature, trees.category_count)])
    values = np.concatenate([limits, np.nextafter(limits, np.inf), trees.categories])
    order = np.argsort(feature, kind="stable")
    found = np.split(values[order], np.searchsorted(feature[order], np.arange(1, n_features)))
    return [each[np.isfinite(each)] for each in found]


def _raw(prepared: PreparedPredictor, made: list[Column]) -> list[Column]:
    """Return values of raw columns from those of made columns, and from the operations between."""
    preparation, first = prepared.preparation, len(prepared.feature_names)
    maker: dict[int, Operation | OpaqueOperation] = {}
    for operation in preparation.operations:
        for _ in range(operation.width):
            maker[first] = operation
            first += 1
    raw: list[list[Column]] = [[np.empty(0)] for _ in prepared.feature_names]
    for column, values in zip(preparation.outputs, made, strict=True):
        at, found = column, [values]
        while at in maker and len(maker[at].reads) == 1:
            found = _before(maker[at], found)
            at = maker[at].reads[0]
        if at < len(raw):
            raw[at] += found
    return [np.concatenate(each) for each in raw]


def _before(operation: Operation | OpaqueOperation, found: list[Column]) -> list[Column]:
    """Return values of a column from which an operation makes some values, or at which it changes."""
    kind, numbers = getattr(operation, "kind", ""), getattr(operation, "numbers", np.empty(0))
    if kind in _INVERSE:
        with np.errstate(all="ignore"):
            near = [_INVERSE[kind](values, float(numbers[0])) for values in found]
        found = [values[np.isfinite(values)] for values in near]
    elif kind in {"lookup", "replace"}:
        table = numbers[kind == "lookup" :]
        keys = table[: len(table) // 2]
        found = [keys[np.isfinite(keys)], *(found if kind == "replace" else [])]
    elif kind in {"bin", "greater"}:
        found = [numbers, np.nextafter(numbers, np.inf)]
    return found


def _draw(values: list[Column], rng: np.random.Generator) -> Column:
    """Return rows of the values of each column, as many different ones as there is room for: float64 (rows, d)."""
    columns = [np.resize(rng.permutation(each), _ROWS)[rng.permutation(_ROWS)] for each in values]
    return np.column_stack(columns)


# --- the model's side --------------------------------------------------------------------------------------------


def _as_given(model: Any, rows: Column, predictor: Predictor) -> Any:
    """Return rows as a model takes them: a data frame with labels where it was fitted on one, else an array."""
    names = getattr(model, "feature_names_in_", getattr(model, "feature_names", None))
    if names is None or (_library(model) != "sklearn" and not predictor.categories):
        return rows
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(names))
    for name, labels in predictor.categories.items():
        place, known = predictor.feature_names.index(name), [*labels] if isinstance(labels, tuple) else []
        texts: Any = np.array([*known, None], object)  # the last stands for a missing one
        column = texts[np.where(np.isnan(rows[:, place]), -1, rows[:, place]).astype(int)]
        whole = isinstance(predictor, PreparedPredictor)
        frame[frame.columns[place]] = column if whole else pd.Categorical(column, categories=known)
    return frame


def _has_coded_categories(model: Any, predictor: Predictor) -> bool:
    """Return whether a model of another library than scikit-learn has categories that are not texts."""
    library = _library(model)
    if library == "catboost":
        return bool(model.get_cat_feature_indices())
    booster = getattr(model, "booster_", None) or (model.get_booster() if hasattr(model, "get_booster") else model)
    if library == "lightgbm":
        known = getattr(booster, "pandas_categorical", None) or []
        return any(not isinstance(label, str) for labels in known for label in labels)
    return library == "xgboost" and (booster.feature_types or []).count("c") > len(predictor.categories)


def _library(model: Any) -> str:
    """Return the library of a model's class, or of its nearest base class in one."""
    known = ("xgboost", "lightgbm", "catboost", "sklearn")
    found = (base.__module__.split(".")[0] for base in type(model).__mro__)
    return next((library for library in found if library in known), "")


def _has(model: Any, method: str) -> bool:
    return callable(getattr(model, method, None))


def _flat(answers: Any) -> NDArray[Any]:
    """Return answers as one array; of several labels a row the probabilities of class 1."""
    if isinstance(answers, list) and len(answers) and np.ndim(answers[0]) == 2:
        return np.column_stack([each[:, -1] for each in answers])
    return np.asarray(answers)
