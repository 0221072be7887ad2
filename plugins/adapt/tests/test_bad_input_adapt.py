"""What is no ordinary table, to all variants of Adapt: a clear error, or the sensible answer, and never NaN."""

from functools import partial

import numpy as np
import pytest
from adapt_cases import FEATURES, NAMES, table, uneven

from costframe.core.errors import CostframeError
from costframe.gates import expensive
from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

KINDS = {
    "trees": {"n_estimators": 8},
    "paper": {"n_estimators": 8, "recipe": "paper", "full_share": 0.5},
    "stages": {"n_estimators": 8, "n_stages": 2},
    "lin": {"variant": "lin"},
    "alone": {"full_share": 0.0, "n_estimators": 8},
    "linear-alone": {"full_share": 0.0, "variant": "lin"},
}
X, Y = table(1, 120)
LINEAR = ("lin", "linear-alone")


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch):
    monkeypatch.setattr(expensive, "boost_without_prices", partial(expensive.boost_without_prices, n_rounds=5))


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def fit(kind, rows=X, labels=Y, weight=None, *, costs=FEATURES, tradeoff=1e-3, more=None, **settings):
    return AdaptClassifier(costs, tradeoff, **KINDS[kind] | settings).fit(rows, labels, weight, **more or {})


def answers(model, rows=X):
    """All that a model says, which is finite, and what it costs."""
    chance, scores = model.predict_proba(rows), model.decision_function(rows)
    assert np.isfinite(chance).all()
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(chance.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(scores > 0, model.predict(rows) == model.classes_[1])
    report = model.cost(rows)
    assert np.isfinite(report.per_row).all()
    return chance[:, 1], report.mean


def refused(message, kind, *given, **settings):
    with pytest.raises(CostframeError, match=message):
        fit(kind, *given, **settings)


def spoiled(share=0.2):
    rows, rng = X.copy(), np.random.default_rng(0)
    rows[rng.random(rows.shape) < share] = np.nan
    rows[3], rows[:, 7] = np.nan, np.nan
    return rows


def test_missing_values(kind):
    values, _ = answers(fit(kind, spoiled()), spoiled())
    assert np.ptp(values) > 0
    answers(fit(kind, more={"X_val": spoiled(), "y_val": Y}), spoiled())


@pytest.mark.parametrize("size", [np.inf, -np.inf, 1e200])
def test_infinities_and_what_has_no_squares(kind, size):
    rows = X.copy()
    rows[::9, 2] = size
    if kind in LINEAR:
        refused("X: expected finite outputs of learner 2, which reads c", kind, rows)
        return
    values, _ = answers(fit(kind, rows), rows)
    assert np.ptp(values) > 0


@pytest.mark.parametrize("size", [1e60, 1e-60])
def test_columns_of_any_unit(kind, size):
    values, _ = answers(fit(kind, X * size), X * size)
    if kind != "linear-alone" or size > 1:  # the penalty is on the size of coefficients
        assert np.corrcoef(values, Y)[0, 1] > 0.3


def test_columns_that_are_constant(kind):
    some = np.column_stack([X[:, :7], np.full(120, 7.7)])
    answers(fit(kind, some), some)
    same = np.tile([1.5, 0.0, -3.0, 1e9, 1e-9, 7.0, 1.0, 2.0], (120, 1))
    values, paid = answers(fit(kind, same), same)
    assert np.ptp(values) == 0
    assert paid == 0


def test_few_rows(kind):
    refused("at least two classes", kind, X[:1], [1])
    for n in (4, 10, 25):
        answers(fit(kind, X[:n], np.arange(n) % 2), X)
    if "alone" in kind:
        for rows in (X[:2], X[[0, 0]]):
            answers(fit(kind, rows, [0, 1]))
    else:
        refused("too few different rows", kind, X[:2], [0, 1])
        refused("too few different rows", kind, X, np.arange(120) == 5)


@pytest.mark.parametrize(("price", "tradeoff"), [(1e-300, 0.0), (1e-300, 1e300), (1e300, 0.0), (1e300, 1e-3)])
def test_prices_of_any_size(kind, price, tradeoff):
    costs = {"features": {"a": 0.0} | dict.fromkeys(NAMES[1:], price)}
    _, paid = answers(fit(kind, costs=costs, tradeoff=tradeoff))
    if kind != "paper":  # as printed, the price of f0 does not count
        assert (paid == 0) == (price * tradeoff > 0.1)


@pytest.mark.parametrize("factor", [1e6, 1e30])
def test_weights_of_any_size(kind, factor):
    weight = uneven(120)
    values, _ = answers(fit(kind, X, Y, factor * weight))
    same, _ = answers(fit(kind, X, Y, weight))
    assert np.corrcoef(values, same)[0, 1] > 0.6
    refused("sample_weight: expected numbers of a size", kind, X, Y, np.full(120, 1e300))


@pytest.mark.parametrize("factor", [1e-3, 1e-30])
def test_weights_that_are_hardly_any_rows(kind, factor):
    if kind in LINEAR:
        answers(fit(kind, X, Y, factor * uneven(120)))
    else:
        refused("sample_weight: two leaves of", kind, X, Y, factor * uneven(120))


def test_validation_rows_of_any_kind(kind):
    for rows in ([0], np.flatnonzero(Y == 1), [5, 5, 5]):
        answers(fit(kind, more={"X_val": X[rows], "y_val": Y[rows]}))
    refused("y_val: expected 5 labels", kind, more={"X_val": X[:5], "y_val": Y[:4]})
    refused(r"y_val: has classes \[2\]", kind, more={"X_val": X[:3], "y_val": [0, 1, 2]})


@pytest.mark.parametrize("full_share", [1e-300, 1e-9, 1.0])
def test_shares_at_the_ends(kind, full_share):
    if "alone" not in kind:
        model = fit(kind, full_share=full_share)
        answers(model)
        if full_share < 0.1:
            assert len(model.predictor_.stages) == 1
