"""What a page needs of a model, as plain data: names, prices, classes, and the memory of the engine; or a refusal."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from costframe.core.errors import ParameterError
from costframe.core.numerals import patterns_typed
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import AnnotatedPredictor, Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.stages import Answer
from costframe.core.tables.categories import ONLY, OTHER
from costframe.core.terms.terms import Terms
from costframe.page.memory import Memory
from costframe.page.plans import describe_plan, describe_spare, has_plain_gains
from costframe.page.stages import describe_spare_trees, describe_stages

_NARROW = "This page cannot answer within a cap that pays for no set of the model's features; the model itself can."
# That a page computes.
LINKS = ("identity", "sigmoid", "softmax", "exp", "step", "signed-square", "ranked", "normalized", "shares")


@frozen(eq=False)
class AskedModel:
    """A model as a page holds it: data for JSON, and the memory that the engine reads."""

    data: dict[str, Any]
    memory: Memory

    @property
    def holds_spare(self) -> bool:
        """Whether it holds what answers where a feature is not available, beside the model itself."""
        return (self.data.get("plan") or self.data["tree"])["spare"] is not None


def describe_model(fitted: FittedEstimator, costs: CostModel, title: str, *, whole: str | None = None) -> AskedModel:
    """Return what a page needs of a model at some prices.

    `whole` is a sentence on why the page cannot do without a test, so that it holds nothing that stands in.

    Raises
    ------
    ParameterError
        If a page cannot answer as the model does; the error names the part.
    """
    predictor = fitted.predictor_
    if fitted.kind == "ranker":
        raise _refusal("a ranker, whose scores order the rows of a query", "a classifier or regressor")
    check_supported(predictor, costs)
    terms, memory = predictor.terms(costs), Memory(without=("Nodes",))  # of tables
    data = {
        "title": title,
        "kind": fitted.kind,
        "unit": costs.unit,
        "numbers": patterns_typed(),
        **_describe_card(predictor, terms),
    }
    data |= describe_prices(terms.prices)
    if isinstance(predictor, PlannedPredictor):
        whole = whole or _whole_of(predictor)
        data |= {"plan": describe_plan(predictor, terms, memory), "outputs": predictor.n_outputs, "whole": whole}
        if whole is None:
            data["plan"]["spare"] = describe_spare(predictor, terms, memory)
        elif predictor.spare is not None:
            data["plan"]["narrow"] = _NARROW
    elif isinstance(predictor, StageTree):
        data |= {"tree": describe_stages(predictor, terms.prices, memory), "outputs": predictor.n_outputs}
        data |= {"whole": whole}
        if whole is None:
            data["tree"]["spare"] = describe_spare_trees(predictor, terms.prices, memory)
    data["cuts"] = None if data["whole"] else _describe_cuts(predictor, memory)
    return AskedModel(data | {"pointers": memory.pointers}, memory)


def _describe_cuts(predictor: Predictor, memory: Memory) -> dict[str, tuple[int | None, int]] | None:
    """Return address and number of the thresholds of each column that has no others; None without classes."""
    if predictor.classes is None:
        return None
    used = {predictor.card.column[name] for name in predictor.used_features}
    return {str(f): (memory.put_array(cuts), len(cuts)) for f, cuts in predictor.cuts.items() if f in used}


def _whole_of(plan: PlannedPredictor) -> str | None:
    """Return why a page cannot do without a test as the plan can; None if it can."""
    if plan.spare is None or has_plain_gains(plan):
        return None
    return "This page cannot do without a test, as the model's gains have weights; the model itself can."


def check_supported(predictor: Predictor, costs: CostModel) -> None:
    """Refuse a model that a page cannot answer for, by name."""
    if isinstance(predictor, StageTree):
        answers = [stage for stage in predictor.stages if isinstance(stage, Answer)]
    elif isinstance(predictor, PlannedPredictor):
        answers = [stop.answer for stop in predictor.stops]
    else:
        inner = predictor.inner if isinstance(predictor, AnnotatedPredictor) else predictor
        raise _refusal(f"a {type(inner).__name__}", "sums of trees, trees of stages and plans")
    if opaques := predictor.bank.opaques:
        raise _refusal(f"the opaque learner {opaques[0].name!r}", "trees and columns")
    for answer in answers:
        _check_answer(answer)
    if costs.errors is not None and costs.errors.columns:
        raise _refusal(f"prices of errors that differ by row, by {costs.errors.columns[0]!r}", "constant prices")
    for name in predictor.used_features:
        labels = predictor.card.categories.get(name, ())
        if not isinstance(labels, tuple):
            raise _refusal(f"{name!r}, whose values are {type(labels).__name__}", "numbers and listed labels")


def _check_answer(answer: Answer) -> None:
    for link in (answer.link, *(part.link for blend in answer.blends for part in blend.parts)):
        if link not in LINKS:
            raise _refusal(f"the link {link!r}", ", ".join(LINKS))
    if answer.float32 is not None and (answer.float32.dropout or not set(answer.weights.flat) <= {0.0, 1.0}):
        raise _refusal("trees with weights that a library adds in float32, as of dart", "trees without weights")


def _refusal(what: str, expected: str) -> ParameterError:
    return ParameterError(f"page: cannot hold {what}; expected {expected}. `costframe predict` takes the model")


def _describe_card(predictor: Predictor, terms: Terms) -> dict[str, Any]:
    """Return names of features and classes, and how classes follow from predictions."""
    card, decision = predictor.card, terms.decision
    column = card.column
    features = []
    for name in predictor.used_features:
        labels = card.categories.get(name, ())
        listed = enumerate(labels if isinstance(labels, tuple) else ())  # others are refused
        shown = [[i, "any other" if label == OTHER else label] for i, label in listed if label != ONLY]
        features.append({"name": name, "column": column[name], "labels": shown})
    prices = None if decision is None or decision.prices is None else decision.prices.constant.tolist()
    return {
        "features": features,
        "classes": None if card.classes is None else [str(label) for label in card.classes.tolist()],
        "half": card.half,
        "errors": prices,
    }


def describe_prices(prices: PriceArrays) -> dict[str, Any]:
    """Return exact prices, whole numbers as texts, and the resources that each feature needs."""
    exact, (first, needs) = prices.exact(), prices.direct_needs.listed()
    return {
        "prices": {
            "per_unit": str(exact.per_unit),
            "cost": [str(price) for price in exact.cost],
            "resource": [str(price) for price in exact.resource_cost],
            "needs": [needs[first[f] : first[f + 1]].tolist() for f in range(len(exact.cost))],
            "names": list(prices.resource_names),
            "rounds": _describe_rounds(prices) if prices.has_rounds else None,
        }
    }


def _describe_rounds(prices: PriceArrays) -> dict[str, Any]:
    """Return prices of going again to resources, and the way there: what features and resources need directly."""
    features, further = prices.direct_needs.direct
    return {
        "price": [str(price) for price in prices.exact().resource_round],
        "stays": prices.resource_stays.tolist(),
        "needs": features,
        "further": further,
    }
