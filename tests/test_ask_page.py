"""Pages that ask: what they hold, what they refuse, and that nothing in them is a request or somebody's script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from ask_cases import NAMES, fit, needs_engine, prices
from cli_cases import refused, words
from page_cases import HOSTILE

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.core.learners.opaque_learner import OpaqueLearner
from costframe.core.stages.exponentials import exponential, exponentials
from costframe.page import render, wasm
from costframe.page.asked import describe_model
from costframe.page.render import list_limits, render_ask_page


class Elements(HTMLParser):
    """The elements of a page, each with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))


@pytest.fixture(scope="module")
def trees():
    return fit("cegb", n_estimators=100)


@needs_engine
def test_a_page_of_100_trees_is_small_and_says_the_same_each_time(trees):
    text = render_ask_page(trees, prices(), "trees")
    assert len(trees.predictor_.bank) == 100
    assert len(text.encode()) < 2_000_000
    assert text == render_ask_page(trees, prices(), "trees")


@needs_engine
def test_the_policy_allows_the_scripts_and_styles_of_the_page_and_no_request(trees):
    text = render_ask_page(trees, prices(), "trees")
    page = Elements(text)
    policy = next(told["content"] for tag, told in page.elements if told.get("http-equiv") == "Content-Security-Policy")
    sources = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert sources["default-src"] == "'none'"
    assert "unsafe-inline" not in policy
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for content, name in ((script, "script-src"), (style, "style-src")):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in sources[name].split()
    assert not any({"src", "href", "action"} & told.keys() for _, told in page.elements)
    assert "http:" not in text
    assert "https:" not in text


@needs_engine
def test_names_and_labels_stay_texts():
    costs = prices(HOSTILE)
    named = fit("cegb", HOSTILE, costs=costs, n_estimators=3).predictor_
    named = named.with_classes(HOSTILE[:2]).with_categories({HOSTILE[4]: HOSTILE})
    plain = Elements(render_ask_page(fit("cegb", n_estimators=3), prices(), "plain"))
    text = render_ask_page(cf.FittedEstimator(named), costs, HOSTILE[0])
    page = Elements(text)
    facts = {"dt", "dd", "div", "li"}
    kinds = [[tag for tag, _ in one.elements if tag not in facts] for one in (page, plain)]
    assert kinds[0] == kinds[1]
    assert not any(name.startswith("on") for _, told in page.elements for name in told)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["title"] == HOSTILE[0]
    assert data["classes"] == list(HOSTILE[:2])
    assert {feature["name"] for feature in data["features"]} <= set(HOSTILE)


@needs_engine
def test_the_command_writes_the_page_and_refuses_what_it_cannot_hold(run, tmp_path, trees):
    cf.save(trees, tmp_path / "trees.model")
    assert re.search(
        r"wrote ask\.html, \d+ kB", words(run("page", "trees.model", "--output", "ask.html", "--title", "<b>"))
    )
    assert "<h1>&lt;b&gt;</h1>" in (tmp_path / "ask.html").read_text(encoding="utf-8")
    assert "--force" in refused(run("page", "trees.model", "--output", "ask.html"))
    assert "ends in .html" in refused(run("page", "trees.model", "--output", "ask.txt"))
    tree = cf.StageTree(cf.WeakLearnerBank.columns(NAMES), [cf.Answer([0], [[1.0]], [0.0], "softplus")], prices())
    cf.save(tree, tmp_path / "other.model")
    assert "page: cannot hold the link 'softplus'" in refused(run("page", "other.model", "--output", "more.html"))


def test_a_page_refuses_other_models_by_name(trees):
    certain = cf.certain(trees, "class")
    with pytest.raises(ParameterError, match="page: cannot hold a CertainPredictor; expected sums of trees"):
        describe_model(certain, prices(), "certain")
    slow = cf.WeakLearnerBank.opaque(NAMES, [OpaqueLearner("slow", lambda X: X[:, 0], (0,))])
    tree = cf.StageTree(slow, [cf.Answer([0], [[1.0]], [0.0])], prices())
    with pytest.raises(ParameterError, match="cannot hold the opaque learner 'slow'"):
        describe_model(cf.FittedEstimator(tree), prices(), "slow")
    free = prices().to_dict() | {"errors": {"ill": {"well": {"column": "age", "times": 2.0}}}}
    free["features"]["age"] = 0.0
    with pytest.raises(ParameterError, match="prices of errors that differ by row, by 'age'"):
        describe_model(trees, cf.CostModel.from_dict(free), "by row")
    tree = cf.StageTree(cf.WeakLearnerBank.columns(NAMES), [cf.Answer([0], [[1.0]], [0.0], "softplus")], prices())
    with pytest.raises(ParameterError, match="cannot hold the link 'softplus'"):
        describe_model(cf.FittedEstimator(tree), prices(), "softplus")


def test_a_page_refuses_rankers():
    scored = cf.StageTree(cf.WeakLearnerBank.columns(NAMES), [cf.Answer([0], [[1.0]], [0.0])], prices())
    describe_model(cf.FittedEstimator(scored, kind="regressor"), prices(), "numbers")
    with pytest.raises(ParameterError, match="page: cannot hold a ranker"):
        describe_model(cf.FittedEstimator(scored, kind="ranker"), prices(), "ranks")


@needs_engine
@pytest.mark.parametrize(("kind", "part"), [("planner", "plan"), ("cegb", "tree")])
def test_stand_ins_that_make_a_page_too_large_are_left_out_and_it_says_so(monkeypatch, kind, part):
    model = fit(kind, tradeoff=1e-3)
    whole = render_ask_page(model, prices(), "a model")
    assert describe_model(model, prices(), "a model").data["whole"] is None
    monkeypatch.setattr(render, "LARGEST", len(whole.encode()) - 1)
    text = render_ask_page(model, prices(), "a model")
    assert len(text) < len(whole)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data[part]["spare"] is None
    assert "would be larger than 2 MB" in data["whole"]


def test_without_an_engine_an_error_names_the_extra(tmp_path, monkeypatch):
    def missing(module, extra):
        raise ParameterError(f"{module}: pip install 'costframe[{extra}]'")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(wasm, "_BUILT", tmp_path / "engine.wasm")
    monkeypatch.setattr(wasm, "needed", missing)
    with pytest.raises(ParameterError, match=r"ziglang: pip install 'costframe\[page\]'"):
        wasm.read_engine()
    monkeypatch.setattr(wasm, "_SOURCES", (tmp_path,))
    with pytest.raises(ParameterError, match="neither the engine for browsers nor its sources"):
        wasm.read_engine()
    (tmp_path / "engine.wasm").write_bytes(b"built")
    assert wasm.read_engine() == b"built"


def test_a_model_says_what_it_may_not_be_used_for(trees):
    said = " ".join(list_limits(trees, prices()))
    assert "'ill', 'well'" in said
    assert "knows no other class" in said
    assert "in CHF" in said


def test_exponentials_are_the_same_one_by_one_and_near_the_true_ones():
    values = np.random.default_rng(0).normal(size=10_000) * 100
    values[:9] = [0.0, -0.0, np.inf, -np.inf, np.nan, 709.78, 709.79, -745.1, -745.2]
    found = exponentials(values.reshape(100, 100)).ravel()
    np.testing.assert_array_equal(found, [exponential(value) for value in values.tolist()])
    with np.errstate(over="ignore"):
        np.testing.assert_array_max_ulp(found[9:][found[9:] < np.inf], np.exp(values[9:][found[9:] < np.inf]), 2)
    assert found[:9].tolist()[:4] == [1.0, 1.0, np.inf, 0.0]
    assert found[6] == np.inf
    assert found[8] == 0.0
    assert (np.diff(exponentials(np.sort(values[9:]))) >= 0).all()
