"""What is no ordinary table, to all that weigh banks: a clear error, or the sensible answer, and never NaN."""

import numpy as np
import pytest
from bank_cases import COSTS, NAMES, boosted, table

import costframe as cf
from costframe.core.errors import CostframeError
from costframe_cronus import CronusClassifier, CronusRanker, ReweightedClassifier, ReweightedRegressor
from costframe_cstc import CSTCClassifier, CSTCRanker, CSTCRegressor

RECIPES = {"default": {}, "paper": {"recipe": "paper"}}
KINDS = [
    *[pytest.param(CronusClassifier, {"n_stages": 3} | one, id=f"classifier-{name}") for name, one in RECIPES.items()],
    pytest.param(CronusRanker, {"n_stages": 2, "rejected": 0.5, "ridge": 0.1}, id="ranker-default"),
    pytest.param(CronusRanker, {"n_stages": 2} | RECIPES["paper"], id="ranker-paper"),
    pytest.param(CSTCClassifier, {"depth": 2, "ridge": 0.1}, id="tree-default"),  # chooses inflation
    pytest.param(CSTCClassifier, {"depth": 2} | RECIPES["paper"], id="tree-paper"),
    pytest.param(CSTCClassifier, {"loss": "squared", "depth": 2, "inflation": 3.0}, id="tree-squared"),  # chooses ridge
    pytest.param(CSTCRanker, {"depth": 2, "inflation": 3.0, "ridge": 0.1}, id="tree-ranker"),
    pytest.param(CSTCRegressor, {"depth": 2, "ridge": 0.1}, id="tree-regressor-default"),
    pytest.param(ReweightedClassifier, {}, id="single-classifier"),
    pytest.param(ReweightedRegressor, {}, id="single-regressor"),
    pytest.param(ReweightedRegressor, {"recipe": "paper"}, id="single-regressor-paper"),
]
of_every_kind = pytest.mark.parametrize(("kind", "settings"), KINDS)


def answers(model, X):
    """All that a model says, which is finite, and what it costs."""
    said = [model.predict(X)]
    if hasattr(model, "predict_proba"):
        said = [model.predict_proba(X), model.decision_function(X)]
    for one in said:
        assert np.isfinite(one).all()
    report = model.cost(X)
    assert np.isfinite(report.per_row).all()
    return said[0].reshape(len(X), -1)[:, -1], report.mean


def constant(values):
    return np.ptp(values) <= 1e-12


@of_every_kind
@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_equal(kind, settings, label):
    X = table(1, 60)[0]
    if "Classifier" in kind.__name__:
        with pytest.raises(CostframeError, match="at least two classes"):
            kind(COSTS, **settings).fit(X, np.full(60, label))
        return
    for bank in (None, SMALL_BANK, "columns"):
        values, paid = answers(kind(COSTS, bank=bank, **settings).fit(X, np.full(60, label)), X)
        assert constant(values)
        assert paid == 0


@of_every_kind
def test_learners_that_are_constant(kind, settings):
    """Columns without variation, and trees that have but a leaf: the mean is all there is to say."""
    X, y = table(1, 120)
    same = np.tile([1.5, 0.0, -3.0, 1e9, 1e-9, 7.0, 1.0, 2.0], (120, 1))
    stumps = cf.train_bank(same, y * 1.0, n_estimators=5, feature_names=NAMES)
    for bank, seen in (("columns", same), (None, same), (SMALL_BANK, same), (stumps, X)):
        if bank is stumps and not len(stumps):
            continue
        values, paid = answers(kind(COSTS, 1e-3, bank=bank, **settings).fit(seen, y), seen)
        assert constant(values)
        assert paid == 0
        if "Classifier" in kind.__name__ and "recipe" not in settings:  # as printed, answers are not calibrated
            assert values[0] == pytest.approx(y.mean(), abs=0.02)


@of_every_kind
def test_more_learners_than_rows(kind, settings):
    X, y = table(1, 25)
    model = kind(COSTS, 1e-4, bank=BANK, **settings).fit(X, y)
    values, _ = answers(model, X)
    assert not constant(values)
    answers(model, table(2, 50)[0])


@of_every_kind
@pytest.mark.parametrize("tradeoff", [1e12, 1e300])
def test_what_is_free_is_used_whatever_the_rest_costs(kind, settings, tradeoff):
    X, y = table(1, 120)
    X[:, 0] = 1e10 * (X[:, 0] + y)
    costs = {"features": {"a": 0.0} | dict.fromkeys(NAMES[1:], 1.0)}
    values, paid = answers(kind(costs, tradeoff, bank="columns", **settings).fit(X, y), X)
    assert paid == 0
    assert not constant(values)


@of_every_kind
@pytest.mark.parametrize(
    ("price", "tradeoff", "bank"),
    [(1e-300, 0.0, "columns"), (1e-300, 1e300, "given"), (1e300, 0.0, "given"), (1e300, 1e-3, "columns")],
)
def test_prices_of_any_size(kind, settings, price, tradeoff, bank):
    X, y = table(1, 120)
    costs = {"features": {"a": 0.0} | dict.fromkeys(NAMES[1:], price)}
    given = SMALL_BANK if bank == "given" else bank
    values, paid = answers(kind(costs, tradeoff, bank=given, **settings).fit(X, y), X)
    assert (paid == 0) == (price * tradeoff > 0.1)
    assert not constant(values) or bank == "given"  # of which no tree may be free


@of_every_kind
def test_one_row(kind, settings):
    X = table(1, 60)[0][:1]
    if "Classifier" in kind.__name__:
        with pytest.raises(CostframeError, match=r"at least two classes|two classes"):
            kind(COSTS, **settings).fit(X, [1])
        return
    values, paid = answers(kind(COSTS, **settings).fit(X, [1.0]), X)
    assert paid == 0
    assert constant(values)


@of_every_kind
def test_two_rows(kind, settings):
    X = table(1, 60)[0][:2]
    for bank in (None, "columns", SMALL_BANK):
        answers(kind(COSTS, 1e-6, bank=bank, **settings).fit(X, [0, 1]), X)


@of_every_kind
@pytest.mark.parametrize("bank", ["boosted", "given"])
def test_values_that_are_missing_or_infinite(kind, settings, bank):
    X, y = table(1, 200)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[rng.random(X.shape) < 0.1] = np.inf
    X[rng.random(X.shape) < 0.1] = -np.inf
    X[3], X[:, 7] = np.nan, np.nan
    given = SMALL_BANK if bank == "given" else None
    values, _ = answers(kind(COSTS, 1e-4, bank=given, **settings).fit(X, y), X)
    assert not constant(values)


@of_every_kind
def test_columns_take_no_infinities(kind, settings):
    X, y = table(1, 100)
    X[::7, 3] = np.nan
    answers(kind(COSTS, 1e-4, bank="columns", **settings).fit(X, y), X)
    fine = X.copy()
    X[::9, 2] = -np.inf
    with pytest.raises(CostframeError, match="X: expected finite outputs of learner 2, which reads c"):
        kind(COSTS, 1e-4, bank="columns", **settings).fit(X, y)
    with pytest.raises(CostframeError, match="X: expected finite outputs of learner 2, which reads c"):
        kind(COSTS, 1e-4, bank="columns", **settings).fit(fine, y, X_val=X, y_val=y)
    mixed = SMALL_BANK + cf.WeakLearnerBank.columns(NAMES, [3, 2], fill=0.0)
    with pytest.raises(CostframeError, match="X: expected finite outputs of learner 13, which reads c"):
        kind(COSTS, 1e-4, bank=mixed, **settings).fit(X, y)


@of_every_kind
def test_columns_take_no_numbers_whose_squares_are_none(kind, settings):
    X, y = table(1, 100)
    answers(kind(COSTS, 1e-4, bank="columns", **settings).fit(X * 1e60, y), X * 1e60)
    for size in (1e100, 1e200):
        with pytest.raises(CostframeError, match=r"learner 0, which reads a, got NaN, infinity, or more than 1e\+75"):
            kind(COSTS, 1e-4, bank="columns", **settings).fit(X * size, y)


@pytest.mark.parametrize("kind", [CSTCRegressor, ReweightedRegressor])
@pytest.mark.parametrize("size", [1e-200, 1e100, 1e300])
def test_labels_to_choose_by_are_of_a_size_too(kind, size):
    X, y = table(1, 60)
    with pytest.raises(CostframeError, match="y_val: expected numbers of a size"):
        kind(COSTS, bank="columns").fit(X, 1.0 * y, X_val=X, y_val=y * size)


@of_every_kind
def test_weights_of_any_size(kind, settings):
    X, y = table(1, 120)
    w = np.random.default_rng(0).uniform(0.5, 2, 120)
    same = kind(COSTS, 1e-4, bank=SMALL_BANK, **settings).fit(X, y, sample_weight=w)
    alike = 0.6 if "CSTC" in kind.__name__ else 0.8  # weights count rows: of many rows less is left to chance
    for factor in (1e-30, 1e6, 1e30):
        model = kind(COSTS, 1e-4, bank=SMALL_BANK, **settings).fit(X, y, sample_weight=factor * w)
        values, paid = answers(model, X)
        if factor < 1 and "Classifier" in kind.__name__:
            continue  # weights are numbers of rows: so little of them tells next to nothing about chances
        assert paid == pytest.approx(same.cost(X).mean, rel=0.2)
        assert np.corrcoef(values, answers(same, X)[0])[0, 1] > alike


@of_every_kind
def test_weights_of_very_different_sizes(kind, settings):
    X, y = table(1, 120)
    w = 10.0 ** np.random.default_rng(0).uniform(-30, 3, 120)
    answers(kind(COSTS, 1e-4, bank=SMALL_BANK, **settings).fit(X, y, sample_weight=w), X)
    for huge in (1.0, 1e60):  # one row is all there is
        w = np.full(120, 1e-300 * huge)
        w[np.flatnonzero(y)[0]] = huge
        answers(kind(COSTS, 1e-4, bank=SMALL_BANK, **settings).fit(X, y, sample_weight=w), X)
    with pytest.raises(CostframeError, match="sample_weight: expected numbers of a size"):
        kind(COSTS, **settings).fit(X, y, sample_weight=np.full(120, 1e300))


BANK = boosted(60, 600)
SMALL_BANK = BANK.restrict(np.arange(12))
