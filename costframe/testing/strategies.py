"""Hypothesis strategies for cost models, banks, stage trees and rows, small and full of special cases.

Thresholds and values come from one short list, so that rows often tie with thresholds; prices are often zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve

from costframe.core.arrays import F8

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("costframe.testing.strategies needs hypothesis: pip install 'costframe[testing]'") from error

from collections.abc import Callable, Sequence

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque_learner import OpaqueLearner
from costframe.core.learners.tree_table import PLAIN, WHOLE, WHOLE_FLOAT32, ZERO_MISSING, TreeTable
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.links import LINKS
from costframe.core.stages.spares import Spare
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.core.stages.stops import Rung, Stop

__all__ = [
    "LABELS",
    "NASTY",
    "banks",
    "cost_models",
    "feature_names",
    "planned_predictors",
    "rows",
    "stage_trees",
    "tree_tables",
]

VALUES = (-1.0, 0.0, 0.5, 1.0, 2.0)
NASTY = (
    *VALUES,
    -0.0,
    float(np.nextafter(0.5, 1)),
    float(np.nextafter(0.5, 0)),
    1e300,
    -1e300,
    np.inf,
    -np.inf,
    np.nan,
)
LABELS = ("zero", "one", "two")  # labels of features whose categories are texts
FEW = (-0.0, 3.0, 1e300)  # further categories, some of which no row has
WEIGHTS = (0.0, 1.0, -1.0, 0.1, 0.75, 3.0)
GAINS = (-3.0, -1.0, -1.0, -0.1, 0.0, 1.0)  # intercepts of gains
OTHER_LINKS = tuple(link for link in LINKS if link != "ranked")  # links that may be mixed
LEVELS = (0.0, 1.0, 2.0, -0.5, 1e300)
PRICES = (0.0, 0.0, 1.0, 2.5, 0.1, 1e6)


def feature_names(most: int = 6) -> st.SearchStrategy[tuple[str, ...]]:
    """Draw the names of one to `most` features."""
    return st.integers(1, most).map(lambda count: tuple(f"x{f}" for f in range(count)))


@st.composite
def cost_models(draw: st.DrawFn, names: Sequence[str], *, computing: bool = True) -> CostModel:
    """Draw prices of all kinds for the features `names`: chained resources, once, split, learner and reuse.

    Without `computing`, it leaves out the last three.
    """
    price = st.sampled_from(PRICES)
    resources: list[ResourcePrice] = []
    for r in range(draw(st.integers(0, 3))):
        needs = draw(st.sets(st.sampled_from([resource.name for resource in resources]))) if resources else set()
        resources.append(ResourcePrice(f"r{r}", draw(price), tuple(sorted(needs))))
    need = (
        st.sets(st.sampled_from([resource.name for resource in resources]), max_size=2)
        if resources
        else st.just(set[str]())
    )
    learner_price = st.none() | price if computing else st.none()
    features = [
        FeaturePrice(name, draw(price), tuple(sorted(draw(need))), draw(price), draw(learner_price)) for name in names
    ]
    split, learner, reuse = (draw(price) for _ in range(3)) if computing else (0.0, 0.0, 0.0)
    return CostModel(tuple(features), tuple(resources), "unit", split, learner, reuse)


@st.composite
def tree_tables(draw: st.DrawFn, n_features: int, most: int = 5, widths: Sequence[int] = (1, 1, 2, 3)) -> TreeTable:
    """Draw zero to `most` trees of up to five splits, by thresholds and by categories."""
    return TreeTable.concatenate([draw(_trees(n_features, widths)) for _ in range(draw(st.integers(0, most)))])


@st.composite
def banks(draw: st.DrawFn, names: Sequence[str], *, opaque: bool = True, labels: bool = False) -> WeakLearnerBank:
    """Draw a bank of mixed kinds in mixed order, with evaluation weights; with `labels`, some features have labels."""
    parts = [WeakLearnerBank.from_trees(draw(tree_tables(len(names))), names)]
    column = st.sets(st.integers(0, len(names) - 1), max_size=3).map(sorted)
    columns = draw(column)
    fill = draw(st.sampled_from((0.0, 7.0, np.nan)))
    parts.append(WeakLearnerBank.columns(names, columns, fill=fill))
    if opaque:
        reads = draw(st.lists(column, max_size=2))
        functions = [_opaque_learner(i, read, 1 + (len(read) + i) % 2) for i, read in enumerate(reads)]
        parts.append(WeakLearnerBank.opaque(names, functions))
    bank = WeakLearnerBank.concatenate(parts)
    bank = bank.restrict(np.array(draw(st.permutations(range(len(bank)))), np.int64))
    weights = draw(st.lists(st.sampled_from((0.0, 1.0, 2.5)), min_size=len(bank), max_size=len(bank)))
    labeled = draw(st.sets(st.sampled_from(names))) if labels else ()
    return evolve(bank.weighted(weights), categories={name: LABELS for name in names if name in labeled})


@st.composite
def stage_trees(
    draw: st.DrawFn, bank: WeakLearnerBank, most_routes: int = 4, n_outputs: int | None = None
) -> StageTree:
    """Draw a stage tree of any shape over `bank`."""
    n_outputs = draw(st.integers(1, 3)) if n_outputs is None else n_outputs
    links = draw(st.sampled_from((OTHER_LINKS, OTHER_LINKS, ("ranked",)))) if n_outputs == 1 else OTHER_LINKS
    routes = draw(st.integers(0, most_routes))
    # A random walk numbers the stages: an open place becomes a route or an answer.
    stages: list[Stage] = []
    waiting, count = [0], 1
    kinds: dict[int, tuple[int, int] | None] = {}
    while waiting:
        number = waiting.pop(draw(st.integers(0, len(waiting) - 1)) if len(waiting) > 1 else 0)
        kinds[number] = (count, count + 1) if routes else None
        if routes:
            routes, count = routes - 1, count + 2
            waiting += [count - 2, count - 1]
    for number in range(count):
        children = kinds[number]
        learners, weights = draw(_combinations(bank, n_outputs if children is None else 1))
        intercept = [draw(st.sampled_from(WEIGHTS)) for _ in range(n_outputs if children is None else 1)]
        if children is None:
            link = draw(st.sampled_from(links))
            level = draw(st.sampled_from(LEVELS)) if link == "ranked" else 0.0
            stages.append(Answer(learners, weights, intercept, link, level))
        else:
            threshold, steepness = (
                draw(st.sampled_from((*VALUES, np.inf, -np.inf))),
                draw(st.sampled_from((0.5, 1.0, 50.0))),
            )
            below, above = draw(st.permutations(children))
            stages.append(Route(learners, weights, intercept, threshold, steepness, below, above))
    return StageTree(bank, tuple(stages))


@st.composite
def planned_predictors(
    draw: st.DrawFn, names: Sequence[str], *, planned: bool = False, opaque: bool = True
) -> PlannedPredictor:
    """Draw a predictor of one to four stops over the features `names`; with `planned`, some have plans and ladders."""
    n_outputs, n_stops = draw(st.integers(1, 3)), draw(st.sampled_from((4, 3, 2, 1, 4)))
    link = draw(st.sampled_from(LINKS if n_outputs == 1 else OTHER_LINKS))
    columns = st.sets(st.integers(0, len(names) - 1)).map(sorted)
    extra = tuple(f"score {k}" for k in range(n_outputs))
    parts, gain_parts = [WeakLearnerBank.columns(names, [])], [WeakLearnerBank.columns((*names, *extra), [])]
    stops = []
    for number in range(n_stops):
        features, later = draw(columns if number else st.just([]) | columns), n_stops - 1 - number
        bought = [names[f] for f in features]
        level = draw(st.sampled_from(LEVELS)) if link == "ranked" else 0.0
        answer = draw(_answers(parts, bought, n_outputs, suffix=f" of stop {number}" if opaque else ""))
        read = (*bought, *extra)
        gains = draw(_answers(gain_parts, read, later, GAINS)) if later else None
        induced = draw(st.none() | _answers(gain_parts, read, later, GAINS)) if later and planned else None
        stops.append(Stop(features, evolve(answer, link=link, level=level), gains, induced))
    bank, gains_bank = WeakLearnerBank.concatenate(parts), WeakLearnerBank.concatenate(gain_parts)
    ladder = draw(_ladders(has_plans=any(stop.planned is not None for stop in stops))) if planned else ()
    tradeoff, spare = draw(st.sampled_from((0.0, 0.1, 1.0))), draw(st.none() | _spares(stops, names))
    realised = draw(st.sampled_from(((1.0, 1.0), (0.7, 0.3), (0.0, 0.9))))
    return PlannedPredictor(bank, gains_bank, tuple(stops), tradeoff, ladder=ladder, realised=realised, spare=spare)


@st.composite
def _spares(draw: st.DrawFn, stops: Sequence[Stop], names: Sequence[str]) -> Spare:
    """Draw a spare ensemble for stops over the features `names`."""
    n_outputs, n_sets = len(stops[0].answer.intercept), draw(st.integers(0, 3))
    bank = WeakLearnerBank.from_trees(draw(tree_tables(len(names), 2)), names)
    learners, weights = draw(_combinations(bank, n_outputs))
    intercept = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n_outputs, max_size=n_outputs)))
    answer = evolve(stops[0].answer, learners=learners, weights=weights, intercept=intercept)
    sets = draw(
        st.lists(st.lists(st.booleans(), min_size=len(names), max_size=len(names)), min_size=n_sets, max_size=n_sets)
    )
    some, every = (draw(st.lists(st.sampled_from((0.0, 0.1, 0.5)), min_size=n_sets, max_size=n_sets)) for _ in range(2))
    losses = draw(st.lists(st.sampled_from((0.1, 0.3, 1.0)), min_size=len(stops), max_size=len(stops)))
    table = np.array(sets, np.bool_).reshape(n_sets, len(names))
    return Spare(bank, answer, AbsenceLosses(draw(st.sampled_from((0.0, 0.2))), table, some, every), losses)


@st.composite
def _ladders(draw: st.DrawFn, *, has_plans: bool) -> tuple[Rung, ...]:
    """Draw up to three rungs, one of them planned if there are plans."""
    least = sorted(draw(st.sets(st.sampled_from((0.05, 0.1, 1.0)), max_size=2)))
    least = [0.0, *least] if least or has_plans or draw(st.booleans()) else []
    which = draw(st.integers(0, len(least) - 1)) if has_plans else -1
    return tuple(
        Rung(level, draw(st.sampled_from((0.0, 0.1, 1.0))), place == which) for place, level in enumerate(least)
    )


@st.composite
def _answers(
    draw: st.DrawFn,
    parts: list[WeakLearnerBank],
    names: Sequence[str],
    n_outputs: int,
    intercepts: Sequence[float] = WEIGHTS,
    suffix: str = "",
) -> Answer:
    """Draw an answer over learners of the features `names`, and append these learners to `parts`.

    With a suffix, there are opaque learners too, whose names end in it.
    """
    first = sum(len(part) for part in parts)
    bank = draw(banks(names, opaque=bool(suffix))) if names else WeakLearnerBank.columns((), [])
    learners, weights = draw(_combinations(bank, n_outputs))
    parts.append(evolve(bank, opaques=tuple(evolve(opaque, name=opaque.name + suffix) for opaque in bank.opaques)))
    intercept = [draw(st.sampled_from(intercepts)) for _ in range(n_outputs)]
    return Answer([first + t for t in learners], weights, intercept)


def rows(n_features: int, most: int = 5) -> st.SearchStrategy[F8]:
    """Draw zero to `most` rows of values that tie with thresholds, are missing, infinite or huge."""
    row = st.lists(st.sampled_from(NASTY), min_size=n_features, max_size=n_features)
    return st.lists(row, max_size=most).map(lambda drawn: np.array(drawn, np.float64).reshape(-1, n_features))


@st.composite
def _trees(draw: st.DrawFn, n_features: int, widths: Sequence[int]) -> TreeTable:
    categories = st.sets(st.sampled_from((*VALUES, *FEW)), min_size=1, max_size=4).map(sorted) | many_categories()
    test = st.sampled_from((*VALUES, np.inf, np.nan)) | categories | categories.map(lambda known: [*known, np.nan])
    split = st.tuples(st.integers(0, n_features - 1), test, st.booleans(), st.integers(0, 100), st.integers(0, 2))
    splits = draw(st.lists(split, max_size=5))
    width = draw(st.sampled_from(list(widths)))
    feature, threshold, missing_left, left, right, leaves = [-1], [0.0], [False], [-1], [-1], [0]
    named: dict[int, list[float]] = {}
    reading = [PLAIN]
    for tested, cut, missing, pick, read in splits:
        node = leaves.pop(pick % len(leaves))
        feature[node], missing_left[node] = tested, missing
        threshold[node] = np.nan if isinstance(cut, list) else cut
        named |= {node: cut} if isinstance(cut, list) else {}
        reading[node] = ((PLAIN, WHOLE, WHOLE_FLOAT32) if isinstance(cut, list) else (PLAIN, PLAIN, ZERO_MISSING))[read]
        reading += [PLAIN, PLAIN]
        left[node], right[node] = len(feature), len(feature) + 1
        leaves += [len(feature), len(feature) + 1]
        feature += [-1, -1]
        threshold += [0.0, 0.0]
        missing_left += [False, False]
        left += [-1, -1]
        right += [-1, -1]
    outputs = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=width, max_size=width)))
    outputs = outputs + 0.3 * np.arange(len(feature))[:, None]
    return TreeTable.single(feature, threshold, missing_left, left, right, outputs, named, reading=reading)


def many_categories() -> st.SearchStrategy[list[float]]:
    """Draw more categories than the bits of one word, or of two, with or without the values of rows."""
    return st.tuples(st.sampled_from((-70, -1, 0, 1)), st.sampled_from((64, 65, 130))).map(
        lambda drawn: [float(drawn[0] + c) for c in range(drawn[1])]
    )


def _opaque_learner(number: int, features: Sequence[int], width: int) -> OpaqueLearner:
    return OpaqueLearner(f"opaque{number}", _clipped_sums(width), tuple(features), width)


def _clipped_sums(width: int) -> Callable[[F8], F8]:
    def function(X: F8) -> F8:
        values = np.where(np.isnan(X), 0.25, np.clip(X, -3.0, 3.0))
        total = np.zeros(len(X))
        for column in values.T:
            total = total + column
        return np.stack([total * (1 + k) for k in range(width)], axis=1)

    return function


@st.composite
def _combinations(draw: st.DrawFn, bank: WeakLearnerBank, n_outputs: int) -> tuple[list[int], Any]:
    learners = sorted(draw(st.sets(st.integers(0, len(bank) - 1)))) if len(bank) else []
    size = int(bank.widths[learners].sum()) * n_outputs
    weights = draw(st.lists(st.sampled_from(WEIGHTS), min_size=size, max_size=size))
    return learners, np.array(weights, np.float64).reshape(-1, n_outputs)
