"""Studies at prices with errors: the score is what errors cost, and the choice is the least bill."""

import numpy as np
import pandas as pd
import pytest
from dataset_cases import machine
from few_rounds import few_rounds
from frontier_cases import describe_model
from planned_stumps import StumpsClassifier
from score_cases import error_cost, influence, score_named, with_labels
from sklearn.base import clone
from study_cases import BILL, choose_points

import costframe as cf
from costframe.plugin import CostModelError, ParameterError

PRICES = {"a": 0.1, "amount": 0.0, "b": 0.2}
BY_CLASS = {"ill": {"well": 9.0}, "well": {"ill": 1.0}}
BY_ROW = {"ill": {"well": {"column": "amount", "times": 2.0}}, "well": {"ill": 1.0}}
RNG = np.random.default_rng(0)
X = pd.DataFrame({"b": RNG.normal(size=900), "a": RNG.normal(size=900), "amount": RNG.uniform(0, 9, 900)})
Y = np.where(X.a + 0.5 * X.b + 0.7 * RNG.normal(size=900) > 0.8, "ill", "well")
CLASSES = np.array(["ill", "well"])
ROWS = {"X_val": X[400:600], "y_val": Y[400:600], "X_test": X[600:], "y_test": Y[600:]}


def estimator(name, **settings):
    """Make a classifier by its algorithm's name; the example's, which need not be installed, by its class."""
    return StumpsClassifier(**settings) if name == "stumps" else cf.estimator(name, **settings)


def fit(errors, name="cegb", prices=PRICES, **more):
    costs = cf.CostModel.of(prices, errors=errors)
    return cf.Frontier.fit(estimator(name, costs=costs, n_estimators=20), X[:400], Y[:400], **ROWS, **more)


def paid(p, errors):
    """Return what the answer of least expected price costs for each row, entry by entry."""
    found = []
    for (ill, well), truth, amount in zip(p, Y, X.amount, strict=True):
        missed = errors["ill"]["well"]
        missed = missed if isinstance(missed, float) else missed["times"] * amount
        answer = "ill" if well * 1.0 <= ill * missed else "well"
        found.append(0.0 if answer == truth else missed if truth == "ill" else 1.0)
    return np.array(found)


@pytest.mark.parametrize("errors", [BY_CLASS, BY_ROW], ids=["by class", "by row"])
def test_the_score_is_what_errors_cost_with_exact_influences(errors):
    score = error_cost(cf.CostModel.of(PRICES, errors=errors).errors, X.columns)
    p, y, weight = RNG.uniform(size=900), np.searchsorted(CLASSES, Y), RNG.integers(1, 4, 900).astype(float)
    lost = paid(np.column_stack([1 - p, p]), errors)
    for shuffled in (X, X[["amount", "b", "a"]]):  # by name
        bound = with_labels(score, CLASSES, shuffled)
        assert score_named(bound)(y, p, weight, None) == pytest.approx(-np.average(lost, weights=weight), rel=1e-12)
    np.testing.assert_allclose(influence(bound, y, p), -(lost - lost.mean()) / 900, atol=1e-15)
    if errors is BY_ROW:
        with pytest.raises(ParameterError, match="errors: prices that are a column need the rows"):
            score_named(with_labels(score, CLASSES))(y, p, None, None)


@pytest.mark.parametrize("name", ["cegb", "adapt", "early-exit", "stumps"])
def test_a_tradeoff_of_none_follows_from_the_prices_of_errors(name):
    prices, share = cf.CostModel.of(PRICES, errors=BY_ROW), np.mean(Y[:400] == "ill")
    missed = 2.0 * np.mean(X.amount[:400] * (Y[:400] == "ill"))
    wanted = -(share * np.log(share) + (1 - share) * np.log(1 - share)) / min(missed, 1 - share)
    model = estimator(name, costs=prices)
    assert model.tradeoff is None
    assert model.training_data(X[:400], Y[:400]).tradeoff == pytest.approx(wanted, rel=1e-12)
    known = model.training_data(X[:400], Y[:400]).tradeoff
    with few_rounds():
        models = [each.fit(X[:400], Y[:400]) for each in (model, clone(model).set_params(tradeoff=known))]
    scores = [each.decision_function(X) for each in models]
    np.testing.assert_array_equal(*scores)
    assert clone(model).set_params(costs=PRICES).training_data(X, Y).tradeoff == 1e-3


def test_the_tradeoff_of_squared_errors_is_that_of_the_loss_and_free_errors_buy_nothing():
    model = cf.estimator("cegb", "regression", costs=cf.CostModel.of(PRICES, errors={"squared": 2.0}))
    assert model.training_data(X, X.a).tradeoff == pytest.approx(0.25)
    model = cf.estimator("cegb", costs=cf.CostModel.of(PRICES, errors={"ill": {"well": 9.0}}))
    assert model.fit(X, Y).cost(X, Y).mean_bill == 0  # all are called ill, for free


def test_the_error_of_a_bill_is_that_of_the_bills_of_rows():
    frontier = fit(BY_ROW, prices={"a": 0.6, "amount": 0.0, "b": 1.2}, cv=0)
    alone = [np.hypot(point.cost_error, point.score_error) for point in frontier]
    assert max(abs(error / frontier.bill_error(point) - 1) for error, point in zip(alone, frontier, strict=True)) > 0.02
    for point in frontier:
        bills = frontier.model(point).cost(X[400:600], Y[400:600]).bill
        assert frontier.bill_error(point) == pytest.approx(bills.std() / 200**0.5, rel=0.01)
    one, other = frontier.recommended(), frontier.points[0]
    each = [frontier.model(point).cost(X[400:600], Y[400:600]).bill for point in (one, other)]
    assert frontier.gain(one, other).error == pytest.approx((each[0] - each[1]).std() / 200**0.5, rel=0.01)


@pytest.mark.parametrize("errors", [BY_CLASS, BY_ROW], ids=["by class", "by row"])
@pytest.mark.parametrize("name", ["cegb", "stumps"])
def test_a_study_chooses_the_least_bill(errors, name):
    frontier = fit(errors, name)
    chosen = frontier.recommended()
    bills = [point.cost - point.score for point in frontier]
    least = min(frontier, key=frontier.bill)
    assert frontier.bill(least) == min(bills) < frontier.bill(frontier.best()) + 1e-12
    high = {point: frontier.bill(point) + 1.645 * frontier.bill_error(point) for point in frontier}
    first = min(frontier, key=high.get)
    near = [point for point in frontier if high[point] - high[first] <= frontier.gain(first, point).error]
    assert chosen in near
    assert chosen.cost == min(point.cost for point in near)
    assert frontier.cheapest() is chosen
    assert frontier.recommended(0.05) == frontier.constant()
    for point in frontier:  # one that says what its model is charged
        bill = frontier.model(point).cost(X[600:], Y[600:]).mean_bill
        assert point.test_cost - point.test_score == pytest.approx(bill, rel=1e-12)
    gain = frontier.gain(chosen, frontier.constant())
    assert gain.value == pytest.approx(frontier.bill(frontier.constant()) - frontier.bill(chosen))
    assert f"least bill: {least.name}" in repr(frontier)
    assert f"recommended: {chosen.name}" in repr(frontier)
    assert frontier.to_frame().bill.tolist() == bills
    model = estimator(name, costs=cf.CostModel.of(PRICES, errors=errors))
    assert model.training_data(X[:400], Y[:400]).tradeoff in [point.tradeoff for point in frontier]
    with pytest.raises(ParameterError, match="within: has no effect"):
        frontier.cheapest(0.05)


def test_a_path_keeps_the_point_of_the_least_bill():
    model = cf.estimator("cegb", costs=PRICES, n_estimators=60)
    path = model.fit_path(X[:400], Y[:400], X_val=X[400:600], y_val=Y[400:600])
    front = path.frontier()
    wanted = min(front, key=lambda point: point.cost - point.score)
    assert wanted in choose_points(front, path.plain(), 1, full_cost=0.3, objective=BILL)


def test_a_given_score_chooses_as_without_errors():
    with_errors, without = fit(BY_CLASS, scoring="roc_auc"), fit(None, scoring="roc_auc")
    frames = [frontier.to_frame().drop(columns="seconds") for frontier in (with_errors, without)]
    pd.testing.assert_frame_equal(*frames)
    assert with_errors.recommended().name == without.recommended().name
    with pytest.raises(ParameterError, match="bill: needs prices with errors"):
        with_errors.bill("cegb-1")


def test_regressions_have_bills():
    y, prices = X.a + X.b, cf.CostModel.of(PRICES, errors={"absolute": 2.0, "squared": 0.5})
    model = cf.estimator("cegb", "regression", costs=prices, n_estimators=20)
    frontier = cf.Frontier.fit(model, X[:400], y[:400], X_test=X[600:], y_test=y[600:])
    chosen = frontier.recommended()
    bill = frontier.model(chosen).cost(X[600:], y[600:]).mean_bill
    assert chosen.test_cost - chosen.test_score == pytest.approx(bill, rel=1e-12)


def test_prices_that_fit_no_class_or_task_are_refused():
    with pytest.raises(CostModelError, match=r"errors\.ill\.wel: expected one of the classes"):
        fit({"ill": {"wel": 1.0}})
    ranker = cf.estimator("cegb", "ranking", costs=cf.CostModel.of(PRICES, errors=BY_CLASS))
    with pytest.raises(CostModelError, match="a ranking has no wrong answers"):
        cf.Frontier.fit(ranker, X, np.arange(900) % 3, qid=np.arange(900) // 9)


def test_models_within_sets_keep_the_column_of_prices():
    model = cf.estimator("cegb", costs=cf.CostModel.of(PRICES, errors=BY_ROW))
    data = model.training_data(X, Y).reading_only([1])
    assert (data.train.X[:, 0] == 0).all()
    np.testing.assert_array_equal(data.train.X[:, 1:], X[["a", "amount"]])


def test_a_search_minimizes_the_bill():
    model = cf.estimator("cegb", costs=cf.CostModel.of(PRICES, errors=BY_CLASS), n_estimators=20)
    search = cf.BudgetSearch(model, minimize="bill").fit(X[:500], Y[:500], X_val=X[500:800], y_val=Y[500:800])
    assert search.best_point_ == search.frontier_.recommended()
    assert search.best_point_.n_features
    assert search.cost(X[800:], Y[800:]).mean_bill < 1.0
    assert "bill" in search.summary_
    for wrong, message in (
        ({"minimize": "cost"}, "minimize: expected 'bill' or None"),
        ({"minimize": "bill", "scoring": "f1"}, "scoring: has no effect on the bill"),
        ({}, "budget: expected a number >= 0, got None"),
    ):
        with pytest.raises(ParameterError, match=message):
            cf.BudgetSearch(model, **wrong).fit(X, Y)
    with pytest.raises(ParameterError, match="minimize: the bill needs prices with errors"):
        cf.BudgetSearch(model.set_params(costs=PRICES), minimize="bill").fit(X[:200], Y[:200])


@pytest.mark.usefixtures("undrawn")
def test_compare_shows_bills(run, tmp_path):
    cf.CostModel.of(PRICES, errors=BY_ROW).save(tmp_path / "prices.toml")
    X.assign(state=Y).to_csv(tmp_path / "rows.csv", index=False)
    given = ("--costs", "prices.toml", "--target", "state", "--algorithms", "cegb", "--output", "out")
    shown = run("compare", "rows.csv", *given, "--all")
    assert shown.exit_code == 0, shown.output
    frontier = cf.Frontier.load(tmp_path / "out")
    chosen, constant, fewest = frontier.recommended(), frontier.constant(), min(map(frontier.errors, frontier))
    said = " ".join(shown.stdout.split())
    assert f"Recommended: {describe_model(frontier, chosen)}" in said
    assert f"so its bill is {chosen.test_cost - chosen.test_score:.2f} (estimated {frontier.bill(chosen):.4g} " in said
    assert "the least bill" in said
    assert f"All features for each row cost 0.30, so that their bill is {0.3 + fewest:.2f}" in said
    assert f"Without features the bill is {frontier.bill(constant):.4g}" in said
    assert "neg_error_cost" not in said
    page = (tmp_path / "out" / "report.html").read_text()
    assert "bill per row" in page
    assert f"{frontier.bill(chosen):,.2f} \u00b1" in page
    assert {"bill", "bill_error"} <= {*pd.read_csv(tmp_path / "out" / "points.csv")}
    assert "and where the run chose by the bill, one by task" in " ".join(run("cost", "--help").stdout.split())
    said = run("cost", "out/recommended.model", "rows.csv", "--target", "state", "--part", "test").stdout
    assert said.startswith("roc_auc ")
    assert f"so the bill is {chosen.test_cost - chosen.test_score:,.6g} " in said


@pytest.mark.parametrize("large", [False, True])
def test_a_fit_needs_no_tradeoff_where_prices_have_errors(run, tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(machine, "memory_size", lambda: 20_000)
    X.assign(state=Y).to_parquet(tmp_path / "rows.parquet", index=False)
    given = ("fit", tmp_path / "rows.parquet", "--target", "state", "--algorithm", "cegb", "--output", "m")
    assert "give either --tradeoff" in run(*given).stderr
    cf.CostModel.of(PRICES, errors=BY_ROW).save(tmp_path / "prices.toml")
    done = run(*given, "--costs", tmp_path / "prices.toml")
    assert done.exit_code == 0, done.output
    assert "bill is" in " ".join(done.stdout.split())
    assert "roc_auc" not in done.stdout


def test_costs_drafts_prices_of_errors_as_comments(run, tmp_path):
    X.assign(state=np.where(Y == "ill", "not well", "well")).to_csv(tmp_path / "rows.csv", index=False)
    drafted = run("costs", "rows.csv", "--target", "state").stdout
    table = drafted.split("\n# What wrong answers cost")[1].split("\n", 1)[1].replace("# ", "")
    assert "errors" not in drafted.split("# What wrong")[0]
    (tmp_path / "prices.toml").write_text(drafted.split("\n# What")[0] + table.replace("0.0", "2.0"))
    read = cf.CostModel.load(tmp_path / "prices.toml").errors.to_dict()
    assert read == {"not well": {"well": 2.0}, "well": {"not well": 2.0}}
    assert "What wrong answers cost" not in run("costs", "rows.csv", "--target", "a").stdout


def test_a_known_price_of_an_error_decides_where_it_cannot_be_asked_for():
    model = cf.estimator("cegb", costs=cf.CostModel.of(PRICES, errors=BY_ROW), n_estimators=10).fit(X[:400], Y[:400])
    answers = []
    for row in X[400:430].to_dict("records"):
        for limits in ({"known": {"amount": row["amount"]}}, {}):
            inquiry = model.predictor_.inquire(**limits, unavailable=["amount"] if limits else ())
            while inquiry.needs:
                inquiry.supply({name: row[name] for name in inquiry.needs})
            answers.append((inquiry.answer.label, inquiry.answer.reason))
    assert answers[::2] == answers[1::2]
    likeliest = model.predictor_.labels(X[400:430], unavailable=["amount"])
    assert [label for label, _ in answers[::2]] != likeliest.tolist()
