"""A model in a few lines: its kind, its parts, the features that it reads, and bounds on the cost of a row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rich.table import Table
from rich.text import Text

from costframe.core.arrays import U8
from costframe.core.display import format_cost
from costframe.core.errors import format_count, printable, quote_names
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.guarded import GuardedPredictor
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer
from costframe.core.tables.conditions import in_words

MOST_NAMES = 12


def list_model_facts(model: FittedEstimator, costs: CostModel) -> tuple[tuple[str, str], ...]:
    """Return labels and texts about a model at these prices, which may have more features than the model."""
    predictor, unit = model.predictor_, costs.unit
    used, every = predictor.used_features, predictor.feature_names
    facts = [("kind", _kind(model)), ("made of", "; ".join(_parts(predictor)))]
    names = f": {quote_names(used, MOST_NAMES)}" if used else ""
    facts.append(("reads", f"{len(used):,} of {format_count(len(every), 'feature')}{names}"))
    known = [format_count(len(costs.names), "feature")]
    known += [format_count(len(costs.resources), "resource")] if costs.resources else []
    facts.append(
        ("prices", f"{' and '.join(known)}, in {unit}; all features of the model {format_cost(costs.full_cost(every))}")
    )
    asked = predictor.inquire(costs).needs
    least, most = costs.full_cost(asked), costs.full_cost(used)
    facts.append(
        (
            "features of a row",
            f"at least {format_cost(least)}, at most {format_cost(most)} {unit}, with their resources",
        )
    )
    if model.outages is not None:
        facts += model.outages.facts()
    return tuple(facts)


def facts_table(facts: Iterable[tuple[str, str]]) -> Table:
    """Return labels and texts as a table for the terminal."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for label, text in facts:
        table.add_row(Text(label, style="dim"), Text(printable(text)))
    return table


def _kind(model: FittedEstimator) -> str:
    if model.kind != "classifier":
        return without_labels(model.predictor_) or model.kind
    labels = model.classes_.tolist()
    return f"classifier of {len(labels):,} classes: {quote_names(labels, MOST_NAMES)}"


def without_labels(predictor: Predictor) -> str:
    """Return the kind of a model of probabilities whose labels nobody knows, as files of boosters; else no text."""
    inner = predictor.inner if isinstance(predictor, PreparedPredictor) else predictor
    if not isinstance(inner, StageTree) or not set(inner.links) <= {"sigmoid", "softmax"}:
        return ""
    count = inner.n_predictions
    given = f"{count:,} classes: their probabilities" if count > 1 else "2 classes: the probability of the second"
    return f"classifier of {given}, without labels"


def _parts(predictor: Predictor) -> list[str]:
    """Return the numbers of stages and learners of a predictor as texts."""
    if isinstance(predictor, PreparedPredictor):
        return [*_parts(predictor.inner), "over columns made from those of the table"]
    if isinstance(predictor, GuardedPredictor):
        bars = (f"without {quote_names(bar.features)} where {in_words(bar.conditions)}" for bar in predictor.bars)
        return [*_parts(predictor.inner), *bars]
    if isinstance(predictor, MixedPredictor):
        drawn_by = quote_names(predictor.by, MOST_NAMES)
        return [
            f"{predictor.share:.0%} of the rows, drawn by {drawn_by}, go to the second of two",
            *_parts(predictor.first),
            *_parts(predictor.second),
        ]
    if isinstance(predictor, PlannedPredictor):
        return [f"a plan over {format_count(len(predictor.stops), 'stop')}", _learners(predictor.bank.kind)]
    if isinstance(predictor, StageTree):
        answers = sum(isinstance(stage, Answer) for stage in predictor.stages)
        routes = len(predictor.stages) - answers
        stages = "one stage" if not routes else f"{format_count(routes, 'route')}, {format_count(answers, 'answer')}"
        return [stages, _learners(predictor.bank.kind[np.unique(predictor.layout.learner)])]
    return [type(predictor).__name__]


def _learners(kinds: U8) -> str:
    """Return the numbers of learners of each kind as a text."""
    nouns = {TREE: "tree", COLUMN: "column", OPAQUE: "opaque model"}
    counts = [
        format_count(count, noun) for kind, noun in nouns.items() if (count := int(np.count_nonzero(kinds == kind)))
    ]
    return ", ".join(counts) or "no learners"
