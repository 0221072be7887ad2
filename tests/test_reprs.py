"""What objects show of themselves: one short line, a frontier four, and tables of notebooks whose texts are escaped."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from attrs import evolve
from preparation_cases import clipped_sums
from test_fitted import LABELS, X

import costframe as cf
from costframe.core.errors import brief
from costframe.core.html import html_table
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.stages.stops import Stop
from costframe.core.tables.preparation import Preparation
from costframe.frontier import Frontier, Point
from costframe.frontier.words import next_buys
from costframe_cegb import CEGBClassifier
from costframe_miser import MiserClassifier

EVIL = "<script>alert(1)</script>\u202e\x1b[31m & more"
COSTS = cf.CostModel.from_dict({
    "unit": "CAD",
    "features": {"a": {"cost": 1.0, "needs": ["blood"]}, "b": 2.0},
    "resources": {"blood": 3.0, "scan": 9.0},
})  # fmt: skip
BANK = cf.WeakLearnerBank.concatenate([
    cf.WeakLearnerBank.columns(("a", "b")),
    cf.WeakLearnerBank.opaque(("a", "b"), [OpaqueLearner("sums", clipped_sums, (0, 1), 2)]),
])  # fmt: skip
ROUTE = cf.Route([0], [1.0], 0.0, 0.5, 1.0, 1, 2)
ANSWER = cf.Answer([0], [1.0], [0.0], "sigmoid")
TREE = cf.StageTree(BANK, (ROUTE, ANSWER, ANSWER), COSTS, classes=["no", "yes"])
CHEAP, NOTHING = (
    cf.StageTree(
        cf.WeakLearnerBank.columns(("free", "a")),
        stages,
        cf.CostModel.from_dict({"unit": "CAD", "features": {"free": 0, "a": 1}}),
    )
    for stages in (
        (cf.Route([0], [1.0], 0.0, 0.5, 1.0, 1, 2), cf.Answer([1], [1.0], [0.0], "sigmoid"), ANSWER),
        (ANSWER,),
    )
)
STOPS = [Stop([0], ANSWER)]
PLAN = PlannedPredictor(BANK, cf.WeakLearnerBank.columns(("a", "b", "score")), STOPS, 0.5)
POINTS = (
    Point("miser", 0.0, 0.5, 0.01, 0.0, None, None, None, 0.0, 0, 0, 0.0, 0.1),
    Point("miser", 0.1, 0.94712345, 0.0103, 1.45166, 0.94, 0.01, 1.5, 0.0, 6, 150, 1.2, 0.1, 0.0, 0.02, "miser-3"),
)
FRONTIER = Frontier(POINTS, "roc_auc", "CAD", 9.0)
ROWS = np.array([[1.0, 2.0], [0.0, 1.0]])


def steps():
    values = yield ["a"]
    return values["a"]


SHOWN = {
    "CostModel(2 features, 2 resources, all together 6 CAD, dearest scan 9, blood 3, b 2)": COSTS,
    "CostModel(1 feature, all together 1 unit, learner 0.5, trip_time 2, each at 1)": cf.CostModel.from_dict(
        {"features": {"a": 1}, "learner": 0.5, "trip_time": 2.0}
    ),
    "CostReport(2 rows, mean 4 CAD, of it blood 75 %, a 25 %)": TREE.cost(ROWS),
    "CostReport(0 rows, mean 0 CAD)": TREE.cost(ROWS[:0]),
    "WeakLearnerBank(2 columns, 1 opaque learner, reads 2 of 2 features)": BANK,
    "TreeTable(0 trees, 0 nodes)": BANK.trees,
    "Answer(1 learner, 1 output, link 'sigmoid')": ANSWER,
    "Route(1 learner, above 0.5 to stage 2, else to stage 1)": ROUTE,
    "StageTree(3 stages, 3 learners, link 'sigmoid', reads 1 of 2 features for 4 CAD a row, classes 'no', 'yes')": TREE,
    "FittedEstimator(classifier, StageTree(3 stages, 3 learners, link 'sigmoid', reads 1 of 2 features for 4 CAD a row"
    ", c...)": cf.FittedEstimator(TREE),
    "PlannedPredictor(1 stop, 3 learners, link 'sigmoid', tradeoff 0.5, "
    "reads 2 of 2 features for 1 to 2 unit a row)": PLAN,
    "SteppedPredictor(reads 2 of 2 features for 0 to 2 unit a row)": cf.SteppedPredictor(("a", "b"), steps),
    "PreparedPredictor(StageTree, 3 stages, 3 learners, link 'sigmoid', "
    "reads 1 of 3 features for 1 unit a row)": PreparedPredictor(
        TREE.with_costs(None).with_classes(None), Preparation(("a", "b", "c"), (), (0, 1), ("a", "b"))
    ),
    "StageTree(3 stages, 2 learners, link 'sigmoid', reads 2 of 2 features for 0 to 1 CAD a row)": CHEAP,
    "MixedPredictor(25.0% by the second of StageTree and StageTree, reads 2 of 2 features for 0 to 1 CAD a row)": (
        MixedPredictor(CHEAP, NOTHING, 0.25, ["free"])
    ),
    "Inquiry(needs 'a', cost 0, 0 rounds so far)": TREE.inquire(),
    "Stop(1 feature, Answer(1 learner, 1 output, link 'sigmoid'))": STOPS[0],
    "ExpectedCost()": cf.ExpectedCost(),
    "ExpectedCost(costs=CostModel(2 features, 2 resources, all together 6 CAD, dearest scan 9, blood ..., "
    "max_cost=3.0)": cf.ExpectedCost(COSTS, max_cost=3.0),
    "Prediction(0.731059, cost 4, 1 feature in 1 round, exit 2, complete)": cf.predict_one(TREE, {"a": 1.0, "b": 2.0}),
    "Point(miser-3, score 0.9471 \u00b1 0.01, cost 1.452 \u00b1 0.02, test 0.94 at 1.5, 6 features)": POINTS[1],
    "Point(miser, score 0.5 \u00b1 0.01, cost 0 \u00b1 0, 0 features)": POINTS[0],
    "Frontier(2 points of 1 algorithm, roc_auc 0.5 to 0.947 at 0 to 1.452 CAD)\n"
    "  recommended: miser-3, roc_auc 0.9471 \u00b1 0.01 at 1.452 \u00b1 0.02 CAD, saves 84%\n"
    "  best: miser-3, roc_auc 0.9471 \u00b1 0.01 at 1.452 \u00b1 0.02 CAD, saves 84%\n"
    "  cheapest useful: miser-3, roc_auc 0.9471 \u00b1 0.01 at 1.452 \u00b1 0.02 CAD, saves 84%": FRONTIER,
    "Buy(1.45 CAD more per row would raise roc_auc by 0.447 \u00b1 0.010 (miser-3))": next_buys(FRONTIER, POINTS[0])[0],
    "Dataset(breast-cancer, 569 rows, 30 features, classification of 'benign', 'malignant', train 341, valid 115, "
    "test 113)": cf.datasets.load("breast-cancer"),
}


@pytest.mark.parametrize("text", SHOWN, ids=[text.partition("(")[0] for text in SHOWN])
def test_an_object_names_what_matters_in_short_lines(text):
    assert repr(SHOWN[text]) == text
    assert len(text.split("\n")) == (4 if text.startswith("Frontier") else 1)
    assert max(map(len, text.split("\n"))) <= 120


def test_long_names_are_cut_and_printable():
    text = brief(COSTS, EVIL, "x" * 1000)
    assert len(text) == 120
    assert text.isprintable()
    many = cf.CostModel.uniform([f"feature {f}" for f in range(1000)])
    assert len(repr(cf.ExpectedCost(many.to_dict()))) <= 120
    evil = cf.CostModel.from_dict({"unit": EVIL, "features": {"x" * 1000: 1, EVIL: 2}, "resources": {"r" * 200: 1}})
    assert len(repr(evil)) <= 120
    assert repr(evil).isprintable()


def test_prices_do_not_flood_what_an_estimator_shows():
    prices = {f"x{f}": 1.0 for f in range(5000)}
    assert repr(MiserClassifier(cf.CostModel.from_dict({"features": prices}))).count("\n") == 0
    assert len(repr(MiserClassifier(prices))) < 1500
    assert len(repr(MiserClassifier({"features": prices}))) < 1500


class Cells(HTMLParser):
    """The texts of a page, and its tags."""

    def __init__(self):
        super().__init__()
        self.texts, self.tags = [], set()

    def handle_starttag(self, tag, _attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


def read_html(html):
    cells = Cells()
    cells.feed(html)
    assert cells.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(r"(#[0-9a-f]{3,6}|white|black)\b", html)  # colors are those of the page, light or dark
    return cells.texts


def test_tables_are_escaped():
    texts = read_html(html_table(EVIL, (EVIL, EVIL), [(EVIL, EVIL)]))
    assert texts == [EVIL.replace("\u202e\x1b", r"\u202e\x1b")] * 5


def test_notebooks_show_tables():
    costs = cf.CostModel.from_dict({"unit": EVIL, "features": {EVIL: 2.0, "b": 1.0}})
    model = CEGBClassifier(costs, n_estimators=5).fit(X[:, :2], LABELS["texts"])
    objects = [costs, model.predictor_, model.cost(X[:, :2])]
    for one in [*objects, cf.FittedEstimator(model.predictor_)]:
        texts = read_html(one._repr_html_())
        assert any("<script>" in text for text in texts)
        assert all(text.isprintable() for text in texts)


def test_hostile_names_of_points_and_frontiers_are_escaped():
    for points in (POINTS, [evolve(POINTS[0], score=np.nan, cost=np.nan), evolve(POINTS[1], score_error=np.nan)]):
        named = [evolve(point, name=f"{EVIL} {place}") for place, point in enumerate(points)]
        frontier = Frontier(tuple(named), EVIL, EVIL, np.nan if points is not POINTS else 9.0)
        for one in (frontier, *named):
            assert all(len(line) <= 120 and line.isprintable() for line in repr(one).split("\n"))
            assert "<script" not in (html := one._repr_html_())
            assert "alert" in html
            assert html.isprintable()


def test_tables_of_many_rows_are_cut():
    costs = cf.CostModel.uniform([f"x{f}" for f in range(1000)])
    assert "980 more" in read_html(costs._repr_html_())
    bank = cf.WeakLearnerBank.columns(costs.names)
    tree = cf.StageTree(bank, (cf.Answer(np.arange(1000), np.ones(1000), [0.0]),))
    assert "980 more" in read_html(tree.cost(np.ones((3, 1000)))._repr_html_())
