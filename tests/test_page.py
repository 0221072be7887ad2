"""The page of a frontier: its choices are those of Python, and no name gets out of its text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from attrs import evolve
from page_cases import (
    HOSTILE,
    PLAIN,
    cascade,
    frontier,
    frontier_page,
    model_page,
    prices,
    printable,
    render_page,
    rows,
)

import costframe as cf
from costframe.choices import Frontier


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


@pytest.mark.parametrize("seed", range(6))
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


def test_a_page_of_a_saved_run_names_files_that_load(tmp_path):
    frontier().save(tmp_path)
    saved = Frontier.load(tmp_path)
    cards = frontier_page(saved, rows(), prices(), title="patients").cards
    text = Parts(report(saved)).texts["code"]
    for card in cards:
        model = cf.load(tmp_path / card.path)
        assert model.cost(rows()).mean == pytest.approx(sum(payment.mean for payment in card.payments))
        assert f"cf.load('{card.path}')" in text


def test_budgets_below_the_cheapest_model_choose_none():
    found = frontier()
    poor = type(found)(found.points[2:], found.score_name, found.unit, found.full_cost)
    page = frontier_page(poor, rows(), prices(), title="patients")
    assert page.frontier.choice(0.1) is None
    nothing = next(card for card in Parts(render_page(page)).all("article") if card["data-card"] == "-1")
    assert "the cheapest one" in nothing["data-sentence"].lower()
