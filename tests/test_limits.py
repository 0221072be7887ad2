"""Hard caps and what is unavailable: tables and inquiries walk as their twin does, caps are exact, answers the best."""

import pickle

import attrs
import naive_limits
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from test_walks import CAPS, QUIET, fine_prices

import costframe as cf
from costframe import CostframeError, SteppedPredictor
from costframe.core.caps import walk_under_limits
from costframe.core.learners.bits import word_count
from costframe.core.predictors.inquiry import supply_inquiries
from costframe.core.prices.exact_prices import exact
from costframe.core.prices.ledger import Ledger
from costframe.core.prices.limits import Limits
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.layout import BOUGHT
from costframe.core.stages.step import StageStepper
from costframe.errors import StageError
from costframe.plugin import FallbackRows, ParameterError, TreeTable
from costframe.sources import CallSource, Lookup, Policy, Sources
from costframe.testing import same_bits, strategies

pytestmark = pytest.mark.engine


@st.composite
def walks(draw):
    """Draw a tree and limits; often a cap that a row just meets or misses, and a threshold that a score meets."""
    names = draw(strategies.feature_names())
    tree, costs = draw(strategies.stage_trees(draw(strategies.banks(names)))), draw(fine_prices(names))
    X, by_path = draw(strategies.rows(len(names), 4)), draw(st.sampled_from((True, True, False)))
    X = np.vstack([X, np.full(len(names), draw(st.sampled_from(strategies.NASTY)))])
    if draw(st.booleans()):  # the first stage evaluates all learners
        root = tree.stages[0]
        weights = np.ones((int(tree.bank.widths.sum()), len(root.intercept)))
        first = attrs.evolve(root, learners=np.arange(len(tree.bank)), weights=weights)
        tree = attrs.evolve(tree, stages=[first, *tree.stages[1:]])
    if draw(st.booleans()):
        tree = tree.with_costs(costs).with_fallbacks(draw(strategies.rows(len(names), most=12)))
    prices, root = costs.select(names), tree.stages[0]
    barred = draw(st.sets(st.sampled_from([*tree.used_features, *costs.resource_names, names[0]]), max_size=2))
    ends = [naive_limits.trips(tree, prices, Limits(), by_path, row)[0] for row in X]  # rows that can pay for all
    ends.append(naive_limits.LimitedRow(tree, prices, Limits(), by_path, {}))  # a row that looks ahead
    units = tree.exact(prices)
    sums = sorted({units.money(int(each * units.per_unit)) for end in ends for each in end.compared})
    cap = draw(st.sampled_from(CAPS) | st.sampled_from(sums or [0.0]))
    cap = cap if cap is None or draw(st.booleans()) else max(0.0, float(np.nextafter(cap, 0.0)))
    limits = Limits.of(cap, tuple(sorted(barred)), prices) or Limits()
    if isinstance(root, cf.Route):
        ends = [naive_limits.trips(tree, prices, limits, by_path, row)[0] for row in X]
        scores = [end.route_score for end in ends if end.stage in (root.below, root.above)]
        if len(scores := np.array(scores)[np.isfinite(scores)]):  # of rows that ended right after the first route
            threshold = float(draw(st.sampled_from(scores.tolist())))
            tree = attrs.evolve(tree, stages=[attrs.evolve(root, threshold=threshold), *tree.stages[1:]])
    return tree, prices, limits, X, by_path


def end_of(stepper):
    """Return the end of a row, as that of a table of one."""
    walk, n_used, n_outputs = stepper.walk, len(stepper.walk.used), stepper.tree.n_outputs
    numbers, places, marks = walk.arrays(stepper.state)
    stage, _, why = places[walk.n_learners + n_used :][:3]
    bits = np.packbits(marks[:n_used] & BOUGHT, bitorder="little").tobytes()
    scores, (route_score, share) = numbers[n_used + 4 :][:n_outputs], numbers[-2 - n_outputs : -n_outputs]
    masks = np.frombuffer(bits.ljust(8 * word_count(n_used), b"\0"), "<u8")
    weight, comparisons, uses, n_read = numbers[n_used:][:4]
    spent = [weight, comparisons, uses - n_read]
    end = (stage, why != 0, share, scores, numbers[-n_outputs:], route_score, masks, spent)
    return CappedRows(*(np.array([each]) for each in end))


def expect_end(found, end, tree):
    """Expect that the end of a row, `CappedRows` of one, is the naive twin's."""
    layout = tree.layout
    scores = np.array([*end.scores, *[0.0] * (layout.n_outputs - len(end.scores))])
    bought = [bool(mask >> u & 1) for mask in found.masks[0].tolist() for u in range(64)][: len(layout.used)]
    assert (found.exits[0], found.cut[0], found.share[0]) == (end.stage, bool(end.given_up), end.share)
    assert same_bits(found.scores[0, : len(end.scores)], scores[: len(end.scores)])
    final = np.array(end.final_scores())
    assert same_bits(found.final[0, : len(final)], final)
    assert same_bits(found.route_scores[0], end.route_score)
    assert {int(f) for f in layout.used[bought]} == end.bought & {int(f) for f in layout.used}
    assert found.spent[0].tolist() == [end.weight, end.comparisons, end.uses - len(end.used)]


@QUIET
@given(walks(), st.data())
def test_tables_and_inquiries_walk_as_the_naive_twin(case, data):
    tree, prices, limits, X, by_path = case
    found, names = walk_under_limits(tree, prices, limits, X, by_path=by_path), [*prices.names, *prices.resource_names]
    known = data.draw(st.sets(st.integers(0, len(prices.names) - 1), max_size=2))
    paid = data.draw(st.sets(st.sampled_from(names), max_size=2)) | {prices.names[f] for f in known}
    own = attrs.evolve(limits, barred=limits.barred - known)
    for i, row in enumerate(X):
        expect_end(found.rows(slice(i, i + 1)), naive_limits.trips(tree, prices, limits, by_path, row)[0], tree)
        before = Ledger(prices, paid).paid_before
        end, trips = naive_limits.trips(tree, prices, own, by_path, row, known, before)
        stepper, needs = StageStepper.begin(tree, prices, by_path, {f: float(row[f]) for f in known}, own, before), []
        while stepper.needs:
            needs.append([*stepper.needs])
            stepper = stepper.after([float(row[f]) for f in stepper.needs])
        assert (needs, stepper.reason) == (trips, end.reason)
        expect_end(end_of(stepper), end, tree)


NAMES = ("age", "iron", "scan")
COSTS = cf.CostModel.from_dict(
    {"features": {"age": 1.0, "iron": {"cost": 0.5, "needs": ["blood"]}, "scan": 6.0}, "resources": {"blood": 2.0}}
)
ROW = [[1.0, 1.0, 1.0]]


def stump(feature):
    """A tree of 0 below zero and 1 above."""
    leaves = np.array([[0.0], [0.0], [1.0]])
    return TreeTable.single([feature, -1, -1], [0.0] * 3, [True] * 3, [1, -1, -1], [2, -1, -1], leaves)


def model(*features, link="identity", weight=1.0):
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([*map(stump, features)]), NAMES)
    count = np.arange(len(features))
    return cf.StageTree(bank, (cf.Answer(count, np.full(len(count), weight), 0.0, link),), COSTS)


@pytest.fixture
def X():  # noqa: N802 - a table
    body = np.random.default_rng(0).standard_normal((400, 1))
    return body + 0.1 * np.random.default_rng(1).standard_normal((400, 3))


def test_what_is_paid_before_leaves_a_cap_for_more():
    tree = model(1, 0)
    assert tree.inquire(max_cost=3.0).needs == ("age",)  # iron is as good, but with blood 2.5
    for cap, bought in ((1.5, ("age", "iron")), (1.4, ("age",))):
        assert cf.predict_one(tree, ROW[0], known=["blood"], max_cost=cap).acquired == bought


@pytest.mark.parametrize(
    ("prices", "cap", "cost"),
    [
        ([0.1, 0.2, 0.3], np.nextafter(0.6, 0.0), 0.3),
        ([1e9, 4e-8], 1e9 + 0.1, np.nextafter(1e9, np.inf)),  # no double is written as their sum: the next one above
        ([1 / 3] * 3, 0.9999999999999999, 0.9999999999999999),
        ([0.0, 5e-324], 0.0, 0.0),
        ([1e300, 5e-324], 1e300, 1e300),
        ([1e300, 5e-324], np.nextafter(1e300, np.inf), np.nextafter(1e300, np.inf)),
    ],
)
@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_a_cap_is_kept_to_the_last_digit(prices, cap, cost, acquisition):
    names = [f"x{f}" for f in range(len(prices))]
    costs = cf.CostModel.from_dict({"features": dict(zip(names, prices, strict=True))})
    answer = cf.Answer(range(len(names)), np.ones(len(names)), 0.0)
    tree = cf.StageTree(cf.WeakLearnerBank.columns(names), (answer,), costs)
    report = tree.cost(np.ones((3, len(names))), max_cost=cap, acquisition=acquisition)
    assert report.per_row.tolist() == [cost] * 3
    assert report.mean == pytest.approx(cost, rel=1e-15, abs=0.0)
    row, terms = dict.fromkeys(names, 1.0), {"acquisition": acquisition, "max_cost": cap}
    assert cf.predict_one(tree, row, **terms).cost == cost
    end = cf.predict_one(tree, row, **terms, known={"x0": 1.0})
    assert sum(exact(prices[names.index(name)]) for name in end.acquired) <= exact(cap)


def test_computing_is_priced_exactly():
    """Twenty comparisons, ten learners of weight 0.1 and the uses of a feature cost what people add up."""
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([stump(0)] * 10), NAMES, evaluation=0.1)
    costs = cf.CostModel.from_dict({"features": dict.fromkeys(NAMES, 0.7), "split": 0.1, "learner": 0.3, "reuse": 0.01})
    tree = cf.StageTree(bank, (cf.Answer(range(10), np.ones(10), 0.0),), costs)
    for cap, cost in ((None, 2.09), (2.09, 2.09), (2.08, 1.95)):
        assert cf.predict_one(tree, ROW[0], max_cost=cap).cost == tree.cost(ROW, max_cost=cap).per_row[0] == cost
    free = tree.with_costs(cf.CostModel.from_dict({"features": dict.fromkeys(NAMES, 0.7), "learner": 0.3}))
    assert cf.predict_one(free, ROW[0]).cost == free.cost(ROW).per_row[0] == 1.0


def test_what_a_failed_source_leaves_of_a_cap_is_exact():
    tree = model(0, 1, 2).with_costs(cf.CostModel.from_dict({"features": {"age": 0.1, "iron": 0.1, "scan": 0.2}}))

    def fetch(requests):
        return {key: {name: 1.0 for name in names if name != "iron"} for key, names in requests.items()}

    lookup = Lookup(CallSource(fetch), NAMES, policy=Policy("without"))
    ((_, end),) = cf.predict_stream(tree, Sources({"all": lookup}), ["row"], max_cost=0.3)
    assert (end.acquired, end.cost) == (("age", "scan"), 0.3)  # 0.3 - 0.1 < 0.2 in doubles


def test_learners_that_cannot_be_paid_are_left_out_and_later_ones_go_on(X):
    tree = model(2, 0, 1)
    report = tree.cost(X, max_cost=3.5)
    np.testing.assert_array_equal(report.acquired, np.tile([True, True, False], (400, 1)))
    assert report.cut.all()
    assert "400 cut" in repr(report)
    np.testing.assert_array_equal(report.predictions, (X[:, :2] > 0).sum(axis=1))
    assert tree.inquire(max_cost=3.5).needs == ("age", "iron")  # both certain to be bought


def test_what_is_bought_for_a_learner_stays_paid():
    both = TreeTable.single(  # age first, then the scan
        [0, 2, -1, -1, -1], [0.0] * 5, [True] * 5, [1, 3, -1, -1, -1], [2, 4, -1, -1, -1], np.arange(5.0)[:, None]
    )
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([both, stump(1)]), NAMES)
    tree = cf.StageTree(bank, (cf.Answer([0, 1], [1.0, 1.0], 0.0),), COSTS)
    inquiry = tree.inquire(max_cost=4.0)
    assert inquiry.needs == ("age", "iron")  # the scan is too dear beside iron, which is then certain
    inquiry.supply({"age": -1.0, "iron": 1.0})
    assert (inquiry.answer.cost, inquiry.answer.reason, inquiry.answer.rounds) == (3.5, "max_cost", 1)
    assert tree.inquire(max_cost=4.0, acquisition="learner").needs == ("iron",)


def test_a_resource_out_of_reach_takes_its_features_along_but_known_values_count():
    tree = model(0, 1)
    end = cf.predict_one(tree, ROW[0], unavailable="blood")
    assert (end.acquired, end.value, end.reason) == (("age",), 1.0, "unavailable")
    known = cf.predict_one(tree, ROW[0], known={"iron": 1.0}, unavailable=["iron", "blood"])
    assert (known.value, known.reason, known.cost) == (2.0, "complete", 1.0)
    both = tree.inquire(unavailable=["age"], max_cost=1.0).answer
    assert (both.reason, both.cost) == ("unavailable", 0.0)


# --- what is answered instead ---


def test_a_forest_of_averages_comes_out_right(X):
    """Stumps that all say nearly the same: with one of three, the mean is expected, not a third of it."""
    forest = model(0, 1, 2, weight=1 / 3)
    full, expecting = forest.predict(X), forest.with_fallbacks(X)
    assert np.abs(forest.predict(X, max_cost=1.0) - full).mean() > 0.25
    assert np.abs(expecting.predict(X, max_cost=1.0) - full).mean() < 0.1
    assert np.abs(expecting.predict(X, max_cost=0.0) - full.mean()).max() < 0.02
    tree = model(0, 1, 2, link="sigmoid", weight=4.0).with_fallbacks(X)
    assert np.abs(tree.predict(X, max_cost=0.0) - tree.predict(X).mean()).max() < 0.01


def test_fallbacks_are_learned_when_first_needed_and_pickled_without_rows(X):
    tree = model(0, 1, 2).with_fallbacks(X, np.ones(400))
    assert isinstance(tree._fallbacks, FallbackRows)
    copy = pickle.loads(pickle.dumps(tree))  # noqa: S301 - our own bytes
    assert not isinstance(copy._fallbacks, FallbackRows)
    assert same_bits(copy.predict(X, max_cost=1.0), tree.predict(X, max_cost=1.0))
    for name, values, words in (
        ("node_values", [0.0], r"node_values: expected the shape \(3,\), got \(1,\)"),
        ("knots", [0.0, 0.9, 0.9, 1.0], "knots: expected numbers that ascend from 0 to 1"),
        ("low", [[9.0]], "mean: expected numbers between low and high"),
    ):
        with pytest.raises(StageError, match=words):
            attrs.evolve(tree, fallbacks=attrs.evolve(tree.fallbacks, **{name: values}))


def asks_for_all():
    values = yield ["age", "iron"]
    more = yield ["scan"]
    return values["age"] + more["scan"]


def test_a_stepped_model_answers_by_its_fallback_or_refuses_limits():
    with pytest.raises(ParameterError, match=r"max_cost: .* give it SteppedPredictor\(fallback"):
        SteppedPredictor(NAMES, asks_for_all, COSTS).predict(ROW, max_cost=3.0)
    stepped = SteppedPredictor(NAMES, asks_for_all, COSTS, fallback=-1.0)
    report = stepped.cost(ROW, max_cost=9.4)
    assert (report.per_row[0], report.predictions[0], report.cut[0]) == (3.5, -1.0, True)
    assert stepped.cost(ROW, max_cost=9.5).predictions[0] == 2.0
    assert stepped.inquire(max_cost=3.4).answer.cost == 0.0  # what it asks for at once is bought at once
    assert stepped.inquire(unavailable="iron").answer.reason == "unavailable"


# --- limits as arguments ---


def test_an_infinite_cap_is_none():
    tree, free = model(0, 1, 2), {"max_cost": np.inf}
    stepped = SteppedPredictor(NAMES, asks_for_all, COSTS)
    for each in (tree, cf.certain(tree, 1.0), stepped):
        assert each.predict(ROW, **free) == each.predict(ROW)
        report = each.cost(ROW, **free)
        assert (report.mean, report.cut) == (each.cost(ROW).mean, each.cost(ROW).cut)
    assert tree.predict(ROW, unavailable=["blood"], **free) != tree.predict(ROW)
    assert cf.predict_one(tree, ROW[0], **free).reason == "complete"


def test_a_cap_is_the_number_that_its_type_holds():
    for kind in (np.float16, np.float32, np.longdouble, np.int8):
        cap = kind(9.5)
        assert model(0, 1, 2).cost(ROW, max_cost=cap).mean == model(0, 1, 2).cost(ROW, max_cost=float(cap)).mean


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_cost": -1.0}, "max_cost: expected"),
        ({"unavailable": ["sacn"]}, "unavailable: "),
        ({"max_cost": 1.0, "routing": "soft"}, "max_cost: has no meaning for soft routing"),
    ],
)
def test_limits_that_do_not_fit_are_refused(limits, words):
    with pytest.raises(CostframeError, match=words):
        model(0).cost(ROW, **limits)


def test_estimators_take_limits_as_metadata_of_scikit_learn_and_refuse_none_as_their_predictors_do():
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = cf.MiserClassifier([1.0, 2.0], tradeoff=0.0, n_estimators=5)
    with config_context(enable_metadata_routing=True):
        asks = model.set_predict_request(max_cost=True).set_predict_proba_request(max_cost=True, unavailable=True)
        chain = make_pipeline(asks.set_decision_function_request(max_cost=True)).fit(X, (X.sum(1) > 0).astype(int))
        assert np.array_equal(chain.predict(X, max_cost=1.0), chain[-1].predict(X, max_cost=1.0))
        assert len(np.unique(chain.decision_function(X, max_cost=0.0))) == 1
        assert len(np.unique(chain.predict_proba(X, max_cost=9.0, unavailable=["x0", "x1"])[:, 1])) == 1
    fitted = chain[-1]
    for asked in (
        fitted.predict,
        fitted.predict_proba,
        fitted.decision_function,
        fitted.cost,
        fitted.predictor_.predict,
    ):
        with pytest.raises(CostframeError, match="unavailable: expected names of features and resources, got None"):
            asked(X, unavailable=None)
    with pytest.raises(ParameterError, match="acquisition: expected 'path' or 'learner', got None"):
        fitted.cost(X, acquisition=None)


def test_rows_of_a_plan_go_on_alone_after_they_went_together():
    X = np.random.default_rng(3).normal(size=(400, 6))
    y = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] - 0.3 * X[:, 4] > 0).astype(int)
    plan = cf.PlannerClassifier([1.0, 2.0, 0.0, 3.0, 5.0, 1.5], tradeoff=0.01).fit(X[:200], y[:200]).predictor_
    inquiries = [plan.inquire() for _ in X]
    named = [dict(zip(plan.feature_names, row, strict=True)) for row in X]
    first = [{name: row[name] for name in inquiry.needs} for inquiry, row in zip(inquiries, named, strict=True)]
    assert supply_inquiries(inquiries, first) == [None] * len(X)
    for inquiry, row in zip(inquiries, named, strict=True):
        while inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
    assert [inquiry.answer.value for inquiry in inquiries] == plan.predict(X).tolist()
    assert {inquiry.answer.reason for inquiry in inquiries} == {"complete"}


@pytest.mark.parametrize("name", sorted(set(cf.algorithms()) - {"stumps"}))
def test_limits_of_every_estimator_can_be_routed(name):
    algorithm, limits = cf.algorithms()[name], {"max_cost": True, "unavailable": True}
    with config_context(enable_metadata_routing=True):
        for kind in filter(None, (algorithm.classifier, algorithm.regressor)):
            kind().set_predict_request(**limits)
        if algorithm.classifier is not None:
            algorithm.classifier().set_predict_proba_request(**limits).set_decision_function_request(**limits)
