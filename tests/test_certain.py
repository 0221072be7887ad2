"""Rows that end as soon as they are certain: never another class, never further than epsilon, never dearer."""

import asyncio
import pickle
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
from costframe.core.errors import InquiryError, ParameterError, StorageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.classes import likeliest
from costframe.core.predictors.mixed import MixedPredictor
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


def labels(model, X):
    """The class of each row, or several yes or no."""
    p, tree = model.predict(X), getattr(model, "inner", model)
    if tree.classes is None and tree.links == ("sigmoid",):
        return p > 0.5
    return likeliest(p, np.arange(max(2, tree.n_outputs)))


@quiet
@given(sums())
def test_no_class_changes_and_no_score_moves_further_than_epsilon(case):
    tree, costs, X, until = case
    tree = tree.with_costs(costs)
    ending = cf.certain(tree, until)
    whole, early = tree.decision_function(X), ending.decision_function(X)
    if until == "class":
        np.testing.assert_array_equal(labels(ending, X), labels(tree, X))
    elif until == 0.0:
        missing = np.isnan(whole)
        assert np.array_equal(missing, np.isnan(early))
        assert early[~missing].tobytes() == whole[~missing].tobytes()
    else:
        with np.errstate(invalid="ignore"):
            assert (np.abs(early - whole) <= until).all(where=np.isfinite(whole))
    report, all_paid = ending.cost(X), tree.cost(X)
    assert (report.per_row <= all_paid.per_row * (1 + 1e-9)).all()
    assert (report.acquired <= all_paid.acquired).all()
    np.testing.assert_array_equal(report.predictions, ending.predict(X))
    whole_rows = ~report.cut
    np.testing.assert_array_equal(report.acquired[whole_rows], all_paid.acquired[whole_rows])
    np.testing.assert_array_equal(report.predictions[whole_rows], all_paid.predictions[whole_rows])


@pytest.mark.kernels
@quiet
@given(sums())
def test_report_inquiry_and_naive_twin_agree(case):
    tree, costs, X, until = case
    ending = cf.certain(tree, until)
    report = ending.cost(X, costs, rounds=True)
    for i, row in enumerate(X):
        scores, cost, acquired, rounds, early = naive_certain.certain_row(tree, row, costs, until)
        end, source = inquire(ending, row, costs)
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
        inquiry = cf.certain(tree, until).inquire(costs, known=known)
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
    end, _ = inquire(cf.certain(tree, "class"), np.ones(3), cf.CostModel.uniform(tree.feature_names))
    assert (end.acquired, end.rounds, end.reason) == (("x0",), 1, "certain")
    assert end.value == tree.stages[0].predictions(np.array([[3.0]]))[0, 0]  # the middle of 1 to 5
    dear = cf.CostModel.of({"x0": 100.0, "x1": 1.0, "x2": 1.0}, tree.feature_names)
    for until, acquired in (("class", ("x1", "x2", "x0")), (3.0, ("x1", "x2")), (5.0, ())):
        assert inquire(cf.certain(tree, until), np.ones(3), dear)[0].acquired == acquired


def test_features_that_are_free_with_a_resource_come_in_its_round():
    tree = summed(stumps([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]))
    blood = {"cost": 0.0, "needs": ["blood"]}
    costs = cf.CostModel.from_dict({"features": {"x0": 9.0, "x1": blood, "x2": blood}, "resources": {"blood": 5.0}})
    end, source = inquire(cf.certain(tree, "class"), np.ones(3), costs)
    assert (end.acquired, end.rounds, end.cost, source.charged) == (("x1", "x2"), 1, 5.0, 5.0)


def test_a_class_that_only_rounding_decides_waits_for_all():
    tiny = 1e-17  # 1 / (1 + exp(-1e-17)) is 1/2
    tree = summed(stumps([tiny, 2 * tiny], [0.0, 1.0]), classes=["no", "yes"])
    X = np.array([[1.0, -1.0], [-1.0, 1.0]])
    ending = cf.certain(tree, "class")
    assert ending.cost(X).cut.tolist() == [False, True]
    assert labels(ending, X).tolist() == labels(tree, X).tolist() == [0, 1]


def test_a_score_may_end_at_either_zero():
    tree = summed(stumps([-0.0, 0.0]), intercept=-0.0, link="identity")
    X = np.array([[-1.0], [1.0]])
    for model in (cf.certain(tree, 0.0), tree):
        assert np.signbit(model.predict(X)).tolist() == [True, False]
    assert cf.certain(tree, 1e-9).inquire().answer.reason == "certain"


def test_an_error_of_an_opaque_learner_changes_nothing():
    def fail_once(X):
        if not calls:
            calls.append(len(X))
            raise OSError("no answer")
        return X.sum(axis=1, keepdims=True)

    calls = []
    opaque = WeakLearnerBank.opaque(["x0", "x1"], [OpaqueLearner("service", fail_once, (1,), 1)])
    bank = WeakLearnerBank.concatenate([stumps([-1.0, 1.0], [0.0, 0.0]), opaque])
    inquiry = cf.certain(summed(bank), "class").inquire()
    assert inquiry.needs == ("x1",)  # the opaque learner's: nothing bounds its output
    with pytest.raises(OSError, match="no answer"):
        inquiry.supply({"x1": 7.0})
    assert (inquiry.needs, inquiry.cost) == (("x1",), 0.0)
    inquiry.supply({"x1": 7.0})
    assert (inquiry.answer.reason, inquiry.answer.acquired) == ("certain", ("x1",))


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    model, X = cf.certain(summed(stumps(*rng.normal(size=(6, 2)))), "class"), rng.normal(size=(700, 6))
    one, two = (model.predict(X, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_drivers_and_estimators_take_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] * X[:, 2] > 0, "yes", "no")
    model = cf.estimator("cegb", costs={f"x{f}": 1.0 + f for f in range(4)}, tradeoff=0.0, n_estimators=20).fit(X, y)
    ending = cf.certain(model, "class")
    assert (ending.kind, ending.classes_.tolist(), ending.costs_) == ("classifier", ["no", "yes"], model.costs_)
    assert repr(ending).startswith("FittedEstimator(classifier, CertainPredictor(until 'class', 1 stage")
    np.testing.assert_array_equal(ending.predict(X), model.predict(X))
    np.testing.assert_array_equal(ending.predict_proba(X)[:, 1], ending.predictor_.predict(X))
    assert np.abs(cf.certain(model, 0.2).decision_function(X) - model.decision_function(X)).max() <= 0.2
    report = ending.cost(X)
    assert report.mean < 0.9 * model.cost(X).mean
    assert report.cut.any()
    many, one = cf.predict_many(ending, X[:20]), cf.predict_one(ending, X[3])
    assert [end.cost for end in many] == pytest.approx(report.per_row[:20])
    for each in (many[3], asyncio.run(cf.predict_one_async(ending, X[3]))):
        assert (each.value, each.cost, each.acquired, each.rounds, each.reason) == (
            one.value, one.cost, one.acquired, one.rounds, "certain",
        )  # fmt: skip
    assert cf.ExpectedCost().evaluate(ending.predictor_, X).mean == report.mean
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ending)).cost(X).per_row, report.per_row)  # noqa: S301 - ours


def test_models_around_a_sum_take_it(tmp_path):
    data = cf.datasets.load("breast-cancer")
    train, test = data.part("train"), data.part("test")
    steps = make_column_transformer(
        (StandardScaler(), slice(20)), (KBinsDiscretizer(3, encode="onehot-dense"), [21, 22])
    )
    given = make_pipeline(steps, GradientBoostingClassifier(max_depth=2, n_estimators=30, random_state=0))
    piped = cf.adopt(given.fit(train.X, train.y), feature_names=data.feature_names).with_costs(data.costs)
    table, free = data.costs.to_dict(), data.feature_names[0]
    costs = cf.CostModel.from_dict(table | {"features": table["features"] | {free: 0.0}})
    for model in (piped, MixedPredictor(*[piped.with_costs(costs)] * 2, 0.4, (free,))):
        ending = cf.certain(model, "class")
        whole, early = model.cost(test.X), ending.cost(test.X, rounds=True)
        assert early.mean < 0.8 * whole.mean
        np.testing.assert_array_equal(early.predictions > 0.5, whole.predictions > 0.5)
        np.testing.assert_array_equal(early.predictions, ending.predict(test.X))
        assert (early.acquired <= whole.acquired).all()
        for i in range(5):
            end, source = inquire(ending, test.X[i], model.costs)
            expect_as_reported(early, i, end, source, f"row {i}")
        with pytest.raises(StorageError, match=r"CertainPredictor; save the model without cf\.certain"):
            cf.save(ending, tmp_path / "a")


def refused(match):
    return pytest.raises(ParameterError, match=match)


def test_what_does_not_fit_is_refused():
    tree = summed(stumps([-1.0, 1.0]))
    X = np.zeros((1, 1))
    for wrong in ("classes", -0.1, np.nan, np.inf, True, [1.0], None):
        with refused("^until: expected"):
            cf.certain(tree, wrong)
    for model in (cf.certain(tree, "class"), cf.certain(tree, 0.5)):
        for other in ({"max_cost": 1.0}, {"unavailable": ["x0"]}):
            for ask in (model.predict, model.decision_function, model.cost):
                with refused("^max_cost or unavailable: "):
                    ask(X, **other)
            with refused("^max_cost or unavailable: "):
                model.inquire(**other)
        with refused("^acquisition: expected 'path'.* got 'learner'"):
            model.inquire(acquisition="learner")
        with refused("^acquisition: expected 'path'.* got 'learner'"):
            model.cost(X, acquisition="learner")
        with refused("^routing: expected 'hard'.* got 'soft'"):
            model.cost(X, routing="soft")


@pytest.mark.parametrize("link", ["identity", "exp", "softplus", "signed-square", "isolation", "ranked"])
def test_a_model_without_classes_has_no_certain_class(link):
    tree = summed(stumps([-1.0, 1.0]), link=link)
    with refused(f"^until='class': .*link '{link}'.* no classes"):
        cf.certain(tree, "class")
    assert cf.certain(tree, 1.0).inquire().answer.reason == "certain"
    if link == "identity":
        assert cf.certain(tree.with_classes(["no", "yes"]), "class").inquire().needs == ("x0",)


@settings(max_examples=3)
@given(feature_names(2).flatmap(planned_predictors))
def test_models_without_bounds_are_refused(planned):
    def steps():
        yield "x0"
        return 1.0

    stepped, tree = SteppedPredictor(planned.feature_names, steps), summed(stumps([-1.0, 1.0]))
    for model in (planned, stepped, cf.FittedEstimator(stepped), cf.certain(tree, 0.1)):
        name = type(getattr(model, "predictor_", model)).__name__
        with refused(f"^model: expected one sum of learners, .*a {name} does not know what it can still add"):
            cf.certain(model, 0.1)
    for other, named in (
        (GradientBoostingClassifier(), "adopt"),
        (cf.estimator("cegb"), "not fitted"),
        (tree.bank, ""),
    ):
        with refused(f"^model: expected a Predictor or a fitted estimator, got .*{named}"):
            cf.certain(other, 0.1)


def test_models_of_several_sums_are_refused():
    answers = [Answer([0], [weight], 0.0, "sigmoid") for weight in (1.0, 2.0)]
    cascade = StageTree(stumps([-1.0, 1.0]), (Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2), *answers))
    X = np.round(np.random.default_rng(0).normal(size=(60, 2)), 1)
    boosted = GradientBoostingClassifier(n_estimators=2)
    voters = cf.adopt(VotingClassifier([("a", boosted), ("b", boosted)], voting="soft").fit(X, X[:, 0] > 0))
    for until in UNTIL:
        for model, named in ((cascade, "3 stages"), (voters, "one that mixes links")):
            with refused(f"^model: expected one sum of learners, got {named}"):
                cf.certain(model, until)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_means_of_trees_end_rows_by_their_means(kind):
    X = np.round(np.random.default_rng(0).normal(size=(200, 3)), 1)
    y = X[:, 0] + X[:, 1] ** 2 > 0.5
    forest = cf.adopt(kind(10, max_depth=3, random_state=0).fit(X, y)).with_costs(None)
    near, report = cf.certain(forest, 0.2).decision_function(X), cf.certain(forest, 0.2).cost(X)
    assert 0.01 < np.abs(near - forest.decision_function(X)).max() <= 0.2
    assert report.cut.any()
    if forest.classes is not None:
        np.testing.assert_array_equal(labels(cf.certain(forest, "class"), X), labels(forest, X))


def test_wrong_values_are_refused_and_change_nothing():
    inquiry = cf.certain(summed(stumps([-1.0, 1.0], [-5.0, 5.0])), "class").inquire()
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
