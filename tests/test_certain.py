"""Rows that end as soon as they are certain: never another class, never further than epsilon, never dearer."""

import asyncio
import pickle

import naive
import naive_certain
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from test_planned import chain
from test_walks import QUIET
from wrapper_cases import MixedPredictor

import costframe as cf
from costframe import Answer, Route, StageTree, WeakLearnerBank
from costframe.errors import StorageError
from costframe.plugin import ParameterError, TreeTable
from costframe.testing import expect_as_reported, inquire, strategies

UNTIL = ("class", 0.0, 0.3, 2.0)


@st.composite
def sums(draw):
    """A sum of learners with classes, prices, and rows; half of the sums have trees only."""
    names = draw(strategies.feature_names())
    trees = strategies.tree_tables(len(names), most=8).map(lambda table: WeakLearnerBank.from_trees(table, names))
    tree = draw(
        strategies.stage_trees(draw(trees | strategies.banks(names)), most_routes=0, n_outputs=draw(st.integers(1, 3)))
    )
    several = tree.n_outputs > 1
    link = draw(st.sampled_from(("identity", "sigmoid", "step", *("softmax",) * several)))
    answer = evolve(tree.stages[0], link=link, level=0.0, temperature=draw(st.sampled_from((1.0, 0.25, 3.0))))
    known = not several or answer.link == "identity" or draw(st.booleans())
    tree = StageTree(tree.bank, (answer,), classes=np.arange(max(2, tree.n_outputs)) if known else None)
    return (
        tree.with_costs(draw(strategies.cost_models(names))),
        draw(strategies.rows(len(names))),
        draw(st.sampled_from(UNTIL)),
    )


def labels(model, X):
    """The class of each row, or several yes or no."""
    p, tree = model.predict(X), getattr(model, "inner", model)
    if tree.classes is None and tree.links == ("sigmoid",):
        return p > 0.5
    return p.argmax(axis=1) if p.ndim == 2 else (p > 0.5).astype(int)


@QUIET
@given(sums())
def test_no_class_changes_and_no_score_moves_further_than_epsilon(case):
    tree, X, until = case
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
    np.testing.assert_array_equal(report.acquired[~report.cut], all_paid.acquired[~report.cut])
    np.testing.assert_array_equal(report.predictions[~report.cut], all_paid.predictions[~report.cut])


@pytest.mark.engine
@QUIET
@given(sums(), st.data())
def test_report_inquiry_and_naive_twin_agree(case, data):
    tree, X, until = case
    ending, names, costs = cf.certain(tree, until), tree.feature_names, tree.costs
    report = ending.cost(X, rounds=True)
    for i, row in enumerate(X):
        scores, cost, acquired, rounds, early = naive_certain.certain_row(tree, row, costs, until)
        end, source = inquire(ending, row, costs)
        expect_as_reported(report, i, end, source, f"row {i}", by_the_book=False)
        value = naive.link(tree.links[0], np.divide(scores, tree.stages[0].temperature))
        np.testing.assert_array_equal(np.atleast_1d(end.value), value)
        assert (set(end.acquired), end.rounds, end.reason) == (acquired, rounds, "certain" if early else "complete")
        assert end.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)
    for row in X[:1]:  # values and resources known before cost nothing
        values = {f: float(row[f]) for f in data.draw(st.sets(st.integers(0, len(names) - 1)))}
        bought = data.draw(st.sets(st.sampled_from(costs.resource_names))) if costs.resources else set()
        for known in ({names[f]: value for f, value in values.items()}, [*map(names.__getitem__, values), *bought]):
            own = values if isinstance(known, dict) else {}
            paid = ending.inquire(known=known).ledger.paid_before  # with what these need
            _, cost, acquired, rounds, _ = naive_certain.certain_row(tree, row, costs, until, own, *paid)
            end, source = inquire(ending, row, costs, known=known)
            assert not set(source.fetched).intersection(names[f] for f in own)
            assert (end.rounds, set(end.acquired)) == (rounds, acquired - {names[f] for f in paid[0]})
            assert end.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)


def stumps(*outputs):
    """A bank of stumps over features of their own, each with an output below and above zero."""
    trees = [
        TreeTable.single([f, -1, -1], [0.0] * 3, [True] * 3, [1, -1, -1], [2, -1, -1], np.array([[0.0], *pair]))
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
    end, _ = inquire(cf.certain(tree, "class"), np.ones(3), costs)
    assert (end.acquired, end.rounds, end.cost) == (("x1", "x2"), 1, 5.0)


def test_what_only_rounding_decides_waits_for_all_and_zeros_keep_their_signs():
    tiny = 1e-17  # 1 / (1 + exp(-1e-17)) is 1/2
    tree = summed(stumps([tiny, 2 * tiny], [0.0, 1.0]), classes=["no", "yes"])
    X, ending = np.array([[1.0, -1.0], [-1.0, 1.0]]), cf.certain(tree, "class")
    assert ending.cost(X).cut.tolist() == [False, True]
    assert labels(ending, X).tolist() == labels(tree, X).tolist() == [0, 1]
    tree = summed(stumps([-0.0, 0.0]), intercept=-0.0, link="identity")
    for model in (cf.certain(tree, 0.0), tree):
        assert np.signbit(model.predict([[-1.0], [1.0]])).tolist() == [True, False]
    assert cf.certain(tree, 1e-9).inquire().answer.reason == "certain"


def test_drivers_estimators_and_threads_take_it():
    X = np.random.default_rng(0).normal(size=(600, 4))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] * X[:, 2] > 0, "yes", "no")
    model = cf.estimator("cegb", costs={f"x{f}": 1.0 + f for f in range(4)}, tradeoff=0.0, n_estimators=20).fit(X, y)
    ending = cf.certain(model, "class")
    assert (ending.kind, ending.classes_.tolist(), ending.costs_) == ("classifier", ["no", "yes"], model.costs_)
    np.testing.assert_array_equal(ending.predict(X), model.predict(X))
    np.testing.assert_array_equal(ending.predictor_.predict(X, n_jobs=2), ending.predictor_.predict(X, n_jobs=1))
    assert np.abs(cf.certain(model, 0.2).decision_function(X) - model.decision_function(X)).max() <= 0.2
    report = ending.cost(X)
    assert report.mean < 0.9 * model.cost(X).mean
    many, one = cf.predict_many(ending, X[:20]), cf.predict_one(ending, X[3])
    assert [end.cost for end in many] == pytest.approx(report.per_row[:20])
    for each in (many[3], asyncio.run(cf.predict_one_async(ending, X[3]))):
        assert (each.value, each.acquired, each.reason) == (one.value, one.acquired, "certain")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ending)).cost(X).per_row, report.per_row)  # noqa: S301 - ours


def test_models_around_a_sum_take_it(tmp_path):
    data = cf.datasets.load("breast-cancer")
    train, test = data.part("train"), data.part("test")
    bins = KBinsDiscretizer(3, encode="onehot-dense")
    steps = make_column_transformer((StandardScaler(), slice(20)), (bins, [21, 22]))
    given = make_pipeline(steps, GradientBoostingClassifier(max_depth=2, n_estimators=30, random_state=0))
    piped = cf.adopt(given.fit(train.X, train.y), feature_names=data.feature_names).with_costs(data.costs)
    table, free = data.costs.to_dict(), data.feature_names[0]
    costs = cf.CostModel.from_dict(table | {"features": table["features"] | {free: 0.0}})
    for model in (piped, MixedPredictor(*[piped.with_costs(costs)] * 2, 0.4, (free,))):
        ending = cf.certain(model, "class")
        whole, early = model.cost(test.X), ending.cost(test.X, rounds=True)
        assert early.mean < 0.8 * whole.mean
        np.testing.assert_array_equal(early.predictions > 0.5, whole.predictions > 0.5)
        for i in range(5):
            end, source = inquire(ending, test.X[i], model.costs)
            expect_as_reported(early, i, end, source, f"row {i}")
        with pytest.raises(StorageError, match=r"CertainPredictor; save the model without cf\.certain"):
            cf.save(ending, tmp_path / "a")


TREE = summed(stumps([-1.0, 1.0]))


def cascade():
    answers = [Answer([0], [weight], 0.0, "sigmoid") for weight in (1.0, 2.0)]
    return StageTree(TREE.bank, (Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2), *answers))


def voters():
    X, boosted = np.arange(60.0)[:, None], GradientBoostingClassifier(n_estimators=2)
    return cf.adopt(VotingClassifier([("a", boosted), ("b", boosted)], voting="soft").fit(X, X[:, 0] > 30))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cf.certain(TREE, np.nan), "^until: expected"),
        (lambda: cf.certain(summed(TREE.bank, link="exp"), "class"), "^until='class': .*link 'exp'.* no classes"),
        (lambda: cf.certain(chain(), 0.1), "^model: expected one sum of learners, .*a PlannedPredictor does not know"),
        (lambda: cf.certain(cf.certain(TREE, 0.1), 0.1), "a CertainPredictor does not know what"),
        (lambda: cf.certain(cascade(), 0.1), "^model: expected one sum of learners, got 3 stages"),
        (lambda: cf.certain(voters(), "class"), "^model: expected one sum of learners, got one that mixes links"),
        (lambda: cf.certain(cf.estimator("cegb"), 0.1), "expected a Predictor or a fitted .*not fitted"),
        (lambda: cf.certain(TREE, 0.1).cost([[0.0]], acquisition="learner"), "^acquisition: expected 'path'"),
        (lambda: cf.certain(TREE, 0.1).cost([[0.0]], routing="soft"), "^routing: expected 'hard'.* got 'soft'"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(ParameterError, match=words):
        call()
