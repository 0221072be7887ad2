"""A predictor around another keeps its word: fallbacks and terms go through, or are refused by name."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from wrapper_cases import AnnotatedPredictor, MixedPredictor

import costframe as cf
from costframe import SteppedPredictor
from costframe.plugin import Card, ParameterError

NAMES = tuple("abcde")
PRICES = cf.CostModel.of({"a": 0.0, "b": 1.0, "c": 2.0, "d": 1.0, "e": 1.0}, NAMES)
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5))
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
TRAIN, TEST = X[:300], X[300:]
PIPE = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=8, random_state=0)).fit(TRAIN, Y[:300])
TREE = cf.adopt(PIPE[-1], NAMES)
PIPED = cf.adopt(PIPE, NAMES)


def step():
    return 0.25 if (yield ["b"])["b"] > 0 else (yield ["c"])["c"]


PREDICTORS = {
    "tree": TREE,
    "prepared": PIPED,
    "annotated": PIPED.with_categories({"e": ("u", "v")}),
    "mixed": MixedPredictor(TREE.with_costs(PRICES), TREE.with_costs(PRICES), 0.5, ["a"]),
    "prepared around certain": cf.certain(PIPED, "class"),
    "certain": cf.certain(TREE, "class"),
    "stepped": SteppedPredictor(NAMES, step, fallback=0.5),
    "stepped, annotated": AnnotatedPredictor(
        SteppedPredictor(NAMES, step, fallback=0.5), Card(NAMES, PRICES, classes=[0, 1])
    ),
    "planned": cf.estimator("planner", costs=PRICES, random_state=0).fit(TRAIN[:100], Y[:100]).predictor_,
}
TAKES_NO_LIMITS = {"certain", "prepared around certain"}


def test_a_pipeline_has_the_fallbacks_of_its_last_step(tmp_path):
    scaled, raw = PIPE[0].transform(TRAIN), TRAIN
    tree, piped = TREE.with_costs(PRICES).with_fallbacks(scaled), PIPED.with_costs(PRICES).with_fallbacks(raw)
    assert (PIPED.with_costs(PRICES).predict(TEST, max_cost=1.0) != piped.predict(TEST, max_cost=1.0)).any()
    for limits in ({"max_cost": 1.0}, {"unavailable": ["c"]}):
        wanted = tree.predict(PIPE[0].transform(TEST), **limits)
        off = np.abs(piped.predict(TEST, **limits) - wanted)  # other rows are crossed, other copies drawn
        assert off.mean() < (0.02 if "max_cost" in limits else 0.1)
        scores = piped.decision_function(TEST, **limits)
        assert 1 / (1 + np.exp(-scores)) == pytest.approx(piped.predict(TEST, **limits))
        assert piped.cost(TEST, **limits).predictions.tolist() == piped.predict(TEST, **limits).tolist()
    cf.save(piped, tmp_path / "one.model")
    loaded = cf.load(tmp_path / "one.model")
    assert loaded.predict(TEST, max_cost=1.0).tolist() == piped.predict(TEST, max_cost=1.0).tolist()


def test_a_mixture_and_what_is_around_a_pipeline_have_fallbacks():
    tree = TREE.with_costs(PRICES)
    own = tree.with_fallbacks(TRAIN)
    mixed = MixedPredictor(tree, tree, 0.5, ["a"]).with_fallbacks(TRAIN)
    assert mixed.predict(TEST, max_cost=1.0).tolist() == own.predict(TEST, max_cost=1.0).tolist()
    named = PREDICTORS["annotated"].with_fallbacks(TRAIN)
    own = PIPED.with_fallbacks(TRAIN)
    assert named.predict(TEST, max_cost=1.0).tolist() == own.predict(TEST, max_cost=1.0).tolist()


def test_what_takes_no_limits_refuses_fallbacks_for_them():
    for name in TAKES_NO_LIMITS:
        with pytest.raises(ParameterError, match="with_fallbacks: rows that end when they are certain take no limits"):
            PREDICTORS[name].with_fallbacks(TRAIN)


@pytest.mark.parametrize("limits", [{}, {"max_cost": 2.0}, {"unavailable": ("c",)}], ids=["free", "capped", "without"])
@pytest.mark.parametrize("name", PREDICTORS)
def test_a_term_that_a_predictor_does_not_take_is_an_error(name, limits):
    predictor = PREDICTORS[name]
    of_classes = ["labels", "predict_ends"] if predictor.classes is not None else []
    asked = ["predict", "decision_function", "cost", *of_classes]
    for method in asked:
        for rows in (TEST, TEST[:0]):
            with pytest.raises(TypeError, match="nonsense"):
                getattr(predictor, method)(rows, nonsense=3, **limits)
    with pytest.raises(TypeError, match="nonsense"):
        predictor.inquire(nonsense=3, **limits)
    if predictor.classes is not None:
        with pytest.raises(TypeError, match="nonsense"):
            cf.FittedEstimator(predictor).predict(TEST, nonsense=3, **limits)


@pytest.mark.parametrize("name", sorted(PREDICTORS.keys() - TAKES_NO_LIMITS - {"stepped, annotated"}))
def test_scores_take_the_limits_that_predictions_take(name):
    predictor = PREDICTORS[name]
    for limits in ({"max_cost": 1.0}, {"unavailable": ["c"]}):
        cut = predictor.cost(TEST, predictor.costs, **limits).cut
        assert cut.any()
        assert (predictor.decision_function(TEST, **limits) != predictor.decision_function(TEST))[cut].any()
        assert len(predictor.decision_function(TEST, **limits)) == len(TEST)


def test_given_prices_decide_where_a_plan_within_would_have_its_own():
    plan = PREDICTORS["planned"]
    named = AnnotatedPredictor(
        plan, Card(NAMES, cf.CostModel.of({"a": 0, "b": 9, "c": 0.1, "d": 9, "e": 9}, NAMES), classes=[0, 1])
    )
    for row in TEST[:10]:
        inquiry = named.inquire()
        while inquiry.needs:
            inquiry.supply({name: row[NAMES.index(name)] for name in inquiry.needs})
        assert inquiry.answer.value == named.predict(row[None])[0]
