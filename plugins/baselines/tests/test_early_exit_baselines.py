"""Early exit: naive twins of both rules, given models, and the cost of trees that are really evaluated."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from xgboost import XGBClassifier

import costframe as cf
from costframe import Answer, CostframeError
from costframe.choices import Frontier
from costframe.datasets import Dataset
from costframe.plugin import ParameterError
from costframe_baselines import BoostingClassifier, BoostingRanker, EarlyExitClassifier, EarlyExitRanker
from costframe_baselines.confidence_exits import ConfidenceExits

COSTS = cf.CostModel.from_dict(
    {
        "features": {"a": 0.1, "b": {"cost": 1.0, "needs": ["lab"]}, "c": {"cost": 0.5, "needs": ["lab"]}, "d": 2.0},
        "resources": {"lab": 3.0},
    }
)
DEAR_TREES = cf.CostModel.from_dict({**COSTS.to_dict(), "learner": 0.5})
ALL = cf.CostModel.from_dict({**COSTS.to_dict(), "split": 0.01, "learner": 0.02, "reuse": 0.005})


def table(seed, n=200, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[rng.random((n, 4)) < 0.05] = np.nan
    z = np.nan_to_num(X) @ [0.6, 1.2, 0.8, 1.5] + 0.5 * rng.standard_normal(n)
    cuts = [0.0] if classes == 2 else [-1.0, 1.0]
    return X, np.digitize(z, cuts), rng.integers(0, n // 15, n)


def prefix(tree, count):
    """Return the model of the first trees, of one output each."""
    answer = tree.stages[0]
    first = Answer(answer.learners[:count], answer.weights[:count], answer.intercept, answer.link)
    return cf.StageTree(tree.bank, (first,))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("threshold", [0.0, 0.4, 1.5, 1e9])
def test_rows_leave_at_the_first_exit_where_they_are_sure(classes, threshold):
    X, y, _ = table(0, classes=classes)
    fresh, *_ = table(1, 60, classes)
    plain = BoostingClassifier(ALL, 0.0, n_estimators=12, max_leaves=4).fit(X, y)
    model = EarlyExitClassifier(ALL, model=plain, threshold=threshold, n_trees_per_exit=3).fit(X, y)
    assert isinstance(model.predictor_, cf.StageTree if classes == 2 else ConfidenceExits)
    a_round = 1 if classes == 2 else 3
    report, found, ends = model.cost(fresh, rounds=True), model.predict_proba(fresh), set()
    for i, row in enumerate(fresh):
        for rounds in (3, 6, 9, 12):
            tree = prefix(plain.predictor_, rounds * a_round)
            scores = np.sort(np.atleast_1d(tree.decision_function(row[None])[0]))
            sure = abs(scores[0]) if classes == 2 else scores[-1] - np.log(np.exp(scores[:-1]).sum())
            if sure > threshold:
                break
        ends.add(rounds)
        wanted = tree.predict(row[None])[0]
        assert (found[i, 1] if classes == 2 else found[i]) == pytest.approx(wanted, abs=1e-12)
        assert report.per_row[i] == pytest.approx(tree.cost(row[None], ALL).mean, rel=1e-12)
    assert len(ends) == 1 or threshold not in ((0.0, 1e9) if classes == 2 else (1e9,))
    assert ends <= {3, 6, 9, 12}
    if threshold == 0.4:
        assert len(ends) > 2


def drop_naively(tree, X, qid, s, every):
    """Follow the paper's rule row by row; return each row's exit and score."""
    count = len(tree.bank)
    last = -(-count // every)
    exit_of, score_of = np.full(len(X), last), tree.decision_function(X)
    for query in np.unique(qid):
        there = [i for i in range(len(X)) if qid[i] == query]
        for number in range(1, last):
            scores = {i: prefix(tree, number * every).decision_function(X[i : i + 1])[0] for i in there}
            if len(there) < 5:
                continue
            fifth = sorted(scores.values(), reverse=True)[4]
            for i in list(there):
                if fifth - scores[i] > 0 and fifth - scores[i] >= (last - number) / (last - 1) * s:
                    exit_of[i], score_of[i] = number, scores[i]
                    there.remove(i)
    return exit_of, score_of


@pytest.mark.parametrize("s", [0.0, 0.3, 0.8])
def test_rows_of_a_query_leave_by_the_papers_rule_and_pay_for_the_trees_before(s):
    X, y, qid = table(0, 120)
    fresh, _, queries = table(1, 45)
    plain = BoostingRanker(COSTS, 0.0, n_estimators=11, max_leaves=4, min_samples_leaf=5).fit(X, y, qid=qid)
    model = EarlyExitRanker(COSTS, model=plain, threshold=s, n_trees_per_exit=2).fit(X, y, qid=qid)
    exits, scores = drop_naively(plain.predictor_, fresh, queries, s, 2)
    report, found = model.cost(fresh, qid=queries), model.predict(fresh, qid=queries)
    assert report.by_stage == pytest.approx([np.mean(exits >= number) for number in range(1, 7)])
    np.testing.assert_array_equal(report.predictions, found)
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query)
        wanted = rows[np.lexsort((scores[rows], exits[rows]))]
        assert (np.diff(found[wanted]) >= 0).all()
        assert (np.diff(found[wanted])[np.diff(exits[wanted]) > 0] > 0).all()
    if s in (0.3, 0.8):
        assert len(set(exits)) > 2
    with_all = model.cost(fresh, costs=ALL, qid=queries)
    for i in range(45):
        alone = prefix(plain.predictor_, min(2 * exits[i], 11))
        assert report.per_row[i] == pytest.approx(alone.cost(fresh[i : i + 1], COSTS).mean)
        assert with_all.per_row[i] == pytest.approx(alone.cost(fresh[i : i + 1], ALL).mean)


def test_without_queries_nobody_leaves_and_a_sweep_prices_rows_of_queries():
    X, y, qid = table(0, 600, classes=3)
    model = EarlyExitRanker(COSTS, threshold=0.2, n_estimators=12, n_trees_per_exit=3).fit(X, y, qid=qid)
    for alone in (model.predict(X), model.predict(X, qid=np.arange(600))):
        assert np.argsort(alone).tolist() == np.argsort(model.predictor_.tree.decision_function(X)).tolist()
    bound = model.predictor_.of_queries(qid)
    np.testing.assert_array_equal(bound.predict(X), model.predict(X, qid=qid))
    assert bound.cost(X).mean == model.cost(X, qid=qid).mean < model.cost(X).mean
    part = qid % 4  # two quarters train
    order = np.lexsort([qid, np.array([0, 0, 1, 2])[part]])
    split = np.array(["train", "train", "valid", "test"])[part[order]]
    data = Dataset("drawn", X[order], y[order], ("a", "b", "c", "d"), ALL, "ranking", split, qid[order])
    settings = {"n_estimators": 12, "n_trees_per_exit": 2, "threshold": 0.05}
    front = Frontier.sweep(data, ["early-exit"], [1e-3], cv=0, parameters=settings)
    (point,), test = front.points, data.part("test")
    model = front.model(point)
    assert point.test_cost == model.cost(test.X, qid=test.qid).mean < model.cost(test.X).mean
    assert point.test_score == model.score(test.X, test.y, qid=test.qid)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_threshold_has_the_least_loss_and_cost_of_those_tried(classes):
    X, y, _ = table(0, classes=classes)
    rows, labels, _ = table(1, classes=classes)
    plain = BoostingClassifier(DEAR_TREES, 0.0, n_estimators=16, max_leaves=4, learning_rate=0.5).fit(X, y)
    model = EarlyExitClassifier(DEAR_TREES, 0.02, model=plain, n_trees_per_exit=2).fit(X, y, X_val=rows, y_val=labels)

    def total(one):
        p = one.predict_proba(rows)[np.arange(len(rows)), labels]
        return -np.log(p).mean() + 0.02 * one.cost(rows).mean

    others = [
        EarlyExitClassifier(DEAR_TREES, 0.02, model=plain, n_trees_per_exit=2, threshold=t).fit(X, y)
        for t in (0.0, 0.2, 0.5, 1.0, 2.0, 1e6)
    ]
    assert 0 < model.threshold_ < np.inf
    assert model.predictor_.cost(rows).mean < plain.cost(rows).mean
    assert total(model) <= min(map(total, others)) + 2e-3  # the thresholds tried are not these
    path = EarlyExitClassifier(DEAR_TREES, 0.02, n_estimators=16, n_trees_per_exit=2).fit_path(
        X, y, X_val=rows, y_val=labels, scoring="accuracy"
    )
    for point in path.points[::7]:
        found = path.predictor(point)
        assert point.cost == pytest.approx(found.cost(rows).mean, rel=1e-12)
        p = found.predict(rows)
        assert point.score == np.mean((p > 0.5 if p.ndim == 1 else p.argmax(axis=1)) == labels)
    assert path.plain().key == np.inf


BOOSTED = {"n_estimators": 20, "max_depth": 2}
GIVEN = {
    "xgboost, two": XGBClassifier(objective="binary:logistic", **BOOSTED),
    "xgboost, three": XGBClassifier(objective="multi:softprob", **BOOSTED),
    "another temperature": GradientBoostingClassifier(n_estimators=4, loss="exponential"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_given_model_is_used_as_it_is_also_where_it_names_no_columns(name):
    X, y, _ = table(0, classes=3 if "three" in name else 2)
    X = np.nan_to_num(X)
    theirs = GIVEN[name].fit(X, y)
    known = theirs.predict_proba(X)
    asked = {"n_trees_per_exit": 2, "threshold": 1e9}
    for names in (list("abcd"), None):
        never = EarlyExitClassifier(DEAR_TREES, model=cf.adopt(theirs, names), **asked).fit(X, y)
        assert never.predict_proba(X) == pytest.approx(known, abs=1e-5)
    some = EarlyExitClassifier(DEAR_TREES, 0.02, model=cf.adopt(theirs), n_trees_per_exit=2).fit(X, y)
    assert some.cost(X).mean < never.cost(X).mean or "temperature" in name
    with pytest.raises(CostframeError, match=r"model: reads what X does not have: .*'f\d'"):
        EarlyExitClassifier(model=cf.adopt(theirs)).fit(X[:, :1], y)


def test_given_models_that_do_not_fit_are_refused():
    X, y, qid = table(0)
    plain = BoostingClassifier(COSTS, n_estimators=5).fit(X, y)
    forest = cf.adopt(RandomForestClassifier(5).fit(np.nan_to_num(X), y), feature_names=list("abcd"))
    three = BoostingClassifier(COSTS, n_estimators=3).fit(*table(0, classes=3)[:2])
    for given, text in (
        ({"model": BoostingClassifier()}, "model"),
        ({"model": forest}, "log|link"),
        ({"model": three}, "model|class"),
        ({"model": plain, "max_leaves": 4}, "max_leaves"),
    ):
        with pytest.raises(CostframeError, match=text):
            EarlyExitClassifier(COSTS, **given).fit(X, y)
    with pytest.raises(ParameterError, match="model: expected one that ranks rows, got the classifier Boosting"):
        EarlyExitRanker(COSTS, model=plain).fit(X, y, qid=qid)
    with pytest.raises(CostframeError, match="which the model does not know"):
        EarlyExitClassifier(COSTS, model=plain).fit(X, y + 1)
    kept = clone(EarlyExitClassifier(COSTS, model=FrozenEstimator(plain), threshold=1e9)).fit(X, y)
    np.testing.assert_array_equal(kept.predict_proba(X), plain.predict_proba(X))
