"""A broken or clashing plugin is named where it is used, and takes no other down."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import pytest
from sklearn.base import BaseEstimator

from costframe.core.errors import AdoptionError, PluginError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.plugins import registry as registry_module
from costframe.core.plugins.registry import GROUP, Registry, algorithms, estimator
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.hooks import Algorithm, hookimpl, hookspec


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

    def make(name, distribution=None, /, **hooks):
        module = ModuleType(f"fake_plugin_{len(made)}")
        made.append(module)
        for hook, function in hooks.items():
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


def failing_module(tmp_path, monkeypatch, text):
    (tmp_path / "fake_failing_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fake_failing_module", raising=False)
    return point("bad", "fake_failing_module", "dist-bad")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_module_here", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("raise RuntimeError('out of luck')", "RuntimeError: out of luck"),
        ("raise RuntimeError('out\\n  of luck')", "RuntimeError: out of luck"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def (", "SyntaxError"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_plugin_that_cannot_be_imported_is_named_on_use(tmp_path, monkeypatch, plug, text, reason, first):
    points = [failing_module(tmp_path, monkeypatch, text), plug("fine", **brings(algorithm()))]
    found = Registry.load(points if first else points[::-1])
    assert set(found.algorithms) == {"good"}
    with pytest.raises(PluginError, match=r"algorithm 'bad': plugin bad \(dist-bad 1\.2\) cannot be loaded") as raised:
        found.algorithm("bad")
    assert reason in str(raised.value)


def test_a_module_that_is_not_there_is_named(plug):
    found = Registry.load([point("bad", "fake_absent", "dist-bad"), plug("fine", **brings(algorithm()))])
    assert set(found.algorithms) == {"good"}
    assert "dist-bad" in found.broken["bad"]


def test_an_attribute_that_is_not_there_is_named(plug):
    inner = plug("inner", **brings(algorithm()))
    found = Registry.load([point("bad", f"{inner.module}:absent", "dist-bad"), inner])
    assert set(found.algorithms) == {"good"}
    assert "AttributeError" in found.broken["bad"]


def test_a_hook_of_an_unknown_name_is_refused_and_the_plugin_brings_nothing(plug):
    bad = plug("bad", **brings(algorithm("other")), costframe_algorithm=lambda: ())
    found = Registry.load([bad, plug("fine", **brings(algorithm()))])
    assert set(found.algorithms) == {"good"}
    assert "costframe_algorithm" in found.broken["bad"]


def of_colour(model, colour):
    return model, colour


def test_a_hook_with_an_unknown_argument_is_refused(plug):
    bad = plug("bad", **brings(algorithm("other")), costframe_adopt=of_colour)
    found = Registry.load([bad, plug("fine", **brings(algorithm()))])
    assert set(found.algorithms) == {"good"}
    assert "colour" in found.broken["bad"]


class NoPredict(BaseEstimator):
    def fit(self, *_):
        return self


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (raising(RuntimeError("out of luck")), "RuntimeError: out of luck"),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (lambda: None, "TypeError"),
        (lambda: 5, "TypeError"),
        (lambda: [Kind], "expected Algorithm objects, got type"),
        (lambda: [algorithm("twice"), algorithm("twice")], "distinct names, got 'twice'"),
        (lambda: [algorithm("")], "distinct names, got ''"),
        (lambda: [algorithm(7)], "distinct names, got 7"),
        (lambda: [Algorithm("none", "s", "r")], "'none': expected at least one of classifier, regressor, ranker"),
        (lambda: [algorithm("made", ranker=Kind())], "'made': expected an estimator class as ranker"),
        (lambda: [algorithm("half", regressor=NoPredict)], "'half': regressor NoPredict lacks predict"),
    ],
)
def test_a_hook_that_fails_is_named_on_use(plug, hook, reason):
    bad = plug("bad", costframe_algorithms=hook)
    found = Registry.load([bad, plug("fine", **brings(algorithm()))])
    assert set(found.algorithms) == {"good"}
    with pytest.raises(PluginError, match=r"plugin bad \(dist-bad 1\.2\): costframe_algorithms failed") as raised:
        found.algorithm("bad")
    assert reason in str(raised.value)
    with pytest.raises(PluginError, match="dist-bad"):  # the algorithm may have had any other name
        found.algorithm("something else")


@pytest.mark.parametrize(
    "hook", [raising(KeyError("k")), lambda: 5, lambda: {"table": "no function"}, lambda: {3: dict, "a": dict}]
)
@pytest.mark.parametrize("kind", ["datasets", "sources"])
def test_a_failing_hook_takes_no_other_hook_of_its_plugin_down(plug, hook, kind):
    bad = plug("bad", **brings(algorithm()), **{f"costframe_{kind}": hook})
    found = Registry.load(
        [bad, plug("fine", costframe_datasets=lambda: {"d": list}, costframe_sources=lambda: {"s": list})]
    )
    assert set(found.algorithms) == {"good"}
    assert set(found.datasets) == {"d"}
    assert set(found.sources) == {"s"}
    assert f"costframe_{kind} failed" in found.broken["bad"]


def test_algorithms_may_come_from_a_generator(plug):
    def generate():
        yield algorithm("one")
        yield algorithm("two")

    assert set(Registry.load([plug("fine", costframe_algorithms=generate)]).algorithms) == {"one", "two"}


def test_of_two_that_claim_a_name_neither_loads_and_both_are_named(plug):
    points = [
        plug("a", "left", **brings(algorithm("miser"), algorithm("own"))),
        plug("b", "right", **brings(algorithm("miser"))),
    ]
    for order in (points, points[::-1]):
        found = Registry.load(order)
        assert set(found.algorithms) == {"own"}
        with pytest.raises(PluginError) as raised:
            found.algorithm("miser")
        for words in ("algorithm 'miser'", "a (left 1.2)", "b (right 1.2)", "neither is loaded"):
            assert words in str(raised.value)


def test_three_may_claim_a_name(plug):
    found = Registry.load([plug(name, **brings(algorithm("x"))) for name in ("a", "b", "c")])
    assert not found.algorithms
    assert all(f"dist-{name}" in found.broken["x"] for name in "abc")


def test_entry_points_of_one_name_from_two_distributions_both_load(plug):
    points = [plug("same", "left", **brings(algorithm("one"))), plug("same", "right", **brings(algorithm("two")))]
    assert set(Registry.load(points).algorithms) == {"one", "two"}


def test_two_broken_plugins_of_one_name_are_both_named():
    found = Registry.load([point("same", "fake_absent", "left"), point("same", "fake_absent", "right")])
    assert "left" in found.broken["same"]
    assert "right" in found.broken["same"]


@pytest.mark.parametrize("module", ["same", "other"])
def test_an_entry_point_found_twice_leaves_the_first_working(plug, module):
    first = plug("twin", **brings(algorithm()))
    second = first if module == "same" else plug("twin", **brings(algorithm("another")))
    found = Registry.load([first, second])
    assert set(found.algorithms) == {"good"}
    assert "installed twice" in found.broken["twin"]


def test_one_module_under_two_names_brings_its_algorithms_once(plug):
    first = plug("first", **brings(algorithm()))
    found = Registry.load([first, point("second", first.value, "dist-second")])
    assert set(found.algorithms) == {"good"}
    assert "dist-second" in found.broken["second"]


def test_unknown_names_come_with_what_there_is_and_the_nearest(plug):
    found = Registry.load(
        [plug("fine", **brings(algorithm("miser"), algorithm("cronus")), costframe_datasets=lambda: {"heart": list})]
    )
    with pytest.raises(PluginError, match="algorithm 'mizer': expected one of cronus, miser; did you mean 'miser'"):
        found.algorithm("mizer")
    with pytest.raises(PluginError, match="data set 'hart': expected one of heart; did you mean 'heart'"):
        found.dataset("hart")
    with pytest.raises(PluginError, match=r"algorithm 'zzz': expected one of cronus, miser$"):
        found.algorithm("zzz")


def test_a_class_is_found_by_its_name_whichever_algorithms_share_it(plug):
    found = Registry.load([plug("one", **brings(algorithm("a"), algorithm("b", regressor=Kind)))])
    assert found.estimator_class("Kind") is Kind
    with pytest.raises(AttributeError, match="no attribute 'Kin', and no algorithm has such a class"):
        found.estimator_class("Kin")


def test_classes_of_one_name_are_refused_with_both_algorithms(plug):
    other = type("Kind", (Kind,), {})
    found = Registry.load([plug("one", **brings(algorithm("a"), algorithm("b", classifier=other)))])
    with pytest.raises(ImportError, match="Kind: algorithms 'a' and 'b' each have a class of this name"):
        found.estimator_class("Kind")


def test_a_class_that_a_broken_plugin_may_have_is_refused_with_its_fault(plug):
    bad = plug("bad", costframe_algorithms=raising(RuntimeError("out of luck")))
    found = Registry.load([bad, plug("fine", **brings(algorithm()))])
    assert found.estimator_class("Kind") is Kind
    with pytest.raises(ImportError, match=r"no attribute 'RustyClassifier'.*; plugin bad .* out of luck"):
        found.estimator_class("RustyClassifier")


def test_without_plugins_the_error_says_so():
    with pytest.raises(PluginError, match="expected one of none"):
        Registry.load([]).algorithm("miser")


@pytest.fixture
def installed(monkeypatch, plug):
    """Stand in for what is installed."""

    found = Registry.load([plug("fine", **brings(algorithm("zeta"), algorithm("alpha", regressor=Kind, ranker=Kind)))])
    monkeypatch.setattr(registry_module, "registry", lambda: found)


@pytest.mark.usefixtures("installed")
def test_algorithms_are_sorted_and_may_be_changed_by_the_caller():
    assert list(algorithms()) == ["alpha", "zeta"]
    algorithms().clear()
    assert list(algorithms()) == ["alpha", "zeta"]


@pytest.mark.usefixtures("installed")
def test_estimator_makes_the_kind_of_the_task_with_its_parameters():
    made = estimator("alpha", task="ranking", tradeoff=0.5, costs={"features": {"a": 1.0}})
    assert type(made) is Kind
    assert (made.tradeoff, made.costs, made.n_estimators) == (0.5, {"features": {"a": 1.0}}, None)


@pytest.mark.usefixtures("installed")
def test_estimator_refuses_tasks_it_does_not_have():
    with pytest.raises(PluginError, match="'alpha' has no classification; it has regression, ranking"):
        estimator("alpha")
    with pytest.raises(PluginError, match="task: expected one of classification, regression, ranking, got 'survival'"):
        estimator("alpha", task="survival")


@pytest.mark.usefixtures("installed")
def test_estimator_refuses_parameters_it_does_not_have():
    with pytest.raises(
        PluginError, match="'zeta' has no parameter 'n_estimator'; did you mean 'n_estimators'\\?; it has costs"
    ):
        estimator("zeta", n_estimator=5)


def of_no_kind(model, feature_names):
    return None if (model, feature_names) else model


def a_predictor():
    return StageTree(WeakLearnerBank.columns(("a",)), (Answer([0], [1.0], 0.0),))


def test_adoption_takes_the_first_plugin_that_knows_the_model(plug):
    mine = a_predictor()
    points = [
        plug("never", costframe_adopt=of_no_kind),
        plug(
            "texts", costframe_adopt=lambda model: mine if isinstance(model, str) else None
        ),  # hooks may take fewer arguments
        plug("plain", costframe_adopt=lambda: None),
    ]
    found = Registry.load(points)
    assert found.adopt("text", None) is mine
    assert found.adopt(3, None) is None


@pytest.mark.parametrize("order", [1, -1])
def test_a_plugin_that_fails_to_adopt_keeps_no_other_from_it(plug, order):
    def fails(model, feature_names):
        raise KeyError(model, feature_names)

    mine = a_predictor()
    points = [plug("bad", costframe_adopt=fails), plug("fine", costframe_adopt=lambda model: mine if model else None)]
    found = Registry.load(points[::order])
    assert found.adopt(1, None) is mine
    with pytest.raises(PluginError, match=r"plugin bad \(dist-bad 1\.2\): costframe_adopt failed: KeyError"):
        found.adopt(0, None)


def test_a_plugin_that_adopts_into_something_else_is_named(plug):
    found = Registry.load([plug("bad", costframe_adopt=lambda model: f"a model made of {model}")])
    with pytest.raises(
        PluginError, match=r"plugin bad \(dist-bad 1\.2\): costframe_adopt returned no Predictor but str"
    ):
        found.adopt(1, None)


def test_a_model_of_its_kind_that_a_plugin_refuses_stays_refused(plug):
    found = Registry.load([plug("fine", costframe_adopt=raising_adopt)])
    with pytest.raises(AdoptionError, match="dart"):
        found.adopt(1, None)


def raising_adopt(model):
    raise AdoptionError(f"dart boosters are not adopted: {model}")


def test_the_hook_file_is_the_whole_extension_surface():
    from costframe import hooks

    specified = {name for name, value in vars(hooks).items() if hasattr(value, "costframe_spec")}
    names = ("algorithms", "adopt", "prepare", "sources", "datasets")
    assert specified == {f"costframe_{name}" for name in names}
    assert hookspec.project_name == hookimpl.project_name == GROUP
