"""The page of a frontier: its choices are those of Python, and no name gets out of its text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest
from attrs import evolve
from page_cases import HOSTILE, PLAIN, cascade, frontier, prices, rows
from planned_stumps import planned

import costframe as cf
from costframe.core.errors import ParameterError, printable
from costframe.frontier import Frontier, Point
from costframe.frontier import choices as choices_module
from costframe.frontier.words import next_buys
from costframe.report.page import frontier_page, model_page, render_page
from costframe.report.stages_display import view_stages


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
    return render_page(frontier_page(found, rows(), prices(names), title="patients", **more))


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
    for choice in page.frontier.choices:
        assert page.frontier.choice(choice.budget) == choice.name
        assert len(f"{choice.budget:g}") <= 6


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
    assert [page.frontier.choice(one.budget) for one in page.frontier.choices] == [
        c.name for c in page.frontier.choices
    ]


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
    assert [(cost, budget) for cost, budget, _ in choices] == [(one.cost, one.budget) for one in view.choices]
    for (_, _, card), choice in zip(choices, view.choices, strict=True):
        assert cards[card].startswith(f"{choice.name}, ")
    assert parts.all("input")[1]["max"] == str(len(choices) - 1)


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
    assert {one.name for one in stage.seen.acquired} == {*PLAIN[1:], "draw of chol"}


def test_a_page_of_a_saved_run_names_files_that_load(tmp_path):
    found = frontier()
    assert not [card.path for card in frontier_page(found, rows(), prices(), title="patients").cards if card.path]
    found.save(tmp_path)
    cards = frontier_page(Frontier.load(tmp_path), rows(), prices(), title="patients").cards
    assert [card.path for card in cards] == [f"models/{card.name}.model" for card in cards]
    for card in cards:
        model = cf.load(tmp_path / card.path)
        assert model.cost(rows()).mean == pytest.approx(sum(payment.mean for payment in card.payments))
        text = Parts(report(Frontier.load(tmp_path))).texts["code"]
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
    text = render_page(
        frontier_page(hostile, rows(), prices(names), title=HOSTILE[0], facts=[(HOSTILE[1], HOSTILE[3])])
    )
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
    assert Parts(text).texts["title"].startswith(f"costframe: {HOSTILE[0]}")


def test_a_page_needs_nothing_from_elsewhere():
    page = report()
    parts = Parts(page)
    policy = next(at["content"] for at in parts.all("meta") if at.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    assert not [at for _, attrs in parts.found for at in attrs if at in {"src", "srcset", "action"}]
    assert all(attrs["href"].startswith("#") for _, attrs in parts.found if "href" in attrs)  # of the picture itself
    assert "url(" not in page.replace("url(#", "")
    assert "http" not in page.replace("http-equiv", "")
    assert not re.search(r'style="[^"]*#[0-9a-f]{6}', page)  # the picture has the page's colors


def test_equal_frontiers_give_equal_pages():
    assert report() == report()


@pytest.mark.parametrize(
    ("scale", "shift", "n"), [(0.0, 0.0, 5), (1.0, -3.0, 5), (1e300, 0.0, 5), (1e-300, 0.0, 1), (1.0, 0.0, 1)]
)
def test_pages_of_unusual_costs_and_scores(scale, shift, n):
    points = tuple(evolve(p, cost=p.cost * scale, score=p.score + shift) for p in frontier(5).points[5 - n :])
    odd = Frontier(points, "neg_root_mean_squared_error", "", 0.0)
    parts = Parts(render_page(frontier_page(odd, rows(), prices(), title="")))
    assert (
        len(parts.all("article"))
        == len({odd.recommended(point.cost) for point in points} | set(odd.non_dominated())) + 1
    )
    budget = json.loads(parts.all("fieldset")[0]["data-choices"])[-1][1]
    assert odd.recommended(budget) == odd.recommended()
    assert not re.search(r"\b(nan|inf)\b", report(odd))


def test_a_hundred_points_and_fifty_features_take_less_than_a_megabyte():
    names = tuple(f"a feature of some length {i}" for i in range(50))
    page = render_page(frontier_page(frontier(100, names), rows(d=50), prices(names), title="large"))
    assert len(page.encode()) < 1_000_000
    assert len(Parts(page).all("g", "spot")) == 99  # all but the constant are drawn


def test_long_lists_end_in_a_sum():
    names = tuple(f"f{i}" for i in range(90))
    found = model_page(
        cascade(90, names), prices(names), (), name="m", path="m", rows=rows(d=90),
        report=cascade(90, names).cost(rows(d=90)), paid_by="40 rows",
    )  # fmt: skip
    text = " ".join(Parts(render_page(found)).texts.values())
    assert "74 more" in text  # f0 is free, and 15 are shown
    assert re.search(r"50 more, each at most \d", text)


def test_points_that_a_budget_can_choose_or_the_frontier_has_can_be_picked():
    page = frontier_page(frontier(), rows(), prices(), title="patients")
    parts = Parts(render_page(page))
    numbers = {str(number) for number, _ in enumerate(page.cards)}
    assert {at["data-card"] for at in parts.all("button")} == numbers
    assert {at["data-card"] for at in parts.all("g", "spot") if "data-card" in at} == numbers - {
        "0"
    }  # but the constant


def test_plans_show_the_stops_where_rows_stay():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0] + X[:, 1]
    bank = cf.train_bank(X, y, n_estimators=8, max_depth=1)
    plan = planned(cf.StageTree(bank, [cf.Answer(range(8), np.ones((8, 1)), [0.0])]), X, y, 1e-6)
    costs = cf.CostModel.uniform(plan.feature_names)
    views = view_stages(plan, costs, X)
    assert views
    assert all(re.fullmatch(r".* % of rows", view.title.right) for view in views)
    assert all(re.fullmatch(r"answers (none|.* % of them)", view.lines[0].left) for view in views)
    assert len(view_stages(plan, costs)) == len(plan.stops)


def luminance(color):
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
        for v in (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colors_have_contrast(scheme):
    style = resources.files("costframe.report").joinpath("templates/page.css").read_text()
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
            counted = Counted(patched, (Point, "__eq__"), (choices_module, "difference_error"))
            render_page(frontier_page(bare, rows(), prices(), title="patients"))
            bare.to_csv()
            repr(bare)
        return counted.calls

    assert work(400) < 5 * work(100)
