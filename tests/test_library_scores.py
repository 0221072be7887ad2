"""Scores by all names of scikit-learn: the same numbers, influences like numerical derivatives, and refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe.datasets import Dataset
from costframe.frontier import Frontier
from costframe.frontier.checks import choose_score
from costframe.training.library_scores import BLOCKS
from costframe.training.scoring import SCORES, best_value, influence, score_named, standard_error

N = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
LABELS = {
    2: (X[:, 0] + RNG.normal(size=N) > 0).astype(int),
    3: np.digitize(X[:, 0] + RNG.normal(size=N), [-0.5, 0.5]),
    0: 6 + X[:, 0] + 0.8 * RNG.normal(size=N),
}
MODELS = {kind: (LogisticRegression(C=0.01) if kind else LinearRegression()).fit(X, y) for kind, y in LABELS.items()}


def predictions(kind):
    if not kind:
        return MODELS[0].predict(X)
    p = MODELS[kind].predict_proba(X)
    return p[:, 1] if kind == 2 else p


def fits(name, kind):
    try:
        choose_score("score", name, "classification" if kind else "regression", kind)
    except ParameterError:
        return False
    return True


USABLE = sorted((name, kind) for name in get_scorer_names() for kind in LABELS if fits(name, kind))
OTHERS = [each for each in USABLE if each[0] not in SCORES]


def test_every_score_for_labels_and_predictions_is_usable():
    left = set(get_scorer_names()) - {name for name, _ in USABLE}
    clusterings = {name for name in left if "cluster" in get_scorer(name)._score_func.__module__}
    assert left - clusterings == {"f1_samples", "jaccard_samples", "precision_samples", "recall_samples"}
    assert len(OTHERS) > 40


@pytest.mark.parametrize(("name", "kind"), OTHERS)
def test_scores_are_scikit_learns(name, kind):
    y, p, weight = LABELS[kind], predictions(kind), RNG.integers(1, 4, N).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = get_scorer(name)
        assert score_named(name)(y, p, None, None) == pytest.approx(scorer(MODELS[kind], X, y), nan_ok=True)
        if name != "neg_max_error" and "likelihood_ratio" not in name and "ovo" not in name:  # these take no weights
            found = score_named(name)(y, p, weight, None)
            assert found == pytest.approx(scorer(MODELS[kind], X, y, sample_weight=weight), nan_ok=True)


def test_best_values_are_those_of_perfect_predictions():
    assert {best_value(name) for name, _ in USABLE if name.startswith("neg_")} == {0.0}
    unbounded = {name for name, _ in USABLE if np.isinf(best_value(name))}
    assert unbounded == {"positive_likelihood_ratio"}
    assert {best_value(name) for name, _ in USABLE if not name.startswith("neg_") and name not in unbounded} == {1.0}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("balanced_accuracy", 2), ("matthews_corrcoef", 3), ("f1_weighted", 3), ("jaccard", 2), ("neg_brier_score", 2),
        ("neg_brier_score", 3), ("roc_auc_ovr", 3), ("neg_mean_absolute_error", 0), ("neg_mean_squared_error", 0),
        ("neg_mean_absolute_percentage_error", 0), ("neg_mean_squared_log_error", 0), ("neg_mean_poisson_deviance", 0),
        ("neg_mean_gamma_deviance", 0),
    ],
)  # fmt: skip
def test_influences_are_derivatives_where_rows_are_of_few_kinds_or_the_score_is_a_mean(name, kind):
    y, p = LABELS[kind], predictions(kind)
    found, score, step = influence(name, y, p), score_named(name), 1e-4
    whole = score(y, p, np.ones(N), None)
    slopes = []
    for row in range(0, N, 9):
        more = np.ones(N)
        more[row] += step
        slopes.append((score(y, p, more, None) - whole) / step)
    np.testing.assert_allclose(found[::9], slopes, rtol=0.05, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("roc_auc_ovo", 3), ("d2_brier_score", 2), ("explained_variance", 0), ("neg_median_absolute_error", 0)],
)
def test_errors_from_blocks_are_those_of_draws_with_replacement(name, kind):
    y, p, score = LABELS[kind], predictions(kind), score_named(name)
    draws = [RNG.integers(0, N, N) for _ in range(150)]
    assert len(np.unique(influence(name, y, p))) <= BLOCKS
    error = standard_error(influence(name, y, p))
    assert error == pytest.approx(np.std([score(y[d], p[d], None, None) for d in draws]), rel=0.35)


@pytest.mark.parametrize(("name", "kind"), [("balanced_accuracy", 2), ("explained_variance", 0), ("d2_brier_score", 2)])
def test_a_row_of_weight_two_has_the_error_of_a_row_given_twice(name, kind):
    y, p, times = LABELS[kind], predictions(kind), RNG.integers(1, 4, N)
    once = influence(name, y, p, times.astype(float))
    twice = influence(name, np.repeat(y, times), np.repeat(p, times, axis=0))
    assert once @ once == pytest.approx(twice @ twice, rel=0.3)
    none = times * (np.arange(N) % 2)
    some = np.flatnonzero(none)
    np.testing.assert_allclose(influence(name, y, p, none)[some], influence(name, y[some], p[some], none[some]))
    assert not influence(name, y, p, none)[none == 0].any()


def test_a_constant_has_influences_and_a_class_of_one_row_is_no_obstacle():
    assert np.isfinite(influence("balanced_accuracy", LABELS[2], np.full(N, 0.4))).all()
    assert np.isfinite(influence("precision", LABELS[2], np.zeros(N))).all()
    y, p = np.append(np.arange(30) % 2, 2), RNG.dirichlet(np.ones(3), 31)
    assert np.isfinite(influence("roc_auc_ovo", y, p)).all()


@pytest.mark.parametrize(
    ("name", "task", "n_classes", "reason"),
    [
        ("f1_samples", "classification", 2, "'f1_samples' is for rows with several labels each"),
        ("v_measure_score", "classification", 2, "'v_measure_score' compares clusterings"),
        ("recall", "classification", 3, "not 'recall', which is refused by it: Target is multiclass"),
        ("top_k_accuracy", "classification", 2, "not 'top_k_accuracy', which is refused by it: 'k' .2. greater"),
        ("neg_max_error", "classification", 2, "not 'neg_max_error', which is for numbers"),
        ("balanced_accuracy", "regression", 0, "regression has r2, .*, not 'balanced_accuracy', which is for classes"),
        ("balanced_accuracy", "ranking", 0, "ranking has ndcg@5, .*, not 'balanced_accuracy'"),
        ("f1_marco", "classification", 2, "did you mean 'f1_macro'"),
    ],
)
def test_scores_that_do_not_fit_say_why(name, task, n_classes, reason):
    with pytest.raises(ParameterError, match=reason):
        choose_score("score", name, task, n_classes)


def test_labels_and_weights_that_scikit_learn_refuses_are_named():
    with pytest.raises(DataError, match=r"score: neg_mean_gamma_deviance of 2 rows: .*strictly positive"):
        score_named("neg_mean_gamma_deviance")(np.array([0.0, 1.0]), np.ones(2))
    with pytest.raises(ParameterError, match="score: neg_max_error takes no sample weights"):
        score_named("neg_max_error")(np.ones(2), np.ones(2), np.ones(2))


@pytest.mark.parametrize(
    ("task", "name"), [("classification", "balanced_accuracy"), ("regression", "neg_mean_absolute_error")]
)
def test_a_sweep_chooses_by_any_score(task, name):
    y = LABELS[2] if task == "classification" else LABELS[0]
    data = Dataset.from_arrays(X, y, task=task)
    found = Frontier.sweep(data, ["cegb"], score=name, points=4, parameters={"n_estimators": 5})
    chosen = found.recommended()
    rows = data.part("test")
    p = found.model(chosen).predictor_.predict(rows.X)
    assert chosen.test_score == score_named(name)(data.codes(rows.y), p)
    assert 0 < chosen.score_error < 0.2
    assert chosen.n_features


def test_training_stops_by_any_score():
    model = cf.estimator("cegb", scoring="matthews_corrcoef", n_estimators=5, n_iter_no_change=2)
    assert model.fit(X[:160], LABELS[2][:160], X_val=X[160:], y_val=LABELS[2][160:]).n_iter_ <= 5
