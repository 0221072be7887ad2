"""Hard caps and what is unavailable: the kernel, the walker, the inquiry and a counting source agree."""

import asyncio
import pickle
from unittest import mock

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.caps.capped import _step_rows, walk_under_limits
from costframe.core.caps.fit_fallbacks import _spread
from costframe.core.errors import InquiryError, ParameterError, StageError
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.prices.exact_prices import ExactPrices, exact
from costframe.core.prices.price_arrays import Limits
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.fallbacks import FallbackRows
from costframe.sources import CallSource, Lookup, Policy, Sources
from costframe.testing.counting import CountingSource
from costframe.testing.strategies import banks, cost_models, feature_names, rows, stage_trees

pytestmark = pytest.mark.kernels

CAPS = (None, 0.0, 0.1, 1.0, 2.5, 3.6, 6.0, 1e6, 3e6)
MORE = settings(max_examples=max(100, settings().max_examples))  # than of others: caps are kept to the cent
QUIET = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def fine_prices(draw, names):
    """Draw prices, in half of the cases with digits that no sum of doubles keeps, and tiny ones beside huge ones."""
    costs, factor = draw(cost_models(names)), st.sampled_from((1.0, 1 / 3, 1e-8, 1e9 + 0.4))
    if draw(st.booleans()):
        return costs
    features = [attrs.evolve(one, cost=one.cost * draw(factor)) for one in costs.features]
    more = {name: getattr(costs, name) * draw(factor) for name in ("split", "learner", "reuse")}
    return attrs.evolve(costs, features=tuple(features), **more)


@st.composite
def cases(draw):
    names = draw(feature_names())
    tree = draw(stage_trees(draw(banks(names))))
    costs = draw(fine_prices(names))
    barred = draw(st.sets(st.sampled_from((*names, *(one.name for one in costs.resources))), max_size=2))
    limits = draw(st.sampled_from(CAPS)), tuple(sorted(barred))
    if draw(st.booleans()):
        tree = tree.with_costs(costs).with_fallbacks(draw(rows(len(names), most=12)))
    return tree, costs, draw(rows(len(names))), draw(st.sampled_from(("path", "learner"))), limits


class Noted(float):
    """A number that notes what is compared with it."""

    def __ge__(self, other):
        self.compared.add(other)
        return super().__ge__(other)


def step_rows(tree, prices, limits, X, by_path):
    """Walk all rows with Python's numbers."""
    found = CappedRows.empty(tree.layout, len(X))
    _step_rows(tree, prices, limits, X, np.full(len(X), limits.max_cost), found, np.arange(len(X)), by_path=by_path)
    return found


def sums_compared(tree, prices, X, by_path):
    """Return the sums that decide whether rows of X can pay for a step, if they can pay for all."""
    limit = Noted(np.inf)
    limit.compared = set()
    with mock.patch.object(ExactPrices, "limit", return_value=limit):
        step_rows(tree, prices, Limits(), X, by_path)
    return sorted({tree.exact(prices).money(each) for each in limit.compared})


@st.composite
def ties(draw):
    """Draw a tree, rows, and a cap that a row's spending just meets or misses; perhaps a threshold that a score meets.

    The first stage evaluates all learners. Opaque learners have fallbacks: without, both sides step through the rows.
    """
    names, expects = draw(feature_names()), draw(st.booleans())
    bank = draw(banks(names, opaque=expects).filter(lambda bank: bank.F.nnz))
    tree, costs = draw(stage_trees(bank)), draw(fine_prices(names))
    root = tree.stages[0]
    weights = np.ones((int(bank.widths.sum()), len(root.intercept)))
    tree = attrs.evolve(
        tree, stages=[attrs.evolve(root, learners=np.arange(len(bank)), weights=weights), *tree.stages[1:]]
    )
    if expects:
        tree = tree.with_costs(costs).with_fallbacks(draw(rows(len(names), most=12)))
    X, by_path = draw(rows(len(names)).filter(len)), draw(st.sampled_from((True, True, False)))
    prices, barred = costs.select(names), draw(st.sampled_from(((), (), names[:1])))
    limits = Limits.of(None, barred, prices) or Limits()
    cap = draw(st.sampled_from(sums_compared(tree, prices, X, by_path)))
    limits = Limits(draw(st.sampled_from((cap, max(0.0, float(np.nextafter(cap, 0.0)))))), limits.unavailable)
    if isinstance(root, cf.Route):
        found = step_rows(tree, prices, limits, X, by_path)
        scores = found.route_scores[np.isfinite(found.route_scores) & np.isin(found.exits, (root.below, root.above))]
        if len(scores):  # of rows that ended right after the first route
            threshold = float(draw(st.sampled_from(scores.tolist())))
            tree = attrs.evolve(tree, stages=[attrs.evolve(tree.stages[0], threshold=threshold), *tree.stages[1:]])
    return tree, prices, X, by_path, limits


def same_bits(a, b):
    return np.array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64), equal_nan=True)


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a))


@QUIET
@MORE
@given(cases())
def test_the_kernel_walks_as_the_walker_does(case):
    tree, costs, X, acquisition, (max_cost, unavailable) = case
    prices = costs.select(tree.feature_names)
    limits = Limits.of(max_cost, unavailable, prices) or Limits()
    by_path = acquisition == "path"
    check_twins(tree, prices, X, by_path, limits)


@QUIET
@MORE
@given(ties())
def test_the_kernel_walks_as_the_walker_does_where_sums_meet_the_cap(case):
    check_twins(*case)


def check_twins(tree, prices, X, by_path, limits):
    found = walk_under_limits(tree, prices, limits, X, by_path=by_path)
    wanted = step_rows(tree, prices, limits, X, by_path)
    for name in ("exits", "cut", "share", "scores", "route_scores", "masks", "spent"):
        assert same_bits(getattr(found, name), getattr(wanted, name)), name


@QUIET
@MORE
@given(cases())
def test_report_equals_inquiry_equals_counting_source_under_limits(case):
    tree, costs, X, acquisition, (max_cost, unavailable) = case
    limits = {"max_cost": max_cost, "unavailable": unavailable}
    report = tree.with_costs(costs).cost(X, acquisition=acquisition, rounds=True, **limits)
    for i, row in enumerate(X):
        source = CountingSource(dict(zip(tree.feature_names, row.tolist(), strict=True)), costs)
        inquiry = tree.inquire(costs, acquisition, **limits)
        while inquiry.needs:
            assert not set(inquiry.needs) & set(unavailable)
            inquiry.supply(source(inquiry.needs))
        end = inquiry.answer
        assert same_bits(end.value, report.predictions[i])
        # exp of a large score is infinite
        told = np.isfinite(end.value) | (getattr(tree.stages[end.exit], "link", None) == "exp") & (end.value == np.inf)
        assert tree.fallbacks is None or end.reason == "complete" or told.all()
        assert end.cost == report.per_row[i]
        assert max_cost is None or (end.cost <= max_cost and source.paid <= exact(max_cost))
        bought = {name for name, one in zip(report.feature_names, report.acquired[i], strict=True) if one}
        assert set(end.acquired) == set(source.fetched) == bought
        assert end.rounds == report.rounds[i]
        if report.cut is not None:
            assert (end.reason != "complete") == report.cut[i]


NAMES = ("age", "iron", "scan")
COSTS = cf.CostModel.from_dict(
    {"features": {"age": 1.0, "iron": {"cost": 0.5, "needs": ["blood"]}, "scan": 6.0}, "resources": {"blood": 2.0}}
)


def stump(feature, values):
    return TreeTable.single(
        [feature, -1, -1], [0.0] * 3, [True] * 3, [1, -1, -1], [2, -1, -1], np.array([0.0, *values])[:, None]
    )


def model(*features, link="identity", weight=1.0):
    """Stumps that give 0 below zero and 1 above, of one feature each."""
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([stump(f, (0.0, 1.0)) for f in features]), NAMES)
    count = np.arange(len(features))
    return cf.StageTree(bank, (cf.Answer(count, np.full(len(count), weight), 0.0, link),), COSTS)


@pytest.fixture
def X():  # noqa: N802 - a table
    body = np.random.default_rng(0).standard_normal((400, 1))
    return body + 0.1 * np.random.default_rng(1).standard_normal((400, 3))


@pytest.mark.parametrize(
    ("prices", "cap", "cost"),
    [
        ([0.1, 0.2], 0.3, 0.3),
        ([0.1] * 10, 1.0, 1.0),
        ([0.1, 0.2, 0.3], np.nextafter(0.6, 0.0), 0.3),
        ([1e9, 0.4], 1e9, 1e9),
        ([1e9, 4e-8], 1e9, 1e9),
        ([4e-8, 1e9], 1e9, 4e-8),
        ([1e9, 4e-8], 1e9 + 0.1, np.nextafter(1e9, np.inf)),  # no double is written as their sum: the next one above
        ([1e300, 1e-300], 1e300, 1e300),
        ([1 / 3] * 3, 1.0, 0.9999999999999999),
        ([1 / 3] * 3, 0.9999999999999999, 0.9999999999999999),
        ([0.0, 5e-324], 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_a_cap_is_kept_to_the_last_digit(prices, cap, cost, acquisition):
    names = [f"x{f}" for f in range(len(prices))]
    bank = cf.WeakLearnerBank.columns(names)
    costs = cf.CostModel.from_dict({"features": dict(zip(names, prices, strict=True))})
    tree = cf.StageTree(bank, (cf.Answer(range(len(names)), np.ones(len(names)), 0.0),), costs)
    report = tree.cost(np.ones((3, len(names))), max_cost=cap, acquisition=acquisition)
    assert report.per_row.tolist() == [cost] * 3
    assert report.mean == pytest.approx(cost, rel=1e-15, abs=0.0)
    assert sum(report.by_feature.values()) == pytest.approx(cost, rel=1e-15, abs=0.0)
    row = dict.fromkeys(names, 1.0)
    assert cf.predict_one(tree, row, acquisition=acquisition, max_cost=cap).cost == cost
    end = cf.predict_one(tree, row, acquisition=acquisition, max_cost=cap, known={"x0": 1.0})
    assert sum(exact(prices[names.index(name)]) for name in end.acquired) <= exact(cap)


def test_computing_is_priced_exactly():
    """Twenty comparisons, ten learners of weight 0.1 and the uses of a feature cost what people add up."""
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([stump(0, (0.0, 1.0))] * 10), NAMES, evaluation=0.1)
    costs = cf.CostModel.from_dict({"features": dict.fromkeys(NAMES, 0.7), "split": 0.1, "learner": 0.3, "reuse": 0.01})
    tree = cf.StageTree(bank, (cf.Answer(range(10), np.ones(10), 0.0),), costs)
    assert tree.cost([[1.0] * 3]).per_row.tolist() == [2.09]
    for cap, cost in ((2.09, 2.09), (2.08, 1.95)):
        end = cf.predict_one(tree, dict.fromkeys(NAMES, 1.0), max_cost=cap)
        assert end.cost == tree.cost([[1.0] * 3], max_cost=cap).per_row[0] == cost


def test_what_a_failed_source_leaves_of_a_cap_is_exact():
    costs = cf.CostModel.from_dict({"features": {"age": 0.1, "iron": 0.1, "scan": 0.2}})
    tree = model(0, 1, 2).with_costs(costs)

    def fetch(requests):
        return {key: {name: 1.0 for name in names if name != "iron"} for key, names in requests.items()}

    lookup = Lookup(CallSource(fetch), NAMES, policy=Policy("without"))
    ((_, end),) = cf.predict_stream(tree, Sources({"all": lookup}), ["row"], max_cost=0.4)
    assert (end.acquired, end.cost) == (("age", "scan"), 0.3)
    ((_, end),) = cf.predict_stream(tree, Sources({"all": lookup}), ["row"], max_cost=0.3)
    assert (end.acquired, end.cost) == (("age", "scan"), 0.3)  # 0.3 - 0.1 < 0.2 in doubles


def test_a_cap_is_compared_without_lists_of_a_models_nodes(X):
    tree = model(*[0, 1, 2] * 20)
    with mock.patch("costframe.core.stages.stage_model.plan_stages", side_effect=AssertionError):
        assert tree.inquire(max_cost=9.5).needs == NAMES
        assert not tree.cost(X, max_cost=9.5).cut.any()
    inquiry = tree.inquire(max_cost=9.4)
    while needs := inquiry.needs:
        inquiry.supply(dict.fromkeys(needs, 1.0))
    assert sum(map(bool, tree.plan.reads)) < 20  # of 60 inner nodes: of the trees that a row can pay


def test_learners_that_cannot_be_paid_are_left_out_and_later_ones_go_on(X):
    tree = model(2, 0, 1)
    report = tree.cost(X, max_cost=3.5)
    np.testing.assert_array_equal(report.acquired, np.tile([True, True, False], (400, 1)))
    assert report.cut.all()
    assert "400 cut" in repr(report)
    np.testing.assert_array_equal(report.predictions, (X[:, :2] > 0).sum(axis=1))
    end = tree.inquire(max_cost=3.5)
    assert end.needs == ("age", "iron")  # both certain to be bought


def test_what_is_bought_for_a_learner_stays_paid():
    both = TreeTable.single(  # age first, then the scan
        [0, 2, -1, -1, -1], [0.0] * 5, [True] * 5, [1, 3, -1, -1, -1], [2, 4, -1, -1, -1], np.arange(5.0)[:, None]
    )
    bank = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([both, stump(1, (0.0, 1.0))]), NAMES)
    tree = cf.StageTree(bank, (cf.Answer([0, 1], [1.0, 1.0], 0.0),), COSTS)
    inquiry = tree.inquire(max_cost=4.0)
    assert inquiry.needs == ("age",)  # iron is certain only once age is known
    inquiry.supply({"age": -1.0})
    assert inquiry.needs == ("iron",)
    inquiry.supply({"iron": 1.0})
    assert (inquiry.answer.cost, inquiry.answer.reason, inquiry.answer.rounds) == (3.5, "max_cost", 2)
    assert tree.cost([[-1.0, 1.0, 1.0]], max_cost=4.0).per_row[0] == 3.5
    assert tree.inquire(max_cost=4.0, acquisition="learner").needs == ("iron",)


def test_a_forest_of_averages_comes_out_right(X):
    """Stumps that all say nearly the same: with one of three, the mean is expected, not a third of it."""
    forest = model(0, 1, 2, weight=1 / 3)
    full = forest.predict(X)
    assert np.abs(forest.predict(X, max_cost=1.0) - full).mean() > 0.25
    expecting = forest.with_fallbacks(X)
    assert np.abs(expecting.predict(X, max_cost=1.0) - full).mean() < 0.1
    assert np.abs(expecting.predict(X, max_cost=0.0) - full.mean()).max() < 0.02
    within = expecting.predict(X, max_cost=3.5)
    assert ((within >= full.min()) & (within <= full.max())).all()


def test_with_nothing_bought_the_mean_probability_is_expected(X):
    tree = model(0, 1, 2, link="sigmoid", weight=4.0).with_fallbacks(X)
    assert np.abs(tree.predict(X, max_cost=0.0) - tree.predict(X).mean()).max() < 0.01


def test_a_route_that_cannot_be_finished_expects_what_its_rows_are_answered(X):
    bank = model(0, 1, 2).bank
    stages = (
        cf.Route([2], [1.0], 0.0, 0.5, 1.0, 1, 2),
        cf.Answer([], np.empty((0, 1)), -1.0, "sigmoid"),
        cf.Answer([0], [2.0], 1.0, "identity"),
    )
    tree = cf.StageTree(bank, stages, COSTS)
    assert (tree.inquire(max_cost=1.0).answer.exit, tree.inquire(max_cost=1.0).answer.reason) == (1, "max_cost")
    expecting = tree.with_fallbacks(X)
    end = expecting.inquire(max_cost=1.0).answer
    assert (end.exit, end.cost, end.reason) == (0, 0.0, "max_cost")
    odds = tree.decision_function(X)
    assert 1 / (1 + np.exp(-odds.min())) < end.value < 1 / (1 + np.exp(-odds.max()))


def test_fallbacks_are_learned_when_first_needed_and_pickled_without_rows(X):
    tree = model(0, 1, 2).with_fallbacks(X, np.ones(400))
    assert isinstance(tree._fallbacks, FallbackRows)
    copy = pickle.loads(pickle.dumps(tree))  # noqa: S301 - our own bytes
    assert not isinstance(copy._fallbacks, FallbackRows)
    assert same_bits(copy.predict(X, max_cost=1.0), tree.predict(X, max_cost=1.0))


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("node_values", [0.0], r"node_values: expected the shape \(3,\), got \(1,\)"),
        ("offset", np.full((4, 1), np.nan), "offset: expected finite numbers, got nan"),
        ("knots", [0.0, 0.9, 0.9, 1.0], "knots: expected numbers that ascend from 0 to 1"),
        ("low", [[9.0]], "mean: expected numbers between low and high"),
    ],
)
def test_fallbacks_that_do_not_fit_are_refused(X, name, values, words):
    tree = model(0, 1, 2).with_fallbacks(X)
    with pytest.raises(StageError, match=words):
        attrs.evolve(tree, fallbacks=attrs.evolve(tree.fallbacks, **{name: values}))


@pytest.mark.parametrize("cap", [-1.0, np.nan, -np.inf, "much", True])
def test_a_cap_that_is_no_price_is_refused(cap):
    with pytest.raises(ParameterError, match="max_cost: expected"):
        model(0).inquire(max_cost=cap)


def test_an_infinite_cap_is_none():
    tree, row = model(0, 1, 2), [[1.0, 1.0, 1.0]]
    free = {"max_cost": np.inf}
    assert tree.predict(row, **free) == tree.predict(row)
    assert tree.decision_function(row, **free) == tree.decision_function(row)
    report = tree.cost(row, **free)
    assert (report.mean, report.cut) == (tree.cost(row).mean, tree.cost(row).cut)
    assert cf.certain(tree, 1.0).cost(row, **free).mean == cf.certain(tree, 1.0).cost(row).mean
    assert tree.inquire(**free).needs == tree.inquire().needs
    assert tree.predict(row, unavailable=["blood"], **free) != tree.predict(row)
    for end in (cf.predict_one(tree, row[0], **free), *cf.predict_many(tree, row, **free)):
        assert (end.value, end.cost, end.reason) == (3.0, tree.cost(row).mean, "complete")
    live = cf.predict_one(tree, lambda names: dict.fromkeys(names, 1.0), **free)
    assert (live.value, live.cost) == (3.0, tree.cost(row).mean)
    stepped = SteppedPredictor(NAMES, asks_for_all, COSTS)
    assert stepped.predict(row, **free) == stepped.predict(row)


@pytest.mark.parametrize("names", [["sacn"], "iorn", 3])
def test_unknown_names_are_refused(names):
    with pytest.raises(InquiryError, match="unavailable: "):
        model(0).predict([[1.0, 1.0, 1.0]], unavailable=names)


def test_limits_of_a_softened_routing_are_refused():
    with pytest.raises(ParameterError, match="max_cost: has no meaning for soft routing"):
        model(0).cost([[1.0, 1.0, 1.0]], routing="soft", max_cost=1.0)


def test_a_resource_out_of_reach_takes_its_features_along_but_known_values_count():
    tree = model(0, 1)
    inquiry = tree.inquire(unavailable="blood")
    assert inquiry.needs == ("age",)
    inquiry.supply({"age": 1.0})
    assert (inquiry.answer.value, inquiry.answer.reason) == (1.0, "unavailable")
    known = tree.inquire(known={"iron": 1.0}, unavailable=["iron", "blood"])
    known.supply({"age": 1.0})
    assert (known.answer.value, known.answer.reason, known.answer.cost) == (2.0, "complete", 1.0)
    both = tree.inquire(unavailable=["age"], max_cost=1.0).answer
    assert (both.reason, both.cost) == ("unavailable", 0.0)


def asks_for_all():
    values = yield ["age", "iron"]
    more = yield ["scan"]
    return values["age"] + more["scan"]


def test_a_stepped_model_answers_by_its_fallback_or_refuses_limits():
    with pytest.raises(ParameterError, match=r"max_cost: .* give it SteppedPredictor\(fallback"):
        SteppedPredictor(NAMES, asks_for_all, COSTS).predict([[1.0, 1.0, 1.0]], max_cost=3.0)
    stepped = SteppedPredictor(NAMES, asks_for_all, COSTS, fallback=-1.0)
    report = stepped.cost([[1.0, 1.0, 1.0]], max_cost=9.4)
    assert (report.per_row[0], report.predictions[0], report.cut[0]) == (3.5, -1.0, True)
    assert stepped.cost([[1.0, 1.0, 1.0]], max_cost=9.5).predictions[0] == 2.0
    assert stepped.inquire(max_cost=3.4).answer.cost == 0.0  # what it asks for at once is bought at once
    assert stepped.inquire(unavailable="iron").answer.reason == "unavailable"
    assert stepped.predict([[1.0, 1.0, 1.0]], unavailable="scan")[0] == -1.0


def test_an_opaque_learner_that_raises_leaves_a_capped_inquiry_as_it_was():
    def fails_once(rows):
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("offline")
        return rows[:, 0]

    calls = []
    bank = cf.WeakLearnerBank.opaque(NAMES, [OpaqueLearner("far", fails_once, (0,), 1)])
    inquiry = cf.StageTree(bank, (cf.Answer([0], [1.0], 0.0),), COSTS).inquire(max_cost=1.0)
    with pytest.raises(RuntimeError, match="offline"):
        inquiry.supply({"age": 3.0})
    assert (inquiry.needs, inquiry.cost) == (("age",), 0.0)
    inquiry.supply({"age": 3.0})
    assert (inquiry.answer.value, inquiry.answer.cost) == (3.0, 1.0)


def test_drivers_pass_limits_on():
    tree, row = model(0, 1, 2), [1.0, 1.0, 1.0]
    for limits, value in (({"max_cost": 3.5}, 2.0), ({"unavailable": ("blood",)}, 2.0), ({"max_cost": 0.0}, 0.0)):
        one = cf.predict_one(tree, row, **limits)
        assert (one.value, one.reason) == (value, "max_cost" if "max_cost" in limits else "unavailable")
        assert asyncio.run(cf.predict_one_async(tree, row, **limits)).value == value
        assert [end.value for end in cf.predict_many(tree, [row, row], **limits)] == [value, value]


def test_scores_that_differ_by_rounding_have_no_spread():
    values = np.full((50, 1), 0.3)
    values[::2] = np.nextafter(0.3, 1)
    assert _spread(values, values.mean(axis=0)) == 1
    assert _spread(np.arange(4.0), 1.5) == pytest.approx(np.sqrt(1.25))
    assert _spread(1e-200 * np.arange(4.0), 1.5e-200) == 1  # squares that vanish
