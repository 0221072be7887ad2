"""Pipelines drawn by seed, over scikit-learn's transformers and models of four libraries, with rows to try.

A pipeline is equal to its original, or an error names why not; `draw_case` makes both from a whole number.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from attrs import frozen
from sklearn import (
    calibration,
    compose,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    svm,
    tree,
)
from sklearn.feature_extraction import text as texts
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils import all_estimators

ROWS, FRESH = 90, 16
NUMBERS = ("age", "dose", "count", "code")
TEXTS = ("town", "size")
TOWNS = np.array(["Oslo", "Bonn", "Rome", "Nice", "Bari"], object)

NO_TABLE = {
    "ColumnTransformer", "FeatureUnion", "DictVectorizer", "FeatureHasher", "HashingVectorizer", "IsotonicRegression",
    "KernelCenterer", "LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "PatchExtractor", "PLSSVD", "TSNE",
    "SparseCoder", "StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor",
}  # fmt: skip
"""Transformers that take no table, are drawn by hand, or transform nothing but what they were fitted to."""

SETTINGS = {
    "BernoulliRBM": {"n_iter": 2},
    "Birch": {"n_clusters": 2},
    "BisectingKMeans": {"n_clusters": 3},
    "CCA": {"n_components": 1},
    "DictionaryLearning": {"n_components": 2, "max_iter": 3},
    "FastICA": {"n_components": 2, "whiten": "unit-variance"},
    "GaussianRandomProjection": {"n_components": 2},
    "GenericUnivariateSelect": {"score_func": feature_selection.f_classif, "mode": "k_best", "param": 1},
    "Isomap": {"n_neighbors": 4},
    "KMeans": {"n_clusters": 3, "n_init": 1},
    "KNeighborsTransformer": {"n_neighbors": 2},
    "LatentDirichletAllocation": {"n_components": 2, "max_iter": 2},
    "LocallyLinearEmbedding": {"n_neighbors": 4},
    "MiniBatchDictionaryLearning": {"n_components": 2, "max_iter": 3},
    "MiniBatchKMeans": {"n_clusters": 3, "n_init": 1},
    "MiniBatchSparsePCA": {"n_components": 2, "max_iter": 3},
    "NeighborhoodComponentsAnalysis": {"max_iter": 3},
    "Nystroem": {"n_components": 4},
    "PLSCanonical": {"n_components": 1},
    "PLSRegression": {"n_components": 1},
    "PolynomialCountSketch": {"n_components": 6},
    "QuantileTransformer": {"n_quantiles": 20},
    "RBFSampler": {"n_components": 5},
    "RFE": {"estimator": tree.DecisionTreeClassifier(max_depth=2), "n_features_to_select": 1},
    "RFECV": {"estimator": tree.DecisionTreeClassifier(max_depth=2), "cv": 2},
    "RadiusNeighborsTransformer": {"radius": 3.0},
    "RandomTreesEmbedding": {"n_estimators": 3, "max_depth": 2},
    "SelectFdr": {"alpha": 0.9},
    "SelectFpr": {"alpha": 0.9},
    "SelectFromModel": {"estimator": tree.DecisionTreeClassifier(max_depth=2)},
    "SelectFwe": {"alpha": 0.9},
    "SelectKBest": {"k": 1},
    "SequentialFeatureSelector": {
        "estimator": tree.DecisionTreeClassifier(max_depth=2),
        "n_features_to_select": 1,
        "cv": 2,
    },
    "SkewedChi2Sampler": {"n_components": 4, "skewedness": 50.0},
    "SparsePCA": {"n_components": 2, "max_iter": 3},
    "SparseRandomProjection": {"n_components": 2, "density": 0.7},
}
"""What lets each be fitted to a small table; all others have their defaults."""

OPTIONS = {
    "Binarizer": {"threshold": (0.0, 0.4)},
    "FastICA": {"whiten": ("unit-variance", "arbitrary-variance")},
    "KBinsDiscretizer": {
        "encode": ("onehot", "onehot-dense", "ordinal"),
        "strategy": ("uniform", "quantile", "kmeans"),
        "n_bins": (2, 4),
    },
    "KNNImputer": {"add_indicator": (False, True), "n_neighbors": (2,)},
    "MaxAbsScaler": {"clip": (False, True)},
    "MinMaxScaler": {"clip": (False, True), "feature_range": ((0, 1), (-2, 3))},
    "MissingIndicator": {"features": ("all", "missing-only"), "error_on_new": (True, False)},
    "Normalizer": {"norm": ("l1", "l2", "max")},
    "OneHotEncoder": {
        "drop": (None, None, "first", "if_binary"),
        "handle_unknown": ("error", "ignore", "infrequent_if_exist", "warn"),
        "max_categories": (None, 3),
        "min_frequency": (None, 0.25),
        "sparse_output": (True, False),
        "dtype": (np.float64, np.float64, np.float32, np.int64),
    },
    "OrdinalEncoder": {
        "encoded_missing_value": (np.nan, -2),
        "max_categories": (None, 3),
        "min_frequency": (None, 20),
    },
    "PCA": {"whiten": (False, True), "n_components": (1, None)},
    "PolynomialFeatures": {"degree": (2, (2, 3)), "interaction_only": (False, True), "include_bias": (True, False)},
    "PowerTransformer": {"method": ("yeo-johnson", "box-cox"), "standardize": (True, False)},
    "QuantileTransformer": {"output_distribution": ("uniform", "normal")},
    "RandomTreesEmbedding": {"sparse_output": (True, False)},
    "RobustScaler": {"unit_variance": (False, True), "with_centering": (True, False)},
    "SimpleImputer": {
        "add_indicator": (False, True),
        "keep_empty_features": (False, True),
        "missing_values": (np.nan, np.nan, np.nan, 0.0),
        "strategy": ("mean", "median", "most_frequent", "constant"),
    },
    "SplineTransformer": {
        "extrapolation": ("constant", "error", "linear", "continue", "periodic"),
        "n_knots": (3,),
        "sparse_output": (False, True),
    },
    "StandardScaler": {"with_mean": (True, False), "with_std": (True, False)},
    "TargetEncoder": {"smooth": ("auto", 2.0), "cv": (2,)},
    "TfidfTransformer": {"norm": ("l2", None)},
    "TruncatedSVD": {"n_components": (1, 2)},
}

FUNCTIONS = (None, np.abs, np.exp, np.arctan, np.square, np.log1p)
CODES = ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
COMMON = ("StandardScaler", "MinMaxScaler", "SimpleImputer", "OneHotEncoder", "KBinsDiscretizer", "PolynomialFeatures")
TRANSFORMERS = {name: one for name, one in all_estimators(type_filter="transformer") if name not in NO_TABLE}
TABULAR = tuple(name for name in TRANSFORMERS if "Vectorizer" not in name)
VECTORIZERS = (texts.CountVectorizer, texts.TfidfVectorizer, texts.HashingVectorizer)

_TREE = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
CLASSIFIERS = (
    _TREE,
    calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), cv=2),
    calibration.CalibratedClassifierCV(ensemble.RandomForestClassifier(3, max_depth=3, random_state=0), cv=2),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    ensemble.AdaBoostClassifier(n_estimators=3, random_state=0),
    ensemble.BaggingClassifier(_TREE, 3, random_state=0),
    ensemble.ExtraTreesClassifier(3, max_depth=4, random_state=0),
    ensemble.GradientBoostingClassifier(n_estimators=3, random_state=0),
    ensemble.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, random_state=0),
    ensemble.RandomForestClassifier(4, max_depth=4, random_state=0),
    ensemble.StackingClassifier([("t", _TREE), ("n", naive_bayes.GaussianNB())], cv=2),
    ensemble.VotingClassifier([("t", _TREE), ("l", linear_model.LogisticRegression())], voting="soft"),
    linear_model.LogisticRegression(max_iter=50),
    linear_model.RidgeClassifier(),
    linear_model.SGDClassifier(loss="log_loss", max_iter=20, tol=None, random_state=0),
    linear_model.SGDClassifier(loss="modified_huber", max_iter=20, tol=None, random_state=0),
    naive_bayes.BernoulliNB(),
    naive_bayes.GaussianNB(),
    naive_bayes.MultinomialNB(),
    neighbors.KNeighborsClassifier(3),
    neural_network.MLPClassifier((4,), max_iter=5, random_state=0),
    svm.LinearSVC(max_iter=200),
    svm.SVC(),
)
REGRESSORS = (
    ensemble.AdaBoostRegressor(n_estimators=3, random_state=0),
    ensemble.ExtraTreesRegressor(3, max_depth=4, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=4, random_state=0),
    ensemble.HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=5, random_state=0),
    ensemble.RandomForestRegressor(4, max_depth=4, random_state=0),
    ensemble.StackingRegressor([("r", linear_model.Ridge()), ("t", tree.DecisionTreeRegressor(max_depth=2))], cv=2),
    linear_model.Lasso(0.01),
    linear_model.LinearRegression(),
    linear_model.PoissonRegressor(),
    linear_model.Ridge(),
    neighbors.KNeighborsRegressor(3),
    neural_network.MLPRegressor((4,), max_iter=5, random_state=0),
    svm.SVR(),
    tree.DecisionTreeRegressor(max_depth=4, random_state=0),
)


@frozen(eq=False)
class Case:
    """A fitted pipeline, with rows to try, (rows, d), each of them with at most one odd cell."""

    pipeline: object
    fresh: object
    known: object  # a row of the training rows
    odd: object  # rows like those of `fresh`, each with one cell that the training rows do not have
    odd_columns: tuple[int, ...]
    library: str
    title: str


def draw_case(seed, library=None):
    """Draw a pipeline that can be fitted, over a drawn table; `library` is where its last step comes from."""
    for attempt in range(60):
        rng = np.random.default_rng([seed, attempt])
        case = _attempt(rng, library)
        if case is not None:
            return case
    raise AssertionError(f"seed {seed}: no pipeline could be fitted")


def _attempt(rng, library):
    frame, task, y = _table(rng)
    chosen = library or rng.choice(["sklearn", "sklearn", "xgboost", "lightgbm", "catboost"])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        pipeline = make_pipeline(*_steps(rng, frame, task), _model(rng, task, chosen))
        try:
            if rng.random() < 0.15 and isinstance(frame, pd.DataFrame):
                pipeline[:-1].set_output(transform="pandas")
            pipeline.fit(frame[:ROWS], y[:ROWS])
            pipeline.predict(frame[:2])
        except Exception:  # noqa: BLE001 - not every drawn pipeline can be fitted
            return None
    odd, places = _odd_rows(rng, frame)
    title = " ".join(str(pipeline).split())
    return Case(pipeline, frame[ROWS:], frame[:1], odd, places, chosen, f"{type(frame).__name__} {task}: {title}")


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
    if rng.random() < 0.1:
        return [make_pipeline(*steps)]
    return steps


def _columns(rng, names, task):
    """Draw a ColumnTransformer: numbers to some chains, texts to encoders."""
    numbers = list(range(4)) if names is None else [name for name in names if name in NUMBERS]
    parts = []
    for number in range(rng.integers(1, 3)):
        some = [each for each in numbers if rng.random() < 0.6] or numbers[:1]
        weight = rng.random()
        if names is not None and weight < 0.1:
            some = [name in some for name in names]
        elif names is not None and weight < 0.2:
            some = slice("age", "count")
        elif weight < 0.3:
            some = slice(0, 2)
        elif names is not None and weight < 0.4:
            some = compose.make_column_selector(dtype_include=np.float64)
        parts.append((f"n{number}", _chain(rng, task), some))
    if names is not None and "town" in names:
        for number in range(rng.integers(1, 3)):
            some = [name for name in (*TEXTS, "flag", "code") if rng.random() < 0.5] or ["town"]
            parts.append((f"t{number}", _text_chain(rng), some))
        if rng.random() < 0.08:
            parts.append(("v", _vectorizer(rng), "town"))
    numeric = names is None or "town" not in names
    remainder = str(rng.choice(["drop", "passthrough"])) if numeric else "drop"
    return compose.ColumnTransformer(
        parts,
        remainder=remainder if rng.random() < 0.8 or not numeric else preprocessing.StandardScaler(),
        sparse_threshold=float(rng.choice([0, 0.3, 1.0])),
        transformer_weights={"n0": 0.5} if rng.random() < 0.1 else None,
        verbose_feature_names_out=bool(rng.random() < 0.8),
    )


def _vectorizer(rng):
    kind = VECTORIZERS[rng.integers(len(VECTORIZERS))]
    return (
        make_pipeline(impute.SimpleImputer(strategy="constant", fill_value="none"), kind())
        if rng.random() < 0.1
        else kind()
    )


def _chain(rng, task):
    """Draw one to three transformers of numbers."""
    parts = [impute.SimpleImputer(**_drawn(rng, "SimpleImputer"))] if rng.random() < 0.5 else []
    parts += [_numeric(rng, task) for _ in range(rng.integers(1, 3))]
    if rng.random() < 0.05:
        return "passthrough"
    return parts[0] if len(parts) == 1 else make_pipeline(*parts)


def _text_chain(rng):
    name = CODES[rng.choice(3, p=[0.6, 0.3, 0.1])]
    encoder = TRANSFORMERS[name](**_drawn(rng, name))
    if name == "OrdinalEncoder" and rng.random() < 0.6:
        encoder.set_params(handle_unknown="use_encoded_value", unknown_value=[-1, np.nan][rng.integers(2)])
    before = []
    if rng.random() < 0.4:
        strategy = ["most_frequent", "constant"][rng.integers(2)]
        before = [impute.SimpleImputer(strategy=strategy, fill_value="none" if strategy == "constant" else None)]
    after = [preprocessing.StandardScaler(with_mean=False)] if rng.random() < 0.2 else []
    if rng.random() < 0.1:
        after = [preprocessing.MaxAbsScaler(), decomposition.TruncatedSVD(2)]
    return make_pipeline(*before, encoder, *after)


def _numeric(rng, task):
    """Draw one transformer of numbers, the common ones more often."""
    name = str(rng.choice(COMMON if rng.random() < 0.35 else TABULAR))
    if name == "FunctionTransformer":
        return preprocessing.FunctionTransformer(
            FUNCTIONS[rng.integers(len(FUNCTIONS))], validate=bool(rng.random() < 0.3)
        )
    made = TRANSFORMERS[name](**(SETTINGS.get(name, {}) | _drawn(rng, name)))
    if task == "number" and hasattr(made, "score_func"):
        made.set_params(score_func=feature_selection.f_regression)
    if task == "number" and "estimator" in made.get_params(deep=False) and name != "IterativeImputer":
        made.set_params(estimator=tree.DecisionTreeRegressor(max_depth=2))
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
        return models[rng.integers(len(models))]
    return {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost}[library](rng, task)


def _xgboost(rng, task):
    import xgboost

    kind = {"n_jobs": 1, "n_estimators": 4, "max_depth": 3, "random_state": 0}
    booster = str(rng.choice(["gbtree", "dart", "gblinear", "forest"]))
    name = "XGBRF" if booster == "forest" else "XGB"
    if booster == "gblinear":
        kind.pop("max_depth")
    if booster != "forest":
        kind["booster"] = booster
    return getattr(xgboost, name + ("Regressor" if task == "number" else "Classifier"))(**kind)


def _lightgbm(rng, task):
    import lightgbm

    kind = {"n_jobs": 1, "n_estimators": 4, "min_child_samples": 5, "verbose": -1, "random_state": 0}
    boosting = str(rng.choice(["gbdt", "dart", "rf"]))
    kind |= {"boosting_type": boosting} | ({"subsample": 0.7, "subsample_freq": 1} if boosting == "rf" else {})
    return (lightgbm.LGBMRegressor if task == "number" else lightgbm.LGBMClassifier)(**kind)


def _catboost(rng, task):
    import catboost

    kind = {"iterations": 4, "depth": int(rng.integers(1, 4)), "verbose": False, "thread_count": 1, "random_seed": 0}
    kind |= {"allow_writing_files": False}
    return (catboost.CatBoostRegressor if task == "number" else catboost.CatBoostClassifier)(**kind)


def _odd_rows(rng, rows):
    """Return copies of rows with one odd cell each, and the column of each."""
    is_frame, missing = isinstance(rows, pd.DataFrame), np.nan
    if is_frame and "town" in rows and any(town is None for town in rows["town"]):
        missing = None  # a pipeline may tell None from NaN; here they are one
    rows = rows[ROWS:]
    cells = rows.astype(object).to_numpy() if is_frame else rows.astype(object)
    places = []
    for row in cells:
        f = int(rng.integers(len(row)))
        text = is_frame and rows.columns[f] in TEXTS
        row[f] = (
            [missing, "Kiel", ""][rng.integers(3)]
            if text
            else [np.nan, np.inf, -np.inf, 0.0, 9.5, -3.0, 1e300][rng.integers(7)]
        )
        places.append(f)
    if not is_frame:
        return cells.astype(rows.dtype), tuple(places)
    odd = pd.DataFrame(cells, columns=rows.columns, dtype=object)
    numeric = {name: np.float64 for name in rows.columns if name not in (*TEXTS,)}
    return odd.astype(numeric), tuple(places)
