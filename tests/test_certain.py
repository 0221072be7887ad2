"""Rows that end as soon as they are certain: never another class, never further than epsilon, never dearer."""

import asyncio
import re
from pathlib import Path

import naive
import naive_certain
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

import costframe as cf
from costframe.core.errors import InquiryError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.classes import likeliest
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.stages.stages import Answer, Route
from costframe.testing.counting import expect_as_reported, inquire
from costframe.testing.strategies import banks, cost_models, feature_names, planned_predictors, rows, stage_trees
from costframe.testing.strategies import tree_tables as tables

UNTIL = ("class", 0.0, 0.3, 2.0)
quiet = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def sums(draw):
    """A sum of learners with classes, prices, and rows; half of the sums have trees only."""
    names = draw(feature_names())
    trees = tables(len(names), most=8).map(lambda table: WeakLearnerBank.from_trees(table, names))
    tree = draw(stage_trees(draw(trees | banks(names)), most_routes=0, n_outputs=draw(st.integers(1, 3))))
    several = tree.n_outputs > 1
    answer = evolve(
        tree.stages[0],
        link=draw(st.sampled_from(("identity", "sigmoid", "step", *("softmax",) * several))),
        level=0.0,
        temperature=draw(st.sampled_from((1.0, 0.25, 3.0))),
    )
    known = not several or answer.link == "identity" or draw(st.booleans())
    tree = StageTree(tree.bank, (answer,), classes=np.arange(max(2, tree.n_outputs)) if known else None)
    return tree, draw(cost_models(names)), draw(rows(len(names))), draw(st.sampled_from(UNTIL))


def labels(tree, X, **terms):
    """The class of each row, or several yes or no."""
    p = tree.predict(X, **terms)
    if tree.classes is None and tree.links == ("sigmoid",):
        return p > 0.5
    return likeliest(p, np.arange(max(2, tree.n_outputs)))


@quiet
@given(sums())
def test_no_class_changes_and_no_score_moves_further_than_epsilon(case):
    tree, costs, X, until = case
    tree = tree.with_costs(costs)
    whole, early = tree.decision_function(X), tree.decision_function(X, until=until)
    if until == "class":
        np.testing.assert_array_equal(labels(tree, X, until=until), labels(tree, X))
    elif until == 0.0:
        missing = np.isnan(whole)
        assert np.array_equal(missing, np.isnan(early))
        assert early[~missing].tobytes() == whole[~missing].tobytes()
    else:
        with np.errstate(invalid="ignore"):
            assert (np.abs(early - whole) <= until).all(where=np.isfinite(whole))
    report, all_paid = tree.cost(X, until=until), tree.cost(X)
    assert (report.per_row <= all_paid.per_row * (1 + 1e-9)).all()
    assert (report.acquired <= all_paid.acquired).all()
    np.testing.assert_array_equal(report.predictions, tree.predict(X, until=until))
    whole_rows = ~report.cut
    np.testing.assert_array_equal(report.acquired[whole_rows], all_paid.acquired[whole_rows])
    np.testing.assert_array_equal(report.predictions[whole_rows], all_paid.predictions[whole_rows])


@pytest.mark.kernels
@quiet
@given(sums())
def test_report_inquiry_and_naive_twin_agree(case):
    tree, costs, X, until = case
    report = tree.cost(X, costs, until=until, rounds=True)
    for i, row in enumerate(X):
        scores, cost, acquired, rounds, early = naive_certain.certain_row(tree, row, costs, until)
        end, source = inquire(tree, row, costs, until=until)
        expect_as_reported(report, i, end, source, f"row {i}", by_the_book=False)
        value = naive.link(tree.links[0], np.divide(scores, tree.stages[0].temperature))
        np.testing.assert_array_equal(np.atleast_1d(end.value), value)
        assert (set(end.acquired), end.rounds, end.reason) == (acquired, rounds, "certain" if early else "complete")
        assert end.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)


@quiet
@given(sums(), st.data())
def test_values_and_resources_known_before_cost_nothing(case, data):
    tree, costs, X, until = case
    if len(X) == 0:
        return
    row, names = X[0], tree.feature_names
    given_values = {f: float(row[f]) for f in data.draw(st.sets(st.integers(0, len(names) - 1)))}
    bought = data.draw(st.sets(st.sampled_from([r.name for r in costs.resources]))) if costs.resources else set()
    for known in (
        {names[f]: value for f, value in given_values.items()},
        [*map(names.__getitem__, given_values), *bought],
    ):
        inquiry = tree.inquire(costs, known=known, until=until)
        paid = inquiry._ledger.paid_before  # with what these need
        values = given_values if isinstance(known, dict) else {}
        _, cost, acquired, rounds, _ = naive_certain.certain_row(tree, row, costs, until, values, *paid)
        while inquiry.needs:
            assert not set(inquiry.needs).intersection(names[f] for f in values)
            inquiry.supply({name: row[names.index(name)] for name in inquiry.needs})
        assert inquiry.answer.rounds == rounds
        assert set(inquiry.answer.acquired) == acquired - {names[f] for f in paid[0]}
        assert inquiry.answer.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)


def stumps(*outputs, threshold=0.0):
    """A bank of stumps over features of their own, each with an output below and above the threshold."""
    trees = [
        TreeTable.single([f, -1, -1], [threshold, 0, 0], [True] * 3, [1, -1, -1], [2, -1, -1], np.array([[0.0], *pair]))
        for f, pair in enumerate(np.reshape(outputs, (-1, 2, 1)))
    ]
    return WeakLearnerBank.from_trees(TreeTable.concatenate(trees), [f"x{f}" for f in range(len(trees))])


def summed(bank, intercept=0.0, link="sigmoid", **more):
    return StageTree(bank, (Answer(np.arange(len(bank)), np.ones(bank.widths.sum()), intercept, link),), **more)


def test_a_row_ends_when_the_rest_cannot_change_its_class():
    tree = summed(stumps([-3.0, 3.0], [-1.0, 1.0], [-1.0, 1.0]))
    end, _ = inquire(tree, np.ones(3), cf.CostModel.uniform(tree.feature_names), until="class")
    assert (end.acquired, end.rounds, end.reason) == (("x0",), 1, "certain")
    assert end.value == tree.stages[0].predictions(np.array([[3.0]]))[0, 0]  # the middle of 1 to 5
    dear = cf.CostModel.of({"x0": 100.0, "x1": 1.0, "x2": 1.0}, tree.feature_names)
    assert inquire(tree, np.ones(3), dear, until="class")[0].acquired == ("x1", "x2", "x0")
    assert inquire(tree, np.ones(3), dear, until=3.0)[0].acquired == ("x1", "x2")
    assert inquire(tree, np.ones(3), dear, until=5.0)[0].acquired == ()


def test_features_that_are_free_with_a_resource_come_in_its_round():
    tree = summed(stumps([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]))
    blood = {"cost": 0.0, "needs": ["blood"]}
    costs = cf.CostModel.from_dict({"features": {"x0": 9.0, "x1": blood, "x2": blood}, "resources": {"blood": 5.0}})
    end, source = inquire(tree, np.ones(3), costs, until="class")
    assert (end.acquired, end.rounds, end.cost, source.charged) == (("x1", "x2"), 1, 5.0, 5.0)


def test_a_class_that_only_rounding_decides_waits_for_all():
    tiny = 1e-17  # 1 / (1 + exp(-1e-17)) is 1/2
    tree = summed(stumps([tiny, 2 * tiny], [0.0, 1.0]), classes=["no", "yes"])
    X = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert tree.cost(X, until="class").cut.tolist() == [False, True]
    assert labels(tree, X, until="class").tolist() == labels(tree, X).tolist() == [0, 1]


def test_a_score_may_end_at_either_zero():
    tree = summed(stumps([-0.0, 0.0]), intercept=-0.0, link="identity")
    X = np.array([[-1.0], [1.0]])
    assert np.signbit(tree.predict(X, until=0.0)).tolist() == np.signbit(tree.predict(X)).tolist() == [True, False]
    assert tree.inquire(until=1e-9).answer.reason == "certain"


def test_an_error_of_an_opaque_learner_changes_nothing():
    def fail_once(X):
        if not calls:
            calls.append(len(X))
            raise OSError("no answer")
        return X.sum(axis=1, keepdims=True)

    calls = []
    opaque = WeakLearnerBank.opaque(["x0", "x1"], [OpaqueLearner("service", fail_once, (1,), 1)])
    bank = WeakLearnerBank.concatenate([stumps([-1.0, 1.0], [0.0, 0.0]), opaque])
    inquiry = summed(bank).inquire(until="class")
    assert inquiry.needs == ("x1",)  # the opaque learner's: nothing bounds its output
    with pytest.raises(OSError, match="no answer"):
        inquiry.supply({"x1": 7.0})
    assert (inquiry.needs, inquiry.cost) == (("x1",), 0.0)
    inquiry.supply({"x1": 7.0})
    assert (inquiry.answer.reason, inquiry.answer.acquired) == ("certain", ("x1",))


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    tree, X = summed(stumps(*rng.normal(size=(6, 2)))), rng.normal(size=(700, 6))
    one, two = (tree.predict(X, until="class", n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_drivers_and_estimators_take_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] * X[:, 2] > 0, "yes", "no")
    model = cf.estimator("cegb", costs={f"x{f}": 1.0 + f for f in range(4)}, tradeoff=0.0, n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(model.predict(X, until="class"), model.predict(X))
    assert np.abs(model.decision_function(X, until=0.2) - model.decision_function(X)).max() <= 0.2
    report = model.cost(X, until="class")
    assert report.mean < 0.9 * model.cost(X).mean
    assert report.cut.any()
    many = cf.predict_many(model.predictor_, X[:20], until="class")
    one = cf.predict_one(model.predictor_, X[3], until="class")
    other = asyncio.run(cf.predict_one_async(model.predictor_, X[3], until="class"))
    assert [end.cost for end in many] == pytest.approx(report.per_row[:20])
    for each in (many[3], other):
        assert (each.value, each.cost, each.acquired, each.rounds, each.reason) == (
            one.value, one.cost, one.acquired, one.rounds, "certain",
        )  # fmt: skip
    assert cf.ExpectedCost(until="class").evaluate(model.predictor_, X).mean == report.mean


def test_an_adopted_pipeline_takes_it():
    data = cf.datasets.load("breast-cancer")
    train, test = data.part("train"), data.part("test")
    steps = make_column_transformer(
        (StandardScaler(), slice(20)), (KBinsDiscretizer(3, encode="onehot-dense"), [21, 22])
    )
    given = make_pipeline(steps, GradientBoostingClassifier(max_depth=2, n_estimators=30, random_state=0))
    model = cf.adopt(given.fit(train.X, train.y), feature_names=data.feature_names).with_costs(data.costs)
    whole, early = model.cost(test.X), model.cost(test.X, until="class", rounds=True)
    assert early.mean < 0.8 * whole.mean
    np.testing.assert_array_equal(early.predictions > 0.5, whole.predictions > 0.5)
    np.testing.assert_array_equal(early.predictions, model.predict(test.X, until="class"))
    assert (early.acquired <= whole.acquired).all()
    for i in range(5):
        end, source = inquire(model, test.X[i], data.costs, until="class")
        expect_as_reported(early, i, end, source, f"row {i}")


def refused(match):
    return pytest.raises(ParameterError, match=match)


def test_what_does_not_fit_is_refused():
    tree = summed(stumps([-1.0, 1.0]))
    X = np.zeros((1, 1))
    for wrong in ("classes", -0.1, np.nan, np.inf, True, [1.0]):
        with refused("^until"):
            tree.predict(X, until=wrong)
    for other in ({"max_cost": 1.0}, {"unavailable": ["x0"]}):
        for ask in (tree.predict, tree.decision_function, tree.cost):
            with refused("^until: .*max_cost or unavailable"):
                ask(X, until="class", **other)
        with refused("^until: .*max_cost or unavailable"):
            tree.inquire(until=0.5, **other)
    with refused("^until: needs acquisition='path'"):
        tree.inquire(acquisition="learner", until="class")
    with refused("^until: needs acquisition='path'"):
        tree.cost(X, acquisition="learner", until="class")
    with refused("^until: has no meaning for soft routing"):
        tree.cost(X, routing="soft", until="class")


@pytest.mark.parametrize("link", ["identity", "exp", "softplus", "signed-square", "isolation", "ranked"])
def test_a_model_without_classes_has_no_certain_class(link):
    tree = summed(stumps([-1.0, 1.0]), link=link)
    with refused(f"^until='class': .*link '{link}'.* no classes"):
        tree.inquire(until="class")
    assert tree.inquire(until=1.0).answer.reason == "certain"
    if link == "identity":
        assert tree.with_classes(["no", "yes"]).inquire(until="class").needs == ("x0",)


@settings(max_examples=3)
@given(feature_names(2).flatmap(planned_predictors))
def test_models_without_bounds_refuse_it(planned):
    def steps():
        yield "x0"
        return 1.0

    X, stepped = np.zeros((1, len(planned.feature_names))), SteppedPredictor(planned.feature_names, steps)
    for model in (planned, stepped):
        for ask in (model.predict, model.decision_function, model.cost):
            with refused(f"^until: expected a model that is one sum of learners.*{type(model).__name__}"):
                ask(X, until="class")
        with refused("^until: expected a model that is one sum of learners"):
            model.inquire(until=0.1)
        with refused("^until: expected a model that is one sum of learners"):
            cf.predict_one(model, X[0], until=0.1)


def test_models_of_several_stages_refuse_it():
    bank = stumps([-1.0, 1.0])
    answers = [Answer([0], [weight], 0.0, "sigmoid") for weight in (1.0, 2.0)]
    cascade = StageTree(bank, (Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2), *answers))
    for ask in (cascade.predict, cascade.cost):
        with refused("^until: expected a model that is one sum of learners, got 3 stages"):
            ask(np.zeros((1, 1)), until="class")
    with refused("^until: expected a model that is one sum of learners, got 3 stages"):
        cascade.inquire(until=0.1)


def test_models_that_mix_links_of_several_sums_refuse_it():
    X = np.round(np.random.default_rng(0).normal(size=(60, 2)), 1)
    boosted = GradientBoostingClassifier(n_estimators=2)
    voters = cf.adopt(VotingClassifier([("a", boosted), ("b", boosted)], voting="soft").fit(X, X[:, 0] > 0))
    for until in UNTIL:
        with refused("^until: expected a model that is one sum of learners, got one that mixes links"):
            voters.cost(X, until=until)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_means_of_trees_end_rows_by_their_means(kind):
    X = np.round(np.random.default_rng(0).normal(size=(200, 3)), 1)
    y = X[:, 0] + X[:, 1] ** 2 > 0.5
    forest = cf.adopt(kind(10, max_depth=3, random_state=0).fit(X, y)).with_costs(None)
    near, report = forest.decision_function(X, until=0.2), forest.cost(X, until=0.2)
    assert 0.01 < np.abs(near - forest.decision_function(X)).max() <= 0.2
    assert report.cut.any()
    if forest.classes is not None:
        np.testing.assert_array_equal(labels(forest, X, until="class"), labels(forest, X))


def test_wrong_values_are_refused_and_change_nothing():
    inquiry = summed(stumps([-1.0, 1.0], [-5.0, 5.0])).inquire(until="class")
    assert inquiry.needs == ("x1",)
    with pytest.raises(InquiryError, match="missing"):
        inquiry.supply({"x0": 1.0})
    inquiry.supply({"x1": np.nan})
    assert inquiry.answer.reason == "certain"


def test_the_page_runs():
    page = (Path(__file__).resolve().parents[1] / "docs" / "certain.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    names = {}
    exec(compile(code, "docs/certain.md", "exec"), names)  # noqa: S102 - our own text
    assert names["early"].mean < 0.5 * names["whole"].mean
    assert names["answer"].reason == "certain"
