"""The pages and notebooks: every block of code runs, in order; commands too. What a block prints stands below it."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from few_rounds import few_rounds

import costframe as cf

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(  # those with a path are quotations
    r"^```(python|console|sh)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
QUOTED = re.compile(r'^```toml title="(\S+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PAGES = {
    "adopting": ("piped", "answer", "again"),
    "cascades": ("kept", "left", "done", "by_tokens"),
    "certain": ("answer", "near"),
    "coming-from": ("before", "model"),
    "comparing": ("found",),
    "concepts": ("tree", "answer"),
    "explaining": ("history",),
    "faq": ("answer", "blank"),
    "index": ("model", "report"),
    "outsiders": ("report",),
    "promises": ("found",),
    "records": ("records", "model"),
    "live": ("answer", "capped", "down"),
    "serving": ("answer", "capped", "without"),
}
TUTORIAL = sorted(
    (ROOT / "docs" / "tutorial").glob("*.md"), key=lambda page: int(re.match(r"# (\d+)", page.read_text("utf-8"))[1])
)
PLUGINS = sorted(readme.parent.name for readme in ROOT.glob("plugins/*/README.md"))
SLOW = {"adapt", "cronus", "cstc", "planner"}
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NAMES = ("age", "chol", "fbs", "bureau", "mri", "blur")


def blocks_of(text):
    """Return the blocks of a page: language, code and the printed output that the page shows, or ""."""
    return BLOCK.findall(text)


def run_blocks(blocks, names, run=None, *, told=False):
    """Run blocks in this process, later ones on the names of earlier ones; `run` runs a command of costframe.

    Shown output must be what the block prints; with `told`, all that a block of Python prints must be shown.
    """
    for language, code, shown in blocks:
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, names)  # noqa: S102 - our own text
            assert printed.getvalue() == shown or not (shown or told), code
            continue
        for line in code.splitlines():
            if line.startswith("costframe "):
                done = run(*shlex.split(line)[1:])
                assert done.exit_code == 0, f"{line}: {done.output}"
            else:
                assert line.startswith("pip install "), line  # what else a page tells is run elsewhere


def test_the_readme_shows_all_that_its_code_prints():
    blocks = blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))
    run_blocks([block for block in blocks if block[0] == "python"], {}, told=True)


def test_the_dialogue_of_the_readme_is_that_of_its_model(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_build"))
    dialogue = importlib.import_module("dialogue")
    assert dialogue.draw(dialogue.talk()) == (ROOT / "docs" / "dialogue.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, run):
    if page == "coming-from":
        pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[lightgbm]'")
    write_patients()
    blocks = blocks_of((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    names = {}
    run_blocks(blocks, names, run)
    assert set(PAGES[page]) <= names.keys()


def test_the_tutorial_is_a_story_that_runs(run):
    bring_heart()
    names = {}
    for page in TUTORIAL:
        text = page.read_text(encoding="utf-8")
        assert len(text.split()) < 400, page
        assert all(quoted in (ROOT / file).read_text(encoding="utf-8") for file, quoted in QUOTED.findall(text)), page
        run_blocks(blocks_of(text), names, run, told=True)
    assert len(TUTORIAL) == 11
    assert {"search", "least", "again", "own"} <= names.keys()


def test_every_page_with_code_is_run_here_or_by_its_own_test():
    with_code = {page.stem for page in (ROOT / "docs").glob("*.md") if blocks_of(page.read_text(encoding="utf-8"))}
    assert with_code == PAGES.keys() | {"writing-a-plugin", "more-rows"}  # test_plugin_guide, test_cluster


def test_the_reference_has_every_public_thing_once(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_build")
    pages = importlib.import_module("pages")
    text = "\n".join(markdown for path, (_, markdown) in pages.read_pages().items() if path.startswith("api/"))
    named = [pkgutil.resolve_name(name) for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]
    bare = re.findall(r"`(\w+)`", text)  # without a docstring
    modules = ("", ".datasets", ".errors", ".plot", ".sources", ".testing", *(f".{face}" for face in pages.FACES))
    for module in map(importlib.import_module, (f"costframe{name}" for name in modules)):
        for name in module.__all__:
            value = getattr(module, name)
            seen = sum(value is each for each in named) + bare.count(name)
            assert seen == 1 or inspect.ismodule(value), f"{module.__name__}.{name}"


def test_scripts_of_the_gallery_are_short():
    scripts = list((ROOT / "docs" / "gallery").glob("*.py"))
    assert len(scripts) == 21
    assert all(len(script.read_text(encoding="utf-8").splitlines()) <= 40 for script in scripts)


@pytest.mark.parametrize(
    "plugin", [pytest.param(plugin, marks=[pytest.mark.deep] * (plugin in SLOW)) for plugin in PLUGINS]
)
def test_the_code_of_a_plugins_page_runs(plugin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with few_rounds():
        run_page_of(plugin)


def run_page_of(plugin):
    blocks = blocks_of((ROOT / "plugins" / plugin / "README.md").read_text(encoding="utf-8"))
    assert blocks
    run_blocks(blocks, readers_names())


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own
def test_a_notebook_runs_in_jupyter(notebook, tmp_path, monkeypatch):
    pytest.importorskip("ipykernel", reason="needs jupyter: pip install 'costframe[notebooks]'")
    client = pytest.importorskip("nbclient", reason="needs jupyter: pip install 'costframe[notebooks]'")
    nbformat = pytest.importorskip("nbformat", reason="needs jupyter: pip install 'costframe[notebooks]'")
    if "lightgbm" in notebook.read_text(encoding="utf-8"):
        pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[lightgbm]'")
    monkeypatch.chdir(tmp_path)
    bring_heart()
    read = nbformat.read(notebook, as_version=4)
    client.NotebookClient(read, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()


def bring_heart():
    """Put the tutorial's table and prices here."""
    for name in ("heart.csv", "prices.toml"):
        shutil.copy(ROOT / "docs" / "tutorial" / name, name)


def write_patients():
    """Write the embedded test rows as patients.csv, and their prices as prices.toml."""
    data = cf.datasets.load("breast-cancer")
    rows = data.part("test").X
    np.savetxt("patients.csv", rows, delimiter=",", header=",".join(data.feature_names), comments="")
    data.costs.save("prices.toml")


def readers_names():
    """Return what a reader of a README has: rows, prices, and models in three cases, by the README's names."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, len(NAMES)))
    y = (X[:, 0] + X[:, 1] * X[:, 3] + 0.5 * rng.standard_normal(160) > 0).astype(int)
    grades = np.clip(np.round(X[:, 0] + 2), 0, 4)
    costs = cf.CostModel.of({
        "features": {"age": 1.0, "mri": 20.0, "blur": 5.0, "bureau": 8.0}
        | {name: {"cost": 3.0, "needs": ["blood"]} for name in ("chol", "fbs")},
        "resources": {"blood": 2.0},
    })  # fmt: skip
    for name in ("costs.toml", "prices-of-tomorrow.toml"):
        costs.save(name)
    fit, valid, test = slice(0, 80), slice(80, 120), slice(120, 160)
    return {
        "cf": cf, "X": X[fit], "y": y[fit], "X_valid": X[valid], "y_valid": y[valid], "X_test": X[test],
        "y_test": y[test], "grades": grades[fit], "qid": np.arange(80) // 10, "names": NAMES,
        "RandomForestClassifier": RandomForestClassifier,
        "forest": RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[fit], y[fit]),
        "cegb": cf.estimator("cegb", costs=costs, tradeoff=1e-3, n_estimators=5).fit(X[fit], y[fit]),
        "trees": cf.train_bank(X[fit], y[fit], n_estimators=20, feature_names=NAMES),
    }  # fmt: skip
