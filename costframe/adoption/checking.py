"""A check of live adopted models: on rows at their own thresholds they answer as the models themselves.

So a version of a library that means something else by the parts that adoption reads is an error, no wrong answer.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.adoption.check_rows import CheckRows, draw_check_rows, list_handings
from costframe.adoption.foreign import describe_error, library_of
from costframe.adoption.tested_values import find_tested_values
from costframe.core.arrays import B1, F8
from costframe.core.errors import AdoptionError, CostframeError
from costframe.core.learners.tree_table import TINY
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor, behind_preparation
from costframe.core.predictors.stage_tree import StageTree

Pair = tuple[Callable[[Any], Any], Callable[[Any], Any], float]  # the model's answers, ours, and their tolerance

_CLOSE, _ROUGH = 1e-5, 1e-3
_FEW = 0.05  # of rows that rounding may send another way, where there are steps after a sum


def check_answers(model: Any, predictor: Predictor) -> None:
    """Refuse a predictor that answers otherwise than the live model from which it was adopted.

    Opaque learners are the model itself, whose rounding may depend on the rows beside. Rows that the model refuses show
    nothing, nor do numbers as categories of data frames, which only the model's own training frame tells.

    Raises
    ------
    AdoptionError
        If they differ, or the predictor refuses what the model takes, or the model refuses all rows that are tried; the
        text names the library, its version and a row.
    """
    values = find_tested_values(predictor)
    if values is None or _has_coded_categories(model, predictor):
        return
    if library_of(model) != "lightgbm":  # which reads numbers so small otherwise from frames of Arrow than from arrays
        values = [
            column[(column == 0.0) | (np.abs(column) < TINY / 2) | (np.abs(column) > TINY * 2)] for column in values
        ]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rows, pairs = _find_taken(model, predictor, values)
        for theirs, ours, close in pairs:
            _compare(model, predictor, rows.numbers, (theirs, _answer_as_adopted(model, ours, rows.numbers), close))


def _find_taken(model: Any, predictor: Predictor, values: list[F8]) -> tuple[CheckRows, list[tuple[Any, Any, float]]]:
    """Return the first rows that a model takes, with its answers and what is to be compared with them.

    If it refuses all drawn tables, these are the rows of a table that it takes one by one.
    """
    failed: Exception | None = None
    for handing in list_handings(model, predictor, library_of(model)):
        try:
            for rows in draw_check_rows(model, predictor, values, handing):
                try:
                    return _ask(model, predictor, rows)
                except Exception as error:  # noqa: BLE001 - it refuses the rows; those without NaN may do
                    failed = failed or error
                alone = [number for number in range(rows.tried_alone) if _takes(model, predictor, rows.take([number]))]
                if alone:
                    return _ask(model, predictor, rows.take(alone))
        except Exception as error:  # noqa: BLE001 - it refuses rows of all kinds; another library's frame may do
            failed = failed or error
    raise AdoptionError(
        f"{type(model).__name__}: refuses all rows with which its answers were to be compared: "
        f"{describe_error(failed or ValueError())}. costframe.adopt(model, features=[...]) takes the model as one "
        "opaque learner"
    ) from failed


def _ask(model: Any, predictor: Predictor, rows: CheckRows) -> tuple[CheckRows, list[tuple[Any, Any, float]]]:
    pairs = _list_questions(model, predictor)
    return rows, [(_as_array(theirs(rows.given)), ours, close) for theirs, ours, close in pairs]


def _takes(model: Any, predictor: Predictor, rows: CheckRows) -> bool:
    try:
        _ask(model, predictor, rows)
    except Exception:  # noqa: BLE001 - of any library
        return False
    return True


def _answer_as_adopted(model: Any, ours: Callable[[Any], Any], rows: F8) -> Any:
    try:
        return ours(rows)
    except CostframeError as error:
        raise _differing_error(model, f"takes rows that are refused as adopted: {error}") from error


def _list_questions(model: Any, predictor: Predictor) -> list[Pair]:
    """List methods of a model, with those of its predictor that must give the same, and their tolerance."""
    library, scores = library_of(model), predictor.decision_function
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
            kind, raw = "RMSEWithUncertainty", predictor.predict  # type: ignore[assignment] # one that rows are given to
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


def _compare(model: Any, predictor: Predictor, rows: F8, answers: tuple[Any, Any, float]) -> None:
    """Refuse answers that differ, but for rounding."""
    theirs, ours, close = answers
    if theirs.ndim == 2 and ours.ndim == 1 and theirs.shape[1] == 2:
        theirs = theirs[:, 1]
    if theirs.shape != ours.shape:
        theirs = theirs.reshape(ours.shape) if theirs.size == ours.size else theirs
    if theirs.shape != ours.shape:
        raise _differing_error(model, f"gives answers of shape {theirs.shape[1:]} a row, as adopted {ours.shape[1:]}")
    if close:
        largest = max([1e-300, *np.abs(theirs[np.isfinite(theirs)])])
        differ = ~np.isclose(ours, theirs, rtol=close, atol=close * largest, equal_nan=True)
    else:
        differ = (ours != theirs) & ~_find_undecided(predictor, rows)
    wrong = np.flatnonzero(differ.reshape(len(rows), -1).any(axis=1))
    if len(wrong) > (_FEW * len(rows) if _has_steps(predictor) else 0):
        row, names = wrong[0], predictor.feature_names
        shown = ", ".join(f"{names[f]}={rows[row, f]!r}" for f in range(min(len(names), 8)))
        raise _differing_error(model, f"answers {theirs[row]} for the row {shown}, as adopted {ours[row]}")


def _differing_error(model: Any, how: str) -> AdoptionError:
    library = library_of(model)
    version = getattr(sys.modules.get(library), "__version__", "of unknown version")
    return AdoptionError(
        f"{type(model).__name__}: {library} {version} {how}; this version may mean something new. "
        "costframe.adopt(model, features=[...]) takes the model as one opaque learner"
    )


def _find_undecided(predictor: Predictor, rows: F8) -> B1:
    """Return the rows whose two likeliest classes are as good as equal."""
    p = predictor.predict(rows)
    if p.ndim == 1:
        return np.abs(p - 0.5) < _CLOSE
    best = np.sort(p, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0] < _CLOSE)


def _has_steps(predictor: Any) -> bool:
    """Return whether rounding may send a row another way: by blends, or columns made by sums."""
    inner: Any = behind_preparation(predictor)
    made = predictor.preparation.operations if isinstance(predictor, PreparedPredictor) else ()
    answer = inner.only_answer
    return (
        answer is None
        or bool(answer.blends)
        or bool(inner.bank.opaques)
        or any(len(operation.reads) > 1 for operation in made)
    )


def _has_coded_categories(model: Any, predictor: Predictor) -> bool:
    """Return whether a model of another library than scikit-learn has categories that are not texts."""
    library = library_of(model)
    if library == "catboost":
        return bool(model.get_cat_feature_indices())
    booster = getattr(model, "booster_", None) or (model.get_booster() if hasattr(model, "get_booster") else model)
    if library == "lightgbm":
        known = getattr(booster, "pandas_categorical", None) or []
        return any(not isinstance(label, str) for labels in known for label in labels)
    return library == "xgboost" and (booster.feature_types or []).count("c") > len(predictor.categories)


def _has(model: Any, method: str) -> bool:
    return callable(getattr(model, method, None))


def _as_array(answers: Any) -> NDArray[Any]:
    """Return answers as one array; of several labels a row the probabilities of class 1."""
    if isinstance(answers, list) and len(answers) and np.ndim(answers[0]) == 2:
        return np.column_stack([label[:, -1] for label in answers])
    return np.asarray(answers)
