"""What outages cost a model: figures are those of predictions without what is down, and go with the model."""

from __future__ import annotations

import functools
import json
import struct
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from cli_cases import costframe as command
from cli_cases import words
from click.testing import CliRunner
from record_cases import records
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import costframe as cf
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.terms.outages import Outage, Outages
from costframe.errors import DataError, ParameterError, StorageError
from costframe.sources import Lookup, Policy, Sources, TableSource
from costframe.study.measured import measure_model
from costframe.study.outage_groups import FREE, list_groups
from costframe.study.rows import StudyRows

LAB, ODD = 'lab "A" | <b>\u202e', "a\nname, with: signs"
NAMES = (ODD, "b", "c", "d", "e")
PRICES = {
    "unit": "CAD",
    "features": {
        ODD: 3.0,
        "b": {"cost": 1.0, "needs": [LAB]},
        "c": {"cost": 0.5, "needs": ["lab"]},
        "d": 0.4,
        "e": 0,
    },
    "resources": {LAB: {"cost": 2.0, "needs": ["lab"]}, "lab": 1.0, "idle": 9.0},
}
TREES = {"n_estimators": 20, "n_jobs": 1}


def drawn(n: int = 700, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows whose label depends on the first column, of which the second is a noisy copy, and on all others."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    X[:, 1] = X[:, 0] + 0.4 * X[:, 1]
    return X, (2.0 * X[:, 0] + X[:, 2] + X[:, 3] + X[:, 4] + random.normal(size=n) > 0).astype(int)


def priced(errors: bool = False) -> cf.CostModel:
    wrong = {"errors": {1: {0: 20.0}, 0: {1: 5.0}}} if errors else {}
    return cf.CostModel.from_dict(PRICES | wrong)


@functools.cache
def fitted(kind: str) -> Any:
    """Return a model of a kind that reads all features."""
    (X, y), prices = drawn(), priced()
    if kind == "forest":
        forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(X, y)
        return cf.adopt(forest, feature_names=NAMES).with_costs(prices).with_classes([0, 1]).with_fallbacks(X)
    if kind == "pipeline":
        pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(pd.DataFrame(X, columns=list(NAMES)), y)
        return cf.adopt(pipeline).with_costs(prices)
    if kind == "mixture":
        first, second = (
            cf.CEGBClassifier(prices, tradeoff, n_estimators=count, n_jobs=1).fit(X, y).predictor_
            for tradeoff, count in ((0.0, 20), (0.05, 10))
        )
        return MixedPredictor(first, second, 0.3, ["e"])
    task = "regression" if kind == "regressor" else "classification"
    algorithm, more = {"planner": ("planner", {"n_jobs": 1}), "regressor": ("cegb", TREES)}.get(kind, (kind, TREES))
    return cf.estimator(algorithm, task=task, costs=prices, tradeoff=1e-3, **more).fit(X, y)


@pytest.mark.parametrize("kind", ["cegb", "miser", "planner", "cronus", "forest", "pipeline", "mixture", "regressor"])
def test_figures_are_those_of_predictions_without_what_is_down(kind: str) -> None:
    X, y = drawn(300, 1)
    model, score = fitted(kind), r2_score if kind == "regressor" else roc_auc_score
    predictor, found = getattr(model, "predictor_", model), cf.outages(model, X, y)
    assert found.score_name == ("r2" if kind == "regressor" else "roc_auc")
    assert found.score == pytest.approx(score(y, predictor.predict(X)), abs=1e-12)
    assert (found.cost, found.n_rows, found.unit) == (predictor.cost(X).mean, 300, "CAD")
    names, used = {each.name: each for each in found.each}, {*predictor.used_features}
    assert used >= {ODD, "c", "d", "e"}
    assert set(names) == {"lab", ODD, "d", FREE} | ({LAB} if "b" in used else set())
    for name, each in names.items():
        asked = ("e",) if name == FREE else (name,)
        assert each.score == pytest.approx(score(y, predictor.predict(X, unavailable=asked)), abs=1e-12)
        assert each.cost == predictor.cost(X, unavailable=asked).mean
    assert names["lab"].features == {"b", "c"} & used  # one needs it through another resource
    assert [each.score for each in found.each] == sorted(each.score for each in found.each)


@pytest.mark.parametrize("kind", ["cegb", "miser", "forest", "planner"])
def test_a_cap_that_pays_for_all_that_is_left_changes_no_row_of_an_outage(kind: str) -> None:
    model, X = fitted(kind), drawn(60, seed=3)[0]
    predictor, down = getattr(model, "predictor_", model), {"unavailable": (LAB,)}
    left = priced().full_cost([ODD, "c", "d", "e"])
    assert left < priced().full_cost() - 1.0  # what is down does not count
    report, capped = predictor.cost(X, **down), predictor.cost(X, max_cost=left, **down)
    assert capped.per_row.tolist() == report.per_row.tolist()
    assert capped.predictions.tolist() == report.predictions.tolist()
    assert predictor.predict(X, max_cost=left, **down).tolist() == report.predictions.ravel().tolist()
    rows = [dict(zip(NAMES, row, strict=True)) for row in X[:20].tolist()]
    for i, row in enumerate(rows):
        end = cf.predict_one(predictor, row, max_cost=left, **down)
        assert (end.value, end.cost) == (report.predictions[i], report.per_row[i])
        known = {ODD: row[ODD]}  # what is paid for does not count either
        free, end = (cf.predict_one(predictor, row, known=known, **down, **cap) for cap in ({}, {"max_cost": 1.9}))
        assert (end.value, end.cost) == (free.value, free.cost)


def test_the_error_is_that_of_pairs_of_rows() -> None:
    X, y = drawn(400, 2)
    model = fitted("cegb")
    found = cf.outages(model, X, y, scoring="accuracy")
    right = {
        each.name: (model.predictor_.labels(X, unavailable=each.features) == y).astype(float) for each in found.each
    }
    own = (model.predict(X) == y).astype(float)
    for each in found.each:
        moved = right[each.name] - own
        assert each.score - found.score == pytest.approx(moved.mean(), abs=1e-12)
        assert each.error == pytest.approx(moved.std() / np.sqrt(len(y)), rel=1e-6)
    assert found.each[0].error < found.score_error * 1.5


def test_bills_have_their_own_differences_and_words() -> None:
    (X, y), prices = drawn(), priced(errors=True)
    model = cf.CEGBClassifier(prices, **TREES).fit(X, y)
    rows, labels = drawn(300, 3)
    found = cf.outages(model, rows, labels)
    assert found.has_bills
    whole = model.cost(rows, y=labels)
    assert found.cost - found.score == pytest.approx(whole.mean_bill)
    for each in found.each:
        report = model.predictor_.cost(rows, y=labels, unavailable=each.features)
        assert each.cost - each.score == pytest.approx(report.mean_bill)
        moved = report.bill - whole.bill
        assert each.error == pytest.approx(moved.std() / np.sqrt(len(labels)), rel=1e-6)
    assert "bill" in found.describe(found.each[0])
    assert [each.cost - each.score for each in found.each] == sorted(
        (each.cost - each.score for each in found.each), reverse=True
    )


@pytest.mark.parametrize("kind", ["cegb", "priced-tree"])
def test_bills_count_the_answers_that_rows_get_without_a_column_that_is_a_price(kind: str, tmp_path) -> None:
    wrong = {"errors": {1: {0: {"column": "amount", "times": 2.0}}, 0: {1: 1.0}}}
    features = PRICES["features"] | {"amount": 0.0}
    prices = cf.CostModel.from_dict({**PRICES, "features": features, **wrong})

    def with_amounts(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
        X, y = drawn(n, seed)
        amount = np.random.default_rng(seed).exponential(3.0, n)
        return pd.DataFrame(X, columns=list(NAMES)).assign(amount=amount), y

    train, y = with_amounts(700, 0)
    rows, labels = with_amounts(300, 3)
    more = {"cegb": {**TREES, "tradeoff": 0.05}, "priced-tree": {"tradeoff": 10.0}}[kind]
    model = cf.estimator(kind, costs=prices, **more).fit(train, y)
    predictor = model.predictor_
    assert "amount" in predictor.label_features()
    assert (kind == "cegb") or not predictor.used_features  # what decides a label may be down all the same
    table = rows.assign(key=range(300))
    served = {"loans": ["amount"], "rest": [*NAMES]}
    policy = Policy(on_failure="without")
    sources = Sources({
        name: Lookup(TableSource(table, "key"), features, policy=policy) for name, features in served.items()
    })  # fmt: skip
    for found in (cf.outages(model, rows, labels), cf.outages(model, rows, labels, sources=sources)):
        whole = model.cost(rows, y=labels)
        assert found.cost - found.score == pytest.approx(whole.mean_bill)
        assert any("amount" in each.features for each in found.each)
        for each in found.each:
            report = predictor.cost(rows, y=labels, unavailable=each.features)
            assert each.cost - each.score == pytest.approx(report.mean_bill)
            assert each.error == pytest.approx((report.bill - whole.bill).std() / np.sqrt(300), rel=1e-6)
    cf.save(model, tmp_path / "model", outages=found)
    with sources:
        sources.open(cf.load(tmp_path / "model"))
        assert sources.outages["loans"] == found.figures(next(each for each in found.each if each.name == "loans"))


def test_rankings_are_scored_by_query() -> None:
    X, y = drawn(600, 4)
    qid = np.repeat(np.arange(60), 10)
    model = cf.CEGBRanker(priced(), 1e-3, **TREES).fit(X, y, qid=qid)
    found = cf.outages(model, X, y, qid=qid)
    assert found.score_name == "ndcg@5"
    assert found.score == model.score(X, y, qid=qid)
    assert cf.outages(model.predictor_, X, y, qid=qid) == found
    assert min(each.score for each in found.each) < found.score


def test_rows_that_lack_tests_are_completed() -> None:
    frame, y = records()
    prices = cf.CostModel.from_dict({
        "features": {"age": 0.0, "crp": 1.0, "scan": {"cost": 20.0, "absent": "not made"}}
    })  # fmt: skip
    model = cf.CEGBClassifier(prices, 1e-4, n_estimators=12).fit(frame, y)
    rows, labels = records(seed=1)
    found = cf.outages(model, rows, labels)
    study = StudyRows.of(rows, labels, None, None).with_records_for(model)
    assert study.lacks_tests
    assert found.score == measure_model("roc_auc", model, study).score.score
    copies = [np.asarray(copy.X, np.float64) for copy in study.completed()]
    assert len(copies) > 1
    codes = (labels == "well").astype(int)
    for each in found.each:
        scores = [roc_auc_score(codes, model.predictor_.predict(X, unavailable=each.features)) for X in copies]
        assert each.score == pytest.approx(np.mean(scores))
    seen = roc_auc_score(codes, model.predictor_.predict(rows))
    assert abs(found.score - seen) > 1e-4


def test_without_resources_the_features_that_rows_pay_the_most_for_are_told() -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(500, 16))
    y = (X @ np.linspace(1, 2, 16) > 0).astype(int)
    model = cf.CEGBClassifier(tradeoff=0.0, n_estimators=60, n_jobs=1).fit(X, y)  # each costs one
    found = cf.outages(model, X, y)
    paid = model.cost(X).by_feature
    assert len(found.each) == 12
    assert len(found.left_out) == len(model.predictor_.used_features) - 12
    assert min(paid[each.name] for each in found.each) >= max(paid[name] for name in found.left_out)
    assert str(found).splitlines()[-1] == f"{len(found.left_out)} further outages cost less, or were not measured"


def test_resources_that_take_away_the_same_are_one_outage() -> None:
    prices = {"features": {"a": {"cost": 1.0, "needs": ["scan"]}}, "resources": {
        "scan": {"cost": 1.0, "needs": ["visit"]}, "visit": 2.0}}  # fmt: skip
    X, y = drawn()
    model = cf.CEGBClassifier(cf.CostModel.from_dict(prices), 0.0, n_estimators=3).fit(X[:, :1], y)
    (group,) = list_groups(model.predictor_, model.costs_)
    assert (group.name, group.resources, group.features) == ("scan or visit", ("scan", "visit"), {"a"})
    assert group.spent(model.cost(X[:, :1])) == model.cost(X[:, :1]).mean


def test_sources_take_away_what_they_serve() -> None:
    X, y = drawn(300, 1)
    model = fitted("cegb")
    found = cf.outages(model, X, y, sources={"one": ["b", ODD], "two": {"e"}})
    assert {each.name: each.features for each in found.each} == {"one": {"b", ODD}, "two": {"e"}}
    one = found.of_features(["b", ODD])
    assert one is not None
    assert one.score == pytest.approx(roc_auc_score(y, model.predictor_.predict(X, unavailable=["b", ODD])), rel=1e-12)
    assert found.of_features(["b"]) is None
    table = Sources({"one": Lookup(TableSource(pd.DataFrame(X[:, :2], columns=[ODD, "b"])), [ODD, "b"]),
                     "other": Lookup(TableSource(pd.DataFrame({"z": [1.0]})), ["z"])})  # fmt: skip
    assert cf.outages(model, X, y, sources=table).each == (one,)


def test_of_many_rows_some_are_taken_and_queries_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("costframe.study.outages._MOST_ROWS", 100)
    X, y = drawn(250, 6)
    model = fitted("cegb")
    found = cf.outages(model, X, y)
    assert found.n_rows == 84
    assert found.score == roc_auc_score(y[::3], model.predictor_.predict(X[::3]))
    ranker = cf.CEGBRanker(priced(), 1e-3, n_estimators=3, n_jobs=1)
    qid = np.repeat(np.arange(25), 10)
    ranker.fit(X, y, qid=qid)
    assert cf.outages(ranker, X, y, qid=qid).n_rows == 90  # every third of 25 queries


def test_a_model_that_reads_nothing_has_no_outages() -> None:
    X, y = drawn()
    model = cf.CEGBClassifier(None, 1e9, n_estimators=3).fit(X, y)
    found = cf.outages(model, X, y)
    assert (found.each, found.score, str(found)) == ((), 0.5, "no outage takes away what the model reads")


def test_wrong_arguments_are_refused_by_name() -> None:
    X, y = drawn()
    model = fitted("cegb")
    for wrong, says in (
        ({"sources": ["b"]}, "sources: expected Sources, or names of features by source"),
        ({"sources": {"one": "b"}}, "sources: expected names of features by source, got 'b' for 'one'"),
        ({"sources": {"one": ["z"]}}, "sources: 'one': the model has no features 'z'"),
        ({"scoring": "r2"}, "scoring: classification of 2 classes has"),
    ):
        with pytest.raises(ParameterError, match=says):
            cf.outages(model, X, y, **wrong)
    with pytest.raises(ParameterError, match="model: expected a fitted model of costframe"):
        cf.outages(LogisticRegression(), X, y)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="score: there is no roc_auc on 5 rows"):
        cf.outages(model, X[:5], np.ones(5, np.int64))
    with pytest.raises(ParameterError, match="unavailable"):
        cf.outages(cf.certain(model, "class"), X, y, scoring="accuracy")


@functools.cache
def measured() -> Outages:
    return cf.outages(fitted("planner"), *drawn(300, 1))


def test_a_file_keeps_figures_of_the_same_prices(tmp_path) -> None:
    model, found, path = fitted("planner"), measured(), tmp_path / "model"
    cf.save(model, path, outages=found)
    loaded = cf.load(path)
    assert isinstance(loaded, cf.FittedEstimator)
    assert loaded.outages == found
    content = path.read_bytes()
    cf.save(loaded, path)
    assert path.read_bytes() == content
    cf.save(loaded, path, costs=priced())
    assert path.read_bytes() == content
    dear = dict.fromkeys(NAMES, 1.0)
    cf.save(loaded, path, costs=dear)
    other = cf.load(path)
    assert isinstance(other, cf.FittedEstimator)
    assert other.outages is None
    cf.save(model.predictor_, path, outages=found)
    bare = cf.load(path)
    assert isinstance(bare, cf.FittedEstimator)
    assert bare.outages == found
    cf.save(model, path)
    assert cf.load(path).outages is None
    assert cf.load(path).predictor_.digest == loaded.predictor_.digest
    with pytest.raises(TypeError, match="outages"):
        cf.FittedEstimator(model.predictor_, outages="none")
    with pytest.raises(ParameterError, match=r"outages: expected figures of cf.outages, got 'none'"):
        cf.save(model, path, outages="none")  # type: ignore[arg-type]
    at_other_prices = cf.outages(model, *drawn(300, 1), costs=dear)
    with pytest.raises(ParameterError, match="outages: these are figures at other prices than those of the model"):
        cf.save(model, path, outages=at_other_prices)
    cf.save(model, path, dear, outages=at_other_prices)
    assert cf.load(path).outages == at_other_prices


def test_malformed_figures_in_a_file_are_refused(tmp_path) -> None:
    path = tmp_path / "model"
    cf.save(fitted("cegb"), path, outages=measured())
    content = path.read_bytes()[:-32]
    head = struct.calcsize("<12sIQ")
    magic, version, length = struct.unpack("<12sIQ", content[:head])

    def load_with(**changes: Any) -> None:
        header = json.loads(content[head : head + length])
        header["model"]["outages"] |= changes
        text = json.dumps(header, separators=(",", ":")).encode()
        changed = struct.pack("<12sIQ", magic, version, len(text)) + text + content[head + length :]
        path.write_bytes(changed + sha256(changed).digest())
        cf.load(path)

    load_with()
    each = {"name": "a", "features": ["b"], "score": 1.0, "error": 0.0, "cost": 1.0}
    load_with(each=[each])
    for wrong in (
        {"score": "high"}, {"n_rows": 1.0}, {"has_bills": 1}, {"each": {}}, {"each": [{}]}, {"left_out": [1]},
        {"each": [each | {"cost": 1}]}, {"each": [each | {"features": "b"}]}, {"more": 1},
    ):  # fmt: skip
        with pytest.raises(StorageError, match="malformed"):
            load_with(**wrong)


def lookups(**policies: str) -> Sources:
    frame = pd.DataFrame(drawn(20, 8)[0], columns=list(NAMES)).assign(key=range(20))
    served = {"lab": ["b", "c"], "mine": ["e"], "rest": [ODD, "d"]}
    return Sources({
        name: Lookup(TableSource(frame, "key"), features, policy=Policy(on_failure=policies.get(name, "without")))
        for name, features in served.items()
    })  # fmt: skip


def test_open_tells_what_an_outage_of_each_source_costs(tmp_path) -> None:
    model, found, path = fitted("planner"), measured(), tmp_path / "model"
    cf.save(model, path, outages=found)
    served = cf.load(path)
    lab, free = found.of_features({"b", "c"}.intersection(model.predictor_.used_features)), found.of_features(["e"])
    assert lab is not None
    assert free is not None
    with lookups(lab="raise") as sources:
        assert sources.outages == {}
        sources.open(served)
        told = sources.outages
        assert told["lab"] == f'{found.figures(lab)}; "raise" ends rows'
        assert told["mine"] == found.figures(free)
        assert told["rest"].startswith("not measured; cf.outages(model, X, y, sources=sources)")
        assert f"instead of {found.score:.4f}" in told["lab"]
        assert repr(sources).splitlines()[0] == "Sources(lab, mine, rest: 5 features)"
        assert f"  without mine: {told['mine']}" in repr(sources).splitlines()
        X, y = drawn(300, 1)
        sources.open(model)
        assert sources.outages == {}  # nobody measured this one
        own = cf.outages(model, X, y, sources=sources)
        sources.open(model, outages=own)
        rest = own.of_features([ODD, "d"])
        assert rest is not None
        assert sources.outages["rest"] == own.figures(rest)
        dear = dict.fromkeys(NAMES, 1.0)
        known = cf.outages(model, X, y, sources=sources, costs=dear)
        sources.open(model, outages=known, costs=dear)
        assert sources.outages["rest"] == known.figures(known.of_features([ODD, "d"]))
        sources.open(model, outages=known)
        assert {text.split(";")[0] for text in sources.outages.values()} == {"not known at these prices and limits"}
        for terms in ({"max_cost": 3.0}, {"tradeoff": 0.1}, {"unavailable": ["e"]}, {"costs": dict.fromkeys(NAMES, 1)}):
            sources.open(served, **terms)
            assert {text.split(";")[0] for text in sources.outages.values()} == {"not known at these prices and limits"}
        with pytest.raises(ParameterError, match="outages: has no effect without a predictor"):
            sources.open(outages=own)


def test_a_frontier_measures_its_recommended_model_by_its_score() -> None:
    (X, y), (rows, labels) = drawn(), drawn(300, 1)
    frontier = cf.Frontier.fit(
        {"trees": cf.CEGBClassifier(priced(), **TREES)}, X, y, tradeoffs=[0.0, 0.01], scoring="accuracy", cv=0
    )
    found, point = frontier.outages(rows, labels), frontier.recommended()
    model = frontier.model(point)
    assert found == cf.outages(model, rows, labels, scoring="accuracy")
    assert found.score == accuracy_score(labels, model.predict(rows))
    other = next(each for each in frontier if each != point and each.n_features)
    assert frontier.outages(rows, labels, other).cost != found.cost
    assert {each.name for each in frontier.outages(rows, labels, sources={"one": ["b"]}).each} <= {"one"}


def test_commands_tell_what_outages_cost(tmp_path) -> None:
    X, y = drawn(600, 9)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"]).assign(ill=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    prices = {"features": {"a": 3.0, "b": {"cost": 1.0, "needs": ["lab [x]"]}, "c": 0.5, "d": 0.4, "e": 0.0},
              "resources": {"lab [x]": 2.0}}  # fmt: skip
    cf.CostModel.from_dict(prices).save(tmp_path / "prices.toml")
    data = [str(tmp_path / "rows.csv"), "--costs", str(tmp_path / "prices.toml"), "--target", "ill"]
    out, run = tmp_path / "out", CliRunner().invoke
    asked = ["--algorithms", "cegb", "--points", "3", "--output", str(out), "--no-references"]
    said = words(run(command, ["compare", *data, *asked]))
    model = cf.load(out / "recommended.model")
    assert isinstance(model, cf.FittedEstimator)
    assert model.outages is not None
    assert "What an outage costs: roc_auc and mean cost per row of 119 test rows without" in said
    worst = model.outages.each[0]
    assert f"nothing {model.outages.score:.4f}" in said
    assert f"{worst.name} {worst.score:.4f} {model.outages.change_text(worst)}" in said
    report = (out / "report.html").read_text()
    assert f"<dt>without {worst.name}</dt><dd>{model.outages.figures(worst)}</dd>" in report
    name = cf.Frontier.load(out).recommended().name
    plain = cf.load(out / "models" / f"{name}.model")
    assert plain.predictor_.digest == model.predictor_.digest
    scored = words(run(command, ["cost", str(out / "recommended.model"), *data, "--part", "test"]))
    table = said.split("test rows without ")[1].split(" wrote")[0]
    assert f"119 rows of test without {table}" in scored
    seen = words(run(command, ["inspect", str(out / "recommended.model")]))
    assert f"without {worst.name} {model.outages.figures(worst)}" in seen
    other = words(run(command, ["inspect", str(out / "recommended.model"), "--costs", str(tmp_path / "prices.toml")]))
    assert f"without {worst.name}" in other
    cf.CostModel.from_dict(prices | {"resources": {"lab [x]": 9.0}}).save(tmp_path / "dear.toml")
    dear = words(run(command, ["inspect", str(out / "recommended.model"), "--costs", str(tmp_path / "dear.toml")]))
    assert "without a" not in dear


def test_lines_have_what_is_lost_beside_what_is_so_with_everything_there() -> None:
    bureau = Outage("the bureau", frozenset("a"), 0.81, 0.012, 12.3)
    found = Outages("roc_auc", False, "CAD", "", 10, 0.84, 0.01, 25.1, (bureau,))
    assert found.describe(bureau) == (
        "without the bureau: roc_auc 0.8100 instead of 0.8400 (-0.0300 \u00b1.012), cost 12.30 instead of 25.10"
    )
    assert found.figures(evolve(bureau, score=0.84, cost=25.1)) == "as with it"
    bills = evolve(found, has_bills=True, score=-8.0)
    lines = bills.figures(Outage("it", frozenset("a"), -12.0, 0.5, 24.1))
    assert lines == "bill 36.10 instead of 33.10 (+3.00 \u00b10.5), cost 24.10 instead of 25.10"
