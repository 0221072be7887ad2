"""Early exit: naive twins of both rules, given models, and the cost of trees that are really evaluated."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import costframe as cf
from costframe.core.errors import CostframeError, DataError, ParameterError, StorageError
from costframe.core.stages.stages import Answer
from costframe.datasets import Dataset
from costframe.frontier import Frontier, paths
from costframe.frontier.estimates import estimate_on_rows
from costframe.testing import CountingSource
from costframe_baselines import BoostingClassifier, BoostingRanker, EarlyExitClassifier, EarlyExitRanker
from costframe_baselines.exits import ConfidenceExits, ProximityExits

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


@pytest.mark.parametrize("s", [0.0, 0.3, 0.8, 5.0])
def test_rows_of_a_query_leave_by_the_papers_rule_and_pay_for_the_trees_before(s):
    X, y, qid = table(0, 120)
    fresh, _, queries = table(1, 45)
    plain = BoostingRanker(COSTS, 0.0, n_estimators=11, max_leaves=4, min_samples_leaf=5).fit(X, y, qid=qid)
    model = EarlyExitRanker(COSTS, model=plain, threshold=s, n_trees_per_exit=2).fit(X, y, qid=qid)
    exits, scores = drop_naively(plain.predictor_, fresh, queries, s, 2)
    report, found = model.cost(fresh, qid=queries), model.predict(fresh, qid=queries)
    assert report.by_stage == pytest.approx([np.mean(exits >= number) for number in range(1, 7)])
    for i, row in enumerate(fresh):
        assert report.per_row[i] == pytest.approx(charged_by_source(plain.predictor_, row, min(2 * exits[i], 11)))
    np.testing.assert_array_equal(report.predictions, found)
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query)
        wanted = rows[np.lexsort((scores[rows], exits[rows]))]
        assert (np.diff(found[wanted]) >= 0).all()
        assert (np.diff(found[wanted])[np.diff(exits[wanted]) > 0] > 0).all()
    if s in (0.3, 0.8):
        assert len(set(exits)) > 2
    with_all = model.cost(fresh, costs=ALL, qid=queries)
    for i in range(0, 45, 7):
        alone = prefix(plain.predictor_, min(2 * exits[i], 11)).cost(fresh[i : i + 1], ALL)
        assert with_all.per_row[i] == pytest.approx(alone.mean)


def charged_by_source(tree, row, count):
    """Walk the first trees by hand, fetching from a counting source; return what it charges."""
    source = CountingSource(dict(zip("abcd", row.tolist(), strict=True)), COSTS)
    trees, values = tree.bank.trees, {}
    roots = [trees.restrict([t]) for t in range(count)]
    for one in roots:
        node = 0
        while one.left[node] >= 0:
            name = "abcd"[one.feature[node]]
            if name not in values:
                values |= source([name])
            value = values[name]
            goes_left = one.missing_left[node] if np.isnan(value) else value <= one.threshold[node]
            node = one.left[node] if goes_left else one.right[node]
    return source.charged


def test_without_queries_nobody_leaves():
    X, y, qid = table(0)
    fresh, *_ = table(1)
    plain = BoostingRanker(COSTS, 0.0, n_estimators=12).fit(X, y, qid=qid)
    model = EarlyExitRanker(COSTS, model=plain, threshold=0.2, n_trees_per_exit=3).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.cost(fresh).per_row, plain.cost(fresh).per_row)
    assert (np.argsort(model.predict(fresh)) == np.argsort(plain.predict(fresh))).all()
    one_each = model.predict(fresh, qid=np.arange(len(fresh)))
    np.testing.assert_array_equal(one_each, model.predict(fresh))
    bound = model.predictor_.of_queries(qid)
    np.testing.assert_array_equal(bound.predict(fresh), model.predict(fresh, qid=qid))
    assert bound.cost(fresh).mean == model.cost(fresh, qid=qid).mean < model.cost(fresh).mean
    with pytest.raises(ParameterError, match="max_cost"):
        model.predict(fresh, qid=qid, max_cost=1.0)
    with pytest.raises(ParameterError, match="qid"):
        bound.inquire()


def test_a_sweep_prices_rows_of_queries():
    X, y, qid = table(0, 600, classes=3)
    part = qid % 4  # two quarters train
    order = np.lexsort([qid, np.array([0, 0, 1, 2])[part]])
    split = np.array(["train", "train", "valid", "test"])[part[order]]
    data = Dataset("drawn", X[order], y[order], ("a", "b", "c", "d"), ALL, "ranking", split, qid[order])
    settings = {"n_estimators": 12, "n_trees_per_exit": 2, "threshold": 0.05}
    front = Frontier.sweep(data, ["early-exit"], [1e-3], folds=0, parameters=settings)
    (point,), test = front.points, data.part("test")
    model = front.model(point)
    assert point.test_cost == model.cost(test.X, qid=test.qid).mean < model.cost(test.X).mean
    assert point.test_score == model.score(test.X, test.y, qid=test.qid)
    assert point.test_score != model.score(test.X, test.y, qid=np.arange(len(test.X)))
    with pytest.raises(DataError, match="drawn, 'valid': no row is relevant for precision@3:9, the highest grade is 2"):
        Frontier.sweep(data, ["early-exit"], score="precision@3:9")


def test_estimates_from_folds_are_of_rows_that_leave(monkeypatch):
    """Rows that leave rank below -1/2, and no row leaves without its query."""
    X, y, qid = table(0, 600, classes=3)
    lowest = []

    def noted(name, rows, model, predictions):
        lowest.append(predictions.min())
        return estimate_on_rows(name, rows, model, predictions)

    monkeypatch.setattr(paths, "estimate_on_rows", noted)
    model = EarlyExitRanker(COSTS, n_estimators=30, n_trees_per_exit=2)
    cf.BudgetSearch(model, budget=5.0, cv=3).fit(X, y, qid=qid)
    assert min(lowest) < -0.5


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
    assert path.plain().threshold == np.inf


def test_rankings_choose_by_ndcg_and_cost_and_improve_on_the_whole_model():
    X, y, qid = table(0, 600)
    rows, labels, queries = table(1, 600)
    plain = BoostingRanker(DEAR_TREES, 0.0, n_estimators=30, max_leaves=4, learning_rate=0.3).fit(X, y, qid=qid)
    model = EarlyExitRanker(DEAR_TREES, 0.005, model=plain, n_trees_per_exit=5)
    path = model.fit_path(X, y, qid=qid, X_val=rows, y_val=labels, qid_val=queries)
    assert isinstance(model.predictor_, ProximityExits)
    assert 0 < model.threshold_ < np.inf
    best, whole = path.at(0.005), path.points[0]
    assert whole.threshold == np.inf
    assert best.cost < whole.cost
    assert best.cost == pytest.approx(model.cost(rows, qid=queries).mean)
    assert model.score(rows, labels, queries) > 0.9


def test_a_given_xgboost_model_is_used_as_it_is():
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = table(0)
    for objective in ("binary:logistic", "multi:softprob"):
        labels = table(0, classes=3)[1] if objective == "multi:softprob" else y
        theirs = xgboost.XGBClassifier(n_estimators=20, max_depth=2, objective=objective, n_jobs=1)
        adopted = cf.adopt(theirs.fit(X, labels), feature_names=list("abcd"))
        never = EarlyExitClassifier(DEAR_TREES, model=adopted, threshold=1e9, n_trees_per_exit=4).fit(X, labels)
        assert never.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-5)
        some = EarlyExitClassifier(DEAR_TREES, 0.02, model=adopted, n_trees_per_exit=4).fit(X, labels)
        assert some.cost(X).mean < never.cost(X).mean


def test_a_given_model_of_another_temperature_keeps_its_probabilities():
    from sklearn.ensemble import GradientBoostingClassifier

    X, y, _ = table(5)
    X = np.nan_to_num(X)
    theirs = GradientBoostingClassifier(n_estimators=4, loss="exponential").fit(X, y)
    adopted = cf.adopt(theirs, feature_names=list("abcd"))
    never = EarlyExitClassifier(DEAR_TREES, model=adopted, threshold=1e9, n_trees_per_exit=2).fit(X, y)
    np.testing.assert_allclose(never.predict_proba(X)[:, 1], adopted.predict(X), rtol=1e-12)


def test_a_given_model_without_names_reads_columns_by_position():
    from sklearn.ensemble import GradientBoostingClassifier

    X, y, _ = table(0)
    X = np.nan_to_num(X)
    theirs = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    named, unnamed = (
        EarlyExitClassifier(DEAR_TREES, model=cf.adopt(theirs, names), threshold=1.0).fit(X, y)
        for names in (list("abcd"), None)
    )
    np.testing.assert_array_equal(unnamed.predict_proba(X), named.predict_proba(X))
    with pytest.raises(CostframeError, match=r"model: reads what X does not have: .*'f\d'"):
        EarlyExitClassifier(model=cf.adopt(theirs)).fit(X[:, :3], y)


def test_given_models_that_do_not_fit_are_refused():
    from sklearn.ensemble import RandomForestClassifier

    X, y, qid = table(0)
    plain = BoostingClassifier(COSTS, n_estimators=5).fit(X, y)
    forest = cf.adopt(RandomForestClassifier(5).fit(np.nan_to_num(X), y), feature_names=list("abcd"))
    three = BoostingClassifier(COSTS, n_estimators=3).fit(*table(0, classes=3)[:2])
    for given, text in (
        ({"model": BoostingClassifier()}, "model"),
        ({"model": forest}, "log|link"),
        ({"model": three}, "model|class"),
        ({"model": plain, "max_leaves": 4}, "max_leaves"),
        ({"threshold": -1.0}, "threshold"),
        ({"n_trees_per_exit": 0}, "n_trees_per_exit"),
    ):
        with pytest.raises(CostframeError, match=text):
            EarlyExitClassifier(COSTS, **given).fit(X, y)
    with pytest.raises(ParameterError, match="model: expected one that ranks rows, got the classifier Boosting"):
        EarlyExitRanker(COSTS, model=plain).fit(X, y, qid=qid)
    with pytest.raises(CostframeError, match="which the model does not know"):
        EarlyExitClassifier(COSTS, model=plain).fit(X, y + 1)
    kept = clone(EarlyExitClassifier(COSTS, model=FrozenEstimator(plain), threshold=1e9)).fit(X, y)
    np.testing.assert_array_equal(kept.predict_proba(X), plain.predict_proba(X))


def test_unknown_terms_of_a_ranking_are_refused_by_name_with_queries_as_without():
    X, y, qid = table(0, 60)
    model = EarlyExitRanker(COSTS, threshold=0.5, n_estimators=4, max_leaves=3, n_trees_per_exit=2).fit(X, y, qid=qid)
    for queries in (None, qid):
        for ask in (model.predict, model.cost):
            with pytest.raises(ParameterError, match="max_costs: expected"):
                ask(X, qid=queries, max_costs=1.0)


def test_what_no_file_can_hold_is_refused_by_its_name_and_kept_by_pickle(tmp_path):
    X, y, _ = table(0, 90, classes=3)
    model = EarlyExitClassifier(ALL, threshold=0.3, n_estimators=6, max_leaves=3, n_trees_per_exit=2).fit(X, y)
    with pytest.raises(StorageError, match="got ConfidenceExits"):
        cf.save(model, tmp_path / "model")
    kept = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(kept.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(kept.cost(X).per_row, model.cost(X).per_row)


def test_importances_are_those_at_the_exit_of_each_row():
    X, y, _ = table(0, 200, classes=3)
    model = EarlyExitClassifier(ALL, threshold=0.3, n_estimators=6, max_leaves=3, n_trees_per_exit=2).fit(X, y)
    assert repr(model.predictor_).startswith("ConfidenceExits(")
    assert len(np.unique(model.predictor_.walk_rows(X)[1])) > 1
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_rows_are_read_by_the_labels_of_a_given_model():
    pandas = pytest.importorskip("pandas")
    X, _, _ = table(0, 120)
    label = np.array(["lo", "mid", "hi"])[np.arange(120) % 3]
    rows = pandas.DataFrame(X, columns=list("abcd")).assign(c=pandas.Categorical(label, ["lo", "mid", "hi"]))
    y = (label == "hi").astype(int)
    plain = BoostingClassifier(COSTS, 0.0, n_estimators=4, max_leaves=3).fit(rows, y)
    same = EarlyExitClassifier(COSTS, model=plain, threshold=1e9).fit(rows, y)
    np.testing.assert_array_equal(same.predict_proba(rows), plain.predict_proba(rows))
    for labels in (["mid", "hi", "lo"], ["lo", "mid", "hi", "no"]):
        other = rows.assign(c=pandas.Categorical(label, labels))
        fit = EarlyExitClassifier(COSTS, model=FrozenEstimator(plain), threshold=1e9).fit(other, y)
        np.testing.assert_array_equal(fit.predict_proba(other), plain.predict_proba(rows))
        given = EarlyExitClassifier(COSTS, model=plain, threshold=1e9, categorical_features={"c": labels})
        with pytest.raises(CostframeError, match=r"model: knows the categories \['lo', 'mid', 'hi'\] of 'c', expected"):
            given.fit(other, y)
