"""The kit's laws; the algorithm against its naive twin, the exact evaluator and other libraries; and extremes."""

import hypothesis
import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit_cases import parametrize_laws
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import costframe as cf
from costframe.testing import strategies
from costframe.trees import BinMapper, LazyPrices
from costframe.trees.grow import grow_tree
from costframe_cegb import CEGBClassifier, CEGBRegressor

NAMES = tuple(f"x{f}" for f in range(4))


@parametrize_laws("cegb")
def test_laws(check):
    check()


@st.composite
def telling(draw):
    """Prices of all kinds beside which splits of a few dozen rows of unit variance gain more or less; tradeoff 1."""
    row, once = st.sampled_from([0.0, 0.02, 0.05, 0.1]), st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0])
    resources = {"r": {"cost": draw(row), "needs": ["s"]}, "s": draw(row)}
    needs = st.sampled_from([[], [], ["r"], ["s"]])
    features = {name: {"cost": draw(row), "once": draw(once), "needs": draw(needs)} for name in NAMES}
    computing = {kind: draw(st.sampled_from([0.0, 0.0, 0.01])) for kind in ("split", "learner", "reuse")}
    return cf.CostModel.from_dict({"features": features, "resources": resources} | computing), 1.0


priced = telling() | st.tuples(strategies.cost_models(NAMES), st.sampled_from([0.0, 1e-3, 0.01, 0.1]))


def table(seed, n, d=4, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return rng, X


class Book:
    """C(i, f), C(i, r) and D(f) as sets, and what rows pay by them."""

    def __init__(self, costs, weight, lam):
        self.prices, self.weight, self.lam, self.once = costs.select(NAMES), weight, lam, set()
        self.features, self.resources = ([set() for _ in weight] for _ in "12")
        self.spent = 0.0

    def begin_tree(self):
        self.used = [set() for _ in self.weight]

    def of_row(self, depth, i, f):
        p = self.prices
        price = p.split[f] + (p.learner if depth == 0 else 0.0)
        if f not in self.features[i]:
            price += p.cost[f]
        elif f not in self.used[i]:
            price += p.reuse
        return price + sum(p.resource_cost[r] for r in np.flatnonzero(p.needs[f]) if r not in self.resources[i])

    def price(self, depth, rows, f):
        once = 0.0 if f in self.once else self.prices.once[f]
        return self.lam * (sum(self.weight[i] * self.of_row(depth, i, f) for i in rows) + once)

    def buy(self, depth, rows, f):
        for i in rows:
            self.spent += self.weight[i] * self.of_row(depth, i, f)
            self.features[i].add(f)
            self.used[i].add(f)
            self.resources[i] |= set(np.flatnonzero(self.prices.needs[f]).tolist())
        self.once.add(f)


@pytest.mark.engine
@hypothesis.settings(max_examples=30)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.3]), priced, st.booleans())
def test_the_cached_search_equals_brute_force_after_every_split(seed, unit, missing, costs_and_tradeoff, had):
    """A few best-first trees at all prices: same splits in the same leaves, and same charges."""
    costs, lam = costs_and_tradeoff
    rng, X = table(seed, 24, missing=missing)
    w = rng.uniform(1, 2, 24)
    book, prices = Book(costs, w, lam), LazyPrices(costs.select(NAMES), lam, 24, w)
    if had:  # some rows have paid for some things before
        items = rng.random((24, 4 + len(book.prices.resource_cost))) < 0.3
        prices.mark_had(items)
        for i, paid in enumerate(items):
            book.features[i] |= set(np.flatnonzero(paid[:4]).tolist())
            book.resources[i] |= set(np.flatnonzero(paid[4:]).tolist())
    data = BinMapper.fit(X, sample_weight=w).transform(X)
    for _ in range(3):
        g, h = rng.standard_normal(24) * w, (np.ones(24) if unit else rng.uniform(0.05, 0.25, 24)) * w
        tree = grow_tree(data, g, h, prices=prices, max_leaves=5, l2=0.5, min_samples_leaf=2)
        twin = naive.Tree(
            data.bins.tolist(), data.mapper.n_bins, g, h, book, rows=list(range(24)), features=range(4), growth="best",
            depth=99, leaves=5, l2=0.5, min_rows=2, min_hessian=0.0,
        )  # fmt: skip
        assert tree.table.feature.tolist() == [node[0] for node in twin.nodes]
        assert tree.leaf_of_row.tolist() == twin.leaf_of_row
        np.testing.assert_allclose(tree.outputs, twin.outputs, rtol=1e-5, atol=1e-6)
    assert prices.spent == pytest.approx(book.spent, rel=1e-9, abs=1e-9)
    assert prices.fixed == pytest.approx(sum(book.prices.once[f] for f in book.once))


@hypothesis.settings(max_examples=50)
@given(
    st.integers(0, 10_000), priced, st.sampled_from([1.0, 0.7, 0.3]), st.sampled_from([0, 2, 3]), st.booleans(),
    st.sampled_from(["best", "breadth"]), st.booleans(),
)  # fmt: skip
def test_what_training_believes_it_pays_is_what_is_paid(
    seed, costs_and_tradeoff, subsample, k, weighted, growth, named
):
    """For every kind of price; rows that a tree was not grown on pass through it and pay as well.

    With few bins some categories are missing to the trees, and pay as well.
    """
    costs, lam = costs_and_tradeoff
    rng, X = table(seed, 60, missing=0.2)
    X[:, 1] = rng.integers(0, 12, 60) if named else X[:, 1]
    y = rng.standard_normal(60) + np.nan_to_num(X[:, 0]) if k == 0 else np.arange(60) % k
    model = (CEGBClassifier if k else CEGBRegressor)(
        costs, lam, subsample=subsample, max_features=subsample, random_state=seed, growth=growth, n_estimators=6,
        learning_rate=0.5, max_leaves=6, min_samples_leaf=3, max_bins=4 if named else None,
        categorical_features=[1] if named else None,
    )  # fmt: skip
    weight = rng.integers(1, 4, 60).astype(float) if weighted else None
    model.fit(X, y, weight)
    report = model.cost(X, sample_weight=weight)
    assert model.believed_cost_ == pytest.approx(report.mean, rel=1e-9, abs=1e-9)
    assert model.believed_fixed_ == pytest.approx(report.fixed)


@pytest.mark.parametrize("weights", [(1, 4), (4, 5)])
def test_whole_weights_are_repetitions_for_the_least_number_of_rows_too_and_other_weights_say_nothing(weights):
    rng, X = table(8, 120, missing=0.1)
    y, weight = np.nan_to_num(X[:, 0]) + 0.5 * rng.standard_normal(120), rng.integers(*weights, 120)
    again = np.repeat(np.arange(120), weight)
    for least in (1, 7, 30):
        settings = {"tradeoff": 1e-3, "n_estimators": 5, "min_samples_leaf": least}
        plain, weighted, repeated, light = (
            CEGBRegressor(**settings).fit(*given).predict(X)
            for given in ((X, y), (X, y, weight), (X[again], y[again]), (X, y, np.full(120, 0.125)))
        )
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(plain, light, rtol=1e-6)


# --- extremes ----------------------------------------------------------------------------------------------------

QUICK = {"n_estimators": 3, "max_leaves": 4, "min_samples_leaf": 2}


@pytest.mark.parametrize("kind", ["split", "learner", "reuse", "features"])
def test_at_tradeoff_zero_prices_whose_sums_are_infinite_change_nothing(kind):
    _, X = table(0, 60, 3)
    y, weight, huge = X[:, 0] + X[:, 1], np.full(60, 1e10), {"cost": 1e300, "once": 1e300, "needs": ["r"]}
    costs = {"features": dict.fromkeys("abc", huge), "resources": {"r": 1e300}}
    costs = costs if kind == "features" else {"features": dict.fromkeys("abc", 1.0), kind: 1e300}
    free, dear = (CEGBRegressor(each, tradeoff=0, **QUICK).fit(X, y, weight) for each in (None, costs))
    with np.errstate(over="ignore"):
        parts = [
            CEGBRegressor(each, tradeoff=0, subsample=0.5, **QUICK).fit(X, y, weight, X_val=X, y_val=y)
            for each in (None, costs)
        ]
    assert len(free.bank_) == 3
    assert np.array_equal(free.predict(X), dear.predict(X))
    assert np.array_equal(*(part.predict(X) for part in parts))


def test_what_is_waived_is_not_charged_once_either_but_counted():
    _, X = table(0, 60, 3)
    costs = cf.CostModel.from_dict({"features": {"x0": {"cost": 1.0, "once": 1e6}, "x1": 0.0, "x2": 0.0}})
    data, tradeoff = BinMapper.fit(X).transform(X), 0.01
    for waived in (False, True):
        prices = LazyPrices(costs.select(costs.names), tradeoff, len(X))
        if waived:
            prices.mark_paid(np.array([True, False, False]), np.zeros(0, bool))
        tree = grow_tree(data, -X[:, 0] - X[:, 1], prices=prices, max_leaves=4)
        assert (0 in tree.table.feature) == waived
        assert (prices.fixed, prices.spent > 0) == ((1e6, True) if waived else (0.0, False))


# --- oracles -----------------------------------------------------------------------------------------------------


def rounded(seed, missing):
    """Few distinct values: bins are the values, everywhere."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((500, 5)), 1)
    X[rng.random(X.shape) < missing] = np.nan
    Z = np.nan_to_num(X)
    return X, np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.3 * rng.standard_normal(500), rng.uniform(0.5, 2, 500)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize(("missing", "weighted", "l2"), [(0.0, False, 0.0), (0.2, True, 1.0)])
def test_at_tradeoff_zero_it_is_scikit_learns_boosting(n_classes, missing, weighted, l2):
    X, score, weight = rounded(0, missing)
    y = score if n_classes == 0 else np.digitize(score, [-0.4, 0.4][: n_classes - 1])
    weight = weight if weighted else None
    same = {"min_samples_leaf": 9, "learning_rate": 0.2, "l2_regularization": l2}
    oracle = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    ours = (CEGBClassifier if n_classes else CEGBRegressor)(tradeoff=0, n_estimators=12, max_leaves=7, **same)
    theirs = oracle(max_iter=12, max_leaf_nodes=7, early_stopping=False, **same)
    method = "predict_proba" if n_classes else "predict"
    predicted, expected = (getattr(model.fit(X, y, weight), method)(X) for model in (ours, theirs))
    np.testing.assert_allclose(predicted, expected, atol=2e-5)
