"""Pipelines drawn by seed, over scikit-learn's transformers and models of four libraries, with rows to try.

A pipeline is equal to its original, or an error names why not; `draw_case` makes both from a whole number.
"""

import importlib
import warnings

import numpy as np
import pandas as pd
from attrs import frozen
from pipeline_parts import CLASSIFIERS, CODES, COMMON, FUNCTIONS, OPTIONS, REGRESSORS, SETTINGS, TABULAR, TRANSFORMERS
from sklearn import calibration, compose, decomposition, feature_selection, impute, preprocessing, tree
from sklearn.base import clone
from sklearn.feature_extraction import text as texts
from sklearn.pipeline import FeatureUnion, make_pipeline

ROWS, FRESH = 90, 12
NUMBERS = ("age", "dose", "count", "code")
TEXTS = ("town", "size")
TOWNS = np.array(["Oslo", "Bonn", "Rome", "Nice", "Bari"], object)
_STEEP = 1e8
LIBRARIES = {
    "xgboost": ("XGB", {"n_jobs": 1, "n_estimators": 4, "random_state": 0}),
    "lightgbm": ("LGBM", {"n_jobs": 1, "n_estimators": 4, "min_child_samples": 5, "verbose": -1, "random_state": 0}),
    "catboost": (
        "CatBoost",
        {
            "iterations": 4,
            "depth": 3,
            "verbose": False,
            "thread_count": 1,
            "random_seed": 0,
            "allow_writing_files": False,
        },
    ),
}


@frozen(eq=False)
class Case:
    """A fitted pipeline, with rows to try, (rows, d), each of them with at most one odd cell."""

    pipeline: object
    fresh: object
    odd: object  # rows like those of `fresh`, each with one cell that the training rows do not have
    library: str
    title: str


def draw_case(seed, library):
    """Draw a pipeline that can be fitted, over a drawn table; `library` is where its last step comes from."""
    for attempt in range(60):
        rng = np.random.default_rng([seed, attempt])
        case = _attempt(rng, library)
        if case is not None:
            return case
    raise AssertionError(f"seed {seed}: no pipeline could be fitted")


def _attempt(rng, library):
    frame, task, y = _table(rng)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        pipeline = make_pipeline(*_steps(rng, frame, task), _model(rng, task, library))
        try:
            if rng.random() < 0.15 and isinstance(frame, pd.DataFrame):
                pipeline[:-1].set_output(transform="pandas")
            pipeline.fit(frame[:ROWS], y[:ROWS])
            pipeline.predict(frame[:2])
        except Exception:  # noqa: BLE001 - not every drawn pipeline can be fitted
            return None
    title = f"{type(frame).__name__} {task}: {' '.join(str(pipeline).split())}"
    if library == "catboost" and "NeighborsTransformer" in title:
        return None  # CatBoost refuses the large indices that these make of some rows
    if np.abs(getattr(pipeline[-1], "coef_", 0.0)).max() > _STEEP:
        return None  # rounding alone moves its answers
    return Case(pipeline, frame[ROWS:], _odd_rows(rng, frame), library, title)


def _table(rng):
    """Draw a table, a frame or an array of numbers, the task, and its target."""
    size = ROWS + FRESH
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(1.0, 1.0, size), 1),
            "dose": np.round(rng.exponential(1.0, size), 2) * (rng.random(size) < 0.7),
            "count": rng.integers(0, 4, size),
            "code": rng.choice([1.0, 2.5, 7.0], size),
            "flag": rng.random(size) < 0.5,
            "town": rng.choice(TOWNS, size, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], size), ["s", "m", "l", "xl"]),
        }
    ).astype({"town": object})
    signal = frame["age"] + frame["dose"] * (frame["town"] == "Bonn") + 0.3 * rng.normal(size=size)
    if rng.random() < 0.4:
        frame["age"] = frame["age"].abs() + 0.1
    for name in ("age", "town", "code"):
        if rng.random() < 0.4:
            frame.loc[rng.random(size) < 0.15, name] = [None, np.nan][rng.integers(2)] if name == "town" else np.nan
    task = rng.choice(["two", "three", "number"])
    y = {
        "two": np.where(signal > signal.median(), "ill", "well"),
        "three": np.digitize(signal, signal.quantile([0.3, 0.7])),
        "number": np.abs(signal.to_numpy()),
    }[task]
    if rng.random() < 0.25:
        array = frame[list(NUMBERS)].to_numpy(np.float64)
        return (array.astype(object) if rng.random() < 0.1 else array), task, y
    if rng.random() < 0.25:
        return frame[list(NUMBERS)], task, y
    return frame, task, y


def _steps(rng, frame, task):
    names = list(frame) if isinstance(frame, pd.DataFrame) else None
    if (names is not None and "town" in names) or rng.random() < 0.4:
        steps = [_columns(rng, names, task)]
    elif rng.random() < 0.2:
        steps = [FeatureUnion([("a", _chain(rng, task)), ("b", _chain(rng, task))])]
    else:
        steps = [_chain(rng, task)]
    if rng.random() < 0.3:
        steps.append(_numeric(rng, task))
    return [make_pipeline(*steps)] if rng.random() < 0.1 else steps


def _columns(rng, names, task):
    """Draw a ColumnTransformer: numbers to some chains, texts to encoders."""
    numbers = list(range(4)) if names is None else [name for name in names if name in NUMBERS]
    numeric, parts = names is None or "town" not in names, []
    for number in range(rng.integers(1, 3)):
        some = [each for each in numbers if rng.random() < 0.6] or numbers[:1]
        ways = [some, slice(0, 2)]
        if names is not None:
            selector = compose.make_column_selector(dtype_include=np.float64)
            ways += [[name in some for name in names], slice("age", "count"), selector]
        way = ways[rng.integers(len(ways))] if rng.random() < 0.4 else some
        parts.append((f"n{number}", _chain(rng, task), way))
    if not numeric:
        for number in range(rng.integers(1, 3)):
            some = [name for name in (*TEXTS, "flag", "code") if rng.random() < 0.5] or ["town"]
            parts.append((f"t{number}", _text_chain(rng), some))
        if rng.random() < 0.08:
            parts.append(("v", texts.HashingVectorizer(), "town"))
    remainder = str(rng.choice(["drop", "passthrough"])) if numeric else "drop"
    return compose.ColumnTransformer(
        parts,
        remainder=remainder if rng.random() < 0.8 or not numeric else preprocessing.StandardScaler(),
        sparse_threshold=float(rng.choice([0, 0.3, 1.0])),
        transformer_weights={"n0": 0.5} if rng.random() < 0.1 else None,
        verbose_feature_names_out=bool(rng.random() < 0.8),
    )


def _chain(rng, task):
    """Draw one to three transformers of numbers."""
    parts = [impute.SimpleImputer(**_drawn(rng, "SimpleImputer"))] if rng.random() < 0.5 else []
    parts += [_numeric(rng, task) for _ in range(rng.integers(1, 3))]
    return "passthrough" if rng.random() < 0.05 else make_pipeline(*parts)


def _text_chain(rng):
    name = CODES[rng.choice(3, p=[0.6, 0.3, 0.1])]
    encoder, before, after = TRANSFORMERS[name](**_drawn(rng, name)), [], []
    if name == "OrdinalEncoder" and rng.random() < 0.6:
        encoder.set_params(handle_unknown="use_encoded_value", unknown_value=[-1, np.nan][rng.integers(2)])
    if rng.random() < 0.4:
        strategy = ["most_frequent", "constant"][rng.integers(2)]
        before = [impute.SimpleImputer(strategy=strategy, fill_value="none" if strategy == "constant" else None)]
    if rng.random() < 0.2:
        after = [preprocessing.StandardScaler(with_mean=False)]
    elif rng.random() < 0.1:
        after = [preprocessing.MaxAbsScaler(), decomposition.TruncatedSVD(2)]
    return make_pipeline(*before, encoder, *after)


def _numeric(rng, task):
    """Draw one transformer of numbers, the common ones more often."""
    name = str(rng.choice(COMMON if rng.random() < 0.35 else TABULAR))
    if name == "FunctionTransformer":
        function = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        return preprocessing.FunctionTransformer(function, validate=bool(rng.random() < 0.3))
    made = TRANSFORMERS[name](**(SETTINGS.get(name, {}) | _drawn(rng, name)))
    if task == "number" and hasattr(made, "score_func"):
        made.set_params(score_func=feature_selection.f_regression)
    if task == "number" and "estimator" in made.get_params(deep=False) and name != "IterativeImputer":
        made.set_params(estimator=tree.DecisionTreeRegressor(max_depth=2, random_state=0))
    for each in ("random_state", "estimator__random_state"):
        if each in made.get_params():
            made.set_params(**{each: 0})
    return made


def _drawn(rng, name):
    return {
        key: values[rng.integers(len(values))] for key, values in OPTIONS.get(name, {}).items() if rng.random() < 0.7
    }


def _model(rng, task, library):
    if library == "sklearn":
        models = REGRESSORS if task == "number" else CLASSIFIERS
        return clone(models[rng.integers(len(models))])
    name, kind = LIBRARIES[library][0], LIBRARIES[library][1].copy()
    if library == "xgboost":
        booster = str(rng.choice(["gbtree", "dart", "gblinear", "forest"]))
        name = "XGBRF" if booster == "forest" else name
        kind |= {"booster": booster} if booster != "forest" else {}
        kind |= {"max_depth": 3} if booster != "gblinear" else {}
    elif library == "lightgbm":
        boosting = str(rng.choice(["gbdt", "dart", "rf"]))
        kind |= {"boosting_type": boosting} | ({"subsample": 0.7, "subsample_freq": 1} if boosting == "rf" else {})
    module = importlib.import_module(library)
    model = getattr(module, name + ("Regressor" if task == "number" else "Classifier"))(**kind)
    return calibration.CalibratedClassifierCV(model, cv=2) if task != "number" and rng.random() < 0.15 else model


def _odd_rows(rng, rows):
    """Return copies of the last rows with one odd cell each."""
    is_frame = isinstance(rows, pd.DataFrame)
    alike = is_frame and "town" in rows and any(town is None for town in rows["town"])  # None and NaN are one here
    texts_of, numbers = ([None if alike else np.nan, "Kiel", ""], [np.nan, np.inf, -np.inf, 0.0, 9.5, -3.0, 1e300])
    fresh = rows[ROWS:]
    cells = (fresh.astype(object).to_numpy() if is_frame else fresh).astype(object)
    for row in cells:
        f = int(rng.integers(len(row)))
        values = texts_of if is_frame and fresh.columns[f] in TEXTS else numbers
        row[f] = values[rng.integers(len(values))]
    if not is_frame:
        return cells.astype(fresh.dtype)
    odd = pd.DataFrame(cells, columns=fresh.columns, dtype=object)
    return odd.astype({name: np.float64 for name in fresh.columns if name not in TEXTS})
