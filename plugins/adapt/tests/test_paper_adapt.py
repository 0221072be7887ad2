"""recipe="paper": the printed algorithms on tables small enough to be worked out by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize

from costframe.core.errors import ParameterError
from costframe_adapt import AdaptClassifier

KNOWN = 0.99  # what the expensive model gives each row's label
Z = np.repeat([[-1.0], [1.0]], 8, axis=0)
SIGN = np.repeat([0, 1], 8)


def known(y):
    return np.where(y == 1, KNOWN, 1 - KNOWN)


def answers(rows):
    return known((rows[:, 0] > 0).astype(int))


def sigmoid(s):
    return 1 / (1 + np.exp(-s))


@pytest.mark.parametrize(("share", "price"), [(0.25, 0.05), (0.4, 0.1), (0.1, 0.02)])
def test_the_printed_optimum_of_linear_models_by_hand(share, price):
    """One column, -1 or 1 as the label: all rows are alike, and the weights have closed forms.

    q = P everywhere, as f0 loses less; (OPT2) has (1 - P) sigma(-w) = gamma c and sigma(g) = P.
    """
    asked = {"variant": "lin", "full_share": share, "recipe": "paper"}
    model = AdaptClassifier([2.0], price / 2, expensive=(answers, ["x0"]), **asked)
    model.fit(Z, SIGN, expensive_proba=known(SIGN))
    w = np.log((1 - share) / price - 1)
    g = np.log(share / (1 - share))
    below, above = np.log1p(np.exp(-w)) + np.log1p(np.exp(g)), -np.log(KNOWN) + np.log1p(np.exp(-g))
    bound = (1 - share) * (below + np.log(1 - share)) + share * (above + np.log(share)) + price * w
    assert model.objective_[-1] == pytest.approx(bound, abs=1e-5)
    assert (model.predictor_.exits(Z) == 1).all()  # g < 0
    assert model.decision_function(Z) == pytest.approx(w * Z[:, 0], abs=1e-3)


def test_the_printed_optimum_of_linear_models_by_a_general_solver():
    """Two columns and 40 rows: no q, g and f1 near the solution have a lower bound under the constraint."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 0.3
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    proba = np.clip(known(y) + rng.normal(size=40) / 9, 0.02, 0.98)
    expensive = (lambda rows: np.full(len(rows), 0.5), ["x0"])
    model = AdaptClassifier([1.0, 2.0], 0.02, expensive=expensive, variant="lin", full_share=0.4, recipe="paper")
    model.fit(X, y, expensive_proba=proba)
    lost, label = -np.log(np.where(y == 1, proba, 1 - proba)), 2 * y - 1

    def bound(x):
        g, f = X @ x[:2] + x[2], X @ x[3:5] + x[5]
        below = np.log1p(np.exp(-label * f)) + np.log1p(np.exp(g))
        above = lost + np.log1p(np.exp(-g))
        shift = np.linspace(0, 8, 4001)[:, np.newaxis]
        q = sigmoid(below - above - shift)
        q = q[np.argmax(q.mean(axis=1) <= 0.4)]
        entropy = q * np.log(q) + (1 - q) * np.log(1 - q)
        norms = 0.02 * np.hypot(x[0], x[3]) + 0.04 * np.hypot(x[1], x[4])
        return np.mean((1 - q) * below + q * above + entropy) + norms

    starts = [rng.normal(size=6) for _ in range(4)] + [np.zeros(6)]
    ends = [
        minimize(bound, start, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-9}).fun for start in starts
    ]
    assert model.objective_[-1] <= min(ends) + 2e-3
    assert (np.diff(model.objective_) <= 1e-12).all()


def test_the_printed_trees_by_hand():
    """Two columns of -1 and 1, an expensive model that is wrong where the second is -1, one tree of each, P = 1."""
    X = np.repeat([[1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0], [-1, -1, 0], [1, 1, 0]], 4, axis=0).astype(float)
    y = np.repeat([1, 1, 0, 0, 1, 0], 4)
    chance = np.where(X[:, 1] > 0, known(y), np.where(y == 1, 0.26, 0.74))
    model = AdaptClassifier(
        [1.0, 1.0, 50.0],
        1e-4,
        expensive=(lambda rows: np.full(len(rows), 0.5), ["x2"]),
        full_share=1.0,
        n_estimators=1,
        recipe="paper",
    ).fit(X, y, expensive_proba=chance)

    sign, cells = 2 * y - 1, np.unique(X, axis=0, return_inverse=True)[1]
    lost = -np.log(np.where(y == 1, chance, 1 - chance))

    def tree(target):  # deep enough for each cell to be a leaf
        return np.array([target[cells == cell].mean() for cell in cells])

    f, g = tree(sign / 2), np.zeros(len(y))  # Greedy Miser's tree, from f1 = 0 as labels are even
    for _ in range(model.n_iter_):
        q = sigmoid(np.log1p(np.exp(-sign * f)) + np.log1p(np.exp(g)) - lost - np.log1p(np.exp(-g)))
        start = [np.log(((1 - q) * (y == 1)).sum() / ((1 - q) * (y == 0)).sum()), np.log(q.mean() / (1 - q.mean()))]
        f = start[0] + tree((1 - q) * sign * sigmoid(-sign * start[0]))
        g = start[1] + tree(q - sigmoid(start[1]))
    stays = g <= 0
    assert 0 < stays.mean() < 1
    np.testing.assert_array_equal(model.predictor_.exits(X) == 1, stays)
    assert model.decision_function(X)[stays] == pytest.approx(f[stays], abs=1e-5)
    bound = (1 - q) * (np.log1p(np.exp(-sign * f)) + np.log1p(np.exp(g))) + q * (lost + np.log1p(np.exp(-g)))
    bound += q * np.log(q) + (1 - q) * np.log(1 - q)
    assert model.objective_[-1] == pytest.approx(bound.mean() + 1e-4 * 2, abs=1e-6)


@pytest.mark.parametrize("asked", [{"variant": "lin"}, {"n_estimators": 5}], ids=["lin", "gbrt"])
def test_as_printed_validation_rows_change_nothing_and_the_share_is_needed(asked):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    given = {"expensive": (lambda rows: np.full(len(rows), 0.5), ["x0"]), "recipe": "paper"}
    model = AdaptClassifier(None, 1e-3, full_share=0.5, **given, **asked)
    proba = np.clip(known(y) + rng.normal(size=200) / 9, 0.02, 0.98)
    one = model.fit(X, y, expensive_proba=proba).decision_function(X)
    other = model.fit(X, y, X_val=X[:20], y_val=y[:20], expensive_proba=proba).decision_function(X)
    np.testing.assert_array_equal(one, other)
    assert model.predictor_.stages[0].threshold == 0
    with pytest.raises(ParameterError, match="full_share: expected a number from 0 to 1, as recipe='paper' needs P"):
        AdaptClassifier(None, **given, **asked).fit(X, y)


def test_a_grid_as_printed_sweeps_the_papers_two_numbers_and_divides_at_zero():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = AdaptClassifier(
        None, expensive=(lambda rows: known((rows[:, 0] > 0) * 1), ["x0"]), variant="lin", recipe="paper"
    )
    rows = {"X_val": X[200:], "y_val": y[200:], "expensive_proba": known(X[:200, 0] > 0)}
    path = model.fit_path(X[:200], y[:200], tradeoffs=[1e-3, 1e-2], **rows)
    assert {point.full_share for point in path.points} <= {None, 0.2, 0.4, 0.6, 0.8}
    routes = [path.predictor(point).stages[0] for point in path.points]
    assert {route.threshold for route in routes if hasattr(route, "threshold")} <= {0.0}
    with pytest.raises(ParameterError, match="full_shares: expected numbers from 0 to 1"):
        model.fit_path(X[:200], y[:200], full_shares=[None], **rows)
