"""recipe="paper": the printed algorithms on tables worked out by hand; Greedy Miser where no row may go on."""

import numpy as np
import pytest
from adapt_cases import EVERY_PRICE, FEATURES, table, three_classes, uneven

import costframe as cf
from costframe.plugin import ParameterError
from costframe_adapt import AdaptClassifier
from costframe_miser import MiserClassifier

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
def test_as_printed_validation_rows_change_nothing_the_gate_divides_at_zero_and_the_share_is_needed(asked):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    given = {"expensive": (lambda rows: np.full(len(rows), 0.5), ["x0"]), "recipe": "paper"} | asked
    model = AdaptClassifier(None, 1e-3, full_share=0.5, **given)
    proba = np.clip(known(y) + rng.normal(size=200) / 9, 0.02, 0.98)
    one = model.fit(X, y, expensive_proba=proba).decision_function(X)
    other = model.fit(X, y, X_val=X[:20], y_val=y[:20], expensive_proba=proba).decision_function(X)
    np.testing.assert_array_equal(one, other)
    assert model.predictor_.stages[0].threshold == 0
    with pytest.raises(ParameterError, match="full_share: expected a number from 0 to 1, as recipe='paper' needs P"):
        AdaptClassifier(None, **given).fit(X, y)


# --- with no row to send on, boosted Adapt is Greedy Miser -------------------------------------------------------

FREE = {"features": dict.fromkeys("abcdefgh", 0.0)}
AS_MISER = [  # prices, number of classes, settings, those of Miser, and whether there are validation rows
    (FEATURES, 2, {}, {}, False),
    (EVERY_PRICE, 3, {}, {}, True),
    (cf.CostModel.from_dict(EVERY_PRICE.to_dict() | {"reuse": 0.01}), 2, {}, {}, True),
    (FREE, 2, {"class_weight": "balanced"}, {"class_weight": "balanced"}, False),
    (EVERY_PRICE, 3, {"recipe": "paper"}, {"learning_rate": 1.0, "min_samples_leaf": 1}, False),
]


@pytest.mark.parametrize(("costs", "n_classes", "settings", "of_miser", "validated"), AS_MISER)
def test_nothing_for_the_expensive_model_is_greedy_miser_tree_for_tree(costs, n_classes, settings, of_miser, validated):
    def full(_rows):
        raise AssertionError("was asked")

    (X, y), (V, v) = [(table if n_classes == 2 else three_classes)(seed, 250) for seed in (1, 2)]
    X[::9, 5] = np.nan
    seen = {"X_val": V, "y_val": v, "sample_weight_val": uneven(250, 1)} if validated else {}
    asked = {"costs": costs, "tradeoff": 3e-3, "n_estimators": 40 if validated else 15}
    adapt = AdaptClassifier(**asked, expensive=full, full_share=0, **settings).fit(X, y, uneven(250), **seen)
    miser = MiserClassifier(**asked, **of_miser).fit(X, y, uneven(250), **seen)
    assert len(miser.predictor_.bank) > 3
    (one,), (other,) = adapt.predictor_.stages, miser.predictor_.stages
    for name in ("learners", "weights", "intercept", "link"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    trees, others = adapt.predictor_.bank.trees, miser.predictor_.bank.trees
    for name in ("feature", "threshold", "missing_left", "left", "right", "value", "values", "first"):
        np.testing.assert_array_equal(getattr(trees, name), getattr(others, name), err_msg=name)
    assert (adapt.expensive_, adapt.n_iter_) == (None, 0)
