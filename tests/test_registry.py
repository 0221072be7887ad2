"""A broken or clashing plugin is named where it is used, and takes no other down; who takes part in comparisons."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused
from sklearn.base import BaseEstimator

import costframe as cf
from costframe import Algorithm, algorithms, estimator, hookimpl
from costframe.core.plugins import estimators
from costframe.core.plugins.estimators import two_classes_only
from costframe.core.plugins.registry import GROUP, Registry, registry
from costframe.datasets import Dataset
from costframe.errors import AdoptionError, PluginError
from costframe.plugin import ParameterError
from costframe.study.algorithms import choose_algorithms

pytestmark = pytest.mark.usefixtures("undrawn")


class Kind(BaseEstimator):
    def __init__(self, costs=None, tradeoff=1e-3, n_estimators=None):
        self.costs = costs
        self.tradeoff = tradeoff
        self.n_estimators = n_estimators

    def fit(self, *_):
        return self

    def predict(self, X):
        return X


def algorithm(name="good", **kinds):
    return Algorithm(name, "summary", "reference", **(kinds or {"classifier": Kind}))


@pytest.fixture
def plug(monkeypatch):
    """Make an entry point of a module with the given hooks; its distribution is a stub."""
    made = []

    def make(name, distribution=None, /, **given):
        module = ModuleType(f"fake_plugin_{len(made)}")
        made.append(module)
        for hook, function in given.items():
            setattr(module, hook, hookimpl(function))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return point(name, module.__name__, distribution or f"dist-{name}")

    return make


def point(name, value, distribution):
    found = EntryPoint(name, value, GROUP)
    vars(found)["dist"] = SimpleNamespace(name=distribution, version="1.2")
    return found


def brings(*found):
    return {"costframe_algorithms": lambda: list(found)}


def raising(error):
    def hook():
        raise error

    return hook


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_module_here", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_named_on_use(tmp_path, monkeypatch, plug, text, reason):
    if text is not None:
        (tmp_path / "fake_failing_module.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "fake_failing_module", raising=False)
    points = [point("bad", "fake_failing_module", "dist-bad"), plug("fine", **brings(algorithm()))]
    for order in (points, points[::-1]):
        found = Registry.load(order)
        assert set(found.algorithms) == {"good"}
        with pytest.raises(
            PluginError, match=r"algorithm 'bad': plugin bad \(dist-bad 1\.2\) cannot be loaded"
        ) as told:
            found.algorithm("bad")
        assert reason in str(told.value)


@pytest.mark.parametrize(
    "place", ["fake_absent:Absent", f"{__name__}:Absent", f"{__name__}:algorithm", "json:JSONDecoder"]
)
def test_a_class_given_by_its_place_is_imported_and_checked_on_use(plug, monkeypatch, place):
    good = algorithm(classifier=f"{Kind.__module__}:Kind")
    points = [plug("bad", **brings(algorithm("odd", classifier=place))), plug("fine", **brings(good))]
    monkeypatch.setattr(estimators, "registry", lambda: found)
    monkeypatch.setattr("costframe.study.algorithms.registry", lambda: found)
    found = Registry.load(points)
    assert found.estimator_class("Kind") is Kind is estimator("good").__class__
    assert (set(found.algorithms), found.broken) == ({"good", "odd"}, {})
    assert choose_algorithms("classification", None) == (["good"], {})
    for ask in (found.algorithm, estimator):
        with pytest.raises(PluginError, match="algorithm 'odd': its classification cannot be loaded: "):
            ask("odd")
    assert list(algorithms()) == ["good"]


class NoPredict(BaseEstimator):
    def fit(self, *_):
        return self


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (raising(SystemExit(3)), "SystemExit: 3"),
        (lambda: [algorithm("twice"), algorithm("twice")], "distinct names, got 'twice'"),
        (lambda: [algorithm("half", regressor=NoPredict)], "'half': regressor NoPredict lacks predict"),
    ],
)
def test_a_hook_that_fails_is_named_on_use(plug, hook, reason):
    found = Registry.load([plug("bad", costframe_algorithms=hook), plug("fine", **brings(algorithm()))])
    assert set(found.algorithms) == {"good"}
    for name in ("bad", "something else"):  # the algorithm may have had any name
        with pytest.raises(PluginError, match=r"plugin bad \(dist-bad 1\.2\): costframe_algorithms failed") as raised:
            found.algorithm(name)
    assert reason in str(raised.value)
    assert found.estimator_class("Kind") is Kind
    with pytest.raises(ImportError, match=r"no attribute 'RustyClassifier'.*; plugin bad "):
        found.estimator_class("RustyClassifier")


def test_an_unknown_hook_is_refused_with_all_of_the_plugin(plug):
    bad = plug("bad", **brings(algorithm("other")), costframe_algorithm=lambda: ())
    found = Registry.load([bad, plug("fine", **brings(algorithm()))])
    assert set(found.algorithms) == {"good"}
    assert "costframe_algorithm" in found.broken["bad"]


@pytest.mark.parametrize("hook", [lambda: {"table": "no function"}, lambda: {3: dict}])
@pytest.mark.parametrize("kind", ["datasets", "sources"])
def test_a_failing_hook_takes_no_other_hook_of_its_plugin_down(plug, hook, kind):
    bad = plug("bad", **brings(algorithm()), **{f"costframe_{kind}": hook})
    fine = plug("fine", costframe_datasets=lambda: {"d": list}, costframe_sources=lambda: {"s": list})
    found = Registry.load([bad, fine])
    assert (set(found.algorithms), set(found.datasets), set(found.sources)) == ({"good"}, {"d"}, {"s"})
    assert f"costframe_{kind} failed" in found.broken["bad"]


def test_of_those_that_claim_a_name_none_loads_and_all_are_named(plug):
    points = [plug(name, f"of {name}", **brings(algorithm("miser"), algorithm(f"own {name}"))) for name in "abc"]
    for order in (points, points[::-1]):
        found = Registry.load(order)
        assert set(found.algorithms) == {"own a", "own b", "own c"}
        with pytest.raises(PluginError) as raised:
            found.algorithm("miser")
        for words in ("algorithm 'miser'", "a (of a 1.2)", "b (of b 1.2)", "c (of c 1.2)", "neither is loaded"):
            assert words in str(raised.value)


def test_entry_points_found_twice_leave_the_first_working(plug):
    points = [plug("same", "left", **brings(algorithm("one"))), plug("same", "right", **brings(algorithm("two")))]
    assert set(Registry.load(points).algorithms) == {"one", "two"}
    first = plug("twin", **brings(algorithm()))
    for second in (first, plug("twin", **brings(algorithm("another")))):
        found = Registry.load([first, second])
        assert set(found.algorithms) == {"good"}
        assert "installed twice" in found.broken["twin"]
    assert "dist-second" in Registry.load([first, point("second", first.value, "dist-second")]).broken["second"]
    found = Registry.load([point("same", "fake_absent", "left"), point("same", "fake_absent", "right")])
    assert all(name in found.broken["same"] for name in ("left", "right"))


def test_unknown_names_come_with_what_there_is_and_the_nearest(plug):
    both = brings(algorithm("miser"), algorithm("cronus"))
    found = Registry.load([plug("fine", **both, costframe_datasets=lambda: {"heart": list})])
    with pytest.raises(PluginError, match="algorithm 'mizer': expected one of cronus, miser; did you mean 'miser'"):
        found.algorithm("mizer")
    with pytest.raises(PluginError, match="data set 'hart': expected one of heart; did you mean 'heart'"):
        found.dataset("hart")
    with pytest.raises(PluginError, match="expected one of none"):
        Registry.load([]).algorithm("miser")
    with pytest.raises(AttributeError, match="no attribute 'Kin', and no algorithm has such a class"):
        found.estimator_class("Kin")
    other = type("Kind", (Kind,), {})
    found = Registry.load([plug("one", **brings(algorithm("a"), algorithm("b", classifier=other)))])
    with pytest.raises(ImportError, match="Kind: algorithms 'a' and 'b' each have a class of this name"):
        found.estimator_class("Kind")


def test_estimator_makes_the_kind_of_the_task_with_its_parameters(monkeypatch, plug):
    both = brings(algorithm("zeta"), algorithm("alpha", regressor=Kind, ranker=Kind))
    found = Registry.load([plug("fine", **both)])
    monkeypatch.setattr(estimators, "registry", lambda: found)
    algorithms().clear()
    assert list(algorithms()) == ["alpha", "zeta"]
    made = estimator("alpha", task="ranking", tradeoff=0.5)
    assert (type(made), made.tradeoff, made.n_estimators) == (Kind, 0.5, None)
    for name, more, words in (
        ("alpha", {}, "'alpha' has no classification; it has regression, ranking"),
        ("alpha", {"task": "survival"}, "task: expected one of classification, regression, ranking, got 'survival'"),
        ("zeta", {"n_estimator": 5}, "'zeta' has no parameter 'n_estimator'; did you mean 'n_estimators'\\?; it has c"),
    ):
        with pytest.raises(PluginError, match=words):
            estimator(name, **more)


def refuses(model):
    raise AdoptionError(f"dart boosters are not adopted: {model}")


def test_adoption_takes_the_first_plugin_that_knows_the_model(plug):
    mine = cf.StageTree(cf.WeakLearnerBank.columns(("a",)), (cf.Answer([0], [1.0], 0.0),))
    of_texts = plug("texts", costframe_adopt=lambda model: mine if isinstance(model, str) else None)
    found = Registry.load([plug("plain", costframe_adopt=lambda: None), of_texts])  # hooks may take fewer arguments
    assert found.adopt("text", None) is mine
    assert found.adopt(3, None) is None
    points = [plug("bad", costframe_adopt=lambda model: 1 / (model is None)), of_texts]
    for order in (points, points[::-1]):
        found = Registry.load(order)
        assert found.adopt("text", None) is mine
        with pytest.raises(PluginError, match=r"plugin bad \(dist-bad 1\.2\): costframe_adopt failed: ZeroDivision"):
            found.adopt(3, None)
    found = Registry.load([plug("bad", costframe_adopt=lambda model: f"a model made of {model}")])
    with pytest.raises(PluginError, match=r"plugin bad \(dist-bad 1\.2\): costframe_adopt returned no Predictor but s"):
        found.adopt(1, None)
    with pytest.raises(AdoptionError, match="dart"):
        Registry.load([plug("fine", costframe_adopt=refuses)]).adopt(1, None)


# --- who takes part ---


def test_by_default_the_usual_ones_are_fitted_and_all_are_those_but_baselines():
    for task in ("classification", "regression", "ranking"):
        usual, every = choose_algorithms(task, None)[0], choose_algorithms(task, "all")[0]
        assert {"planner", "cegb"} <= set(usual) < set(every)
        assert not any(cf.algorithms()[name].baseline for name in every)
        assert choose_algorithms(task, ["boosting", "all", "cegb"])[0] == [*every, "boosting"]
    assert choose_algorithms("ranking", ["boosting", "cegb"]) == (["boosting", "cegb"], {})
    with pytest.raises(ParameterError, match="at least one name, got none"):
        choose_algorithms("ranking", [])


def test_three_classes_leave_an_algorithm_for_two_out_unless_it_is_named(monkeypatch):
    assert two_classes_only(cf.CronusClassifier)
    assert not any(map(two_classes_only, (cf.MiserClassifier, cf.MiserRegressor, object, None)))
    assert "cronus" in choose_algorithms("classification", "all")[0]
    three, left_out = choose_algorithms("classification", "all", 3)
    assert ("cronus" in three, list(left_out)) == (False, ["cronus"])
    with pytest.raises(ParameterError, match="algorithm 'cronus': is for two classes, got 3"):
        choose_algorithms("classification", ["miser", "cronus"], 3)
    only = {"cronus": registry().algorithm("cronus")}
    monkeypatch.setattr("costframe.study.algorithms.registry", lambda: Registry(registry().manager, only))
    with pytest.raises(PluginError, match="no installed algorithm takes 3 classes"):
        choose_algorithms("classification", None, 3)


def test_sweeps_and_commands_go_on_without_it_and_say_so(monkeypatch, run, table):
    only = {name: registry().algorithm(name) for name in ("cronus", "reweighted")}
    monkeypatch.setattr("costframe.study.algorithms.registry", lambda: Registry(registry().manager, only))
    X = np.random.default_rng(0).standard_normal((240, 3))
    y, costs, errors = np.digitize(X[:, 0], (-0.5, 0.5)), dict.fromkeys("abc", 1.0), {}
    data = Dataset.from_arrays(X, y, costs, feature_names=list("abc"), task="classification")
    how = {"tradeoffs": [0.1], "cv": 0}
    found = cf.Frontier.sweep(data, **how, failed=lambda name, error: errors.update({name: str(error)}))
    assert {point.algorithm for point in found.points} == {"reweighted"}
    assert errors == {"cronus": "is for two classes, got 3"}
    path = table(pd.DataFrame(X, columns=list("abc")).assign(kind=[f"k{each}" for each in y]))
    compare = ("compare", path, "--target", "kind", "--points", 2, "--cv", 0)
    result = run(*compare)
    assert "left out: algorithm 'cronus': is for two classes, got 3" in result.stderr.splitlines()
    assert ("reweighted" in result.stdout, "cronus" in result.stdout) == (True, False)
    line = refused(run(*compare, "--algorithms", "reweighted,cronus", "--output", "other"))
    assert line == "error: algorithm 'cronus': is for two classes, got 3"
