"""The conformance kit: an honest plugin passes, and each law catches the plugin that breaks it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from broken_plugins import BROKEN, COSTS, HONEST, OfTwoClasses, StumpsRegressor
from planned_stumps import FeaturesAndResources

from costframe import Algorithm, SteppedPredictor, testing
from costframe.errors import PluginError
from costframe.testing import ConformanceError, CountingSource, check_algorithm, checks, laws, parametrize_algorithm

WEIGHTS = BROKEN["weights_are_repetitions"][0]


@parametrize_algorithm(HONEST)
def test_the_honest_plugin_keeps_every_law(check):
    check()


class Steps:
    """A model that can only be stepped: it asks for the feature of one stump after another."""

    def __init__(self, tree):
        (answer,), trees = tree.stages, tree.bank.trees
        names = [tree.feature_names[f] for f in trees.feature[::3]]
        self.start = float(answer.intercept[0])
        self.stumps = list(zip(names, trees.threshold[::3], trees.values.reshape(-1, 2), strict=True))

    def __call__(self):
        score = self.start
        for feature, threshold, (below, above) in self.stumps:
            values = yield [feature]
            score += below if values[feature] <= threshold else above
        return score


class SteppedStumps(FeaturesAndResources):
    def _train(self, data):
        tree = super()._train(data)
        return SteppedPredictor(tree.feature_names, Steps(tree), data.costs, fallback=0.25)


@parametrize_algorithm(Algorithm("stepped", "Stumps, stepped", "none", regressor=SteppedStumps))
def test_a_model_that_can_only_be_stepped_keeps_every_law(check):
    check()


def test_every_law_has_a_plugin_that_breaks_it_and_says_what_it_protects():
    assert set(laws()) == set(BROKEN)
    assert all(law.name == name and law.protects.endswith(".") for name, law in laws().items())


@pytest.mark.parametrize("law", BROKEN)
def test_a_broken_plugin_is_caught_by_the_law_that_it_breaks(law):
    algorithm, words = BROKEN[law]
    found = [check for check in checks(algorithm) if check.law.name == law]
    assert found
    for check in found:
        with pytest.raises(AssertionError, match=re.escape(words)):
            check()


def test_check_algorithm_lists_all_that_failed_and_what_it_protects():
    with pytest.raises(ConformanceError) as raised:
        check_algorithm(BROKEN["resources_are_charged_once"][0])
    text = str(raised.value)
    assert "cost_reported_is_cost_fetched[regressor]: row 0" in text
    assert "resources_are_charged_once[regressor]: row 0" in text
    assert "protects: A row pays each resource once" in text
    assert "learns[" not in text


def test_an_error_inside_a_plugin_is_a_failure_and_says_where():
    class Raises(StumpsRegressor):
        def _train(self, data):
            return 1 / (len(data.train) * 0)

    with pytest.raises(ConformanceError) as raised:
        check_algorithm(Algorithm("raises", "s", "r", regressor=Raises))
    text = str(raised.value)
    place = r"\nZeroDivisionError: .*test_testing_kit\.py:\d+\)\n    in .*learns\[regressor\]"
    assert re.search(place, text, re.DOTALL)
    assert text.count("ZeroDivisionError: division by zero (") == 1  # not once for each of the laws


def test_laws_that_compare_fits_are_not_for_algorithms_that_draw():
    class Draws(StumpsRegressor):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.non_deterministic = True
            return tags

    names = {check.law.name for check in checks(Algorithm("draws", "s", "r", regressor=Draws))}
    assert names == {law.name for law in laws().values() if not law.compares_fits}
    assert "deterministic" not in names


def test_a_classifier_for_two_classes_is_not_checked_on_three():
    *found, last = parametrize_algorithm(BROKEN["a_third_class_is_refused_by_name"][0]).args[1]
    assert {check.id.partition("[")[2] for check in found} == {"classifier-2]"}
    assert last.id == "classifier-3"
    assert "RefusesDarkly is for two classes" in last.marks[0].kwargs["reason"]
    able = Algorithm("able", "s", "r", classifier=OfTwoClasses)  # takes three, and need not
    next(check for check in checks(able) if check.law.name == "a_third_class_is_refused_by_name")()


def test_expected_failures_are_accepted_and_strict():
    check_algorithm(WEIGHTS, expected_failures={"weights_are_repetitions[regressor]": "weights are not read yet"})
    with pytest.raises(ConformanceError, match=r"learns\[regressor\]: passes, although .* it is slow"):
        check_algorithm(WEIGHTS, expected_failures={"weights_are_repetitions": "not read", "learns": "it is slow"})
    mark = parametrize_algorithm(WEIGHTS, expected_failures={"weights_are_repetitions": "not read"}).mark
    cases = {case.id: case.marks for case in mark.args[1]}
    (expected,) = cases["weights_are_repetitions[regressor]"]
    assert expected.name == "xfail"
    assert expected.kwargs == {"reason": "not read", "strict": True}
    assert not cases["learns[regressor]"]


@pytest.mark.parametrize(
    ("algorithm", "failures", "error", "text"),
    [
        (WEIGHTS, {"no_such_law": "some reason"}, ValueError, "expected_failures: .* is no law"),
        (WEIGHTS, {"learns[ranker]": "some reason"}, ValueError, "expected_failures: .* is no law"),
        (WEIGHTS, {"learns": " "}, ValueError, "'learns' has no reason"),
        (StumpsRegressor, {}, PluginError, "expected an Algorithm or its name, got ABCMeta"),
        ("no-such-algorithm", {}, PluginError, "'no-such-algorithm'"),
    ],
)
def test_what_cannot_be_checked_is_refused(algorithm, failures, error, text):
    with pytest.raises(error, match=text):
        check_algorithm(algorithm, expected_failures=failures)


def test_settings_are_used_throughout_for_all_kinds():
    found = checks(HONEST, settings={"n_estimators": 3})
    assert {check.case.title for check in found} == {"classifier-2", "classifier-3", "regressor", "ranker"}
    assert len(found[0].case.fitted(0.0).bank_) == 3


def test_the_counting_source_counts_and_charges_by_the_book():
    source = CountingSource({"iron": 1.0, "sugar": 2.0, "scan": 3.0}, COSTS)
    assert source(["iron", "sugar"]) == {"iron": 1.0, "sugar": 2.0}
    source(["scan"])
    assert (source.charged, source.calls) == (0.5 + 0.25 + 2.0 + 4.0 + 5.0 + 1.0, 2)
    with pytest.raises(AssertionError, match="'scan' was fetched twice"):
        source(["scan"])


def test_the_kit_does_without_its_extra_until_it_is_used():
    assert set(testing.__all__) == set(dir(testing))
    text = """
import sys
sys.modules["hypothesis"] = sys.modules["pytest"] = sys.modules["pandas"] = None
import costframe, costframe.testing as testing
assert testing.laws()
uses = (
    lambda: testing.strategies,
    lambda: testing.parametrize_algorithm("miser"),
    lambda: testing.check_algorithm("miser"),
)
for use in uses:
    try:
        use()
    except (ImportError, costframe.CostframeError) as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603 - our own text
    assert run.stdout.splitlines() == [
        "costframe.testing.strategies needs hypothesis: pip install 'costframe[testing]'",
        "parametrize_algorithm needs pytest: pip install 'costframe[testing]'",
        "this needs pandas, which is not installed: pip install 'costframe[testing]'",
    ]


# --- the tutorial ---

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = (ROOT / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")


def test_code_in_the_tutorial_stands_in_the_example():
    quoted = re.findall(r'^```(?:python|toml) title="(\S+)"\n(.*?)^```$', TUTORIAL, re.MULTILINE | re.DOTALL)
    assert len(quoted) == len(re.findall(r"^```(?:python|toml)", TUTORIAL, re.MULTILINE)) >= 5
    for file, block in quoted:
        if file.startswith("costframe_twigs/"):  # `test_compiled_parts.py` compiles and runs it
            continue
        assert block in (ROOT / "examples" / "costframe-stumps" / file).read_text(encoding="utf-8"), file


def test_the_examples_import_nothing_deeper_than_the_authors_page():
    files = [path for path in (ROOT / "examples").rglob("*.py") if "serving" not in path.parts]
    texts = [path.read_text(encoding="utf-8") for path in files] + [TUTORIAL]
    found = {name for text in texts for name in re.findall(r"(?:from|import) (costframe\.[\w.]+)", text)}
    assert found == {
        "costframe.comparison",
        "costframe.engine",
        "costframe.plugin",
        "costframe.sources",
        "costframe.testing",
    }


def test_the_tutorial_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", TUTORIAL)
    assert links
    assert all((ROOT / "docs" / link.partition("#")[0]).exists() for link in links)
