"""Prices of wrong answers: their entries, the answers they decide, and the bill."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier
from wrapper_cases import AnnotatedPredictor, MixedPredictor

import costframe as cf
from costframe.errors import InquiryError
from costframe.plugin import CostModelError, DataError, ParameterError
from costframe.sources import CallSource, InquiryLog, Lookup, Policy, Sources, audit

PRICES = {"a": 1.0, "b": 2.0, "amount": 0.0}
BY_CLASS = {"ill": {"well": 9.0}, "well": {"ill": 1.0}}
BY_ROW = {"ill": {"well": {"column": "amount", "times": 2.0}}, "well": {"ill": 1.0}}
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=400), "b": RNG.normal(size=400), "amount": RNG.uniform(0, 9, 400)})
Y = np.where(X.a + RNG.normal(size=400) > 0.8, "ill", "well")


def price(truth, answer, amount, errors):
    """Return the price of an answer, entry by entry."""
    found = errors.get(truth, {}).get(answer, 0.0)
    return found["times"] * amount if isinstance(found, dict) else found


def least(p, classes, amount, errors):
    """Return the answer of least expected price, the first of equal ones."""
    expected = [
        sum(q * price(truth, answer, amount, errors) for q, truth in zip(p, classes, strict=True)) for answer in classes
    ]
    return classes[int(np.argmin(expected))]


@pytest.fixture(scope="module", params=[BY_CLASS, BY_ROW], ids=["by class", "by row"])
def fitted(request):
    """Return a model and its errors."""
    costs = cf.CostModel.of(PRICES, errors=request.param)
    return cf.estimator("miser", costs=costs, tradeoff=1e-3, n_estimators=20).fit(X[:300], Y[:300]), request.param


@pytest.mark.parametrize(
    ("errors", "same"),
    [
        ({1: {0: 5}, 0: {1: 2}}, {"1": {"0": 5.0}, "0": {"1": 2.0}}),
        ({True: {False: 5}}, {"true": {"false": 5.0}}),
        ({1.0: {0.0: 5}}, {"1": {"0": 5.0}}),
        (
            pd.DataFrame([[0, 1], [2, 0]], ["x", "y"], ["x", "y"]),
            {"x": {"x": 0.0, "y": 1.0}, "y": {"x": 2.0, "y": 0.0}},
        ),
        ((np.array([[0, 1], [2, 0]]), ["x", "y"]), {"x": {"x": 0.0, "y": 1.0}, "y": {"x": 2.0, "y": 0.0}}),
        ([[0, 1], [2, 0]], {"matrix": [[0.0, 1.0], [2.0, 0.0]]}),
        ({"absolute": 2}, {"absolute": 2.0}),
        (BY_ROW, BY_ROW),
    ],
)
@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_errors_are_read_and_written(errors, same, suffix, tmp_path):
    costs = cf.CostModel.of(PRICES, errors=errors)
    assert costs.to_dict()["errors"] == same
    costs.save(tmp_path / f"prices.{suffix}")
    assert cf.CostModel.load(tmp_path / f"prices.{suffix}") == costs


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ({}, "errors: expected the price of at least one wrong answer"),
        ({"ill": 3}, "errors.ill: expected a table, got 3"),
        ({"ill": {"well": -1}}, "errors.ill.well: expected a finite number >= 0, got -1"),
        ({"ill": {"well": None}}, "errors.ill.well: expected a finite number >= 0, got None"),
        ({"ill": {"well": {"times": 2}}}, "errors.ill.well.column: expected the name of a free feature, got no entry"),
        (
            {"ill": {"well": {"column": "a"}}},
            "errors: expected a free feature without needs as column, got 'a'",
        ),
        ({"ill": {"well": {"column": "amout"}}}, "got 'amout' (did you mean 'amount'?)"),
        ({1: {0: 1}, "1": {0: 2}}, "errors: expected different names, got '1' twice"),
        ([[1, 2]], "errors: expected a price for each true class and answer, got the shape (1, 2)"),
        ([[0, np.nan], [1, 0]], 'errors."row 0": expected a finite number >= 0, got nan'),
        ("high", "errors: expected prices by true class and answer, got 'high'"),
    ],
)
def test_wrong_entries_are_named(errors, message):
    with pytest.raises(CostModelError) as refused:
        cf.CostModel.of(PRICES, errors=errors)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ({"ill": {"wel": 1}}, "errors.ill.wel: expected one of the classes 'ill', 'well', got 'wel' (did you mean"),
        ([[0, 1, 2], [1, 0, 2], [1, 2, 0]], "errors: expected 2 x 2 prices"),
        ({"absolute": 1}, "errors: expected prices by class, got prices per unit of error"),
    ],
)
def test_fit_refuses_errors_that_do_not_fit_the_classes(errors, message):
    with pytest.raises(CostModelError) as refused:
        cf.estimator("miser", costs=cf.CostModel.of(PRICES, errors=errors)).fit(X, Y)
    assert message in str(refused.value)


@pytest.mark.parametrize("task", ["regression", "ranking"])
def test_fit_refuses_errors_of_another_task(task):
    costs = cf.CostModel.of(PRICES, errors=BY_CLASS)
    with pytest.raises(CostModelError, match="errors: expected prices"):
        cf.estimator("cegb", task, costs=costs).fit(X, np.arange(400) % 3)


def test_the_answer_is_that_of_least_expected_price(fitted, tmp_path):
    model, errors = fitted
    p, classes = model.predict_proba(X), model.classes_.tolist()
    wanted = [least(each, classes, amount, errors) for each, amount in zip(p, X.amount, strict=True)]
    assert model.predict(X).tolist() == wanted
    assert wanted != model.classes_[p.argmax(axis=1)].tolist()  # or the prices would decide nothing
    assert [model.predict(X[i : i + 1])[0] for i in range(40)] == wanted[:40]
    cf.save(model, tmp_path / "saved.model")
    assert cf.load(tmp_path / "saved.model").predict(X).tolist() == wanted
    plain = model.predict(X, costs=PRICES)
    assert plain.tolist() == model.classes_[p.argmax(axis=1)].tolist()


def test_ties_go_to_the_first_class():
    p, half = np.array([[0.5, 0.5], [0.25, 0.75]]), cf.CostModel.of(PRICES, errors=[[0, 1], [1, 0]])
    prices = half.errors.of_classes(np.array(["ill", "well"]), half.names)
    assert prices.decide(p, np.zeros((2, 3))).tolist() == [0, 1]


def test_the_bill_is_the_cost_and_the_price_of_the_answer(fitted):
    model, errors = fitted
    rows, truth = X[300:], Y[300:]
    report, answers = model.cost(rows, truth), model.predict(rows)
    wanted = [price(*each, errors) for each in zip(truth, answers, rows.amount, strict=True)]
    np.testing.assert_allclose(report.errors, wanted, rtol=1e-12)
    np.testing.assert_array_equal(report.bill, report.per_row + report.errors)
    assert report.mean_bill == pytest.approx(report.bill.mean())
    assert report.bill_error == pytest.approx(report.bill.std(ddof=1) / 10)
    parts = cf.CostReport.merge([model.cost(rows[:30], truth[:30]), model.cost(rows[30:], truth[30:])])
    assert (parts.mean_bill, parts.bill_error) == (report.mean_bill, report.bill_error)
    twice = model.cost(rows, truth, sample_weight=np.full(100, 2.0))
    both = model.cost(pd.concat([rows, rows]), np.concatenate([truth, truth]))
    assert (twice.mean_bill, twice.bill_error) == (both.mean_bill, both.bill_error)
    assert "bill" in repr(report)
    assert "bill" not in repr(model.cost(rows))


def test_the_error_of_a_bill_is_exact_beside_high_prices(fitted):
    _, errors = fitted
    costs = cf.CostModel.of({"a": 1e8, "b": 1e8, "amount": 0.0}, errors=errors)
    everything = cf.adopt(LogisticRegression().fit(X, Y), feature_names=list(X)).with_costs(costs)
    report = everything.cost(X, y=Y)
    assert report.mean == 2e8
    assert report.bill_error == pytest.approx(report.errors.std(ddof=1) / 20, rel=1e-6)
    parts = cf.CostReport.merge([everything.cost(X[:30], y=Y[:30]), everything.cost(X[30:], y=Y[30:])])
    assert parts.bill_error == report.bill_error
    twice = everything.cost(X, y=Y, sample_weight=np.full(400, 2.0))
    assert twice.bill_error == pytest.approx(report.errors.std() / 799**0.5, rel=1e-6)


def test_regressions_pay_by_the_unit():
    y, prices = X.a + X.b, cf.CostModel.of(PRICES, errors={"absolute": 2.0, "squared": 0.5})
    model = cf.estimator("miser", "regression", costs=prices, n_estimators=10).fit(X[:300], y[:300])
    off = np.abs(model.predict(X[300:]) - y[300:])
    np.testing.assert_allclose(model.cost(X[300:], y[300:]).errors, 2.0 * off + 0.5 * off**2, rtol=1e-12)
    tree = model.predictor_
    for ask in (tree.labels, tree.with_costs(None).labels, lambda rows: tree.decide(tree.predict_ends(rows), rows)):
        with pytest.raises(ParameterError, match="labels: the model does not know its classes; name them by"):
            ask(X)


def test_what_cannot_be_told_is_refused(fitted):
    model, errors = fitted
    with pytest.raises(DataError, match="y: expected one of the classes 'ill', 'well' for each row, got 'sick'"):
        model.cost(X[:3], ["ill", "sick", "well"])
    for odd in (["ill"], {"ill": 1.0}):
        with pytest.raises(DataError, match="y: expected one of the classes 'ill', 'well' for each row, got "):
            model.cost(X[:3], pd.Series([odd] * 3))
    with pytest.raises(DataError, match=r"y: expected one label a row, shape \(3,\), got \(2,\)"):
        model.cost(X[:3], ["ill", "well"])
    with pytest.raises(CostModelError, match="y: expected prices with errors"):
        model.cost(X[:3], Y[:3], costs=PRICES)
    with pytest.raises(ParameterError, match="errors: are known with labels only"):
        model.cost(X[:3]).bill  # noqa: B018
    if errors is BY_ROW:
        with pytest.raises(DataError, match=r"errors: expected finite numbers >= 0 in 'amount'.*got nan in row 1"):
            model.predict(X[:3].assign(amount=[1.0, np.nan, 2.0]))
    certain = cf.certain(model, "class")
    with pytest.raises(ParameterError, match="certain: rows end when their likeliest class is certain"):
        certain.predict(X[:3])


def test_labels_and_prices_in_each_other_s_place_are_told_so(fitted):
    fitted_model, _ = fitted
    for model in (fitted_model, fitted_model.predictor_, cf.FittedEstimator(fitted_model.predictor_)):
        with pytest.raises(
            CostModelError, match=r"costs: expected .* if these are the labels of rows, give them as `y`"
        ):
            model.cost(X, costs=Y)
        with pytest.raises(CostModelError, match=r"costs: expected 3 prices.* got 400; if these are the labels"):
            model.cost(X, costs=(Y == "ill").astype(int))
        with pytest.raises(DataError, match=r"y: expected one label a row.* got \(3,\); prices are `costs`"):
            model.cost(X, [1.0, 2.0, 0.0])
        with pytest.raises(DataError, match=r"y: expected one label a row.* got lists of several lengths; prices are"):
            model.cost(X[:2], [[1.0], [2.0, 0.0]])
        with pytest.raises(ParameterError, match="costs: expected once, got it by position and by name"):
            model.cost(X, PRICES, costs=PRICES)
        with pytest.raises(ParameterError, match="y: expected once, got it by position and by name"):
            model.cost(X, Y, y=Y)


def test_prices_that_name_their_features_are_taken_by_position_by_all(fitted, tmp_path):
    """As are labels: models differ in nothing here."""
    fitted_model, _ = fitted
    prices = cf.CostModel.of({"a": 2.0, "b": 4.0, "amount": 0.0})
    prices.save(file := tmp_path / "prices.toml")
    models = [fitted_model, fitted_model.predictor_, cf.FittedEstimator(fitted_model.predictor_)]
    named = [prices, {"a": 2.0, "b": 4.0, "amount": 0.0}, file, pd.Series({"a": 2.0, "b": 4.0, "amount": 0.0})]
    for model in models:
        expected = model.cost(X, costs=prices).per_row
        for given in named:
            np.testing.assert_array_equal(model.cost(X, given).per_row, expected)
        np.testing.assert_array_equal(model.cost(X, Y).errors, models[0].cost(X, y=Y).errors)
        assert model.cost(X, pd.Series(Y)).errors is not None
        priced = model.cost(X, y=Y, costs=cf.CostModel.of(prices, errors={"ill": {"well": 5.0}}))
        assert priced.mean == model.cost(X, prices).mean
        with pytest.raises(CostModelError, match=r"y: expected prices with errors.* give them as costs"):
            model.cost(X[:3], Y[:3], costs=prices)


def test_inquiries_decide_like_tables(fitted):
    model, errors = fitted
    wanted, report = model.predict(X[300:]), model.cost(X[300:])
    for place in range(100):
        row = X.iloc[300 + place].to_dict()
        inquiry = model.predictor_.inquire()
        assert errors is BY_CLASS or "amount" in inquiry.needs  # at once, with the model's own needs
        while inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
        assert (inquiry.answer.label, inquiry.answer.cost) == (wanted[place], report.per_row[place])
    known = model.predictor_.inquire(known=row)
    assert (known.needs, known.answer.label) == ((), wanted[-1])
    assert cf.predict_one(model, row).label == wanted[-1]
    assert [each.label for each in cf.predict_many(model, X[300:])] == wanted.tolist()


@pytest.fixture(scope="module")
def unread():
    """Return a model that does not read the column that is a price of its errors, and the labels of all rows."""
    tree = DecisionTreeClassifier(max_depth=2).fit(X.assign(amount=0.0), Y)
    features = {"a": {"cost": 1.0, "time": 2.0}, "b": 2.0, "amount": {"cost": 0.0, "time": 5.0}}
    model = cf.adopt(tree, feature_names=list(X)).with_costs(cf.CostModel.of({"features": features}, errors=BY_ROW))
    assert "amount" not in model.used_features
    classes = model.classes.tolist()
    rows = zip(tree.predict_proba(X.assign(amount=0.0)), X.amount, strict=True)
    return model, [least(p, classes, amount, BY_ROW) for p, amount in rows]


def test_prices_of_errors_that_the_model_does_not_read_are_read_of_frames(unread, run, tmp_path):
    model, wanted = unread
    wrong = [price(*each, BY_ROW) for each in zip(Y, wanted, X.amount, strict=True)]
    saved, table = tmp_path / "m.model", tmp_path / "x.csv"
    cf.save(model, saved)
    for each in (model, cf.load(saved)):
        np.testing.assert_allclose(each.cost(X, y=Y).errors, wrong, rtol=1e-12)
        assert [row.label for row in cf.predict_many(each, X)] == wanted
    assert model.labels(X).tolist() == wanted
    assert model.cost(X, latency=True).latency.tolist() == [5.0] * 400
    mixed = MixedPredictor(model, model, 0.5, ("amount",))
    assert mixed.labels(X).tolist() == wanted
    without = X[["a", "b"]]  # what does not decide needs no such column
    np.testing.assert_array_equal(model.predict(without), model.predict(X))
    assert model.cost(without).mean == model.cost(X).mean
    assert len(cf.predict_many(model, without, unavailable=["amount"])) == 400
    X.assign(state=Y).to_csv(table, index=False)
    cf.save(model.with_costs(None), saved)
    model.costs.save(tmp_path / "prices.toml")
    shown = run("cost", saved, table, "--target", "state", "--costs", tmp_path / "prices.toml")
    assert f"its errors cost {np.mean(wrong):,.6g}," in shown.output


@pytest.mark.parametrize("limits", [{}, {"max_cost": 1.5}], ids=["all", "capped"])
@pytest.mark.parametrize("annotated", [False, True])
def test_what_rows_acquire_includes_prices_of_errors_as_in_inquiries(unread, annotated, limits):
    model = unread[0]
    model = AnnotatedPredictor(model, model.card) if annotated else model
    many, report = cf.predict_many(model, X, **limits), model.cost(X, rounds=True, **limits)
    for acquired in (many.acquired, report.acquired, model.cost(X[["a", "b"]], **limits).acquired):
        assert acquired.tolist() == [[name in row.acquired for name in X] for row in many]
    assert report.rounds.tolist() == [row.rounds for row in many]
    assert not model.cost(X, unavailable=["amount"], **limits).acquired[:, 2].any()


@pytest.mark.parametrize("limits", [{}, {"max_cost": 1.5}], ids=["all", "capped"])
@pytest.mark.parametrize("annotated", [False, True])
def test_probabilities_need_no_prices_of_errors(unread, annotated, limits):
    model = unread[0]
    model = AnnotatedPredictor(model, model.card) if annotated else model
    without = {"unavailable": ["amount"], **limits}
    likeliest = model.labels(X, **without)
    missed, called = (int(np.flatnonzero((likeliest == label) & (Y == "ill"))[3]) for label in ("well", "ill"))
    for row in (missed, called):
        holed = X.assign(amount=X.amount.where(X.index != row))
        np.testing.assert_array_equal(model.predict(holed, **limits), model.predict(X, **limits))
        np.testing.assert_array_equal(model.cost(holed, **limits).per_row, model.cost(X, **limits).per_row)
        assert model.labels(holed, **without).tolist() == likeliest.tolist()
        with pytest.raises(DataError, match=f"got nan in row {row}$"):
            model.labels(holed, **limits)
        if row == called:
            assert model.cost(holed, y=Y, **without).errors[row] == 0.0
            continue
        with pytest.raises(DataError, match=f"got nan in row {row}$"):
            model.cost(holed, y=Y, **without)


def test_sources_must_serve_prices_of_errors_that_the_model_does_not_read(unread):
    model, wanted = unread
    rows = X.to_dict("records")
    fetch = CallSource(lambda asked: {key: {name: rows[key][name] for name in asked[key]} for key in asked})
    few, every = (Sources({"s": Lookup(fetch, names, policy=Policy())}) for names in (("a", "b"), tuple(X)))
    with pytest.raises(ParameterError, match="none serves 'amount'"):
        list(cf.predict_stream(model, few, range(3)))
    assert {key: row.label for key, row in cf.predict_stream(model, every, range(400))} == dict(enumerate(wanted))
    assert (
        cf.predict_one(model, lambda names: {name: rows[3][name] for name in names}, deadline=60.0).label == wanted[3]
    )


def test_a_live_row_whose_price_of_an_error_does_not_come_or_is_none(unread, tmp_path):
    model, wanted = unread
    likeliest = model.labels(X, unavailable=["amount"])
    rows = X.assign(amount=np.where(X.index == 1, -1.0, X.amount)).to_dict("records")
    own = CallSource(lambda asked: {key: {name: rows[key][name] for name in asked[key]} for key in asked})
    free = CallSource(lambda asked: {key: {"amount": rows[key]["amount"]} for key in asked if key})
    lookups = Lookup(own, ("a", "b"), policy=Policy()), Lookup(free, ("amount",), policy=Policy("missing"))
    sources = Sources(dict(zip(("own", "free"), lookups, strict=True)))
    with InquiryLog(tmp_path / "log") as log:
        ends = dict(cf.predict_stream(model, sources, range(3), observe=log))
    assert (ends[0].label, ends[0].reason) == (likeliest[0], "unavailable")
    assert (ends[1].cost, "expected a finite number >= 0, as it is the price" in str(ends[1])) == (1.0, True)
    assert ends[2].label == wanted[2]
    assert not audit(tmp_path / "log", model).differences


@pytest.mark.parametrize("errors", [BY_CLASS, BY_ROW], ids=["by class", "by row"])
def test_a_pipeline_decides_by_raw_prices_of_errors(errors):
    pipeline = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X, Y)
    costs, model = cf.CostModel.of(PRICES, errors=errors), cf.adopt(pipeline, feature_names=list(X))
    classes, p = model.classes.tolist(), pipeline.predict_proba(X)
    wanted = [least(each, classes, amount, errors) for each, amount in zip(p, X.amount, strict=True)]
    assert wanted != pipeline.predict(X).tolist()
    assert model.with_costs(costs).labels(X).tolist() == wanted == model.labels(X, costs=costs).tolist()
    assert [cf.predict_one(model, row, costs).label for row in X[:30].to_dict("records")] == wanted[:30]
    assert model.with_costs(costs).labels(X, costs=PRICES).tolist() == pipeline.predict(X).tolist()


def test_an_opaque_model_decides_by_a_column_of_numbers():
    neighbors = KNeighborsClassifier(5).fit(X, Y)
    model = cf.adopt(neighbors, feature_names=list(X)).with_costs(cf.CostModel.of(PRICES, errors=BY_ROW))
    rows = zip(neighbors.predict_proba(X), X.amount, strict=True)
    wanted = [least(p, model.classes.tolist(), amount, BY_ROW) for p, amount in rows]
    assert wanted != neighbors.predict(X).tolist()
    assert model.labels(X).tolist() == wanted == [row.label for row in cf.predict_many(model, X)]


def test_a_price_of_errors_that_is_no_feature_of_the_model_is_named():
    model = cf.adopt(LogisticRegression().fit(X[["a", "b"]], Y), feature_names=["a", "b"])
    costs = cf.CostModel.of(PRICES, errors=BY_ROW)
    for ask in (model.inquire, lambda costs: model.labels(X, costs=costs), lambda costs: model.cost(X, costs, y=Y)):
        with pytest.raises(
            CostModelError, match=r"errors\.ill\.well\.column: expected a feature of the model, got 'amou"
        ):
            ask(costs)
    with pytest.raises(CostModelError, match="expected a feature of the model, got 'amount'"):
        cf.Frontier.fit([LogisticRegression()], X[["a", "b"]], Y, X_val=X[["a", "b"]], y_val=Y, costs=costs)


def test_categories_and_dates_are_no_prices_of_errors():
    rows = X.assign(amount=X.amount.round().astype(int).astype(str).astype("category"))
    costs, refused = cf.CostModel.of(PRICES, errors=BY_ROW), "column: expected a feature of numbers, got 'amount'"
    with pytest.raises(CostModelError, match=refused):
        cf.estimator("miser", costs=costs).fit(rows, Y)
    model = cf.estimator("cegb", costs=PRICES, n_estimators=3).fit(rows, Y)
    for ask in (model.predictor_.inquire, lambda costs: model.predict(rows, costs=costs)):
        with pytest.raises(CostModelError, match=refused):
            ask(costs)


def test_a_plan_that_reads_the_price_of_an_error_asks_for_it_once():
    costs = cf.CostModel.of({"a": 1.0, "amount": 0.0}, errors=BY_ROW)
    y = np.where((X.amount > 4) ^ (X.a > 0), "ill", "well")
    model = cf.estimator("cegb", costs=costs, tradeoff=1e-4, n_estimators=10).fit(X[["a", "amount"]], y)
    rows = X[["a", "amount"]][:50]
    for row, label in zip(rows.to_dict("records"), model.predict(rows), strict=True):
        inquiry, asked = model.predictor_.inquire(), []
        while inquiry.needs:
            asked += inquiry.needs
            inquiry.supply({name: row[name] for name in inquiry.needs})
        assert sorted(asked) == ["a", "amount"] == sorted(inquiry.answer.acquired)
        assert inquiry.answer.label == label


def test_an_inquiry_refuses_what_it_cannot_decide(fitted):
    model, errors = fitted
    predictor = model.predictor_
    with pytest.raises(CostModelError, match=r"errors\.ill\.sick: expected one of the classes"):
        predictor.inquire(cf.CostModel.of(PRICES, errors={"ill": {"sick": 1}}))
    with pytest.raises(ParameterError, match="certain: rows end when their likeliest class is certain"):
        cf.certain(model, "class").predictor_.inquire()
    if errors is BY_ROW:
        inquiry = predictor.inquire()
        before = inquiry.needs
        with pytest.raises(InquiryError, match="value of 'amount': expected a finite number >= 0"):
            inquiry.supply(dict.fromkeys(before, np.nan))
        assert inquiry.needs == before


def test_without_the_price_of_an_error_the_likeliest_class_is_the_answer():
    costs = cf.CostModel.of(PRICES, errors=BY_ROW)
    model = cf.estimator("miser", costs=costs, tradeoff=1e-3, n_estimators=20).fit(X[:300], Y[:300])
    terms = {"unavailable": ["amount"]}
    wanted = model.classes_[model.predict_proba(X[300:], **terms).argmax(axis=1)]
    assert model.predict(X[300:], **terms).tolist() == wanted.tolist() != model.predict(X[300:]).tolist()
    right = Y[300:] == wanted
    assert (model.cost(X[300:], Y[300:], **terms).errors[right] == 0).all()
    for row, label in zip(X[300:320].to_dict("records"), wanted, strict=False):
        inquiry = model.predictor_.inquire(**terms)
        while inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
        assert (inquiry.answer.label, inquiry.answer.reason) == (label, "unavailable")


def test_commands_answer_by_the_prices_of_errors(fitted, run, tmp_path):
    model, rows, truth = fitted[0], X[300:], Y[300:]
    report, saved, table, answers = (
        model.cost(rows, truth),
        *(tmp_path / name for name in ("m.model", "x.csv", "y.csv")),
    )
    cf.save(model, saved)
    rows.assign(state=truth).to_csv(table, index=False)
    shown = run("cost", saved, table, "--target", "state")
    assert f"its errors cost {report.mean_errors:,.6g}, so the bill is {report.mean_bill:,.6g}" in shown.output
    assert f"Mistakes: {np.count_nonzero(model.predict(rows) != truth)} rows of 100" in shown.output
    assert run("predict", saved, table, "--output", answers).exit_code == 0
    assert pd.read_csv(answers).prediction.tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize(
    "command", [("cost", "--target", "state"), ("predict", "--output", "y.csv")], ids=["cost", "predict"]
)
def test_commands_number_rows_whose_price_is_none_in_the_table(unread, run, tmp_path, command):
    cf.save(unread[0], tmp_path / "m.model")
    rows = pd.concat([X.assign(state=Y)] * 60, ignore_index=True)
    rows.loc[23_456, "amount"] = np.nan
    rows.to_csv(tmp_path / "x.csv", index=False)
    assert (tmp_path / "x.csv").stat().st_size > 2**20  # more than a block
    refused = run(command[0], "m.model", "x.csv", *command[1:])
    assert (refused.exit_code, "the price of an error; got nan in row 23456\n" in refused.stderr) == (2, True)


def test_partitions_have_the_labels_and_the_bill_of_all_rows(fitted):
    frames = pytest.importorskip("dask.dataframe", reason="needs dask")
    model, parts = fitted[0], frames.from_pandas(X, npartitions=3)
    assert model.predict(parts).compute().tolist() == model.predict(X).tolist()
    whole = model.cost(X, Y)
    for labels in (Y, frames.from_pandas(pd.Series(Y), npartitions=3)):
        report = model.cost(parts, labels)
        assert (report.mean_bill, report.bill_error) == (whole.mean_bill, whole.bill_error)
        np.testing.assert_array_equal(report.errors.compute(), whole.errors)
    with pytest.raises(DataError, match="y: expected one value a row"):
        model.cost(parts, Y[:3])


def test_a_regression_has_no_prices_by_class(run, tmp_path):
    y, saved, table, prices = X.a + X.b, *(tmp_path / name for name in ("m.model", "x.csv", "prices.toml"))
    cf.save(cf.estimator("miser", "regression", costs=PRICES, n_estimators=5).fit(X, y), saved)
    X.assign(target=y).to_csv(table, index=False)
    cf.CostModel.of(PRICES, errors=BY_CLASS).save(prices)
    refused = run("cost", saved, table, "--costs", prices, "--target", "target")
    assert refused.exit_code != 0
    assert "errors: expected prices per unit of error" in str(refused.exception) + refused.output
    with pytest.raises(CostModelError, match="errors: expected prices per unit of error"):
        cf.load(saved).cost(X, y, costs=cf.CostModel.load(prices))


@pytest.mark.parametrize("name", ["miser", "planner"])
@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf])
def test_fit_names_the_row_whose_price_is_none(name, value):
    rows = X.copy()
    rows.loc[np.flatnonzero(Y == "well")[9], "amount"] = value
    where = np.flatnonzero(Y == "well")[9]
    model = cf.estimator(name, costs=cf.CostModel.of(PRICES, errors=BY_ROW))
    with pytest.raises(
        DataError, match=rf"X: expected .* in 'amount', the price of an error; got {value:g} in row {where}$"
    ):
        model.fit(rows, Y)
    with pytest.raises(DataError, match=rf"X_val: expected .* in row {where}$"):
        model.fit(X, Y, X_val=rows, y_val=Y)


def test_errors_whose_squares_are_no_numbers_are_refused():
    for errors in ({"ill": {"well": 1e151}}, {"absolute": 1e151}, [[0, 1e151], [1, 0]]):
        with pytest.raises(CostModelError, match=r"errors.*: expected a number <= 1e\+150, got 1e\+151"):
            cf.CostModel.of(PRICES, errors=errors)
    model = cf.estimator("miser", costs=cf.CostModel.of(PRICES, errors=BY_ROW), n_estimators=2).fit(X, Y)
    for method, where in ((model.predict, "errors"), (lambda rows: model.fit(rows, Y), "X")):
        with pytest.raises(
            DataError, match=rf"{where}: expected numbers <= 5e\+149 in 'amount', .* got 1e\+150 in row 0"
        ):
            method(X.assign(amount=1e150))


def test_a_study_names_the_row_whose_price_is_none_before_it_fits(run, tmp_path):
    table, prices = tmp_path / "x.csv", tmp_path / "prices.toml"
    cf.CostModel.of(PRICES, errors=BY_ROW).save(prices)
    split = np.repeat(["train", "valid", "test"], [200, 100, 100])
    rows = X.assign(amount=np.where(np.arange(400) == 350, -1.0, X.amount), state=Y, split=split)
    rows.to_csv(table, index=False)
    shown = run("compare", table, "--costs", prices, "--target", "state", "--output", tmp_path / "out")
    message = "x.csv: expected finite numbers >= 0 in 'amount', the price of an error; got -1 in row 350"
    assert message in str(shown.exception) + shown.output
    assert not (tmp_path / "out").exists()
