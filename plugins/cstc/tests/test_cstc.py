"""Trees of classifiers: the kit's laws, moves that lower loss + lambda * exact cost, and what trained trees do."""

import numpy as np
import pytest
from bank_cases import CHOOSING, COSTS, boosted, table
from few_rounds import few_rounds
from hypothesis import given, settings
from hypothesis import strategies as st
from kit_cases import parametrize_laws
from stagewise_cases import evaluation_of

import costframe as cf
from costframe.plugin import ParameterError
from costframe.testing import checks
from costframe_cronus import ReweightedClassifier, ReweightedRegressor
from costframe_cstc import CSTCClassifier, CSTCRegressor
from costframe_cstc.divide import divide
from costframe_cstc.grow import grow
from costframe_cstc.moves import move_routes
from costframe_cstc.node_fits import Fitter

BANK = boosted(30, 600)
COLUMNS = cf.WeakLearnerBank.columns(tuple("abcdefgh"))


@parametrize_laws("cstc", settings={"n_estimators": 10, "depth": 2, "inflation": 1.0, "ridge": 0.1})  # not chosen
def test_laws(check):
    with few_rounds():
        check()


@pytest.mark.parametrize(
    "check",
    [
        each
        for each in checks("cstc", settings={"n_estimators": 10, "depth": 2, "ridge": 0.1})
        if each.law.name in CHOOSING and each.case.title == "regressor"
    ],
    ids=lambda check: check.title,
)
def test_laws_where_settings_are_chosen(check):
    with few_rounds():
        check()


def grown(judge, depth=3, ridge=1.0, inflation=2.0):
    return grow(Fitter(judge, ridge), depth, inflation)[0]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-4, 2e-2]), st.sampled_from(["path", "learner"]))
def test_no_move_makes_it_worse(seed, tradeoff, acquisition):
    judge = evaluation_of(BANK, *table(seed, 250), tradeoff=tradeoff, acquisition=acquisition)
    guard = evaluation_of(BANK, *table(seed + 1, 150))
    fitter, tree = Fitter(judge, 1.0), grown(judge)
    placed = judge.place_thresholds(tree)
    assert judge.measure(placed).total <= judge.measure(tree).total + 1e-12
    assert judge.measure(move_routes(fitter, placed)).total <= judge.measure(placed).total + 1e-12
    assert guard.measure(move_routes(fitter, tree, guard)).total <= guard.measure(tree).total


def crossed(seed, n=400):
    """Labels that one of two dear columns tells; a free sign tells which, and says nothing of the labels itself."""
    rng = np.random.default_rng(seed)
    sign, dear = rng.choice([-1.0, 1.0], n), rng.standard_normal((n, 2))
    X = np.column_stack([sign, rng.standard_normal((n, 3)), *dear.T, rng.standard_normal((n, 2))])
    return X, np.where(sign > 0, dear[:, 0], dear[:, 1])


def test_rows_are_divided_by_what_says_nothing_of_their_labels():
    costs = cf.CostModel.from_dict({"features": dict.fromkeys("abcdgh", 0.01) | {"e": 10.0, "f": 10.0}})
    judge, guard = (evaluation_of(COLUMNS, *crossed(seed), costs, tradeoff=0.03, loss="squared") for seed in (0, 1))
    fitter = Fitter(judge, 1e-3)
    leaf = grow(fitter, 1, 1.0)[0]
    assert len(leaf.topology) == 1
    divided = divide(fitter, leaf, 2, guard)
    assert divided.topology.children.tolist() == [[1, 2], [-1, -1], [-1, -1]]
    assert np.flatnonzero(divided.weights[0, :, 0]).tolist() == [0]
    assert judge.measure(divided).loss < 1e-3
    assert guard.measure(divided).cost == pytest.approx(10, abs=0.1)
    assert len(divide(fitter, leaf, 1, guard).topology) == 1  # no deeper than is asked for


# --- trained -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "optimize", "tradeoff"), [(1, False, 0.04), (3, True, 0.03)])
def test_the_papers_quadrants_are_told_apart_before_anything_dear_is_bought(seed, optimize, tradeoff):
    means = tuple(np.random.default_rng(seed).normal(0, 2, 4)) if seed > 1 else (3.0, 1.0, -1.0, -3.0)
    data = cf.datasets.make_quadrants(2000, means=means, random_state=seed)
    train, valid, test = (data.part(part) for part in ("train", "valid", "test"))
    model = CSTCRegressor(data.costs, tradeoff, bank="columns", optimize=optimize)
    model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
    assert np.mean(np.square(model.predict(test.X) - test.y)) < 0.01
    assert model.cost(test.X).mean == pytest.approx(12, rel=0.03)
    signs = {"sign_x", "sign_z"}
    for stage in model.predictor_.stages:
        read = {model.bank_.feature_names[f] for f in model.bank_.F.tocsc()[:, stage.learners].indices}
        assert read <= signs if isinstance(stage, cf.Route) else len(read - signs) == 1


@pytest.mark.parametrize(("tradeoff", "validation"), [(0.0, True), (1e-3, False), (1e-2, True)])
def test_one_level_is_the_single_stage(tradeoff, validation):
    X, y = table(3, 400)
    noisy = y + 0.3 * np.random.default_rng(0).standard_normal(400)
    for kind, more, single, label, bank in (
        (CSTCRegressor, {}, ReweightedRegressor, noisy, {"n_estimators": 30}),
        (CSTCClassifier, {"loss": "squared"}, ReweightedClassifier, y, {"bank": "columns"}),
        (CSTCClassifier, {"loss": "squared"}, ReweightedClassifier, np.digitize(noisy, [0.0, 0.7]), {"bank": BANK}),
    ):
        parts = {"X_val": X[300:], "y_val": label[300:]} if validation else {}
        one = kind(COSTS, tradeoff, depth=1, **more, **bank).fit(X[:300], label[:300], **parts)
        other = single(COSTS, tradeoff, **bank).fit(X[:300], label[:300], **parts)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        assert one.cost(X).mean == other.cost(X).mean


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_several_classes(loss):
    """Four classes in the corners of a square, seen dearly inside each half."""
    rng = np.random.default_rng(4)
    x, z = rng.choice([-1.0, 1.0], (2, 450))
    y = np.where(x > 0, 0, 2) + (z > 0)
    X = np.column_stack([x, np.where(x > 0, z, rng.choice([-1, 1], 450)), np.where(x < 0, z, rng.choice([-1, 1], 450))])
    costs = {"features": {"side": 1.0, "right": 10.0, "left": 10.0}}
    model = CSTCClassifier(costs, 0.005, bank="columns", loss=loss, depth=2).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) == 1
    assert model.cost(X[300:]).mean == pytest.approx(11)
    assert model.predict_proba(X).shape == (450, 4)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"l1": 0.5}, "l1: has no effect with the default recipe"),
        ({"inflation": 2.0, "recipe": "paper"}, "inflation: has no effect with recipe='paper'"),
        ({"loss": "logistic", "recipe": "paper"}, "loss: expected None or 'squared'"),
        ({"steepness": 2.0, "depth": 1}, "steepness: has no effect with depth=1"),
        ({"engine": "cart", "bank": "columns"}, "engine: has no effect"),
    ],
)
def test_settings_that_are_refused(settings, wrong):
    with pytest.raises(ParameterError, match=wrong):
        CSTCClassifier(COSTS, **settings).fit(*table(1, 60))
