"""What objects show of themselves: one short line, a frontier four, and tables of notebooks whose texts are escaped."""

import re

import numpy as np
import pytest
from attrs import evolve
from test_planned import LABORATORY, chain

import costframe as cf
from costframe.choices import Frontier, Point
from costframe.choices.buys import next_buys
from costframe.core.display import html_table
from costframe.core.errors import brief, printable
from costframe.core.predictors.mixed import MixedPredictor
from costframe.plugin import shown

EVIL = "<script>alert(1)</script>\u202e\x1b[31m & more"
COSTS = cf.CostModel.from_dict({
    "unit": "CAD",
    "features": {"a": {"cost": 1.0, "needs": ["blood"]}, "b": 2.0},
    "resources": {"blood": 3.0, "scan": 9.0},
})  # fmt: skip
BANK = cf.WeakLearnerBank.columns(("a", "b"))
ROUTE, ANSWER = cf.Route([0], [1.0], 0.0, 0.5, 1.0, 1, 2), cf.Answer([0], [1.0], [0.0], "sigmoid")
TREE = cf.StageTree(BANK, (ROUTE, ANSWER, ANSWER), COSTS, classes=["no", "yes"])
FREE = TREE.with_costs(cf.CostModel.from_dict({"features": {"a": 0.0, "b": 1.0}}))
POINTS = (
    Point("miser", 0.0, 0.5, 0.01, 0.0, None, None, None, 0.0, 0, 0, 0.0, 0.1),
    Point("miser", 0.1, 0.94712345, 0.0103, 1.45166, 0.94, 0.01, 1.5, 0.0, 6, 150, 1.2, 0.1, 0.0, 0.02, "miser-3"),
)
FRONTIER = Frontier(POINTS, "roc_auc", "CAD", 9.0)
STAGES = "3 stages, 2 learners, link 'sigmoid', reads 1 of 2 features"
SHOWN = {
    "CostModel(2 features, 2 resources, all together 6 CAD, dearest scan 9, blood 3, b 2)": COSTS,
    "CostReport(2 rows, mean 4 CAD, of it blood 75 %, a 25 %)": TREE.cost([[1.0, 2.0], [0.0, 1.0]]),
    f"StageTree({STAGES} for 4 CAD a row, classes 'no', 'yes')": TREE,
    "Prediction('yes', 0.731059, cost 4, 1 feature in 1 round, exit 2, complete)": cf.predict_one(
        TREE, {"a": 1.0, "b": 2.0}
    ),
    "Point(miser-3, score 0.9471 \u00b1 0.01, cost 1.452 \u00b1 0.02, test 0.94 at 1.5, 6 features)": POINTS[1],
    "Frontier(2 points of 1 algorithm, roc_auc 0.5 to 0.947 at 0 to 1.452 CAD)\n"
    "  recommended: miser-3, roc_auc 0.9471 \u00b1 0.01 at 1.452 \u00b1 0.02 CAD, saves 84%\n"
    "  best: miser-3, roc_auc 0.9471 \u00b1 0.01 at 1.452 \u00b1 0.02 CAD, saves 84%\n"
    "  cheapest useful: miser-3, roc_auc 0.9471 \u00b1 0.01 at 1.452 \u00b1 0.02 CAD, saves 84%": FRONTIER,
    "Buy(1.45 CAD more per row would raise roc_auc by 0.447 \u00b1 0.010 (miser-3))": next_buys(FRONTIER, POINTS[0])[0],
}


@pytest.mark.parametrize("text", SHOWN, ids=[text.partition("(")[0] for text in SHOWN])
def test_an_object_names_what_matters_in_short_lines(text):
    assert repr(SHOWN[text]) == text


def test_everything_is_shown_in_one_short_printable_line():
    evil = cf.CostModel.from_dict({"unit": EVIL, "features": {"x" * 1000: 1, EVIL: 2}, "resources": {"r" * 200: 1}})
    many = cf.CostModel.uniform([f"feature {f}" for f in range(1000)])
    data = cf.datasets.load("breast-cancer")
    around = [cf.FittedEstimator(TREE), MixedPredictor(FREE, FREE, 0.25, ["a"]), chain(LABORATORY), data]
    for text in (brief(COSTS, EVIL, "x" * 1000), repr(evil), repr(cf.ExpectedCost(many.to_dict())), *map(repr, around)):
        assert len(text) <= 120
        assert text.isprintable()
    assert len(repr(cf.MiserClassifier({"features": dict.fromkeys(many.names, 1.0)}))) < 1500
    assert shown("a\x1b[31m\n\u202e") == r"'a\x1b[31m\n\u202e'"
    assert shown(10**5000) == "int that cannot be shown"
    assert (
        printable("Größe 血圧 µg/l\t\x1b[2J\u2066\u200b\ud800\x9b\x00")
        == r"Größe 血圧 µg/l\t\x1b[2J\u2066\u200b\ud800\x9b\x00"
    )


def read_html(html):
    assert set(re.findall(r"<(\w+)", html)) <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(r"(#[0-9a-f]{3,6}|white|black)\b", html)  # colors are those of the page, light or dark
    assert html.replace("\n", "").isprintable()
    return html


def test_tables_of_notebooks_have_escaped_texts_and_few_rows():
    assert read_html(html_table(EVIL, (EVIL, EVIL), [(EVIL, EVIL)])).count("&lt;script&gt;") == 5
    costs = cf.CostModel.from_dict({"unit": EVIL, "features": {EVIL: 2.0, "b": 1.0}})
    answer = cf.Answer([0, 1], [1.0, 1.0], [0.0])
    tree = cf.StageTree(cf.WeakLearnerBank.columns(costs.names), (answer,), costs)
    points = [evolve(POINTS[0], name=EVIL, score=np.nan, cost=np.nan), evolve(POINTS[1], name=f"{EVIL} 2")]
    frontier = Frontier(tuple(points), EVIL, EVIL, np.nan)
    for one in (costs, tree, tree.cost(np.ones((3, 2))), cf.FittedEstimator(tree)):
        assert "&lt;script" in read_html(one._repr_html_())
    for one in (frontier, *points):
        assert "&lt;script" in one._repr_html_()
        assert "<script" not in one._repr_html_()
        assert all(len(line) <= 120 and line.isprintable() for line in repr(one).split("\n"))
    assert "980 more" in read_html(cf.CostModel.uniform([f"x{f}" for f in range(1000)])._repr_html_())
