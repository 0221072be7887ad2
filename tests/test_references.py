"""References of a study: which there are, that they are candidates like others, and what is said of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import costframe as cf
from costframe import Frontier
from costframe.choices.sentences import describe_choice, describe_model
from costframe.datasets import Dataset
from costframe.plugin import ParameterError
from costframe.study.entrants import references_of
from costframe.study.references import REFERENCES, describe_reference, is_reference

PRICES = {"features": {"free": 0.0, "also": 0.0, "dear": 4.0, "once": {"cost": 0.0, "once": 50.0}}}
ERRORS = {"0": {"1": 10.0}, "1": {"0": 10.0}}
FEW = {"n_estimators": 12, "learning_rate": 0.3, "max_leaves": 6}
NAMES = list(PRICES["features"])


def draw(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X @ [1.2, 0.6, 0.5, 0.0] + 0.8 * rng.normal(size=n)


def make(prices=PRICES, task="classification", n=400, X=None, **more):
    drawn, z = draw(n)
    y = {"classification": (z > 0).astype(int), "regression": z, "ranking": np.clip(np.round(z), 0, 3)}[task]
    costs = cf.CostModel.of(prices, errors=more.pop("errors", None))
    qid = np.arange(n) // 8 if task == "ranking" else None
    return Dataset.from_arrays(
        drawn if X is None else X, y, costs, feature_names=NAMES, task=task, qid=qid, name="drawn", **more
    )


@pytest.fixture(scope="module")
def data():
    return make()


@pytest.fixture(scope="module")
def frontier(data):
    return Frontier.sweep(data, ["planner"], parameters=FEW, cv=3, points=4)


def labels(data, algorithms=("planner",)):
    return [each.label for each in references_of(data, algorithms, {})]


def test_a_study_has_what_no_algorithm_of_it_fits_anyway(data):
    *every, tree = [each.label for each in REFERENCES]
    assert labels(data) == every == ["linear-free", "boosting-free", "linear-all", "boosting-all"]
    assert labels(make(errors=ERRORS)) == [*every, tree]
    assert labels(make(errors=ERRORS), ["planner", "priced-tree"]) == every
    assert labels(make(errors={"absolute": 1.0}, task="regression")) == every
    for boosted in ("cegb", "miser", "boosting", "affordable"):
        assert labels(data, ["planner", boosted]) == every[:3]
    assert labels(data, ["linear"]) == ["linear-free", "boosting-free", "boosting-all"]
    assert labels(make(task="regression")) == every
    assert labels(make(task="ranking")) == ["boosting-free"]


def test_prices_and_categories_decide_which_there_are():
    none_free, all_free = (dict.fromkeys(NAMES, price) for price in (1.0, 0.0))
    for prices in (none_free, all_free):
        assert labels(make({"features": prices})) == ["linear-all", "boosting-all"]
    X, z = draw()
    kinds = pd.DataFrame(X, columns=NAMES).assign(also=np.where(z > 0, "b", "c"))
    coded = kinds.assign(also=(z > 0).astype(float)).to_numpy()
    data = Dataset.from_arrays(
        coded, (z > 0).astype(int), cf.CostModel.of(PRICES), feature_names=NAMES, categorical={"also": ("b", "c")}
    )
    assert labels(data) == ["boosting-free", "boosting-all"]


def test_they_are_points_with_models_estimates_and_names(data, frontier):
    own = [point for point in frontier if point.algorithm == "planner"]
    assert own
    others = [point.name for point in frontier if point.algorithm != "planner"]
    constant = [] if any(not point.n_features for point in own) else ["constant-1"]
    assert others == ["linear-free-1", "boosting-free-1", "linear-all-1", "boosting-all-1", *constant]
    test = data.part("test")
    for name in others[:4]:
        point, model = frontier[name], frontier.model(name)
        assert point.tradeoff == 0
        assert point.test_score == pytest.approx(roc_auc_score(test.y, model.predict_proba(test.X)[:, 1]))
        assert point.test_cost == model.cost(test.X).mean
        assert set(model.predictor_.used_features) <= ({"free", "also"} if "free" in name else set(NAMES))
        assert len(frontier.influence(point)) == len(data.part("train").y) + len(data.part("valid").y)
        assert point.rows_lacked == pytest.approx(1 / 3 if "linear" in name else 5 / 9, abs=0.01)  # of three folds


def test_the_linear_one_trains_on_all_rows_that_folds_estimate(data, frontier):
    rows = data.split != "test"
    model = frontier.model("linear-free-1")
    theirs = LogisticRegression(C=np.inf).fit(data.X[rows][:, :2], data.y[rows])
    ours = model.predictor_.stages[0].weights[:, 0]  # columns by name: also, free
    np.testing.assert_allclose(
        ours / np.linalg.norm(ours), theirs.coef_[0][::-1] / np.linalg.norm(theirs.coef_), atol=0.02
    )


def test_without_folds_valid_only_estimates_the_linear_one(data):
    found = Frontier.sweep(data, ["planner"], parameters=FEW, cv=0, points=2)
    train, valid = map(data.part, ("train", "valid"))
    alone = cf.estimator("linear", costs=data.costs, tradeoff=0.0).fit(train.X, train.y)
    model = found.model("linear-all-1")
    np.testing.assert_array_equal(model.predict_proba(valid.X), alone.predict_proba(valid.X))
    measured = roc_auc_score(valid.y, alone.predict_proba(valid.X)[:, 1])
    assert found["linear-all-1"].score == pytest.approx(measured, abs=0.02)  # less the optimism of choices


def test_a_sweep_has_them_unless_it_names_tradeoffs_or_is_told(data):
    few = {"parameters": FEW, "cv": 0}
    assert {point.algorithm for point in Frontier.sweep(data, ["cegb"], [0.0], **few)} == {"cegb"}
    assert not any(map(is_reference, Frontier.sweep(data, ["cegb"], points=3, references=False, **few)))
    asked = Frontier.sweep(data, ["cegb"], [0.0], references=True, **few)
    assert [point.algorithm for point in asked] == ["cegb", "linear-free", "boosting-free", "linear-all", "constant"]
    with pytest.raises(ParameterError, match="references: expected"):
        Frontier.sweep(data, ["cegb"], references="no")


def test_regressions_and_rankings_have_them(tmp_path):
    for task, wanted in (("regression", 4), ("ranking", 1)):
        found = Frontier.sweep(make(task=task), ["planner"], parameters=FEW, cv=0, points=2, directory=tmp_path / task)
        simple = [point for point in found if describe_reference(point)]
        assert len(simple) == wanted
        assert found.constant() is not None
        loaded = Frontier.load(tmp_path / task) if (tmp_path / task / "frontier.fits").exists() else found
        assert loaded.has_model(simple[0])


def test_parameters_of_all_estimators_reach_those_that_have_them(data):
    found = {each.label: each for each in references_of(data, ["planner"], {"n_estimators": 3, "max_price": 9.0})}
    assert found["boosting-free"].make(0.0).n_estimators == 3
    assert found["boosting-free"].make(0.0).max_price == found["linear-free"].make(0.0).max_price == 0.0


def test_a_reference_that_fails_is_left_out_but_not_instead_of_all_algorithms(data, monkeypatch):
    from costframe_baselines import linear

    def fail(*_args, **_more):
        raise cf.CostframeError("no weights")

    monkeypatch.setattr(linear, "fit_linear", fail)
    few, told = {"parameters": FEW, "cv": 0, "points": 3}, {}
    assert not any("linear" in point.name for point in Frontier.sweep(data, ["cegb"], **few))
    Frontier.sweep(data, ["cegb"], **few, failed=lambda name, error: told.update({name: str(error)}))
    assert told == {"linear-free": "no weights", "linear-all": "no weights"}
    monkeypatch.undo()
    with pytest.raises(cf.CostframeError, match="nonsense"):
        Frontier.sweep(data, ["cegb"], parameters={"nonsense": 0.5}, failed=lambda *_: None)


def test_words_name_the_best_of_them_with_the_paired_difference(frontier):
    chosen = next(point for point in frontier if point.algorithm == "planner" and point.n_features)
    said = describe_choice(frontier, chosen)
    simple = [point for point in frontier if describe_reference(point) and point.cost <= chosen.cost]
    best = max(simple, key=lambda point: point.score)
    assert best == frontier.best() or f"that of {best.name}, {describe_reference(best)} (90% interval" in said
    assert describe_reference(frontier["linear-free-1"]) == "a linear model on 2 free features"
    assert describe_reference(frontier["boosting-all-1"]).startswith("boosting on ")
    assert describe_reference(chosen) is None
    text = describe_model(frontier, frontier["linear-free-1"], chosen=False)
    assert text.startswith("linear-free-1, a linear model on 2 free features, costs 0.00")


def test_words_of_bills_name_the_best_of_them():
    data = make(errors={0: {1: 10.0}, 1: {0: 10.0}})
    frontier = Frontier.sweep(data, ["planner"], parameters=FEW, cv=3, points=4)
    chosen = next(point for point in frontier if point.algorithm == "planner" and point.n_features)
    simple = min((point for point in frontier if describe_reference(point)), key=frontier.bill)
    said, gain, words = describe_choice(frontier, chosen), frontier.gain(chosen, simple), describe_reference(simple)
    assert f"{words[0].upper()}{words[1:]} ({simple.name}) has the bill {frontier.bill(simple):.4g} " in said
    way = "lower" if gain.value >= 0 else "higher"
    assert said.endswith(f"this model's is {abs(gain.value):.4g} \u00b1 {gain.error:.2g} {way}.")
    constant = frontier.constant()
    assert constant is not None
    assert len(frontier.influence(constant)) == len(frontier.influence(simple))  # on the same rows


def test_one_is_a_tree_at_the_prices_of_errors():
    data = make(errors=ERRORS)
    (tree,) = (each for each in references_of(data, ["planner"], {"max_depth": 2}) if each.label == "tree-priced")
    assert tree.make(0.0).tradeoff is None
    assert tree.make(0.0).max_depth == 2
    frontier = Frontier.sweep(data, ["cegb"], parameters=FEW, points=3, cv=3)
    train, valid = map(data.part, ("train", "valid"))
    alone = cf.estimator("priced-tree", costs=data.costs).fit(train.X, train.y, X_val=valid.X, y_val=valid.y)
    np.testing.assert_array_equal(frontier.model("tree-priced-1").predict_proba(data.X), alone.predict_proba(data.X))
    point = frontier["tree-priced-1"]
    assert describe_reference(point) == f"a single priced tree on {point.n_features} features"
    assert point.test_cost - point.test_score == pytest.approx(
        alone.cost(data.part("test").X, data.part("test").y).mean_bill
    )


def test_a_tree_that_buys_nothing_is_told_of_as_a_constant():
    data = make({"features": dict.fromkeys(NAMES, 9.0)}, errors=ERRORS)
    frontier = Frontier.sweep(data, ["cegb"], parameters=FEW, points=3, cv=0)
    tree = frontier["tree-priced-1"]
    assert not tree.n_features
    assert describe_reference(tree) is None
    assert "tree" not in describe_choice(frontier, tree).replace(tree.name, "")


def test_an_algorithm_without_a_path_that_plans_in_money_has_a_fit_that_does():
    data = make(errors=ERRORS)
    frontier = Frontier.sweep(data, ["priced-tree"], points=2, cv=0)
    train, valid = map(data.part, ("train", "valid"))
    alone = cf.estimator("priced-tree", costs=data.costs).fit(train.X, train.y)
    answers = alone.predict_proba(valid.X)
    own = [point.name for point in frontier if point.algorithm == "priced-tree"]
    assert any(np.array_equal(frontier.model(name).predict_proba(valid.X), answers) for name in own)


@pytest.mark.usefixtures("undrawn")
def test_the_command_has_them_unless_it_is_told(run, tmp_path):
    X, z = draw()
    pd.DataFrame(X, columns=NAMES).assign(state=(z > 0).astype(int)).to_csv(tmp_path / "rows.csv", index=False)
    cf.CostModel.of(PRICES).save(tmp_path / "prices.toml")
    given = ("--costs", "prices.toml", "--target", "state", "--algorithms", "cegb", "--points", "3", "--cv", "0")
    shown = run("compare", "rows.csv", *given, "--output", "out")
    assert shown.exit_code == 0, shown.output
    names = {point.name for point in Frontier.load(tmp_path / "out")}
    assert {"linear-free-1", "boosting-free-1", "linear-all-1"} < names
    assert (tmp_path / "out" / "models" / "linear-free-1.model").exists()
    assert "linear-free-1" in (tmp_path / "out" / "report.html").read_text()
    again = run("compare", "rows.csv", *given, "--output", "out", "--resume")
    assert again.exit_code == 0, again.output
    assert {point.name for point in Frontier.load(tmp_path / "out")} == names
    none = run("compare", "rows.csv", *given, "--output", "none", "--no-references")
    assert none.exit_code == 0, none.output
    assert {point.algorithm for point in Frontier.load(tmp_path / "none")} == {"cegb"}
