"""Comparisons over tables and repeated splits: the same figures in any order, resumed, refused, and with outsiders."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import comparison_cases as cases
import numpy as np
import pytest
from attrs import evolve
from comparison_cases import QUICK, Boastful, Failing, Threshold, table

import costframe as cf
from costframe.comparison import Outsider, SeenTable
from costframe.comparison.levels import choose_within
from costframe.comparison.lines import RESULTS, append_record, read_lines, to_line
from costframe.comparison.splits import draw_split, split_repeatedly
from costframe.comparison.tables import open_tables
from costframe.core.errors import CostframeError, DataError, ParameterError, StorageError
from costframe.study.failures import UnfinishedError


def figures_of(comparison):
    timeless = [evolve(record, seconds=0.0, processor_seconds=0.0) for record in comparison.records]
    return sorted(map(to_line, timeless))


@pytest.fixture(scope="module")
def compared():
    return cf.Comparison.run([table(), table("two", 2)], ["linear", Threshold("c")], repeats=3, **QUICK)


def test_figures_do_not_depend_on_the_order_of_tables_sides_and_processes(compared):
    other = cf.Comparison.run([table("two", 2), table()], [Threshold("c"), "linear"], repeats=3, n_jobs=2, **QUICK)
    assert figures_of(other) == figures_of(compared)
    assert other.reference == compared.reference == "linear"
    shuffled = cf.Comparison(compared.records[::-1])
    for one, two in zip(compared.standings, shuffled.standings, strict=True):
        assert one.label == two.label
        for side in one.sides:
            np.testing.assert_array_equal(one.values(side), two.values(side))
    np.testing.assert_array_equal(
        compared.differences()["threshold"]["points"].mean, shuffled.differences()["threshold"]["points"].mean
    )


def test_a_side_is_the_model_of_a_study_with_the_same_estimates(compared):
    data = table()
    frontier = cf.Frontier.sweep(data, ["linear"], points=3, cv=0, references=False)
    record = next(r for r in compared.records if (r.table.name, r.side.name, r.split.repeat) == ("one", "linear", 0))
    for budget in (1.0, 3.0, 7.0):
        chosen = choose_within(record.models, budget)
        point = max((p for p in frontier if p.cost <= budget), key=frontier.rank, default=None)
        if point is None:
            assert chosen.name.startswith("constant")
        elif chosen.features:
            assert (chosen.test_score, chosen.test_cost) == (point.test_score, point.test_cost)


def test_outsiders_are_charged_exactly_and_scored_on_test_rows(compared):
    data, record = table(), next(r for r in compared.records if r.side.name == "threshold" and r.table.name == "one")
    model = next(model for model in record.models if model.features)
    test = draw_split(data, record.split.seed).part("test")
    right = test.X[:, 2] > 0
    assert (model.cost, model.test_cost) == (4.0, 4.0)
    # The area under the curve of a yes or no: the mean of the shares of both classes that are right.
    area = (right[test.y == 1].mean() + (~right)[test.y == 0].mean()) / 2
    assert model.test_score == pytest.approx(area)
    assert record.side.settings == {"column": "c"}


def test_own_estimates_choose_and_test_rows_tell():
    found = cf.Comparison.run(table(), [Boastful("b")], repeats=2, cv=0)
    for record in found.records:
        model = max(record.models, key=lambda model: model.rank)
        assert (model.score, model.cost, model.test_cost) == (0.99, 3.0, 2.0)
        assert model.test_score < 0.7


def test_an_outsider_sees_no_test_rows():
    data, held = table(), []

    class Curious(Threshold):
        def fit(self, seen):
            held.append(seen)
            return super().fit(seen)

    cf.Comparison.run(data, Curious("a"), repeats=1, cv=0)
    assert isinstance(Threshold("a"), Outsider)
    assert isinstance(held[0], SeenTable)
    seen = np.concatenate([held[0].train.X, held[0].valid.X])
    assert not (data.part("test").X[:, None, :] == seen[None]).all(axis=2).any()


def test_a_side_that_fails_on_one_table_does_not_lose_others_and_is_told():
    found = cf.Comparison.run([table(), table("two", 2)], [Failing("two"), "linear"], repeats=2, **QUICK)
    assert found.standing("one").sides == ("failing", "linear")
    assert found.standing("two").sides == ("linear",)
    assert "failing failed on two, 2 splits: outsider 'failing' failed: RuntimeError: it cannot" in found.notes
    assert found.ranks.left_out == ("failing",)
    with pytest.raises(ParameterError, match=r"failing on one: .*it cannot"):
        cf.Comparison.run(table(), [Failing("one")], repeats=1, cv=0)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (float("nan"), "expected finite numbers, the model answers 30 times nan"),
        (1.7, "expected probabilities from 0 to 1, the model answers 1.7"),
        (None, "outsider 'odd' failed: SystemExit: 3"),
    ],
)
def test_an_outsider_that_exits_or_answers_no_probabilities_fails_alone(answer, text):
    class Odd(Threshold):
        def fit(self, seen):
            if answer is None:
                sys.exit(3)

            def steps():
                yield ["a"]
                return answer

            return [cf.SteppedPredictor(seen.feature_names, steps)]

    found = cf.Comparison.run(table(), [Odd("a", "odd"), "linear"], repeats=1, n_jobs=1, **QUICK)
    assert found.sides == ("linear",)
    assert text in found.failures[0].error


def test_two_outsiders_of_one_name_are_refused_and_one_given_twice_counts_once():
    first, other = Threshold("a"), Threshold("c")
    other.settings = first.settings
    with pytest.raises(ParameterError, match="two sides are called 'threshold'"):
        cf.Comparison.run(table(), [first, other], repeats=1, cv=0)
    assert len(cf.Comparison.run(table(), [first, first], repeats=1, cv=0)) == 1


def test_estimators_are_sides_with_their_parameters():
    few = cf.estimator("cegb", n_estimators=3)
    found = cf.Comparison.run(table(), {"few": few, "more": cf.estimator("cegb", n_estimators=9)}, repeats=1, **QUICK)
    assert [record.side.kind for record in found.records] == ["estimator"] * 2
    assert found.records[0].side.settings["parameters"] == {"n_estimators": 3}
    assert found.sides == ("few", "more")
    with pytest.raises(ParameterError, match="two sides are called 'cegb'"):
        cf.Comparison.run(table(), [few, cf.estimator("cegb", n_estimators=9)], repeats=1)


def test_splits_are_stratified_of_the_own_sizes_and_keep_groups_together():
    own = np.repeat(["train", "valid", "test"], [100, 20, 30])
    given = table(split=own)
    splits = split_repeatedly(given, 4, 0, None)
    assert [split.seed for split in splits] == [None, 1, 2, 3]
    np.testing.assert_array_equal(splits[0].data.split, own)
    assert all(abs(split.count("train") - 100) <= 2 and abs(split.count("test") - 30) <= 2 for split in splits)
    assert len({split.digest for split in splits}) == 4
    shares = [split.data.part(part).y.mean() for split in splits[1:] for part in ("train", "valid", "test")]
    assert np.ptp(shares) < 0.1
    grouped = table(groups=np.repeat(np.arange(50), 3), split=np.repeat(["train", "valid", "test"], [90, 30, 30]))
    again = draw_split(grouped, 7)
    assert all(len(set(again.split[grouped.groups == group])) == 1 for group in range(50))
    assert set(again.split) == {"train", "valid", "test"}
    drawn = split_repeatedly(table(), 2, 5, None)
    np.testing.assert_array_equal(drawn[1].data.split, table(seed=1).split_anew(6).split)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"repeats": 0}, "repeats: expected a whole number >= 1"),
        ({"algorithms": ["nothing"]}, "algorithm 'nothing': expected one of adapt"),
        ({"algorithms": []}, "algorithms: expected at least one"),
        ({"algorithms": [object()]}, "algorithms: expected names, estimators or outsiders"),
        ({"algorithms": {"mine": "cegb"}}, "expected an estimator or an outsider for 'mine'"),
        ({"algorithms": ["linear"], "reference": "linaer"}, "did you mean 'linear'"),
        ({"tables": [table(), table()]}, "'one' stands twice"),
        ({"tables": []}, "tables: expected at least one"),
        ({"tables": ["no-such-table"]}, "no such file or folder"),
        ({"levels": [0.0]}, "levels: expected numbers > 0"),
        ({"resume": True}, "resume: needs a directory"),
        ({"time_limit": 3}, "time_limit: needs a directory"),
        ({"cv": 2}, "cv: expected a whole number >= 3"),
        ({"tables": [table(n=6)], "repeats": 20, "score": "roc_auc"}, "one, repeat [0-9]+: "),
    ],
)
def test_refusals_come_before_anything_is_fitted(arguments, text):
    def fail(*_progress):
        raise AssertionError("something was fitted")

    given = {"tables": [table()], "algorithms": ["linear"], "progress": fail} | arguments
    with pytest.raises(CostframeError, match=text):
        cf.Comparison.run(given.pop("tables"), given.pop("algorithms"), **given)


def test_one_score_must_suit_all_tables_and_free_tables_are_refused():
    rng = np.random.default_rng(0)
    numbers = cf.datasets.Dataset.from_arrays(
        rng.normal(size=(90, 2)), rng.normal(size=90), task="regression", name="numbers"
    )
    with pytest.raises(CostframeError, match="numbers, repeat 0: score"):
        cf.Comparison.run([table(), numbers], ["linear"], score="roc_auc")
    found = cf.Comparison.run([table(), numbers], ["linear", "boosting"], repeats=1, **QUICK)
    assert {standing.first.score for standing in found.standings} == {"roc_auc", "r2"}
    with pytest.raises(ParameterError, match="'one' are free"):
        cf.Comparison.run(table().with_costs(dict.fromkeys("abc", 0.0)))


def test_an_algorithm_that_does_not_fit_one_table_is_left_out_there():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    three = cf.datasets.Dataset.from_arrays(X, np.digitize(X[:, 0], [-0.5, 0.5]), name="three")
    found = cf.Comparison.run([table(), three], ["linear", "and-or"], repeats=1, **QUICK)
    assert found.standing("three").sides == ("linear",)
    assert any(note.startswith("and-or does not fit three: ") for note in found.notes)
    with pytest.raises(ParameterError, match="is for two classes, got 3"):
        cf.Comparison.run([three], ["and-or"], repeats=1)


def test_a_run_goes_on_from_its_lines_and_fits_nothing_twice(tmp_path, compared):
    made = []

    def stop(make):
        made.append(make())
        if len(made) == 3:
            raise KeyboardInterrupt

    arguments = [table(), table("two", 2)], ["linear", Threshold("c")]
    with pytest.raises(KeyboardInterrupt):
        cf.Comparison.run(*arguments, repeats=3, directory=tmp_path, interim=stop, **QUICK)
    lines = (tmp_path / RESULTS).read_bytes()
    assert len(lines.splitlines()) == 3
    (tmp_path / RESULTS).write_bytes(lines + lines[:200])  # killed within a line
    with pytest.raises(ParameterError, match="has results; resume them"):
        cf.Comparison.run(*arguments, repeats=3, directory=tmp_path, **QUICK)
    whole = cf.Comparison.run(*arguments, repeats=3, directory=tmp_path, resume=True, **QUICK)
    assert figures_of(whole) == figures_of(compared)
    assert (tmp_path / RESULTS).read_bytes().startswith(lines)
    assert len(read_lines(tmp_path / RESULTS).records) == 12
    assert figures_of(cf.Comparison.load(tmp_path)) == figures_of(compared)

    def fail(_make):
        raise AssertionError("something was fitted again")

    more = cf.Comparison.run(*arguments, repeats=2, directory=tmp_path, resume=True, interim=fail, **QUICK)
    assert len(more) == 8
    for other, what in (
        ({"seed": 5}, "splits"),
        ({"score": "accuracy"}, "scores"),
        ({"costs": {"a": 1, "b": 1, "c": 1}}, "prices"),
    ):
        with pytest.raises(ParameterError, match=f"other {what}"):
            cf.Comparison.run(*arguments, repeats=3, directory=tmp_path, resume=True, **other, **QUICK)
    with pytest.raises(ParameterError, match="other rows and splits"):
        cf.Comparison.run(table(seed=9), "linear", repeats=3, directory=tmp_path, resume=True, **QUICK)


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
import costframe as cf
from comparison_cases import QUICK, Threshold, table
cf.Comparison.run(table(), ["linear", Threshold("c")], repeats=200, directory=sys.argv[1], **QUICK)
"""


def test_a_killed_run_goes_on(tmp_path):
    tests = str(Path(__file__).parent)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), tests])  # noqa: S603 - our own
    path, ends = tmp_path / RESULTS, time.monotonic() + 120
    while not (path.exists() and len(path.read_bytes().splitlines()) >= 2):
        assert process.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = read_lines(path).records
    found = cf.Comparison.run(table(), ["linear", Threshold("c")], repeats=2, directory=tmp_path, resume=True, **QUICK)
    assert len(found) == 4
    assert read_lines(path).records[: len(before)] == before


def test_a_cluster_makes_the_same_records(client, compared):
    found = cf.Comparison.run(
        [table(), table("two", 2)], ["linear", Threshold("c")], repeats=3, cluster=client, **QUICK
    )
    assert figures_of(found) == figures_of(compared)


def test_an_interrupted_command_ends_with_the_figures_of_finished_fits(tmp_path):
    command = [sys.executable, "-m", "costframe", "compare", "breast-cancer", "--algorithms", "linear", "--points", "2"]
    command += ["--cv", "0", "--repeats", "500", "--output", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ours
    path, ends = tmp_path / "out" / RESULTS, time.monotonic() + 120
    while not (path.exists() and len(path.read_bytes().splitlines()) >= 2):
        assert process.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the lines of all finished fits are in" in errors
    assert "breast-cancer: ROC AUC on test" in said
    assert (tmp_path / "out" / "table-breast-cancer.svg").is_file()


def test_time_is_up_here_and_in_processes(tmp_path):
    with pytest.raises(UnfinishedError, match="before the first fit ended"):
        cf.Comparison.run(table(), "linear", directory=tmp_path / "no", time_limit=1e-9, **QUICK)
    for n_jobs in (1, 2):  # the second goes on from the first, for processes may begin late
        began = time.monotonic()
        found = cf.Comparison.run(
            table(),
            "linear",
            repeats=3000,
            directory=tmp_path / "yes",
            resume=n_jobs == 2,
            time_limit=8,
            n_jobs=n_jobs,
            **QUICK,
        )
        assert time.monotonic() - began < 60
        assert any(note.startswith(f"time was up after {len(found)} of 3,000 fits") for note in found.notes)


def test_a_line_for_which_there_is_no_room_leaves_no_part(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "lines.jsonl"
    append_record(path, cases.record(repeat=0))
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, limits[1]))  # as on a disk that is nearly full
    try:
        with pytest.raises(StorageError, match=r"lines\.jsonl: cannot be written: File too large"):
            append_record(path, cases.record(repeat=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    append_record(path, cases.record(repeat=1))
    assert len(cf.Comparison.load(path)) == 2


def test_damaged_lines_are_named_and_a_cut_one_is_said(tmp_path):
    path = tmp_path / "lines.jsonl"
    for repeat in range(3):
        append_record(path, cases.record(repeat=repeat))
    whole = path.read_text().splitlines()
    path.write_text("\n".join(whole)[:-30])
    assert f"{path}: its last line was cut off, and is left out" in cf.Comparison.load(path).notes
    path.write_text("\n".join([whole[0], whole[1][:50], whole[2]]))
    with pytest.raises(ParameterError, match=r"lines\.jsonl, line 2: is no record"):
        cf.Comparison.load(path)
    wrong = json.loads(whole[1])
    wrong["models"][0]["test_cost"] = "much"
    path.write_text("\n".join([whole[0], json.dumps(wrong), whole[2]]))
    with pytest.raises(ParameterError, match="line 2, models 1, test_cost: expected a finite number, got 'much'"):
        cf.Comparison.load(path)
    del wrong["split"]
    path.write_text(json.dumps(wrong))
    with pytest.raises(ParameterError, match="line 1: there is no 'split'"):
        cf.Comparison.load(path)
    path.write_text(json.dumps(json.loads(whole[0]) | {"format": 99}))
    with pytest.raises(ParameterError, match="line 1: format: expected 1, got 99"):
        cf.Comparison.load(path)
    path.write_text("\n".join([*whole, whole[0].replace('"seconds": 1.0', '"seconds": NaN')]) + "\n")
    with pytest.raises(ParameterError, match="line 4: is no record: expected JSON without NaN"):
        cf.Comparison.load(path)  # it has its end, so it was not cut off
    path.write_text("")
    with pytest.raises(ParameterError, match="expected lines of results"):
        cf.Comparison.load(path)


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (("split", "train"), 0, "train: expected a number > 0, got 0"),
        (("prices", "full_cost"), 0.0, "full_cost: expected a number > 0, got 0.0"),
        (("table", "name"), " ", "name: expected a name, got ' '"),
        (("table", "name"), "\ud800", "table, name: expected a text without lone surrogates"),
        (("models", 0, "cost"), -1.0, "cost: expected a number >= 0, got -1.0"),
        (("models", 0, "test_cost"), -1.0, "test_cost: expected a number >= 0, got -1.0"),
    ],
)
def test_lines_with_impossible_figures_are_refused(tmp_path, place, value, text):
    *parents, last = place
    path, line = tmp_path / "lines.jsonl", json.loads(to_line(cases.record()))
    part = line
    for key in parents:
        part = part[key]
    part[last] = value
    path.write_text(json.dumps(line))
    with pytest.raises(ParameterError, match=f"line 1.*{text}"):
        cf.Comparison.load(path)


def test_lines_read_back_to_the_last_bit(tmp_path, compared):
    for record in compared.records:
        append_record(tmp_path / "lines", record)
    assert read_lines(tmp_path / "lines").records == compared.records


def test_digests_tell_tables_splits_and_prices_apart():
    def facts(data, **more):
        found = cf.Comparison.run(data, Threshold("a"), repeats=1, cv=0, **more).records[0]
        return found.table.digest, found.prices.digest, found.split.digest

    one = facts(table())
    again = cf.datasets.Dataset.from_arrays(
        table().X.astype(np.float32).astype(np.float64), table().y, PRICES_AS_INTS, feature_names=tuple("abc"), name="x"
    )
    assert facts(table()) == one
    assert facts(again)[1:] == one[1:]
    assert facts(again)[0] != one[0]
    assert facts(table(), costs={"a": 1, "b": 2, "c": 5})[::2] == one[::2]
    assert facts(table(), costs={"a": 1, "b": 2, "c": 5})[1] != one[1]
    assert facts(table(), seed=3)[:2] == one[:2]
    assert facts(table(), seed=3)[2] != one[2]


PRICES_AS_INTS = {name: int(price) for name, price in cases.PRICES.items()}


def test_lines_of_anybody_are_kept_apart_by_what_differs():
    ours = [cases.record(repeat=r) for r in range(3)]
    theirs = [cases.record(repeat=r, side="theirs") for r in range(2)]
    merged = cf.Comparison([*ours, *theirs])
    assert merged.tables == ("one",)
    assert "one: theirs has 2 of 3 splits" in merged.notes
    other_prices = [evolve(r, prices=evolve(r.prices, digest="qqqqqqq")) for r in theirs]
    apart = cf.Comparison([*ours, *other_prices])
    assert apart.tables == ("one (prices p)", "one (prices qqqqqq)")
    assert "one: 2 tables of this name are kept apart, as prices differ" in apart.notes
    other_rows = [evolve(r, table=evolve(r.table, digest="other")) for r in theirs]
    assert (
        "one: 2 tables of this name are kept apart, as their rows differ" in cf.Comparison([*ours, *other_rows]).notes
    )
    other_splits = [evolve(r, split=evolve(r.split, digest=f"z{r.split.repeat}")) for r in theirs]
    split = cf.Comparison([*ours, *other_splits])
    assert split.tables == ("one, splits 1", "one, splits 2")
    assert "one: sides that share no split are kept apart, in 2 groups" in split.notes
    newer = [evolve(r, side=evolve(r.side, version="0.2.0")) for r in ours]
    versions = cf.Comparison([*ours, *newer])
    assert versions.sides == ("ours (0.1.0)", "ours (0.2.0)")
    assert versions.difference("ours (0.2.0)", "one").mean == pytest.approx(np.zeros(8))


def test_equal_lines_count_once_and_different_figures_of_one_fit_are_said():
    ours = [cases.record(repeat=r) for r in range(3)]
    slower = [evolve(r, seconds=9.0) for r in ours]
    assert cf.Comparison([*ours, *slower]).notes == ()
    assert cf.Comparison([*ours, *slower]).standings[0].values("ours").shape == (3, 7)
    other = evolve(ours[0], models=cases.record(test=(0.5, 0.9)).models)
    for order in itertools.permutations([*ours, other]):
        found = cf.Comparison(order)
        assert "one, repeat 0, ours: 2 lines have different figures of the same fit; one of them is kept" in found.notes
        assert found.standings[0].values("ours")[:, -1].tolist() == [0.8, 0.8, 0.8]
    elsewhere = [evolve(r, versions=r.versions | {"python": "3.99"}) for r in ours]
    assert cf.Comparison([*ours, *elsewhere]).notes == ()
    failed = evolve(ours[0], models=(), error="no")
    assert cf.Comparison([failed, *ours]).failures == ()


def test_a_split_counts_once_where_it_is_another_repeat_of_another_seed():
    ours = [cases.record(repeat=r) for r in range(2)]
    theirs = [cases.record(repeat=r, side="theirs", test=(0.5, 0.6 + r / 10)) for r in range(2)]
    theirs[1] = evolve(theirs[1], split=evolve(theirs[1].split, repeat=6))
    for order in itertools.permutations([*ours, *theirs]):
        (standing,) = cf.Comparison(order).standings
        assert standing.splits == ("s-one-0", "s-one-1")
        assert standing.values("theirs")[:, -1].tolist() == [0.6, 0.7]
        assert standing.difference("theirs", "ours").n_splits == 2


def test_a_table_too_small_for_its_groups_is_refused_by_name():
    grouped = table(n=9, groups=np.arange(9) // 5, split=np.repeat(["train", "valid", "test"], 3))
    with pytest.raises(DataError, match="one, repeat 1: 2 groups of rows are too few"):
        cf.Comparison.run(grouped, "linear", repeats=2)


def test_files_of_one_name_are_named_by_their_folders(tmp_path):
    one, other = tmp_path / "a" / "x" / "data.csv", tmp_path / "b" / "x" / "data.csv"
    for number, file in enumerate((one, other)):
        file.parent.mkdir(parents=True)
        file.write_text("p,q,ill\n" + "".join(f"{row},{row % (5 + number)},{row % 2}\n" for row in range(60)))
    again = other.with_name("more.csv")
    again.write_bytes(other.read_bytes())
    names = [data.name for data in open_tables([one, str(again), other], target="ill")]
    assert names == ["a/x/data.csv", "more.csv", "b/x/data.csv"]
    lone = table(name="data.csv")
    assert [data.name for data in open_tables([lone, one], target="ill")] == ["data.csv", "x/data.csv"]
    with pytest.raises(ParameterError, match=r"'/[^/].*data\.csv' stands twice"):
        open_tables([one, one.parent / ".." / "x" / "data.csv"], target="ill")


def test_an_error_of_a_split_names_the_table_once():
    rare = table(split=np.repeat(["train", "valid", "test"], 50))
    rare.y[100:] = 0
    with pytest.raises(DataError, match=r"^one, repeat 0: class 1 has no row in 'test'"):
        cf.Comparison.run(rare, "linear", repeats=1)
    graded = cf.datasets.Dataset.from_arrays(
        np.eye(90), np.arange(90) % 3, task="ranking", qid=np.arange(90) // 5, name="graded"
    )
    with pytest.raises(DataError, match=r"^graded, repeat 0: '(valid|test)'"):
        cf.Comparison.run(graded, "cegb", repeats=1, score="precision@5:4")
