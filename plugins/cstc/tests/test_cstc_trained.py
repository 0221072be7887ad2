"""Trained trees: the paper's quadrants, exact costs of both kinds, one level, several classes, and settings."""

import numpy as np
import pytest
from bank_cases import COSTS, boosted, table

import costframe as cf
from costframe.core.errors import ParameterError
from costframe_cronus import ReweightedClassifier, ReweightedRegressor
from costframe_cstc import CSTCClassifier, CSTCRanker, CSTCRegressor

BANK = boosted(40, 800)


def quadrants(seed, *, random):
    means = tuple(np.random.default_rng(seed).normal(0, 2, 4)) if random else (3.0, 1.0, -1.0, -3.0)
    return cf.datasets.make_quadrants(2000, means=means, random_state=seed)


def names_read(model, stage):
    learners = model.bank_.F.tocsc()[:, stage.learners].indices
    return {model.bank_.feature_names[f] for f in learners}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize(("seed", "random", "tradeoff"), [(0, False, 0.005), (1, False, 0.04), (2, True, 0.01),
                                                          (3, True, 0.03)])  # fmt: skip
def test_the_quadrants_are_told_apart_before_anything_dear_is_bought(optimize, seed, random, tradeoff):
    data = quadrants(seed, random=random)
    train, valid, test = (data.part(part) for part in ("train", "valid", "test"))
    model = CSTCRegressor(data.costs, tradeoff, bank="columns", optimize=optimize)
    model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
    assert np.mean(np.square(model.predict(test.X) - test.y)) < 0.01
    assert model.cost(test.X).mean == pytest.approx(12, rel=0.03)
    signs = {"sign_x", "sign_z"}
    for stage in model.predictor_.stages:
        read = names_read(model, stage)
        assert read <= signs if isinstance(stage, cf.Route) else len(read - signs) == 1


@pytest.mark.parametrize("validation", [False, True])
@pytest.mark.parametrize("tradeoff", [0.0, 1e-3, 1e-2])
def test_one_level_is_the_single_stage(tradeoff, validation):
    X, y = table(3, 400)
    noisy = y + 0.3 * np.random.default_rng(0).standard_normal(400)
    pairs = [
        (CSTCRegressor, {}, ReweightedRegressor, noisy),
        (CSTCClassifier, {"loss": "squared"}, ReweightedClassifier, y),
        (CSTCClassifier, {"loss": "squared"}, ReweightedClassifier, np.digitize(noisy, [0.0, 0.7])),
    ]
    for bank, trees in ((None, {"n_estimators": 30}), ("columns", {}), (BANK, {})):
        for kind, settings, single, label in pairs:
            parts = {"X_val": X[300:], "y_val": label[300:]} if validation else {}
            one = kind(COSTS, tradeoff, depth=1, bank=bank, **settings, **trees).fit(X[:300], label[:300], **parts)
            other = single(COSTS, tradeoff, bank=bank, **trees).fit(X[:300], label[:300], **parts)
            np.testing.assert_array_equal(one.predict(X), other.predict(X))
            assert one.cost(X).mean == other.cost(X).mean


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_several_classes(loss):
    """Four classes in the corners of a square, seen dearly inside each half."""
    rng = np.random.default_rng(4)
    x, z = rng.choice([-1.0, 1.0], (2, 900))
    y = np.where(x > 0, 0, 2) + (z > 0)
    X = np.column_stack([x, np.where(x > 0, z, rng.choice([-1, 1], 900)), np.where(x < 0, z, rng.choice([-1, 1], 900))])
    costs = {"features": {"side": 1.0, "right": 10.0, "left": 10.0}}
    model = CSTCClassifier(costs, 0.005, bank="columns", loss=loss, depth=2)
    model.fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) == 1
    assert model.cost(X[600:]).mean == pytest.approx(11)
    assert model.predict_proba(X).shape == (900, 4)


def test_ranks_grades():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((600, 4))
    grade = np.clip(np.round(1.5 + X[:, 0] + 0.8 * X[:, 1]), 0, 4)
    qid = np.repeat(np.arange(30), 20)
    model = CSTCRanker(None, 1e-3, n_estimators=40, ridge=0.1, inflation=3.0).fit(X, grade, qid=qid)
    assert model.score(X, grade, qid=qid) > 0.85
    assert model.cost(X).mean <= 4


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"depth": 0}, "depth"),
        ({"depth": 11}, "depth"),
        ({"depth": 2.5}, "depth"),
        ({"loss": "hinge"}, "loss"),
        ({"optimize": "full"}, "optimize: expected True or False"),
        ({"recipe": "best"}, "recipe: expected None or 'paper'"),
        ({"inflation": 0}, "inflation"),
        ({"ridge": 0}, "ridge"),
        ({"steepness": -1}, "steepness"),
        ({"l1": 0.5}, "l1: has no effect with the default recipe"),
        ({"l1": -1, "recipe": "paper"}, "l1: expected"),
        ({"inflation": 2.0, "recipe": "paper"}, "inflation: has no effect with recipe='paper'"),
        ({"ridge": 2.0, "recipe": "paper"}, "ridge: has no effect with recipe='paper'"),
        ({"loss": "logistic", "recipe": "paper"}, "loss: expected None or 'squared'"),
        ({"inflation": 2.0, "depth": 1}, "inflation: has no effect with depth=1"),
        ({"optimize": True, "depth": 1}, "optimize: has no effect with depth=1"),
        ({"steepness": 2.0, "depth": 1}, "steepness: has no effect with depth=1"),
        ({"acquisition": "eager"}, "acquisition"),
        ({"engine": "lightgbm"}, "engine"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"engine": "cart", "bank": "columns"}, "engine: has no effect"),
        ({"bank": "forest"}, "bank: expected"),
    ],
)
def test_settings_that_are_refused(settings, wrong):
    X, y = table(1, 60)
    with pytest.raises(ParameterError, match=wrong):
        CSTCClassifier(COSTS, **settings).fit(X, y)


def test_settings_are_chosen_unless_they_are_given():
    X, y = table(1, 300)
    quick = {"bank": BANK, "depth": 2, "optimize": False}
    free = CSTCClassifier(COSTS, 1e-3, **quick).fit(X, y)
    given = [
        CSTCClassifier(COSTS, 1e-3, ridge=ridge, inflation=3.0, **quick).fit(X, y).predict_proba(X)
        for ridge in (1e-3, 100.0)
    ]
    assert not np.allclose(*given)
    assert not all(np.allclose(free.predict_proba(X), one) for one in given)


def test_trees_are_saved_and_loaded(tmp_path):
    X, y = table(1, 300)
    model = CSTCClassifier(COSTS, 1e-3, optimize=False, inflation=4.0, ridge=0.1, n_estimators=30).fit(X, y)
    cf.save(model.predictor_, tmp_path / "tree.model")
    np.testing.assert_array_equal(cf.load(tmp_path / "tree.model").predict(X), model.predictor_.predict(X))
