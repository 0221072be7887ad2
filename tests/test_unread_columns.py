"""What is unavailable is not read: tables may lack it, or hold anything there, and are answered alike."""

from __future__ import annotations

import functools
import io
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cli_cases import refused
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import costframe as cf
from costframe.errors import DataError, InquiryError
from costframe.testing import same_bits

NAMES = ("a", "b", "town", "day", "c")
PRICES = {
    "unit": "CAD",
    "features": {
        "a": 1.0,
        "b": {"cost": 2.0, "needs": ["blood"]},
        "town": 0.5,
        "day": 0.25,
        "c": {"cost": 3.0, "needs": ["blood"]},
    },
    "resources": {"blood": 4.0},
}
KINDS = ("cegb", "planner", "pipeline")
DOWN = (("c",), ("town",), ("day",), ("blood",), ("a", "blood"), ("town", "a"), NAMES)
FRAMES = {"pandas": lambda X: X, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
ODD: dict[str, list[Any]] = {
    "text": ["n/a", "down"] * 30,
    "infinite": [np.inf, -np.inf] * 30,
    "unknown": [b"\x00", "Kiel"] * 30,
    "empty": [None] * 60,
    "lists": [[1], [2, 3]] * 30,
}


def drawn(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw rows with texts and dates, and a label that depends on all columns."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X.insert(2, "town", rng.choice(["Bonn", "Oslo", "Rome"], n))
    X.insert(3, "day", pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"))
    score = X["a"] + X["b"] + 2 * X["c"] + (X["town"] == "Oslo") + (X["day"] > "2026-06-01")
    return X, np.where(score + rng.normal(size=n) > 1, "ill", "well")


def finite(table: Any) -> Any:
    """Return a table; refuse what is not finite."""
    if not np.isfinite(np.asarray(table, float)).all():
        raise ValueError("not finite")
    return np.tanh(table)


@functools.cache
def fitted(kind: str) -> Any:
    """Return a model of a kind that reads all columns."""
    X, y = drawn(500)
    if "pipeline" not in kind:
        return cf.estimator(kind, costs=PRICES, tradeoff=1e-4, n_jobs=1).fit(X, y)
    first = FunctionTransformer(finite) if kind == "pipeline" else StandardScaler()
    number = make_pipeline(first, StandardScaler())  # an opaque operation for each part, if it is a function
    parts = make_column_transformer(
        (number, ["a"]), (number, ["b", "c"]), (OneHotEncoder(handle_unknown="error"), ["town"]), ("passthrough", ["e"])
    )
    X = X.assign(e=1.0).drop(columns="day")
    table = PRICES | {"features": {name: PRICES["features"].get(name, 0.0) for name in X}}
    model = cf.adopt(make_pipeline(parts, LogisticRegression()).fit(X, y)).with_costs(cf.CostModel.of(table))
    return model.with_fallbacks(X, y=y)


def rows_for(kind: str) -> pd.DataFrame:
    X, _ = drawn(60, 1)
    return X.assign(e=1.0).drop(columns="day") if "pipeline" in kind else X


def answers(model: Any, X: Any, names: tuple[str, ...]) -> list[Any]:
    """Return all that a model says of rows without what is unavailable."""
    down = {"unavailable": names}
    predictor = getattr(model, "predictor_", model)
    many = cf.predict_many(model, X, **down)
    reports = [each.cost(X, rounds=True, **down) for each in {model, predictor}]
    reports.append(cf.ExpectedCost(predictor.costs, **down).evaluate(predictor, X))
    found = [
        getattr(report, name) for report in reports for name in ("per_row", "acquired", "rounds", "cut", "predictions")
    ]
    found += [many.value, many.cost, many.acquired, many.cut, np.array([end.label for end in many])]
    found += [predictor.predict(X, **down), predictor.labels(X, **down), predictor.decision_function(X, **down)]
    found.append(predictor.decide(predictor.predict_ends(X, **down), X, **down))
    if model is not predictor:
        asked = model.predict, model.predict_proba, model.decision_function
        found += [ask(X, **down) for ask in asked]
    return [np.asarray(each) for each in found]


def gone(kind: str, names: tuple[str, ...]) -> list[str]:
    every = {*names, *(("b", "c") if "blood" in names else ())}
    return [name for name in rows_for(kind) if name in every]


def expect_alike(ones: list[Any], others: list[Any]) -> None:
    assert len(ones) == len(others)
    for place, (one, other) in enumerate(zip(ones, others, strict=True)):
        if one.dtype.kind == "f":
            assert same_bits(one, other), place
        else:
            assert one.tolist() == other.tolist(), place


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", DOWN, ids=" ".join)
def test_a_frame_without_what_is_unavailable_is_answered_as_one_that_has_it(kind, names, library):
    names = tuple(name for name in names if kind != "pipeline" or name != "day") or ("a",)
    model, X = fitted(kind), rows_for(kind)
    wanted = answers(model, X, names)
    lacking = X.drop(columns=gone(kind, names)).assign(other="x")
    expect_alike(answers(model, FRAMES[library](lacking), names), wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("held", ODD)
@pytest.mark.parametrize("library", FRAMES)
def test_what_is_in_an_unavailable_column_changes_nothing(kind, held, library):
    model, X, names = fitted(kind), rows_for(kind), ("town", "blood")
    lost = gone(kind, names)
    odd = X.assign(**{name: pd.Series(ODD[held], dtype=object) for name in lost})
    if library == "polars":
        odd = pl.DataFrame({name: pl.Series(list(odd[name]), dtype=pl.Object if name in lost else None) for name in X})
    elif library == "arrow" and held == "unknown":  # a column of Arrow has one type
        odd = pa.Table.from_pandas(odd.assign(**dict.fromkeys(lost, "Kiel")))
    elif library == "arrow":
        odd = pa.Table.from_pandas(odd)
    expect_alike(answers(model, odd, names), answers(model, X, names))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [("c",), ("town", "blood"), ("a",)], ids=" ".join)
def test_tables_single_rows_and_inquiries_agree_without_the_column(kind, names):
    model, X = fitted(kind), rows_for(kind)
    predictor, lacking = getattr(model, "predictor_", model), X.drop(columns=gone(kind, names))
    rows = lacking.astype({"day": object} if "day" in X else {}).to_dict("records")
    many, report = cf.predict_many(model, lacking, unavailable=names), model.cost(lacking, unavailable=names)
    listed = cf.predict_many(model, rows, unavailable=names)
    for i, row in enumerate(rows):
        one, inquiry = cf.predict_one(model, row, unavailable=names), predictor.inquire(unavailable=names)
        while inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
        for end in (many[i], listed[i], inquiry.answer):
            assert (end.value, end.label, end.cost, end.acquired, end.reason) == (
                one.value, one.label, one.cost, one.acquired, one.reason,
            )  # fmt: skip
        assert (one.value, one.cost) == (many.value[i], many.cost[i]) == (report.predictions[i], report.per_row[i])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", FRAMES)
def test_other_columns_are_refused_by_name_as_before(kind, library):
    model, X = fitted(kind), rows_for(kind)
    lacking, odd = FRAMES[library](X.drop(columns=["a", "c"])), FRAMES[library](X.assign(a="high"))
    asked = [model.cost, functools.partial(cf.predict_many, model), getattr(model, "predict_proba", model.predict)]
    for ask in asked:
        with pytest.raises(DataError, match=r"\ba\b") as found:
            ask(lacking, unavailable=["c"])
        assert "'c'" not in str(found.value).partition("they have")[0]
        with pytest.raises(DataError, match="'a'" if kind != "pipeline" else "'high'"):  # which has opaque operations
            ask(odd, unavailable=["c"])
        with pytest.raises(DataError, match=r"\bc\b"):
            ask(FRAMES[library](X.drop(columns="c")), unavailable=["town"])
        with pytest.raises(InquiryError, match="unavailable: 'sacn'"):
            ask(lacking, unavailable=["sacn"])


def test_arrays_keep_their_number_of_columns_and_may_hold_anything_there():
    model, X = fitted("cegb"), rows_for("cegb")
    cells = X.astype(object).to_numpy()
    for names in (("c",), ("town", "blood"), ("day",)):
        wanted, odd = answers(model.predictor_, X, names), cells.copy()
        for name in gone("cegb", names):
            odd[:, NAMES.index(name)] = [b"\x00", [1, 2]] * 30
        for rows in (cells, odd, odd.tolist(), pd.DataFrame(odd)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of scikit-learn: rows without names
                expect_alike(
                    [model.predict_proba(rows, unavailable=names)],
                    wanted[:0] or [model.predict_proba(X, unavailable=names)],
                )
            if not isinstance(rows, list):
                expect_alike(answers(model.predictor_, rows, names), wanted)
    narrow = np.zeros((60, 4))
    for ask in (model.predictor_.predict, model.predictor_.cost):
        with pytest.raises(DataError, match="expected 5 columns"):
            ask(narrow, unavailable=["c"])
    with pytest.warns(UserWarning, match="feature names"), pytest.raises(DataError, match="5 features"):
        model.predict(narrow, unavailable=["c"])


def test_rows_in_doubles_are_left_as_they_are():
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = cf.estimator("cegb", costs={"a": 1.0, "b": 1.0, "c": 1.0}, n_jobs=1).fit(X, X.sum(axis=1) > 0)
    odd, frame = X.copy(), pd.DataFrame(X, columns=["a", "b", "c"])
    odd[:, 2] = np.inf
    kept = odd.copy()
    wanted = model.predict_proba(X, unavailable=["c"])
    assert same_bits(model.predict_proba(odd, unavailable=["c"]), wanted)
    assert same_bits(odd, kept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of scikit-learn: rows with names, of training without
        by_place = frame.set_axis(["x", "y", "z"], axis=1).assign(z="n/a")
        assert same_bits(model.predict_proba(by_place, unavailable=["c"]), wanted)
        with pytest.raises(DataError, match="expecting 3 features"):
            model.predict_proba(frame[["a", "b"]], unavailable=["c"])
    assert frame.equals(pd.DataFrame(X, columns=["a", "b", "c"]))


def test_names_that_can_be_read_once_are_enough():
    model, X = fitted("cegb"), rows_for("cegb").drop(columns="c")
    for ask in (model.predict_proba, lambda rows, **down: model.cost(rows, **down).per_row):
        assert same_bits(ask(X, unavailable=iter(["c"])), ask(X, unavailable="c"))


def test_known_values_of_what_no_table_has_are_taken():
    model, X = fitted("cegb"), rows_for("cegb")
    lacking, terms = X.drop(columns="c"), {"known": {"c": 0.5}, "unavailable": ["c"]}
    wanted = cf.predict_many(model, X.assign(c=0.5), known=["c"])
    assert same_bits(cf.predict_many(model, lacking, **terms).value, wanted.value)


# --- prices of errors ---------------------------------------------------------------------------------------------


@functools.cache
def by_amount() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Return a model whose errors cost the amount of a row, with rows and labels."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"]).assign(amount=rng.uniform(0, 20, 400))
    y = np.where(X["a"] + X["b"] + rng.normal(size=400) > 0, "ill", "well")
    table = {
        "features": {"a": 1.0, "b": 1.0, "amount": 0.0},
        "errors": {"ill": {"well": {"column": "amount"}}, "well": {"ill": 3.0}},
    }
    return cf.estimator("cegb", costs=table, tradeoff=1e-3, n_jobs=1).fit(X[:300], y[:300]), X[300:], y[300:]


def test_without_the_price_of_an_error_the_likeliest_class_is_the_answer():
    model, X, _ = by_amount()
    lacking, odd = X.drop(columns="amount"), X.assign(amount="?")
    likeliest = np.where(model.predict_proba(X, unavailable=["amount"])[:, 0] > 0.5, "ill", "well")
    assert (likeliest != model.predict(X)).any()
    for rows in (X, lacking, odd):
        expect_alike(answers(model, rows, ("amount",)), answers(model, X.assign(amount=np.nan), ("amount",)))
        assert model.predict(rows, unavailable=["amount"]).tolist() == likeliest.tolist()
    with pytest.raises(DataError, match="amount"):
        model.predict(lacking)


def test_bills_take_the_amount_where_it_is_told_and_else_are_as_of_missing_values():
    model, X, y = by_amount()
    predictor, terms = model.predictor_, {"y": y, "unavailable": ["amount"]}
    for asked in (model.cost, predictor.cost):
        answered = model.predict(X, unavailable=["amount"])
        wrong = np.where((y == "ill") & (answered == "well"), X["amount"], 0.0) + 3.0 * (
            (y == "well") & (answered == "ill")
        )
        np.testing.assert_allclose(asked(X, **terms).errors, wrong)
        messages = []
        for rows in (X.assign(amount=[*[np.nan] * 99, 1.0]), X.drop(columns="amount")):
            with pytest.raises(DataError, match="'amount', the price of an error; got nan in row") as found:
                asked(rows, **terms)
            messages.append(str(found.value))
        assert len({*messages}) == 1
        right = y == answered
        assert not asked(X[right].drop(columns="amount"), y=y[right], unavailable=["amount"]).errors.any()


# --- tests that were not made, partitions, and files --------------------------------------------------------------


def test_a_test_that_is_unavailable_need_not_have_been_made():
    table = {"features": {"a": 1.0, "b": {"cost": 2.0, "absent": "not made"}, "c": {"cost": 1.0}}}
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    model = cf.estimator("cegb", costs=cf.CostModel.of(table), n_jobs=1).fit(X, X.sum(axis=1) > 0)
    holed = X.assign(b=X["b"].where(X.index % 2 == 0))
    wanted = model.cost(X, unavailable=["b"]).per_row
    for rows in (holed, X.drop(columns="b"), X.assign(b="n/a"), holed.to_numpy()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert same_bits(model.cost(rows, unavailable=["b"]).per_row, wanted)
        assert same_bits(model.predictor_.cost(rows, unavailable=["b"]).per_row, wanted)
    with pytest.raises(DataError, match="was not made in"):
        model.cost(holed)


@pytest.mark.parametrize("kind", ["cegb", "planner"])
def test_partitions_may_lack_the_column_too(kind):
    dd = pytest.importorskip("dask.dataframe", reason="needs dask")
    model, X, names = fitted(kind), rows_for(kind), ("blood", "town")
    lacking = dd.from_pandas(X.drop(columns=gone(kind, names)), npartitions=3)
    odd = dd.from_pandas(X.assign(c="n/a"), npartitions=3)
    for rows in (lacking, odd):
        assert same_bits(
            model.predict_proba(rows, unavailable=names).compute(), model.predict_proba(X, unavailable=names)
        )
        found, wanted = model.cost(rows, unavailable=names), model.cost(X, unavailable=names)
        assert same_bits(np.asarray(found.per_row), wanted.per_row)
        assert same_bits(
            cf.predict_many(model, rows, unavailable=names).value, cf.predict_many(model, X, unavailable=names).value
        )


@pytest.mark.parametrize("kind", ["cegb", "planner", "pipeline without code"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_may_lack_the_column_or_hold_anything_there(kind, ending, run, tmp_path):
    model, X, names = fitted(kind), rows_for(kind), ("blood", "town")
    cf.save(model, tmp_path / "my.model")
    lost = gone(kind, names)
    tables = {"whole": X, "lacking": X.drop(columns=lost), "odd": X.assign(**dict.fromkeys(lost, "n/a; -"))}
    asked = [part for name in names for part in ("--unavailable", name)]
    written = []
    for name, table in tables.items():
        file = tmp_path / f"{name}.{ending}"
        table.to_csv(file, index=False) if ending == "csv" else table.to_parquet(file)
        result = run("predict", "my.model", file, "--output", "-", "--acquired", *asked)
        assert result.exit_code == 0, result.output
        assert "town" not in result.stderr
        written.append(result.stdout)
    assert written[0] == written[1] == written[2]
    found = pd.read_csv(io.StringIO(written[1]))
    np.testing.assert_array_equal(found["cost"], model.cost(X, unavailable=names).per_row)
    assert "'b'" in refused(run("predict", "my.model", f"lacking.{ending}", "--output", "-", "--unavailable", "town"))
    kept = run("predict", "my.model", f"odd.{ending}", "--output", "-", "--keep", "town", *asked)
    assert pd.read_csv(io.StringIO(kept.stdout))["town"].tolist() == ["n/a; -"] * 60
