"""The package as a whole: its surface, its version, what importing it loads, and the README."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import costframe as cf

ROOT = Path(__file__).resolve().parents[1]


def test_the_public_surface_is_what_it_says():
    assert set(cf.__all__) == set(cf._HOME)
    assert set(dir(cf)) == {*cf.__all__, "__version__"}
    assert cf.__all__ == sorted(cf.__all__)
    for name in cf.__all__:
        assert getattr(cf, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cf.nothing


def test_one_version_everywhere():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert version("costframe") == cf.__version__ == declared == citation
    assert f"## {declared}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("statement", ["import costframe", "import costframe; costframe.CostModel.uniform(['a'])"])
def test_importing_stays_light(statement):
    heavy = ("numba", "sklearn", "matplotlib", "xgboost")
    code = f"{statement}; import sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:  # later ones go on from the first
        exec(block, names)  # noqa: S102 - our own text
    assert names["inquiry"].answer.cost == pytest.approx(names["report"].per_row[0])
    assert (names["again"].predict(names["test"].X) == names["model"].predict(names["test"].X)).all()
    assert names["planner"].cost(names["test"].X, max_cost=5.0).per_row.max() <= 5.0


def test_the_prices_of_the_readme_are_a_cost_model(tmp_path):
    block = re.search(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    (tmp_path / "costs.toml").write_text(block)
    costs = cf.CostModel.load(tmp_path / "costs.toml")
    assert costs.full_cost(["chol", "fbs"]) == pytest.approx(5.17 + 3.10 + 2.10)


def test_the_tree_of_files_is_the_one_of_the_readme():
    block = re.search(r"## Where things are\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    for folder in re.findall(r"(\S+)/(?=\s)", block):
        assert (ROOT / folder).is_dir(), folder
