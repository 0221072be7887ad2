"""What is no ordinary table, to all that weigh banks or put a gate before a model: an error, or a finite answer."""

import numpy as np
import pytest
from bank_cases import COSTS, NAMES, boosted, table
from few_rounds import few_rounds

import costframe as cf
from costframe import CostframeError
from costframe_adapt import AdaptClassifier
from costframe_cronus import CronusClassifier, CronusRanker, ReweightedClassifier, ReweightedRegressor
from costframe_cstc import CSTCClassifier, CSTCRanker, CSTCRegressor

KINDS = {
    "cronus": (CronusClassifier, {"n_stages": 3}),
    "cronus as printed": (CronusClassifier, {"n_stages": 3, "recipe": "paper"}),
    "cronus ranker": (CronusRanker, {"n_stages": 2, "rejected": 0.5, "ridge": 0.1}),
    "cstc": (CSTCClassifier, {"depth": 2, "ridge": 0.1}),  # chooses inflation
    "cstc as printed": (CSTCClassifier, {"depth": 2, "recipe": "paper"}),
    "cstc ranker": (CSTCRanker, {"depth": 2, "inflation": 3.0, "ridge": 0.1}),
    "cstc regressor": (CSTCRegressor, {"depth": 2, "ridge": 0.1}),
    "single": (ReweightedClassifier, {}),
    "single regressor": (ReweightedRegressor, {}),
    "adapt": (AdaptClassifier, {"n_estimators": 8}),
    "adapt as printed": (AdaptClassifier, {"n_estimators": 8, "recipe": "paper", "full_share": 0.5}),
    "adapt, lin": (AdaptClassifier, {"variant": "lin"}),
    "adapt, lin alone": (AdaptClassifier, {"variant": "lin", "full_share": 0.0}),
    "adapt, alone": (AdaptClassifier, {"n_estimators": 8, "full_share": 0.0}),
}
BANK = boosted(60, 600)
SMALL = BANK.restrict(np.arange(12))
X, Y = table(1, 120)
TWINS = {
    "cronus ranker", "cronus as printed", "cstc ranker", "cstc regressor", "single regressor", "adapt, lin alone",
    "adapt, alone",
}  # fmt: skip
of_every_kind = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name in TWINS)) for name in KINDS]
)


@pytest.fixture(scope="module", autouse=True)
def _few_rounds():
    with few_rounds():
        yield


def fit(name, rows=X, labels=Y, *given, costs=COSTS, tradeoff=1e-4, bank=SMALL, **more):
    kind, settings = KINDS[name]
    banks = {} if kind is AdaptClassifier else {"bank": bank}
    return kind(costs, tradeoff, **banks, **settings).fit(rows, labels, *given, **more)


def refused(words, name, *given, **more):
    with pytest.raises(CostframeError, match=words):
        fit(name, *given, **more)


def is_classifier(name):
    return "Classifier" in KINDS[name][0].__name__


def answers(model, rows=X):
    """All that a model says, which is finite, and what it costs."""
    said = [model.predict(rows)]
    if hasattr(model, "predict_proba"):
        said = [model.predict_proba(rows), model.decision_function(rows)]
    for one in said:
        assert np.isfinite(one).all()
    report = model.cost(rows)
    assert np.isfinite(report.per_row).all()
    return said[0].reshape(len(rows), -1)[:, -1], report.mean


def constant(values):
    return np.ptp(values) <= 1e-12


@of_every_kind
def test_labels_that_are_all_equal_and_few_rows(name):
    for rows, labels in ((X, np.ones(120)), (X[:1], [1.0])):
        if is_classifier(name):
            refused("two classes", name, rows, np.array(labels, int))
        else:
            values, paid = answers(fit(name, rows, labels), rows)
            assert (constant(values), paid) == (True, 0)
    if "adapt" in name and "alone" not in name:
        refused("too few different rows", name, X[:2], [0, 1])
        refused("too few different rows", name, X, np.arange(120) == 5)
    else:
        for bank in (None, "columns", SMALL):
            answers(fit(name, X[:2], [0, 1], bank=bank))
    few = answers(fit(name, X[:25], np.arange(25) % 2, bank=BANK))[0]  # more learners than rows
    assert "adapt" in name or not constant(few)
    if "printed" not in name:
        answers(fit(name, X_val=X[:1], y_val=Y[:1]))


@of_every_kind
def test_learners_that_are_constant(name):
    """Columns without variation, and trees that have but a leaf: the mean is all there is to say."""
    same = np.tile([1.5, 0.0, -3.0, 1e9, 1e-9, 7.0, 1.0, 2.0], (120, 1))
    for bank in ("columns", None, SMALL):
        values, paid = answers(fit(name, same, bank=bank, tradeoff=1e-3), same)
        assert (constant(values), paid) == (True, 0)
        if is_classifier(name) and "printed" not in name:  # as printed, answers are not calibrated
            assert values[0] == pytest.approx(Y.mean(), abs=0.02)


@of_every_kind
@pytest.mark.parametrize(
    ("price", "tradeoff", "bank"),
    [
        pytest.param(1e-300, 0.0, "columns", marks=pytest.mark.deep),
        (1e-300, 1e300, SMALL),
        pytest.param(1e300, 0.0, SMALL, marks=pytest.mark.deep),
        (1e300, 1e-3, "columns"),
    ],
)
def test_prices_of_any_size(name, price, tradeoff, bank):
    costs = {"features": {"a": 0.0} | dict.fromkeys(NAMES[1:], price)}
    values, paid = answers(fit(name, costs=costs, tradeoff=tradeoff, bank=bank))
    if name != "adapt as printed":  # there the price of f0 does not count
        assert (paid == 0) == (price * tradeoff > 0.1)
    assert not constant(values) or bank is SMALL  # of which no tree may be free


@of_every_kind
def test_values_that_are_missing_infinite_or_without_squares(name):
    rng, rows, adapt = np.random.default_rng(0), X.copy(), "adapt" in name
    for share, value in ((0.2, np.nan), (0.1, np.inf), (0.1, -np.inf)):
        if "lin" not in name or np.isnan(value):
            rows[rng.random(X.shape) < share] = value
    rows[3], rows[:, 7] = np.nan, np.nan
    for bank in (None, SMALL)[: 2 - adapt]:
        assert not constant(answers(fit(name, rows, bank=bank), rows)[0])
    few = X * 1e60
    few[::7, 3] = np.nan
    answers(fit(name, few, bank="columns"), few)
    if adapt and "lin" not in name:
        return
    rows = X.copy()
    rows[::9, 2] = -np.inf
    for bank, learner in (("columns", 2), (SMALL + cf.WeakLearnerBank.columns(NAMES, [3, 2], fill=0.0), 13)):
        words = f"X: expected finite outputs of learner {2 if adapt else learner}, which reads c"
        refused(words, name, rows, bank=bank)
    refused("learner 0, which reads a, got NaN, infinity, or more than 1e", name, X * 1e100, bank="columns")


@of_every_kind
def test_weights_of_any_size(name):
    w = np.random.default_rng(0).uniform(0.5, 2, 120)
    values, paid = answers(fit(name, X, Y, w))
    more, dear = answers(fit(name, X, Y, 1e30 * w))
    assert "adapt" in name or dear == pytest.approx(paid, rel=0.2)
    assert np.corrcoef(values, more)[0, 1] > (0.8 if "cstc" not in name and "adapt" not in name else 0.6)
    refused("sample_weight: expected numbers of a size", name, X, Y, np.full(120, 1e300))
    if "adapt" in name and "lin" not in name:
        refused("sample_weight: two leaves of", name, X, Y, 1e-30 * w)
        return
    answers(fit(name, X, Y, 1e-30 * w))
    if "regressor" in name:  # labels to choose by are of a size, too
        refused("y_val: expected numbers of a size", name, X, 1.0 * Y, bank="columns", X_val=X, y_val=Y * 1e100)
    answers(fit(name, X, Y, 10.0 ** np.random.default_rng(0).uniform(-30, 3, 120)))
