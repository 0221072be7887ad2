"""Guards: where a class lacks rows with a test, models do without it, the study says so, and a pilot settles it."""

import math

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from click.testing import CliRunner
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from test_planned import chain

import costframe as cf
from costframe.cli.commands import costframe
from costframe.core.errors import CostframeError, CostModelError, ParameterError, StorageError
from costframe.core.predictors.guarded import Bar, GuardedPredictor
from costframe.core.storage.stored_bars import build_bars, store_bars
from costframe.core.tables.conditions import Condition, in_words
from costframe.datasets.record_gaps import gaps_of, pilot_of
from costframe.records.guard import NEEDED, find_gaps
from costframe.records.labels import Tellers
from costframe.records.made import Records
from costframe.records.regions import Always, find_regions
from costframe.records.table import hold_constant
from costframe.testing.counting import expect_as_reported, inquire

NAMES = ("age", "sex", "scan", "iron")
COSTS = cf.CostModel.from_dict(
    {
        "features": {
            "age": 0.0,
            "sex": 0.0,
            "scan": {"cost": 5.0, "needs": ["visit"]},
            "iron": {"cost": 2.0, "needs": ["lab", "visit"]},
        },
        "resources": {
            "lab": {"cost": 3.0, "absent": "not made"},
            "visit": {"cost": 1.0},
        },
        "unit": "CAD",
    }
)
COSTS = evolve(COSTS, features=tuple(evolve(f, absent="not made") if f.name == "scan" else f for f in COSTS.features))


def hospital(n=1500, seed=0, young=0.0, ill=0.5):
    """Records of scans of which `young` is the share of those up to 40, and of blood, `ill` that of the ill."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(18, 90, n).astype(float), rng.integers(0, 2, n).astype(float)
    y = (rng.random(n) < 1 / (1 + np.exp(-0.04 * (age - 50)))).astype(int)
    scan, iron = 2 * y + rng.normal(size=n), y + rng.normal(size=n)
    scan[rng.random(n) >= np.where(age <= 40, young, 0.5)] = np.nan
    iron[rng.random(n) >= np.where(y == 1, ill, 0.5)] = np.nan
    return np.column_stack([age, sex, scan, iron]), y


def dataset(**how):
    X, y = hospital(**how)
    return cf.datasets.Dataset.from_arrays(X, y, COSTS, feature_names=NAMES, categorical={"sex": ("male", "female")})


# --- conditions and regions ---


def test_conditions_hold_for_ranges_labels_and_missing_values_and_read_as_words():
    age = Condition("age", above=20, missing=True).meet(Condition("age", up_to=40, missing=True))
    assert age.holds(np.array([20.0, 21.0, 40.0, 41.0, np.nan]), {}).tolist() == [False, True, True, False, True]
    male, numbers = Condition("sex", label="male"), {"male": 1.0, "female": 0.0}
    assert male.holds(np.array([1.0, 0.0, np.nan]), numbers).tolist() == [True, False, False]
    others = Condition("ward", others=("A", "B"), missing=True)
    held = others.holds(np.array([0.0, 1.0, 2.0, np.nan]), {"A": 0.0, "B": 1.0})
    assert held.tolist() == [False, False, True, True]
    assert in_words([age, male, others]) == (
        "age is above 20 and up to 40 or missing and sex is male and ward is not A or B"
    )
    assert in_words([Condition("age", up_to=40)]) == "age is up to 40"
    with pytest.raises(ParameterError, match="up_to: expected more than 3"):
        Condition("age", above=3, up_to=3)


def always_of(X):
    return Always(X, NAMES, (0, 1), {"sex": {"male": 0.0, "female": 1.0}})


@pytest.mark.parametrize("seed", range(3))
def test_regions_are_those_that_history_made_and_none_by_chance(seed):
    X, rng = hospital(4000, seed)[0], np.random.default_rng(seed)
    assert find_regions(always_of(X), rng.random(len(X)) < 0.3) == []
    planted = (X[:, 0] <= 40) & (X[:, 1] == 0)
    found = find_regions(always_of(X), (rng.random(len(X)) < 0.4) & ~planted)
    assert "age is up to 40 and sex is male" in {str(region) for region in found} | {
        " and ".join(sorted(str(region).split(" and "))) for region in found
    }
    inside = np.array([always_of(X).find(region) for region in found])
    assert (inside.sum(axis=0) == 1).all()  # leaves part the rows
    assert any(np.array_equal(rows, planted) for rows in inside)


def test_missing_values_are_in_one_region_that_words_name():
    X = hospital(4000)[0]
    X[::5, 0] = np.nan
    found = find_regions(always_of(X), ~np.isnan(X[:, 0]) & (np.random.default_rng(0).random(len(X)) < 0.5))
    inside = np.array([always_of(X).find(region) for region in found])
    assert (inside.sum(axis=0) == 1).all()
    assert {str(region) for region in found} == {"age is known", "age is missing"}
    found = find_regions(always_of(X), (X[:, 0] > 60) & (np.random.default_rng(0).random(len(X)) < 0.5))
    inside = np.array([always_of(X).find(region) for region in found])
    assert (inside.sum(axis=0) == 1).all()
    assert "age is up to 60 or missing" in map(str, found)


# --- gaps ---


def test_a_gap_is_named_by_panel_class_and_region():
    assert gaps_of(dataset(young=0.5)).found == ()
    gaps = gaps_of(dataset(young=0.01))
    young = hospital(young=0.01)[0]
    young = young[young[:, 0] <= 40]
    made = int((~np.isnan(young[:, 2])).sum())
    said = "nobody knows what scan shows of rows of class 0 or 1 where age is up to 40: it was made for"
    assert gaps.sentences() == [f"{said} {made} of {len(young)}"]
    assert gaps.left_out == ()
    whole = gaps_of(dataset(young=0.5, ill=0.004))
    (gap,) = whole.found
    assert (gap.panel, gap.region, gap.label, whole.left_out) == ("lab", None, 1, ("iron",))
    assert whole.sentences()[0].endswith(f"it was made for {gap.made} of {gap.rows}; 'iron' is left out")


@pytest.mark.parametrize(("donors", "is_gap"), [(NEEDED - 1, True), (NEEDED, False)])
def test_a_class_needs_ten_donors_where_many_rows_lack_the_test(donors, is_gap):
    X, y = hospital(young=0.5)
    X[:, 2] = 1.0
    ill = np.flatnonzero(y == 1)
    X[ill[donors:], 2] = np.nan
    always, records = always_of(X), Records.of(X, NAMES, COSTS.panels)
    assert ("scan" in find_gaps(always, records, y, (0, 1)).left_out) == is_gap
    X[ill, 2] = 1.0  # all that is left is a few rows
    X[ill[:3], 2] = np.nan
    gaps = find_gaps(always, Records.of(X, NAMES, COSTS.panels), y, (0, 1))
    assert not [gap for gap in gaps.found if gap.panel == "scan"]


def test_without_classes_all_rows_need_donors():
    X, y = hospital(young=0.0)
    gaps = find_gaps(always_of(X), Records.of(X, NAMES, COSTS.panels), y * 1.0)
    assert [gap.label for gap in gaps.found] == [None]
    said = "nobody knows what scan shows of rows where age is up to 40: it was made for 0"
    assert gaps.sentences()[0].startswith(said)


def test_texts_of_a_frame_are_labels_and_dates_tell_no_region():
    frame = pd.DataFrame({"sex": ["m", "f", None], "day": pd.to_datetime(["2020-01-01"] * 3), "age": [1.0, 2.0, 3.0]})
    tellers = Tellers.of_table(frame)
    assert (set(tellers.labels["sex"]), tellers.others) == ({"f", "m"}, {"day"})


# --- guarded predictors; tests/test_walks.py has their law of walks ---

FREE = cf.CostModel.from_dict({"features": {"a": 0.0, "b": 2.0}})
BAR = Bar(("b",), [Condition("a", up_to=0.0)])


def guarded(*bars):
    return GuardedPredictor(chain(FREE, 0.01), bars or (BAR,))


def test_rows_in_a_region_do_without_and_others_are_as_before():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model, report = guarded(), guarded().cost(X)
    inside = X[:, 0] <= 0
    assert not report.acquired[inside, 1].any()
    assert report.acquired[~inside, 1].all()
    assert report.mean == 2 * (~inside).mean()
    assert np.array_equal(model.predict(X)[~inside], model.inner.predict(X)[~inside])
    assert np.array_equal(model.predict(X)[inside], model.inner.predict(X, unavailable=["b"])[inside])
    assert (model.used_features, model.sure_features) == (("a", "b"), ("a",))


def test_what_the_guard_bars_is_no_cut_and_what_limits_change_is():
    X = np.random.default_rng(1).normal(size=(60, 2))
    model, inside = guarded(), X[:, 0] <= 0
    assert model.cost(X).cut is None
    for limits, cut in (({"max_cost": 9.0}, np.zeros(60, bool)), ({"max_cost": 1.0}, ~inside)):
        report = model.cost(X, rounds=True, **limits)
        assert np.array_equal(report.cut, cut)
        for i, row in enumerate(X):
            end, source = inquire(model, row, FREE, **limits)
            expect_as_reported(report, i, end, source, f"row {i}")
    assert model.cost(X, unavailable=["b"]).cut.tolist() == (~inside).tolist()


WRONG = {
    "unknown features": (lambda: guarded(Bar(("c",), BAR.conditions)), ParameterError, "expected features of the pre"),
    "no conditions": (lambda: guarded(Bar(("b",), ())), ParameterError, "features and conditions"),
    "a region by what it bars": (lambda: guarded(Bar(("b",), [Condition("b", up_to=0)])), ParameterError, "tells a re"),
    "a guard within": (lambda: GuardedPredictor(guarded(), (BAR,)), ParameterError, "without a guard"),
    "what costs": (lambda: guarded(Bar(("a",), [Condition("b", up_to=0)])), CostModelError, "a price of 0"),
    "other prices": (lambda: guarded().inquire({"a": 1.0, "b": 2.0}), CostModelError, "a price of 0"),
    "soft routing": (lambda: guarded().cost(np.zeros((1, 2)), routing="soft"), ParameterError, "routing='hard'"),
    "an early end": (lambda: cf.certain(guarded(), 0.1), ParameterError, "a guard bars"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_guards_are_refused_by_name(case):
    make, error, match = WRONG[case]
    with pytest.raises(error, match=match):
        make()


def test_bars_in_a_file_are_read_back_and_others_refused():
    bars = (BAR, Bar(("b",), [Condition("a", above=1.5, missing=True), Condition("c", label="x", others=("y", 2.0))]))
    assert tuple(build_bars(store_bars(bars))) == bars
    for change in ({"above": "1"}, {"up_to": math.inf}, {"missing": 1}, {"others": [None]}, {"feature": 3}):
        stored = store_bars((BAR,))
        stored[0]["conditions"][0] |= change
        with pytest.raises(StorageError, match="malformed"):
            build_bars(stored)


# --- studies ---


@pytest.fixture(scope="module")
def frontier():
    data = dataset(young=0.0, ill=0.002)
    return cf.Frontier.sweep(data, ["cegb"], cv=0, points=3, n_jobs=1, parameters={"n_estimators": 15}), data


def test_a_study_leaves_out_and_bars_what_nobody_knows_and_says_so(frontier, tmp_path):
    found, data = frontier
    lab, scan = found.notes
    assert "what lab shows of rows of class 1:" in lab
    assert "'iron' is left out" in lab
    assert "where age is up to 40: it was made for 0" in scan
    young, buyers = data.X[:, 0] <= 40, 0
    for point in found.points:
        model = found.model(point)
        assert "iron" not in model.predictor_.used_features
        acquired = model.cost(data.X, made=True).acquired[:, 2]
        assert not acquired[young].any()
        buyers += acquired[~young].any()
    assert buyers
    assert repr(found).splitlines()[-1].startswith("  nobody knows what scan shows")
    found.save(tmp_path / "frontier")
    assert cf.Frontier.load(tmp_path / "frontier").notes == found.notes


def test_the_cost_of_a_guarded_path_is_stated_as_it_is_paid(frontier):
    found, data = frontier
    complete = data.X.copy()
    complete[np.isnan(complete)] = 0.0
    for point in found.points:
        valid = found.model(point).cost(complete[data.split == "valid"])
        assert "guard" not in point.name
        assert abs(valid.mean - point.cost) < 0.5


def test_estimators_of_any_library_do_without_too():
    X, y = hospital(1200, young=0.0, ill=0.002)
    frame = pd.DataFrame(X, columns=NAMES)
    given = {"trees": HistGradientBoostingClassifier(max_iter=10), "cegb": cf.CEGBClassifier(n_estimators=10)}
    found = cf.Frontier.fit(given, frame, y, costs=COSTS, cv=0, points=2)
    assert len(found.notes) == 2
    complete = frame.fillna(0.0)
    reads = 0
    for point in found.points:
        report = found.model(point).cost(complete)
        acquired = dict(zip(report.feature_names, report.acquired.T, strict=True))
        assert not acquired["iron"].any(), point.name
        assert not acquired["scan"][frame.age <= 40].any(), point.name
        reads += acquired["scan"].any()
    assert reads


def test_a_table_in_which_all_tests_were_made_has_no_guard():
    X, y = hospital(600, young=1.0)
    X[np.isnan(X)] = 0.0
    found = cf.Frontier.fit(LogisticRegression(), X, y, costs=evolve(COSTS), cv=0)
    assert found.notes == ()


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars", "pyarrow"])
def test_columns_held_constant_say_nothing_in_any_library(library):
    frame = pd.DataFrame({"age": [1.0, 2.0], "scan": [3.0, None], "ward": [None, "b"]})
    if library == "numpy":
        held = hold_constant(frame[["age", "scan"]].to_numpy(), ["scan"], ["age", "scan"])
        assert held.tolist() == [[1, 0], [2, 0]]
        return
    if library != "pandas":
        module = pytest.importorskip(library)
        frame = module.from_pandas(frame) if library == "polars" else module.Table.from_pandas(frame)
    held = hold_constant(frame, ["scan", "ward"], ["age", "scan", "ward"])
    assert [list(np.asarray(held[name])) for name in ("age", "scan", "ward")] == [[1, 2], [0, 0], ["b", "b"]]


# --- pilots ---


def test_a_pilot_has_rows_by_chance_that_settle_all_gaps_at_its_price():
    data = dataset(young=0.01, ill=0.004)
    pilot, again, other = pilot_of(data), pilot_of(data), pilot_of(data, seed=1)
    assert pilot.panels == again.panels != other.panels
    X = data.X.copy()
    for row, panels in pilot.panels.items():
        for name in panels:
            column = {"scan": 2, "lab": 3}[name]
            assert np.isnan(X[row, column])
            X[row, column] = 0.0
    assert gaps_of(evolve(data, X=X)).found == ()
    price = {("scan",): 6.0, ("lab",): 6.0}  # the visit beside the scan; iron, lab and the visit
    price |= dict.fromkeys((("scan", "lab"), ("lab", "scan")), 11.0)
    assert pilot.cost == sum(price[panels] for panels in pilot.panels.values())
    assert pilot.gaps == gaps_of(data)
    for drawn in pilot.drawn:
        assert len(drawn.rows) == NEEDED - drawn.gap.made
        assert drawn.after == pytest.approx(2 * 1.645 / math.sqrt(NEEDED))
        assert drawn.before > drawn.after
    more = pilot_of(data, donors=20)
    assert all(len(drawn.rows) == 20 - drawn.gap.made for drawn in more.drawn)
    assert more.cost > pilot.cost


def test_a_pilot_needs_records():
    X, y = hospital(600)
    X[np.isnan(X)] = 0.0
    with pytest.raises(ParameterError, match="absent"):
        pilot_of(cf.datasets.Dataset.from_arrays(X, y, COSTS, feature_names=NAMES))
    with pytest.raises(ParameterError, match="donors: expected a whole number"):
        pilot_of(dataset(), donors=0)


PRICES = """
unit = "CAD"
[features]
age = 0
sex = 0
scan = {cost = 5, absent = "not made"}
iron = 2
"""


def run(folder, *more, young=0.0):
    X, y = hospital(young=young)
    frame = pd.DataFrame(X, columns=NAMES).assign(ill=y, patient=[f"P{i}" for i in range(len(y))])
    frame["iron"] = 1.0
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "prices.toml").write_text(PRICES)
    arguments = ["pilot", str(folder / "data.csv"), "--target", "ill", "--costs", str(folder / "prices.toml"), *more]
    return CliRunner().invoke(costframe, arguments, catch_exceptions=True), frame


def test_the_command_lists_rows(tmp_path):
    result, frame = run(tmp_path, "--id", "patient", "--output", str(tmp_path / "list.csv"))
    assert result.exit_code == 0, result.output
    flat = " ".join(result.output.split())
    assert "nobody knows what scan shows of rows of class 0 or 1 where age is up to 40: it was made for 0 of" in flat
    assert "pilot: 20 tests in 20 rows, 100 CAD" in flat
    assert "inf, after 10 more 1.04" in flat
    listed = pd.read_csv(tmp_path / "list.csv")
    assert list(listed.columns) == ["row", "patient", "tests"]
    chosen = frame.iloc[listed.row - 1]
    assert (chosen.patient.to_numpy() == listed.patient.to_numpy()).all()
    assert (chosen.age <= 40).all()
    assert chosen.ill.value_counts().tolist() == [10, 10]
    assert set(listed.tests) == {"scan"}


def test_the_command_says_where_no_pilot_is_needed(tmp_path):
    result, _ = run(tmp_path, young=0.5)
    assert "no pilot is needed" in result.output


def test_the_command_refuses_a_column_that_is_not_there(tmp_path):
    result, _ = run(tmp_path, "--id", "nobody")
    assert isinstance(result.exception, CostframeError | SystemExit)
    assert result.exit_code != 0
