"""What a composite is said to cost is what is fetched for it, and training's own accounts agree, on both branches."""

import naive
import naive_costs
import numpy as np
import pytest
from adapt_cases import EVERY_PRICE, FEATURES, NAMES, fitted, table
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.cost.accounts import Account
from costframe.gates.composite import GatedPair
from costframe.gates.gate_curve import BOTH, CHEAP, EXPENSIVE, GateCurve, ModelOutputs, OperatingPoint
from costframe.testing.strategies import cost_models, feature_names, stage_trees, tree_tables
from costframe.training.data import Rows
from costframe_adapt import AdaptClassifier
from costframe_adapt.judge import Judge

pytestmark = pytest.mark.usefixtures("few_rounds")

LINEAR = {"variant": "lin", "n_estimators": None}
PAPER = {"recipe": "paper", "full_share": 0.5}
# Settings of each, and the branches where the gate reads, of some row, what its branch does not.
KINDS = {
    "forest": (PAPER | {"tradeoff": 2e-4}, (1,)),
    "xgboost": ({}, ()),
    "logistic": ({}, (1, 2)),
    "cegb": (PAPER | {"tradeoff": 2e-4}, (1, 2)),
    "stepped": ({}, (1,)),
    "callable": ({"full_share": 0.5}, (1, 2)),
    "logistic-linear": (LINEAR, (2,)),
    "forest-linear": (LINEAR, ()),
}


@pytest.fixture(scope="module", params=KINDS)
def composite(request):
    """A fitted composite, rows of which some go either way, and the branches where the gate reads more."""
    settings, more = KINDS[request.param]
    model, X = fitted(request.param.removesuffix("-linear"), **settings), table(7, 60)[0]
    assert 0.05 < model.predictor_.cost(X).by_stage[2] < 0.95
    return model, X, more


def sets_read(tree, row):
    """What the gate reads of a row, and what its branch does: names, one row in plain Python."""
    (_, branch, *later), _ = naive.route_taken(tree, row)
    gate, *rest = (naive.path_cost(tree, row, [at], FEATURES, "path")[1] for at in (0, branch, *later))
    return gate, set().union(*rest), branch


def test_the_gates_features_are_charged_on_both_branches(composite):
    """Row by row in plain Python; and without the gate's features the numbers would be others, on either branch."""
    model, X, more = composite
    report, forgotten = model.predictor_.cost(X), {1: 0, 2: 0}
    for row, cost, acquired in zip(X, report.per_row, report.acquired, strict=True):
        gate, branch, way = sets_read(model.predictor_, row)
        assert {name for name, bought in zip(NAMES, acquired, strict=True) if bought} == gate | branch
        assert cost == pytest.approx(naive_costs.full_cost(FEATURES, gate | branch), rel=1e-12)
        forgotten[way] += not gate <= branch
    assert all(forgotten[way] > 0 for way in more)


@pytest.mark.parametrize("settings", [PAPER, {}, LINEAR], ids=str)
def test_an_expensive_model_that_reads_other_features_does_not_pay_for_the_gates(settings):
    """The gate reads what the expensive model does not: forgetting it, as the authors do, gives another number."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = np.where(X[:, 0] > 0, X[:, 1] > 0, X[:, 2] > 0).astype(int)
    costs = {"features": {"which": 1.0, "left": 2.0, "right": 7.0}}

    def full(rows):
        return np.where(rows[:, 0] > 0, 0.999, 0.001)

    model = AdaptClassifier(
        costs,
        1e-3,
        expensive=(full, ["right"]),
        **({"n_estimators": 20, "full_share": 0.6} | settings),
    ).fit(X, y, expensive_proba=full(X[:, [2]]))
    report = model.predictor_.cost(X)
    goes = model.predictor_.exits(X) == 2
    assert 0.3 < goes.mean() < 0.7
    assert report.acquired[goes][:, 0].all()
    assert report.per_row[goes] == pytest.approx(report.acquired[goes] @ [1.0, 2.0, 7.0])
    assert report.per_row[goes].min() >= 8.0
    alone = model.expensive_predictor_.cost(X[goes]).per_row
    assert alone == pytest.approx(7.0)


@st.composite
def fronts(draw, shared=False):
    """Draw a gate and a cheap model over trees, what stands behind them, prices, rows, losses and weights."""
    names = draw(feature_names(4))
    d, n_outputs = len(names), draw(st.sampled_from((1, 3)))
    bank = cf.WeakLearnerBank.from_trees(draw(tree_tables(d, widths=(1,))), names)
    size = st.sampled_from((0.0, 1.0, -0.5, 2.0))
    T = len(bank)
    gate = np.array(draw(st.lists(size, min_size=T, max_size=T)), float)
    cheap = np.array(draw(st.lists(size, min_size=T * n_outputs, max_size=T * n_outputs)), float).reshape(T, n_outputs)
    if not shared:  # a tree of boosting is either's
        cheap[gate != 0] = 0
    front = GatedPair(bank, cheap, np.zeros(n_outputs), gate, draw(size))
    trees = cf.WeakLearnerBank.from_trees(draw(tree_tables(d, widths=(1, 2))), names)
    full = draw(stage_trees(trees, 2, n_outputs).filter(lambda tree: "ranked" not in tree.links))
    n = draw(st.integers(1, 7))
    values = st.sampled_from((-1.0, 0.0, 0.5, 1.0, 2.0, 1e300, np.nan, np.inf))
    X = np.array(draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return front, full, draw(cost_models(names)), X, rng.exponential(size=(2, n)), rng.choice([0.5, 1.0, 3.0], n)


def curve_of(front, full, costs, X, losses, weight):
    """Do as the judge does."""
    on = ModelOutputs(np.zeros(len(X)), losses[1], Account.of(full, costs, X))
    scores = front.gate_tree().decision_function(X)
    return GateCurve.of(
        scores, losses[0], on, front.accounts(costs, X), Rows(X, X[:, 0], weight), costs.select(full.feature_names)
    ), scores


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-6)  # prices go up to a million


@settings(max_examples=70)
@given(
    st.booleans().flatmap(lambda shared: fronts(shared=shared)),
    st.sampled_from((-np.inf, -1.0, 0.0, 0.5, 1.0, 3.0, np.inf)),
)
def test_both_sides_of_a_gate_cost_what_the_composite_does(case, threshold):
    front, full, costs, X, losses, weight = case
    curve, scores = curve_of(*case)
    tree = front.in_front_of(full, threshold) if np.isfinite(threshold) else None
    point = curve.at(threshold)
    goes = scores > threshold
    assert point.loss == pytest.approx(np.average(np.where(goes, losses[1], losses[0]), weights=weight))
    np.testing.assert_array_equal(curve.goes_on(point), goes)
    if tree is not None:
        report = tree.cost(X, costs, sample_weight=weight)
        assert point.cost == close(report.mean)
        for row, paid in zip(X, report.per_row, strict=True):  # and what is held against is no mistake itself
            assert paid == close(naive.hard_cost(tree, row, costs, "path")[0])
        np.testing.assert_array_equal(tree.exits(X) >= 2, goes)
    for kind, alone in ((CHEAP, front.cheap_tree()), (EXPENSIVE, full)):
        one = curve.without_gate(kind)
        report = alone.cost(X, costs, sample_weight=weight)
        assert one.cost == close(report.mean)
        assert one.loss == pytest.approx(np.average(losses[int(kind == EXPENSIVE)], weights=weight))
        once = costs.select(full.feature_names).once
        assert one.batch == close(float(weight @ report.acquired @ once) / weight.sum() ** 2)
        assert curve.goes_on(one).all() == (kind == EXPENSIVE)
        if report.acquired.all(axis=0).sum() == report.acquired.any(axis=0).sum():  # all rows acquire the same
            assert one.batch * weight.sum() == close(report.fixed)


@settings(max_examples=40)
@given(fronts(), st.sampled_from((0.0, 1e-3, 0.1, 1e300)), st.sampled_from((None, 0.0, 0.3, 0.5, 1.0)))
def test_the_best_place_is_the_best_of_all_places(case, tradeoff, full_share):
    *_, weight = case
    curve, scores = curve_of(*case)
    best = curve.best(tradeoff, full_share)
    share = weight / weight.sum()

    def allowed(point):
        going = float(share @ curve.goes_on(point))
        if point.kind == BOTH and not 0 < going < 1:
            return False
        return full_share is None or going <= full_share + 1e-12

    every = [curve.at(score) for score in scores] + [curve.without_gate(CHEAP), curve.without_gate(EXPENSIVE)]
    assert allowed(best)
    least = min(point.total(tradeoff) for point in every if allowed(point))
    assert best.total(tradeoff) == pytest.approx(least, rel=1e-9, abs=1e-9)
    again = curve.at(best.threshold) if best.kind == BOTH else best
    assert again == best


@settings(max_examples=40)
@given(fronts(), st.sampled_from((0.0, 1e-3, 0.1)), st.sampled_from((None, 0.0, 0.1, 0.3, 0.5, 1.0)))
def test_all_places_that_a_grid_looks_at_meet_the_share(case, tradeoff, full_share):
    """Also where a gate of few distinct scores can send on many rows or none."""
    *_, weight = case
    curve, _ = curve_of(*case)
    places = list(curve.points(curve.best(tradeoff, full_share), tradeoff, full_share))
    assert CHEAP in [point.kind for point in places]
    for point in places:
        assert point.kind != EXPENSIVE
        assert full_share is None or weight @ curve.goes_on(point) / weight.sum() <= full_share + 1e-12


@settings(max_examples=40)
@given(st.booleans().flatmap(lambda shared: fronts(shared=shared)), st.sampled_from((0.0, 1.0)))
def test_an_account_is_a_choice_of_rows_and_a_union(case, threshold):
    """As in a stage that stands behind another one."""
    front, full, costs, X, _, _ = case
    prices = costs.select(full.feature_names)
    cheap, gate = front.accounts(costs, X)
    goes = front.gate_tree().decision_function(X) > threshold
    both = Account.of(full, costs, X).where(goes, cheap) | gate
    composed = Account.of(front.in_front_of(full, threshold), costs, X)
    np.testing.assert_array_equal(both.acquired, composed.acquired)
    np.testing.assert_allclose(both.cost(prices), composed.cost(prices), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(both.batch(prices), composed.batch(prices), rtol=1e-9)


STAGED = ({"n_stages": 2}, LINEAR | PAPER | {"n_stages": 3})


@pytest.mark.parametrize(
    "settings",
    [{}, PAPER, LINEAR, *STAGED],
    ids=str,
)
@pytest.mark.parametrize("kind", ["cegb", "logistic"])
def test_the_objective_is_that_of_the_model_on_the_rows_held_out(kind, settings, monkeypatch):
    """With prices of all kinds: what was chosen by is what the chosen model loses and costs."""
    seen, behind = [], Judge.behind

    def noted(judge, best):
        seen.append((best, judge.held))
        return behind(judge, best)

    monkeypatch.setattr(Judge, "behind", noted)
    model = fitted(kind, EVERY_PRICE, **settings)
    assert len(seen) == settings.get("n_stages", 1)
    assert settings.get("n_stages", 1) == 1 or len(model.predictor_.stages) > 3
    best, rows = seen[-1]
    report = model.predictor_.cost(rows.X, EVERY_PRICE, sample_weight=rows.weight)
    assert best.point.cost == pytest.approx(report.mean, rel=1e-9)
    chance = model.predictor_.predict(rows.X)
    lost = -np.log(np.clip(np.where(rows.y == 1, chance, 1 - chance), 1e-6, 1 - 1e-6))
    assert best.point.loss == pytest.approx(np.average(lost, weights=rows.weight), rel=1e-6)
    assert isinstance(best.point, OperatingPoint)
