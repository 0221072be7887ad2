"""The conformance kit: an honest plugin passes, and each law catches the plugins that break it."""

import re
import subprocess
import sys
from pathlib import Path

import broken_plugins
import broken_shells
import numpy as np
import pytest
from broken_plugins import BROKEN, HONEST
from planned_stumps import InducedStumps, PlannedStumps

from costframe import testing
from costframe.core.errors import CostModelError, PluginError
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.stages.links import LINKS
from costframe.hooks import Algorithm
from costframe.testing import ConformanceError, CountingSource, check_algorithm, laws, parametrize_algorithm
from costframe.testing.check import checks
from costframe.testing.data import COSTS


@parametrize_algorithm(HONEST)
def test_the_honest_plugin_keeps_every_law(check):
    check()


class Steps:
    """A model that can only be stepped: it asks for the feature of one stump after another."""

    def __init__(self, tree):
        (answer,), bank = tree.stages, tree.bank
        self.start = float(answer.intercept[0])
        self.features = [tree.feature_names[f] for f in bank.trees.feature[::3]]
        self.thresholds, self.values = bank.trees.threshold[::3], bank.trees.values.reshape(-1, 2)

    def __call__(self):
        score = self.start
        for feature, threshold, (below, above) in zip(self.features, self.thresholds, self.values, strict=True):
            values = yield [feature]
            score += below if values[feature] <= threshold else above
        return score


class SteppedStumps(broken_plugins.StumpsRegressor):
    def fit(self, *data, **more):
        super().fit(*data, **more)
        tree = self.predictor_
        self.predictor_ = SteppedPredictor(tree.feature_names, Steps(tree), tree.costs, fallback=0.25)
        return self

    def _train(self, data):
        for name in ("split", "learner", "reuse"):
            if np.any(getattr(data.prices, name)):
                raise CostModelError(f"{name}: a stepped model does not tell what it computes")
        return super()._train(data)


@parametrize_algorithm(Algorithm("stepped", "Stumps, stepped", "none", regressor=SteppedStumps))
def test_a_model_that_can_only_be_stepped_keeps_every_law(check):
    check()


@parametrize_algorithm(Algorithm("planned", "Stumps, planned", "none", regressor=PlannedStumps))
def test_a_model_that_plans_keeps_every_law(check):
    check()


@parametrize_algorithm(Algorithm("induced", "Stumps, planned for their prices", "none", regressor=InducedStumps))
def test_a_model_that_plans_for_its_own_prices_keeps_every_law(check):
    check()


def complaint(check):
    try:
        check()
    except (AssertionError, RuntimeError) as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("algorithm", "law", "words"), BROKEN, ids=[f"{algorithm.name}-{law}" for algorithm, law, _ in BROKEN]
)
def test_a_broken_plugin_is_caught_by_the_law_that_it_breaks(algorithm, law, words):
    found = [check for check in checks(algorithm) if check.law.name == law]
    told = [text for check in found if (text := complaint(check))]
    assert told
    assert all(words in text for text in told), told


def test_every_law_has_a_plugin_that_breaks_it():
    assert set(laws()) == {law for _, law, _ in BROKEN}


def test_laws_say_what_they_protect():
    for name, law in laws().items():
        assert law.name == name
        assert law.protects.endswith(".")


def broken(name):
    return next(algorithm for algorithm, _, _ in BROKEN if algorithm.name == name)


def test_check_algorithm_lists_all_that_failed_and_what_it_protects():
    with pytest.raises(ConformanceError) as raised:
        check_algorithm(broken("ForgetsResources"))
    text = str(raised.value)
    assert "'ForgetsResources' breaks" in text
    assert "cost_reported_is_cost_fetched[regressor]: row 0" in text
    assert "resources_are_charged_once[regressor]: row 0" in text
    assert "protects: A row pays each resource once" in text
    assert "learns[" not in text


def test_an_error_inside_a_plugin_is_a_failure_and_says_where():
    class Raises(broken_plugins.StumpsRegressor):
        def _train(self, data):
            return 1 / (len(data.train) * 0)

    algorithm = Algorithm("raises", "s", "r", regressor=Raises)
    with pytest.raises(ConformanceError) as raised:
        check_algorithm(algorithm)
    text = str(raised.value)
    assert re.search(
        r"\nZeroDivisionError: .*test_testing_kit\.py:\d+\)\n    in .*learns\[regressor\]", text, re.DOTALL
    )
    assert text.count("ZeroDivisionError: division by zero (") == 1  # not once for each of the laws
    assert max(map(len, text.splitlines())) <= 200


def test_laws_that_compare_fits_are_not_for_algorithms_that_draw():
    class Draws(broken_plugins.StumpsRegressor):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.non_deterministic = True
            return tags

    names = {check.law.name for check in checks(Algorithm("draws", "s", "r", regressor=Draws))}
    sure = {law.name for law in laws().values() if law.compares_fits}
    assert {"deterministic", "unit_of_prices_is_free", "threads_change_nothing"} <= sure
    assert names == set(laws()) - sure


def test_a_classifier_for_two_classes_is_not_checked_on_three():
    algorithm = broken("RefusesDarkly")
    assert {check.case.title for check in checks(algorithm)} == {"classifier-2"}
    *found, last = parametrize_algorithm(algorithm).args[1]
    assert len(found) == len(laws())
    assert last.id == "classifier-3"
    assert "RefusesDarkly is for two classes" in last.marks[0].kwargs["reason"]
    able = Algorithm("able", "s", "r", classifier=broken_shells.OfTwoClasses)  # takes three, and need not
    check_algorithm(able)


WEIGHTS = broken("ignores_weights")


@pytest.mark.parametrize("key", ["weights_are_repetitions", "weights_are_repetitions[regressor]"])
def test_an_expected_failure_is_accepted(key):
    check_algorithm(WEIGHTS, expected_failures={key: "weights are not read yet"})


def test_an_expected_failure_that_passes_is_an_error():
    with pytest.raises(ConformanceError, match=r"learns\[regressor\]: passes, although .* it is slow"):
        check_algorithm(WEIGHTS, expected_failures={"weights_are_repetitions": "not read", "learns": "it is slow"})


@pytest.mark.parametrize("key", ["no_such_law", "learns[ranker]", "learns[classifier-2]"])
def test_an_expected_failure_of_nothing_is_refused(key):
    with pytest.raises(ValueError, match=r"expected_failures: .* is no law"):
        check_algorithm(WEIGHTS, expected_failures={key: "some reason"})


def test_an_expected_failure_needs_a_reason():
    with pytest.raises(ValueError, match="'learns' has no reason"):
        check_algorithm(WEIGHTS, expected_failures={"learns": " "})


def test_parametrisation_has_one_strict_case_for_each_law_and_kind():
    mark = parametrize_algorithm(WEIGHTS, expected_failures={"weights_are_repetitions": "not read"}).mark
    cases = {case.id: case.marks for case in mark.args[1]}
    assert set(cases) == {f"{name}[regressor]" for name in laws()}
    (expected,) = cases["weights_are_repetitions[regressor]"]
    assert expected.name == "xfail"
    assert expected.kwargs == {"reason": "not read", "strict": True}
    assert not cases["learns[regressor]"]


def test_all_kinds_of_estimators_are_checked():
    titles = {check.title for check in checks(HONEST)}
    assert {f"learns[{kind}]" for kind in ("classifier-2", "classifier-3", "regressor", "ranker")} <= titles


def test_settings_are_used_throughout():
    small = checks(HONEST, settings={"n_estimators": 3, "learning_rate": 0.25})[0].case
    estimator = small.fitted(0.0)
    assert (estimator.n_estimators, estimator.learning_rate) == (3, 0.25)
    assert len(estimator.bank_) == 3


def test_an_algorithm_is_given_itself_or_by_name():
    with pytest.raises(PluginError, match="expected an Algorithm or its name, got ABCMeta"):
        check_algorithm(broken_plugins.StumpsRegressor)
    with pytest.raises(PluginError, match="'no-such-algorithm'"):
        check_algorithm("no-such-algorithm")


def test_the_counting_source_counts_and_charges_by_the_book():
    source = CountingSource({"iron": 1.0, "sugar": 2.0, "scan": 3.0, "free": 4.0}, COSTS)
    assert source(["iron", "sugar"]) == {"iron": 1.0, "sugar": 2.0}
    assert source.charged == 0.5 + 0.25 + 2.0
    source(["scan"])
    assert source.charged == 0.5 + 0.25 + 2.0 + 4.0 + 5.0 + 1.0
    assert (source.calls, source.fetched) == (2, ["iron", "sugar", "scan"])
    with pytest.raises(AssertionError, match="'scan' was fetched twice"):
        source(["scan"])


def test_the_public_surface_is_what_it_says():
    assert set(testing.__all__) == set(dir(testing))
    assert all(getattr(testing, name) is not None for name in testing.__all__)
    with pytest.raises(AttributeError, match="no attribute 'strategy'"):
        testing.strategy  # noqa: B018 - the access is the test


def test_the_kit_does_without_hypothesis_and_pytest_until_they_are_used():
    text = """
import sys
from pathlib import Path
sys.modules["hypothesis"] = sys.modules["pytest"] = None
import costframe.testing as testing
assert testing.laws()
for use in (lambda: testing.strategies, lambda: testing.parametrize_algorithm("miser")):
    try:
        use()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603 - our own text
    assert run.stdout.splitlines() == [
        "costframe.testing.strategies needs hypothesis: pip install 'costframe[test]'",
        "parametrize_algorithm needs pytest: pip install 'costframe[test]'",
    ]


ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = (ROOT / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^```(?:python|toml) (\S+)\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("file", "block"), QUOTED)
def test_code_in_the_tutorial_stands_in_the_example(file, block):
    assert block in (ROOT / "examples" / "costframe-stumps" / file).read_text(encoding="utf-8")


def test_all_code_in_the_tutorial_names_its_file():
    assert len(QUOTED) == len(re.findall(r"^```(?:python|toml)", TUTORIAL, re.MULTILINE)) >= 5


def test_the_examples_import_nothing_deeper_than_the_authors_page():
    files = [path for path in (ROOT / "examples").rglob("*.py") if "serving" not in path.parts]
    texts = [path.read_text(encoding="utf-8") for path in files] + [TUTORIAL]
    found = {name for text in texts for name in re.findall(r"(?:from|import) (costframe\.[\w.]+)", text)}
    assert found == {"costframe.plugin", "costframe.sources", "costframe.testing"}


def test_the_tutorial_says_what_every_link_predicts():
    told = re.findall(r'^\| `"([a-z-]+)"` \|', TUTORIAL, re.MULTILINE)
    assert tuple(told) == LINKS


def test_links_in_the_tutorial_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", TUTORIAL)
    assert links
    assert all((ROOT / "docs" / link.partition("#")[0]).exists() for link in links)
