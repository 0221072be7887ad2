"""The page of a frontier: its choices are those of Python, and no name gets out of its text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from page_cases import HOSTILE, PLAIN, cascade, frontier, prices, rows
from planned_stumps import planned

import costframe as cf
from costframe.core.errors import ParameterError, printable
from costframe.frontier import Frontier, Point
from costframe.frontier import frontier as frontier_module
from costframe.frontier.buys import next_buys
from costframe.report.frontier_page import frontier_page, render_report
from costframe.report.page.document import render_page
from costframe.report.page.model_page import model_page
from costframe.report.page.scale import CostScale, round_steps, round_up
from costframe.report.page.stages import view_stages


class Parts(HTMLParser):
    """The elements of a page, with their attributes and texts."""

    def __init__(self, page):
        super().__init__()
        self.found, self.texts, self.open = [], {"": ""}, [""]
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in {"meta", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data

    def all(self, tag, name=None):
        return [at for found, at in self.found if found == tag and (name is None or at.get("class") == name)]


def report(found=None, names=PLAIN, **more):
    found = frontier(names=names) if found is None else found
    return render_report(found, rows(), prices(names), title="patients", **more)


@pytest.mark.parametrize("stretch", [1.0, 1.8])
def test_the_choice_within_any_budget_is_that_of_the_frontier(stretch):
    found = frontier(stretch=stretch)
    page = frontier_page(found, rows(), prices(), title="patients")
    named = {point.name: point for point in found.points}
    limits = sorted(point.cost for point in found.points)
    chosen = set()
    for budget in [*limits, *(np.array(limits[1:]) - 1e-9), *np.linspace(0, 2 * max(limits), 57)]:
        name = page.frontier.choice(float(budget))
        assert named[name] == found.recommended(float(budget))
        chosen.add(name)
    assert len(chosen) > 2
    assert {choice.name for choice in page.frontier.choices} == chosen
    assert chosen <= {card.name for card in page.cards}


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_that_of_the_frontier_wherever_constants_are(seed):
    """Few costs, so that points share them; constants at any of them, and noise that orders scores anew."""
    rng, found = np.random.default_rng(seed), frontier(24)
    points = [
        evolve(point, cost=float(cost), score=float(score), n_features=int(n), score_error=0.01)
        for point, cost, score, n in zip(
            found.points, rng.integers(0, 8, 24), rng.normal(0.6, 0.02, 24), rng.integers(0, 5, 24), strict=True
        )
    ]
    drawn = Frontier(tuple(points), "roc_auc", "CAD", found.full_cost, influences=found.influences)
    page = frontier_page(drawn, rows(), prices(), title="patients")
    for budget in sorted({point.cost for point in points}):
        assert page.frontier.choice(budget) == drawn.recommended(budget).name


def test_budgets_below_the_cheapest_model_choose_none():
    found = frontier()
    poor = type(found)(found.points[2:], found.score_name, found.unit, found.full_cost)
    page = frontier_page(poor, rows(), prices(), title="patients")
    with pytest.raises(ParameterError):
        poor.recommended(0.1)
    assert page.frontier.choice(0.1) is None
    parts = Parts(render_page(page))
    nothing = next(card for card in parts.all("article") if card["data-card"] == "-1")
    assert "the cheapest one" in nothing["data-sentence"].lower()


def test_the_script_looks_up_what_the_frontier_chose():
    found = frontier()
    view = frontier_page(found, rows(), prices(), title="patients").frontier
    parts = Parts(report(found))
    control = parts.all("fieldset")[0]
    cards = {int(card["data-card"]): card["data-sentence"] for card in parts.all("article")}
    choices = json.loads(control["data-choices"])
    assert [cost for cost, _ in choices] == [choice.cost for choice in view.choices]  # to the last bit
    for (_, card), choice in zip(choices, view.choices, strict=True):
        assert cards[card].startswith(f"{choice.name}, ")
    stops = json.loads(control["data-stops"])
    assert stops == sorted(stops)
    assert found.recommended(stops[-1]) == found.recommended()


def test_the_page_shows_the_recommended_model_without_its_script():
    found = frontier()
    for budget in (None, 1.2):
        parts = Parts(report(found, budget=budget))
        shown = [card for card in parts.all("article") if "hidden" not in card]
        chosen = found.recommended() if budget is None else found.recommended(budget)
        assert len(shown) == 1
        assert f"ROC AUC {chosen.score:.4f}" in shown[0]["data-sentence"]
        assert "hidden" in parts.all("fieldset")[0]


def test_figures_and_payments_are_those_of_the_rows():
    found = frontier()
    page = frontier_page(found, rows(), prices(), title="patients")
    card, point = page.cards[-1], max(found.non_dominated(), key=lambda p: p.cost)
    cost = found.model(point).predictor_.cost(rows(), prices())
    assert sum(payment.mean for payment in card.payments) == pytest.approx(cost.mean)
    low, high = found.score_interval(point)
    assert f"ROC AUC {point.score:.4f}, 90% interval {low:.4f} to {high:.4f}" in card.sentence
    assert f"on test {point.test_score:.4f}" in card.sentence
    share = {payment.name: payment.share for payment in card.payments}
    assert share["age"] == 1.0
    assert share["pulse"] == np.mean(rows()[:, 0] > 0)
    assert page.cards[0].payments == ()  # a constant
    stage = card.stages[-1]
    assert {one.name for one in stage.acquired} == {*PLAIN[1:], "draw of chol"}


def test_a_page_of_a_saved_run_names_files_that_load(tmp_path):
    found = frontier()
    assert not [card.path for card in frontier_page(found, rows(), prices(), title="patients").cards if card.path]
    found.save(tmp_path)
    cards = frontier_page(Frontier.load(tmp_path), rows(), prices(), title="patients").cards
    assert [card.path for card in cards] == [f"models/{card.name}.model" for card in cards]
    for card in cards:
        model = cf.load(tmp_path / card.path)
        assert model.cost(rows()).mean == pytest.approx(sum(payment.mean for payment in card.payments))
        text = Parts(render_report(Frontier.load(tmp_path), rows(), prices(), title="patients")).texts["code"]
        assert f"cf.load('{card.path}')" in text


def test_a_bit_more_buys_the_next_point():
    found = frontier()
    page = frontier_page(found, rows(), prices(), title="patients")
    for point, card in ((found[card.name], card) for card in page.cards if card.name in {p.name for p in found}):
        buys = [str(buy) for buy in next_buys(found, point, 1)]
        assert [text for label, text in card.facts if label == "a bit more buys"] == buys
    assert any(label == "a bit more buys" for card in page.cards for label, _ in card.facts)


def test_hostile_names_stay_texts():
    names = HOSTILE
    found = frontier(names=names, algorithms=("</style><b>", HOSTILE[1]))
    hostile = type(found)(found.points, "roc_auc", HOSTILE[1], found.full_cost, found.models, found.influences)
    text = render_report(hostile, rows(), prices(names), title=HOSTILE[0], facts=[(HOSTILE[1], HOSTILE[3])])
    text_of_one = render_page(
        model_page(cascade(5, names), prices(names), ((HOSTILE[0], HOSTILE[2]),), name=HOSTILE[0], path=HOSTILE[2])
    )
    for page, scripts in ((text, 1), (text_of_one, 0)):
        parts = Parts(page)
        assert len(parts.all("script")) == scripts
        assert len(parts.all("style")) == 1
        assert not parts.all("img") + parts.all("b", "x")
        assert not [name for _, attrs in parts.found for name in attrs if name.startswith("on")]
        assert all(letter.isprintable() or letter == "\n" for letter in page)
        assert "alert" not in parts.texts.get("script", "")
        shown = " ".join(parts.texts.values())
        assert all(printable(name) in shown for name in (HOSTILE[0], HOSTILE[2]))
    assert Parts(text).texts["title"] == f"costframe: {HOSTILE[0]}"


def test_a_page_needs_nothing_from_elsewhere():
    page = report()
    parts = Parts(page)
    policy = next(at["content"] for at in parts.all("meta") if at.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    assert not [at for _, attrs in parts.found for at in attrs if at in {"src", "href", "srcset", "action"}]
    assert "url(" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_equal_frontiers_give_equal_pages():
    assert report() == report()


@pytest.mark.parametrize(
    ("scale", "shift", "n"), [(0.0, 0.0, 5), (1.0, -3.0, 5), (1e300, 0.0, 5), (1e-300, 0.0, 1), (1.0, 0.0, 1)]
)
def test_pages_of_unusual_costs_and_scores(scale, shift, n):
    points = tuple(evolve(p, cost=p.cost * scale, score=p.score + shift) for p in frontier(5).points[5 - n :])
    odd = Frontier(points, "neg_root_mean_squared_error", "", 0.0)
    parts = Parts(render_report(odd, rows(), prices(), title=""))
    assert (
        len(parts.all("article"))
        == len({odd.recommended(point.cost) for point in points} | set(odd.non_dominated())) + 1
    )
    stops = json.loads(parts.all("fieldset")[0]["data-stops"])
    assert stops[-1] >= max(point.cost for point in points)
    assert not {"nan%", "inf%", "-inf%"} & {value for _, attrs in parts.found for value in attrs.values()}


def test_a_hundred_points_and_fifty_features_take_less_than_a_megabyte():
    names = tuple(f"a feature of some length {i}" for i in range(50))
    page = render_report(frontier(100, names), rows(d=50), prices(names), title="large")
    assert len(page.encode()) < 1_000_000
    assert len(Parts(page).all("g")) >= 80  # most points are drawn


def test_long_lists_end_in_a_sum():
    names = tuple(f"f{i}" for i in range(90))
    found = model_page(
        cascade(90, names), prices(names), (), name="m", path="m", rows=rows(d=90),
        report=cascade(90, names).cost(rows(d=90)), paid_by="40 rows",
    )  # fmt: skip
    text = " ".join(Parts(render_page(found)).texts.values())
    assert "74 more" in text  # f0 is free, and 15 are shown
    assert re.search(r"50 more, each at most \d", text)


def test_points_that_a_budget_can_choose_or_the_frontier_has_can_be_focused():
    found = frontier()
    page = frontier_page(found, rows(), prices(), title="patients")
    parts = Parts(render_page(page))
    buttons = [at for at in parts.all("g") if at.get("role") == "button"]
    assert {at["aria-label"].partition(":")[0] for at in buttons} == {c.name for c in page.cards} - {"miser-0"}
    assert all(at["tabindex"] == "0" for at in buttons)


def test_plans_show_the_stops_where_rows_stay():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0] + X[:, 1]
    bank = cf.train_bank(X, y, n_estimators=8, max_depth=1)
    plan = planned(cf.StageTree(bank, [cf.Answer(range(8), np.ones((8, 1)), [0.0])]), X, y, 1e-6)
    costs = cf.CostModel.uniform(plan.feature_names)
    views = view_stages(plan, costs, X)
    assert views
    assert all(re.fullmatch(r".* % of rows come here, .* % get their answer", view.lines[0]) for view in views)
    assert len(view_stages(plan, costs)) == len(plan.stops)


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=9), st.floats(0, 1))
def test_stops_of_a_scale_ascend_and_the_last_buys_everything(costs, place):
    scale = CostScale.of(costs)
    stops = scale.stops()
    assert stops == sorted(stops)
    assert stops[0] == 0
    assert stops[-1] >= max(costs)
    assert all(0 <= scale.place(cost) <= 1 for cost in costs)
    assert scale.place(scale.cost(place)) == pytest.approx(place, abs=1e-6) or place < 0.06


@given(st.floats(1e-300, 1e300))
def test_round_up_is_the_next_number_of_three_digits(value):
    raised = round_up(value)
    assert value <= raised <= value * 1.01
    assert float(f"{raised:.3g}") == raised


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_steps_of_an_axis_are_few_and_within_it(low, span):
    steps = round_steps(low, low + span)
    assert 2 <= len(steps) <= 6
    assert all(low - 1e-6 * span <= step <= low + span * (1 + 1e-6) for step in steps)


def luminance(color):
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
        for v in (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colors_have_contrast(scheme):
    style = resources.files("costframe.report.page").joinpath("page.css").read_text()
    place = {"light": 0, "dark": 1, "print": 2}[scheme]
    block = [*re.finditer(r":root \{(.*?)\}", style, re.DOTALL)][place].group(1)
    colors = dict(re.findall(r"--(\w+): (#\w{6})", block))
    for ground in ("card", "page", "code"):
        for name in ("ink", "faint", "accent", *(f"c{i}" for i in range(6))):
            light, dark = sorted((luminance(colors[name]), luminance(colors[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


class Counted:
    """How often each function was called."""

    def __init__(self, monkeypatch, *targets):
        self.calls = 0
        for target, name in targets:
            monkeypatch.setattr(target, name, self._counting(getattr(target, name)))

    def _counting(self, function):
        def call(*arguments, **named):
            self.calls += 1
            return function(*arguments, **named)

        return call


def test_the_work_of_a_report_grows_with_the_points(monkeypatch):
    """Not with their pairs: comparisons of points, and of the influences of their rows."""

    def work(n):
        found = frontier(n)
        bare = Frontier(found.points, found.score_name, found.unit, found.full_cost, influences=found.influences)
        with monkeypatch.context() as patched:
            counted = Counted(patched, (Point, "__eq__"), (frontier_module, "difference_error"))
            render_report(bare, rows(), prices(), title="patients")
            bare.to_csv()
            repr(bare)
        return counted.calls

    assert work(400) < 5 * work(100)
