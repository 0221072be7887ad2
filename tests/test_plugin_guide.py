"""The guide's recipe for a plugin of one's own, followed to the letter."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from costframe.core.plugins.registry import Registry

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
RECIPE = re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def twigs(tmp_path):
    """Follow the recipe; return the folder that it makes."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert len(RECIPE) == 1
    subprocess.run(["/bin/bash", "-euc", RECIPE[0]], cwd=tmp_path, check=True)  # noqa: S603 - our own text
    return tmp_path / "costframe-twigs"


@pytest.mark.skipif(sys.platform == "win32", reason="the recipe is for a Unix shell")
def test_the_recipe_makes_a_plugin_of_another_name(twigs, monkeypatch):
    texts = {path: path.read_text() for path in twigs.rglob("*") if path.suffix in {".py", ".toml", ".md"}}
    assert {path.name for path in texts} >= {"pyproject.toml", "README.md", "test_twigs.py", "estimators.py"}
    assert not [path for path in twigs.rglob("*") if "stump" in path.name and "__pycache__" not in str(path)]
    old = re.compile(r"costframe.stumps|\"stumps\"|^stumps =|Stumps", re.MULTILINE)
    assert not [path for path, text in texts.items() if old.search(text)]

    project = tomllib.loads(texts[twigs / "pyproject.toml"])["project"]
    points = project["entry-points"]["costframe"]
    assert (project["name"], points) == ("costframe-twigs", {"twigs": "costframe_twigs"})
    monkeypatch.syspath_prepend(str(twigs))
    loaded = Registry.load([EntryPoint(*point, "costframe") for point in points.items()])
    assert (list(loaded.algorithms), loaded.broken) == (["twigs"], {})
    kind = loaded.algorithms["twigs"].regressor
    assert kind.__name__ == "TwigsRegressor"
    X = np.arange(20.0)[:, np.newaxis]
    assert kind(tradeoff=0.0).fit(X, X[:, 0] > 9).score(X, X[:, 0] > 9) > 0.9
