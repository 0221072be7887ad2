"""Transformers and models that pipelines are drawn of: settings that fit small tables, and options to draw."""

import numpy as np
from sklearn import (
    calibration,
    discriminant_analysis,
    ensemble,
    feature_selection,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    svm,
    tree,
)
from sklearn.utils import all_estimators

NO_TABLE = {
    "CCA", "ColumnTransformer", "DictVectorizer", "FeatureHasher", "FeatureUnion", "HashingVectorizer",
    "IsotonicRegression", "KernelCenterer", "LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "PatchExtractor",
    "PLSCanonical", "PLSRegression", "PLSSVD", "SparseCoder", "StackingClassifier", "StackingRegressor", "TSNE",
    "VotingClassifier", "VotingRegressor",
}  # fmt: skip
"""Transformers that take no table, are drawn by hand, make a pair of tables, or know only the rows of their fit."""

SHALLOW = tree.DecisionTreeClassifier(max_depth=2, random_state=0)
SETTINGS = {
    "BernoulliRBM": {"n_iter": 2}, "Birch": {"n_clusters": 2}, "BisectingKMeans": {"n_clusters": 3},
    "DictionaryLearning": {"n_components": 2, "max_iter": 3},
    "FastICA": {"n_components": 2, "whiten": "unit-variance"}, "GaussianRandomProjection": {"n_components": 2},
    "GenericUnivariateSelect": {"score_func": feature_selection.f_classif, "mode": "k_best", "param": 1},
    "Isomap": {"n_neighbors": 4}, "KNeighborsTransformer": {"n_neighbors": 2}, "Nystroem": {"n_components": 4},
    "LatentDirichletAllocation": {"n_components": 2, "max_iter": 2}, "LocallyLinearEmbedding": {"n_neighbors": 4},
    "KMeans": {"n_clusters": 3, "n_init": 1}, "MiniBatchKMeans": {"n_clusters": 3, "n_init": 1},
    "MiniBatchDictionaryLearning": {"n_components": 2, "max_iter": 3}, "QuantileTransformer": {"n_quantiles": 20},
    "MiniBatchSparsePCA": {"n_components": 2, "max_iter": 3}, "NeighborhoodComponentsAnalysis": {"max_iter": 3},
    "PolynomialCountSketch": {"n_components": 6}, "RBFSampler": {"n_components": 5},
    "RFE": {"estimator": SHALLOW, "n_features_to_select": 1}, "RFECV": {"estimator": SHALLOW, "cv": 2},
    "RadiusNeighborsTransformer": {"radius": 3.0}, "RandomTreesEmbedding": {"n_estimators": 3, "max_depth": 2},
    "SelectFdr": {"alpha": 0.9}, "SelectFpr": {"alpha": 0.9}, "SelectFromModel": {"estimator": SHALLOW},
    "SelectFwe": {"alpha": 0.9}, "SelectKBest": {"k": 1},
    "SequentialFeatureSelector": {"estimator": SHALLOW, "n_features_to_select": 1, "cv": 2},
    "SkewedChi2Sampler": {"n_components": 4, "skewedness": 50.0}, "SparsePCA": {"n_components": 2, "max_iter": 3},
    "SparseRandomProjection": {"n_components": 2, "density": 0.7},
}  # fmt: skip
"""What lets each be fitted to a small table; all others have their defaults."""

YES_AND_NO = (False, True)
OPTIONS = {
    "Binarizer": {"threshold": (0.0, 0.4)},
    "FastICA": {"whiten": ("unit-variance", "arbitrary-variance")},
    "KBinsDiscretizer": {
        "encode": ("onehot", "onehot-dense", "ordinal"), "n_bins": (2, 4), "strategy": ("uniform", "quantile", "kmeans")
    },
    "KNNImputer": {"add_indicator": YES_AND_NO, "n_neighbors": (2,)},
    "MaxAbsScaler": {"clip": YES_AND_NO},
    "MinMaxScaler": {"clip": YES_AND_NO, "feature_range": ((0, 1), (-2, 3))},
    "MissingIndicator": {"features": ("all", "missing-only"), "error_on_new": (True, False)},
    "Normalizer": {"norm": ("l1", "l2", "max")},
    "OneHotEncoder": {
        "drop": (None, None, "first", "if_binary"), "dtype": (np.float64, np.float64, np.float32, np.int64),
        "handle_unknown": ("error", "ignore", "infrequent_if_exist", "warn"), "max_categories": (None, 3),
        "min_frequency": (None, 0.25), "sparse_output": (True, False),
    },
    "OrdinalEncoder": {"encoded_missing_value": (np.nan, -2), "max_categories": (None, 3), "min_frequency": (None, 20)},
    "PCA": {"whiten": YES_AND_NO, "n_components": (1, None)},
    "PolynomialFeatures": {"degree": (2, (2, 3)), "interaction_only": YES_AND_NO, "include_bias": (True, False)},
    "PowerTransformer": {"method": ("yeo-johnson", "box-cox"), "standardize": (True, False)},
    "QuantileTransformer": {"output_distribution": ("uniform", "normal")},
    "RandomTreesEmbedding": {"sparse_output": (True, False)},
    "RobustScaler": {"unit_variance": YES_AND_NO, "with_centering": (True, False)},
    "SimpleImputer": {
        "add_indicator": YES_AND_NO, "keep_empty_features": YES_AND_NO, "missing_values": (np.nan, np.nan, np.nan, 0.0),
        "strategy": ("mean", "median", "most_frequent", "constant"),
    },
    "SplineTransformer": {
        "extrapolation": ("constant", "error", "linear", "continue", "periodic"), "n_knots": (3,),
        "sparse_output": YES_AND_NO,
    },
    "StandardScaler": {"with_mean": (True, False), "with_std": (True, False)},
    "TargetEncoder": {"smooth": ("auto", 2.0), "cv": (2,)},
    "TfidfTransformer": {"norm": ("l2", None)},
    "TruncatedSVD": {"n_components": (1, 2)},
}  # fmt: skip

FUNCTIONS = (None, np.abs, np.exp, np.arctan, np.square, np.log1p)
CODES = ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
COMMON = ("StandardScaler", "MinMaxScaler", "SimpleImputer", "OneHotEncoder", "KBinsDiscretizer", "PolynomialFeatures")
TRANSFORMERS = {name: one for name, one in all_estimators(type_filter="transformer") if name not in NO_TABLE}
TABULAR = tuple(name for name in TRANSFORMERS if "Vectorizer" not in name)

_TREE = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
_BAYES, _SEED = naive_bayes.GaussianNB(), {"random_state": 0}
_FEW = {"n_estimators": 3, "max_depth": 4} | _SEED
CLASSIFIERS = (
    *(_TREE, calibration.CalibratedClassifierCV(_BAYES, cv=2), discriminant_analysis.LinearDiscriminantAnalysis()),
    calibration.CalibratedClassifierCV(ensemble.RandomForestClassifier(**_FEW), cv=2),
    ensemble.AdaBoostClassifier(n_estimators=3, **_SEED),
    ensemble.BaggingClassifier(_TREE, 3, **_SEED),
    *(ensemble.ExtraTreesClassifier(**_FEW), ensemble.RandomForestClassifier(**_FEW)),
    ensemble.GradientBoostingClassifier(n_estimators=3, **_SEED),
    ensemble.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, **_SEED),
    ensemble.StackingClassifier([("t", _TREE), ("n", _BAYES)], cv=2),
    ensemble.VotingClassifier([("t", _TREE), ("l", linear_model.LogisticRegression())], voting="soft"),
    *(linear_model.LogisticRegression(max_iter=50), linear_model.RidgeClassifier()),
    linear_model.SGDClassifier(loss="log_loss", max_iter=20, tol=None, **_SEED),
    linear_model.SGDClassifier(loss="modified_huber", max_iter=20, tol=None, **_SEED),
    *(naive_bayes.BernoulliNB(), _BAYES, naive_bayes.MultinomialNB(), neighbors.KNeighborsClassifier(3)),
    *(neural_network.MLPClassifier((4,), max_iter=5, **_SEED), svm.LinearSVC(max_iter=200), svm.SVC()),
)
REGRESSORS = (
    ensemble.AdaBoostRegressor(n_estimators=3, **_SEED),
    *(ensemble.ExtraTreesRegressor(**_FEW), ensemble.RandomForestRegressor(**_FEW)),
    ensemble.GradientBoostingRegressor(n_estimators=4, **_SEED),
    ensemble.HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=5, **_SEED),
    ensemble.StackingRegressor([("r", linear_model.Ridge()), ("t", tree.DecisionTreeRegressor(max_depth=2, **_SEED))]),
    *(linear_model.Lasso(0.01), linear_model.LinearRegression(), linear_model.PoissonRegressor(), linear_model.Ridge()),
    *(neighbors.KNeighborsRegressor(3), neural_network.MLPRegressor((4,), max_iter=5, **_SEED), svm.SVR()),
    tree.DecisionTreeRegressor(max_depth=4, **_SEED),
)
