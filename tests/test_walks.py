"""One law of walks: reports, predictions and inquiries agree on any terms, for saved models and after errors too."""

import attrs
import naive
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive_limits import exact
from preparation_cases import prepared_predictors
from wrapper_cases import MixedPredictor, OpaqueOperation, Preparation, PreparedPredictor

import costframe as cf
from costframe import WeakLearnerBank
from costframe.core.predictors.guarded import Bar, GuardedPredictor
from costframe.core.tables.conditions import Condition
from costframe.plugin import OpaqueLearner, TreeTable
from costframe.testing import expect_as_reported, expect_retries, inquire, inquiries, same_bits, strategies

pytestmark = pytest.mark.engine
MORE = settings(max_examples=max(100, settings().max_examples))
FEWER = settings(max_examples=max(20, settings().max_examples // 3))
QUIET = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
CAPS = (None, 0.0, 0.1, 1.0, 2.5, 3.6, 6.0, 1e6, 3e6)


@st.composite
def fine_prices(draw, names):
    """Draw prices, in half of the cases with digits that no sum of doubles keeps, and tiny ones beside huge ones."""
    costs, factor = draw(strategies.cost_models(names)), st.sampled_from((1.0, 1 / 3, 1e-8, 1e9 + 0.4, 1e-290))
    if draw(st.booleans()):
        return costs
    features = [attrs.evolve(one, cost=one.cost * draw(factor)) for one in costs.features]
    more = {name: getattr(costs, name) * draw(factor) for name in ("split", "learner", "reuse")}
    return attrs.evolve(costs, features=tuple(features), **more)


@st.composite
def stages(draw, names):
    tree = draw(strategies.stage_trees(draw(strategies.banks(names, labels=True)))).with_costs(draw(fine_prices(names)))
    return tree.with_fallbacks(draw(strategies.rows(len(names), most=12))) if draw(st.booleans()) else tree


@st.composite
def plans(draw, names):
    plan = draw(strategies.planned_predictors(names, planned=True))
    return plan.with_costs(draw(strategies.cost_models(names, computing=False)))


@st.composite
def mixtures(draw, names):
    costs, by = draw(strategies.cost_models(names)), draw(st.sets(st.sampled_from(names), min_size=1))
    free = tuple(attrs.evolve(each, cost=0.0, needs=()) if each.name in by else each for each in costs.features)
    n_outputs = draw(st.integers(1, 2))
    parts = [
        draw(strategies.stage_trees(draw(strategies.banks(names, opaque=False)), n_outputs=n_outputs)) for _ in range(2)
    ]
    if len({part.n_predictions for part in parts}) > 1:
        parts[1] = parts[0]
    parts = [part.with_costs(attrs.evolve(costs, features=free)) for part in parts]
    return MixedPredictor(*parts, draw(st.sampled_from((0.0, 0.5, 1.0))), sorted(by))


@st.composite
def guards(draw, names):
    tree = draw(stages(names))
    tellers = sorted(draw(st.sets(st.sampled_from(names), min_size=1, max_size=2)))
    others = [name for name in names if name not in tellers]
    assume(others)
    prices = tree.costs.features
    free = tuple(attrs.evolve(each, cost=0.0, needs=()) if each.name in tellers else each for each in prices)
    condition = st.builds(
        Condition,
        st.sampled_from(tellers),
        up_to=st.sampled_from((-1.0, 0.0, 1.0)),
        missing=st.booleans(),
    )
    features = st.lists(st.sampled_from(others), min_size=1, max_size=2, unique=True)
    bars = draw(st.lists(st.builds(Bar, features, st.lists(condition, min_size=1, max_size=1)), min_size=1, max_size=2))
    return GuardedPredictor(tree.with_costs(attrs.evolve(tree.costs, features=free)), bars)


MODELS = {"stages": stages, "prepared": prepared_predictors, "mixed": mixtures, "guarded": guards}


@st.composite
def terms(draw, model):
    names = st.sampled_from([*model.feature_names, *model.costs.resource_names])
    return {"max_cost": draw(st.sampled_from(CAPS)), "unavailable": sorted(draw(st.sets(names, max_size=2)))}


@QUIET
@pytest.mark.parametrize("kind", MODELS)
@given(st.data(), st.sampled_from(("path", "learner")))
def test_reports_predictions_inquiries_and_a_counting_source_agree_on_any_terms(kind, data, acquisition):
    names = data.draw(strategies.feature_names())
    model, X = data.draw(MODELS[kind](names)), data.draw(strategies.rows(len(names)))
    limits, costs = data.draw(terms(model)), model.costs
    needs = costs.select(names).needs
    barred = {f for f, name in enumerate(names) if name in limits["unavailable"]}
    barred |= {f for f, r in zip(*np.nonzero(needs), strict=True) if costs.resource_names[r] in limits["unavailable"]}
    report = model.cost(X, acquisition=acquisition, rounds=True, **limits)
    assert acquisition == "learner" or same_bits(model.predict(X, **limits), report.predictions)
    assert not report.acquired[:, sorted(barred)].any()
    parts = sum(report.by_feature.values()) + sum(report.by_resource.values()) + report.evaluation.total
    assert report.mean == pytest.approx(parts, rel=1e-9, abs=1e-9)
    for i, row in enumerate(X):
        end, source = inquire(model, row, costs, acquisition, **limits)
        expect_as_reported(report, i, end, source, f"row {i}", by_the_book=False)
        assert same_bits(end.value, report.predictions[i])
        assert source.paid <= exact(end.cost)
        assert limits["max_cost"] is None or end.cost <= limits["max_cost"]
        if kind == "stages" and model.fallbacks is not None and end.reason != "complete":
            assert not np.isnan(end.value).any()  # the link of a large score may be infinite


@QUIET
@pytest.mark.parametrize("kind", MODELS)
@FEWER
@given(st.data(), st.booleans())
def test_what_is_known_is_neither_asked_for_nor_charged(kind, data, by_value):
    names = data.draw(strategies.feature_names())
    model, X = data.draw(MODELS[kind](names)), data.draw(strategies.rows(len(names), 3))
    known = data.draw(st.sets(st.sampled_from(names)))
    for row in X:
        values = dict(zip(names, row.tolist(), strict=True))
        end, source = inquire(model, row, model.costs)
        given_ = {name: values[name] for name in known} if by_value else sorted(known)
        again, more = inquire(model, row, model.costs, known=given_)
        assert same_bits(again.value, end.value)
        assert set(more.fetched) == set(source.fetched) - (known if by_value else set())
        if not model.costs.reuse:
            price = [model.costs.full_cost(sorted(each)) for each in ({*source.fetched, *known}, known, source.fetched)]
            wanted, lost = end.cost - price[2] + price[0] - price[1], 1e-12 * sum(price)  # last digits
            assert again.cost == pytest.approx(wanted, rel=1e-9, abs=1e-5 + lost)


def seen(model, row, limits):
    """Everything that can be seen of an inquiry."""
    inquiry, steps = model.inquire(**limits), []
    while inquiry.needs:
        steps.append((inquiry.needs, inquiry.cost))
        inquiry.supply({name: row[model.feature_names.index(name)] for name in inquiry.needs})
    end = inquiry.answer
    return steps, np.asarray(end.value).tobytes(), end.cost, end.acquired, end.rounds, end.exit, end.reason


@QUIET
@pytest.mark.parametrize("kind", ["plan", *MODELS])
@FEWER
@given(st.data())
def test_the_loaded_model_is_the_saved_one_to_the_last_byte(tmp_path_factory, kind, data):
    names = data.draw(strategies.feature_names())
    model, X = data.draw((MODELS | {"plan": plans})[kind](names)), data.draw(strategies.rows(len(names), 3))
    path = tmp_path_factory.getbasetemp() / "model"
    cf.save(model, path)
    content = path.read_bytes()
    opaques = () if kind == "mixed" else getattr(model, "inner", model).bank.opaques
    opaques += model.preparation.opaques if kind == "prepared" else ()
    again = cf.load(path, {learner.name: learner.function for learner in opaques})
    assert (again.costs, again.categories) == (model.costs, model.categories)
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    for limits in ({}, data.draw(terms(model))):
        assert again.predict(X, **limits).tobytes() == model.predict(X, **limits).tobytes()
        one, other = again.cost(X, **limits), model.cost(X, **limits)
        assert (one.per_row.tobytes(), one.by_resource) == (other.per_row.tobytes(), other.by_resource)
        assert [seen(again, row, limits) for row in X] == [seen(model, row, limits) for row in X]
    cf.save(again, path)
    assert path.read_bytes() == content


# --- which features a trip asks for ---


def drawn_tree(rng, n_features, depth):
    """A drawn tree in preorder, whose tests repeat features on a way."""
    feature, left, right = [], [], []

    def grow(level):
        node = len(feature)
        for each in (feature, left, right):
            each.append(-1)
        if level < depth and rng.random() < 0.85:
            feature[node] = int(rng.integers(n_features))
            left[node], right[node] = grow(level + 1), grow(level + 1)
        return node

    grow(0)
    n = len(feature)
    return TreeTable.single(feature, rng.normal(size=n).tolist(), [False] * n, left, right, rng.normal(size=n))


@pytest.mark.parametrize(("n_features", "spare"), [(3, 0), (64, 100), (65, 0), (200, 100)])
def test_each_trip_asks_for_the_features_on_every_path(n_features, spare):
    rng = np.random.default_rng(n_features)
    trees = TreeTable.concatenate([drawn_tree(rng, n_features, 6) for _ in range(8)])
    names = tuple(f"f{f}" for f in range(n_features + spare))
    model = cf.StageTree(WeakLearnerBank.from_trees(trees, names), (cf.Answer(range(8), [1.0] * 8, 0.0),))
    for values in rng.normal(size=(5, len(names))):
        inquiry, known = model.inquire(), {}
        while inquiry.needs:
            expected = set().union(*(naive.certain(trees, t, known) for t in range(8)))
            assert inquiry.needs == tuple(names[f] for f in sorted(expected))
            known |= {f: values[f] for f in expected}
            inquiry.supply({names[f]: values[f] for f in expected})
        assert inquiry.answer.value == model.predict(values[None])[0]


# --- steps that fail ---


@QUIET
@pytest.mark.parametrize("kind", ["stages", "plan", "prepared"])
@settings(max_examples=10)
@given(st.data())
def test_a_step_that_fails_changes_nothing(kind, data):
    """In trees of stages with opaque learners, under limits or until they are certain; in plans; from raw columns."""
    model = data.draw((MODELS | {"plan": plans})[kind](("a", "b", "c")))
    model = model.with_costs(None) if kind == "stages" else model
    row = [data.draw(st.sampled_from(strategies.NASTY)) for _ in model.feature_names]
    for what, begin in inquiries(model, np.array([row])):
        expect_retries(begin, dict(zip(model.feature_names, row, strict=True)), what)


@pytest.mark.parametrize("limits", [{}, {"max_cost": 2.0}])
@pytest.mark.parametrize("behind", [False, True])
def test_a_step_that_failed_is_taken_again_with_other_values(behind, limits):
    """An opaque learner, or an operation behind which columns stand, raises at first."""
    calls = []

    def fails_first(rows):
        calls.append(rows)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return rows[:, :1]

    bank = WeakLearnerBank.columns(("a", "b"))
    if not behind:
        learners = [OpaqueLearner(name, fails_first, (f,)) for f, name in enumerate("ab")]
        bank = WeakLearnerBank.opaque(("a", "b"), learners)
    model = cf.StageTree(bank, (cf.Answer([0, 1], [1.0, 1.0], 0.0),))
    if behind:
        model = PreparedPredictor(
            model, Preparation(("a", "b"), [OpaqueOperation("a", fails_first, (0,))], (2, 1), ("a", "b"))
        )
    inquiry = model.inquire(**limits)
    with pytest.raises(KeyboardInterrupt):
        inquiry.supply(dict.fromkeys(inquiry.needs, 70.0))
    assert (inquiry.cost, inquiry.acquired) == (0.0, ())
    while needs := inquiry.needs:
        inquiry.supply({name: {"a": 1.0, "b": 2.0}[name] for name in needs})
    assert (inquiry.answer.value, inquiry.answer.cost, inquiry.answer.acquired) == (3.0, 2.0, ("a", "b"))


def test_an_answer_that_is_changed_changes_no_other():
    trees = TreeTable.single([-1], [0.0], [False], [-1], [-1], np.array([[1.0, 2.0]]))
    model = cf.StageTree(WeakLearnerBank.from_trees(trees, ("a",)), (cf.Answer([0], np.eye(2), [0.0, 0.0]),))
    first = model.inquire()
    first.answer.value[:] = 7.0
    assert first.answer.value.tolist() == model.inquire().answer.value.tolist() == [1.0, 2.0]
