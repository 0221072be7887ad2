"""The package as a whole: its surface, its version, what importing it loads, and the README."""

import ast
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import costframe as cf

ROOT = Path(__file__).resolve().parents[1]
ESTIMATORS = [cls for one in cf.algorithms().values() for cls in (one.classifier, one.regressor, one.ranker) if cls]


def python(code, **more):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **more)  # noqa: S603


def test_the_public_surface_is_what_it_says_and_type_checkers_see_it():
    assert set(dir(cf)) == {*cf.__all__, "__version__"}
    assert len(cf.__all__) <= 36
    for module in (cf, cf.datasets, cf.errors, cf.plot, cf.sources):
        assert all(getattr(module, name) is not None for name in module.__all__)
    assert all(getattr(cf, cls.__name__) is cls for cls in ESTIMATORS)
    tree = ast.parse((ROOT / "costframe/__init__.pyi").read_text())
    told = {a.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names}
    built_in = {package.name for package in (ROOT / "plugins").glob("*/costframe_*")}
    plugin_of = {cls.__name__: cls.__module__.partition(".")[0] for cls in ESTIMATORS}
    brought = {name: f"{plugin}.estimators" for name, plugin in plugin_of.items() if plugin in built_in}
    assert len(brought) > 20
    assert told == cf._HOMES | brought
    packages = [path.parent for path in (*ROOT.glob("costframe/__init__.py"), *ROOT.glob("plugins/*/c*/__init__.py"))]
    assert len(packages) == 9
    assert all((path / "py.typed").is_file() for path in packages)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Sources", "did you mean 'sources'"),
        ("PlanerClassifier", "; did you mean 'PlannerClassifier'\\?$"),
        ("MiserlyClassifier", "no attribute 'MiserlyClassifier', and no algorithm has such a class"),
    ],
)
def test_a_misspelt_name_gets_a_near_one(name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(cf, name)


@pytest.mark.parametrize("face", ["plugin", "engine", "errors", "trees", "stagewise", "sets", "gates", "adoption"])
def test_faces_have_all_names_of_their_stubs(face):
    module = importlib.import_module(f"costframe.{face}")
    assert all(getattr(module, name) is not None for name in module.__all__)
    assert not hasattr(module, "nothing")


FACES = ("plugin", "trees", "stagewise", "sets", "gates", "adoption")


def test_faces_for_plugins_are_small_and_documented():
    """Their pages show docstrings, and the guide leads to each; constants and names of types have none."""
    guide = (ROOT / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
    faces = {face: importlib.import_module(f"costframe.{face}") for face in FACES}
    for face, module in faces.items():
        stub = "plugin.pyi" if face == "plugin" else f"{face}/__init__.pyi"
        assert f"](../costframe/{stub})" in guide
        for value in (getattr(module, name) for name in module.__all__):
            assert value.__doc__ or not (inspect.isclass(value) or inspect.isfunction(value))
    assert sum(len(module.__all__) for module in faces.values()) <= 142
    assert not [(face, name) for face, module in faces.items() for name in module.__all__ if name in cf.__all__]


def documented(cls):
    """The names in the section of parameters of a docstring."""
    section = inspect.getdoc(cls).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    heads = [line for line in section.split("\n") if not line.startswith(" ")]
    return [name for head in heads for name in head.partition(" :")[0].split(", ") if name.isidentifier()]


@pytest.mark.parametrize("cls", ESTIMATORS, ids=[cls.__name__ for cls in ESTIMATORS])
def test_the_help_of_an_estimator_fits_on_two_screens(cls):
    lines = pydoc.plain(pydoc.render_doc(cls)).split("\n")
    own = next(number for number, line in enumerate(lines) if "inherited from" in line)
    asked = sum(name.endswith("_request") for name in vars(cls))  # scikit-learn's, where a method takes other metadata
    assert own - 30 * asked <= 100
    names, taken = documented(cls), list(inspect.signature(cls).parameters)
    assert set(names) <= set(taken)
    if names and not re.search("[Aa]s (for|in) `|those of `", cls.__doc__):
        assert set(names) == set(taken)


def test_one_version_everywhere():
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert version("costframe") == cf.__version__ == citation
    assert f"## {cf.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_importing_stays_light():
    told = "print([name for name in ('numba', 'sklearn', 'matplotlib', 'xgboost', 'pluggy') if name in sys.modules])"
    use = f"import costframe, sys; hasattr(costframe, 'nothing'), dir(costframe); {told}"
    price = f"costframe.CostModel.uniform(['a']); {told}"
    assert python(f"{use}\n{price}").stdout.split("\n")[:2] == ["[]", "['pluggy']"]
    asked = "('sklearn.metrics', 'costframe_planner.estimators', 'costframe_cegb.estimators')"
    use = f"import costframe, sys; costframe.MiserClassifier; print([name for name in {asked} if name in sys.modules])"
    assert python(use).stdout == "[]\n"


BASE = """
import sys
class Lacking:
    def find_spec(name, *_):
        if name in {"click", "jinja2", "matplotlib", "pandas", "polars", "pyarrow", "rich", "tenacity"}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Lacking)
import numpy as np, costframe as cf
from costframe.sources import Lookup, Policy, Sources, TableSource
X = np.random.default_rng(0).normal(size=(200, 2))
costs = cf.CostModel.of({"a": 1.0, "b c": 5.0})
costs.save("costs.toml")
assert cf.CostModel.load("costs.toml") == costs
model = cf.CEGBClassifier(costs, tradeoff=1e-3, n_estimators=3).fit(X, X.sum(axis=1) > 0)
cf.save(model, "a.model")
served, report = cf.load("a.model"), model.cost(X)
assert cf.predict_one(served, X[0]).cost == report.per_row[0]
table = Lookup(TableSource({"a": X[:, 0], "b c": X[:, 1]}), ["a", "b c"])
with Sources({"table": table}) as sources:
    assert cf.predict_one(served, sources, key=0).cost == report.per_row[0]
cf.save(cf.PlannerClassifier(costs).fit(X, X.sum(axis=1) > 0), "a planner.model")
planner = cf.load("a planner.model")
assert cf.predict_one(planner, X[0]).cost == planner.cost(X).per_row[0]
assert planner.predict(X[:9]).shape == (9,)
frontier = cf.Frontier.fit([model], X, X.sum(axis=1) > 0, costs=costs, cv=0, points=2)
print(report, frontier._repr_html_())
for call in (
    lambda: cf.datasets.read_table("a.csv", "y"),
    lambda: cf.plot.StagesDisplay,
    lambda: Sources({"table": Lookup(table.source, ["a"], policy=Policy(retries=1))}),
    lambda: cf.CEGBClassifier(costs, tradeoff=1e-3, verbose=1).fit(X, X[:, 0] > 0),
):
    try:
        call()
    except cf.CostframeError as error:
        print("refused:", error, file=sys.stderr)
sys.modules["click"] = None
from costframe.__main__ import main
main()
"""


def test_arrays_need_no_library_of_the_command_line(tmp_path):
    done = python(BASE, cwd=tmp_path)
    *refused, last = done.stderr.splitlines()
    said = [
        re.match(r"refused: this needs (.*), which is not .*: pip install '(.*)'", line).groups() for line in refused
    ]
    cli = "costframe[cli]"
    assert said == [("pyarrow", cli), ("matplotlib", cli), ("tenacity", "costframe[retries]"), ("rich", cli)]
    assert (done.returncode, last) == (2, f"Error: the command line needs click: pip install '{cli}'")


def test_the_python_of_the_readme_runs_as_its_first_command_installs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hide(("dask", "hypothesis", "lightgbm", "pandas", "polars", "tenacity", "xgboost"), monkeypatch)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102 - our own text
    assert names["answer"].cost == pytest.approx(names["report"].per_row[0])
    assert names["model"].cost(names["X"], max_cost=10.0).per_row.max() <= 10.0
    assert names["bill"].mean_bill == pytest.approx(names["bill"].mean + names["bill"].mean_errors)
    np.testing.assert_allclose(names["adopted"].predict(names["X"]), names["booster"].predict_proba(names["X"])[:, 1])


def hide(libraries, monkeypatch):
    """Let libraries be as if they were not installed."""

    def find_spec(name, *_):
        if name in libraries:
            raise ModuleNotFoundError(name, name=name)

    for name in [name for name in sys.modules if name.partition(".")[0] in libraries]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [SimpleNamespace(find_spec=find_spec), *sys.meta_path])


def test_the_tree_of_files_is_the_one_that_contributors_read():
    block = re.search(r"## Where things are\n\n```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)[1]
    assert not [folder for folder in re.findall(r"(\S+)/(?=\s)", block) if not (ROOT / folder).is_dir()]
