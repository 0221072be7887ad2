"""Predictors of every kind over four features, of which the first is free."""

import numpy as np
from attrs import evolve
from hypothesis import strategies as st

import costframe as cf
from costframe.core.predictors.guarded import Bar, GuardedPredictor
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.predictor import AnnotatedPredictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.tables.conditions import Condition
from costframe.core.tables.operations import Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation
from costframe.testing import strategies

NAMES = tuple("abcd")
FREE = cf.CostModel.of({"a": 0.0, "b": 1.0, "c": 2.5, "d": 0.1})


def add_up(rows):
    """Sums of rows, of infinities too."""
    with np.errstate(invalid="ignore", over="ignore"):
        return rows.sum(axis=1, keepdims=True)


def some_steps():
    """Ask for two features, one after another."""
    first = (yield ["a"])["a"]
    return first + (yield ["b" if first > 0 else "c"]).popitem()[1]


@st.composite
def predictors(draw):
    """Draw a predictor of any kind over `NAMES`, whose first feature is free."""
    kind = draw(st.sampled_from(("tree", "plan", "mixed", "guarded", "prepared", "annotated", "stepped")))
    plans = strategies.planned_predictors(NAMES, planned=True)
    trees = strategies.banks(NAMES, labels=kind == "tree").flatmap(strategies.stage_trees)
    if kind == "stepped":
        return cf.SteppedPredictor(NAMES, some_steps, FREE, fallback=0.5, version="1")
    if kind == "mixed":
        first, share = draw(plans).with_costs(FREE), draw(st.sampled_from((0.0, 0.5, 1.0)))
        return MixedPredictor(first, first.with_tradeoff(5.0), share, ("a",))
    model = draw(plans if kind == "plan" else trees if kind == "tree" else plans | trees).with_costs(FREE)
    if kind == "guarded":
        return GuardedPredictor(model, (Bar(("c",), (Condition("a", up_to=0.5),)),))
    if kind == "annotated":
        return AnnotatedPredictor(model, evolve(model.card, classes=None))
    if kind == "prepared":
        halves = Operation("linear", (0, 1), np.array([0.5, 0.5, 0.0]))
        opaque = OpaqueOperation("sum", add_up, (2, 3))
        return PreparedPredictor(
            model.with_costs(None), Preparation(NAMES, (halves, opaque), (0, 4, 2, 5), NAMES), FREE
        )
    return model
