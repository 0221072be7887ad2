"""The page of one model."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import F8
from costframe.core.cost.report import CostReport
from costframe.core.display import compare_cost, format_cost, milliseconds
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.report.page import ModelCard, Page
from costframe.report.payments import payments
from costframe.report.stage_boxes import view_stages


def model_page(
    predictor: Predictor,
    costs: CostModel,
    facts: tuple[tuple[str, str], ...],
    *,
    name: str,
    path: str | None,
    rows: F8 | None = None,
    report: CostReport | None = None,
    paid_by: str = "",
) -> Page:
    """Return the page of a model with its facts; with rows, (n, d), and their cost, also of their payments.

    `path` is the file of the model, and `paid_by` names the rows.
    """
    paid = None if report is None else tuple(payments(report, costs))
    stages = view_stages(predictor, costs, rows)
    figures, prices = () if report is None else _figures(report, costs), _prices(costs, predictor.used_features)
    return Page(name, (), costs.unit, (ModelCard("In short", "", figures, facts, paid, paid_by, stages, path, prices),))


def _figures(report: CostReport, costs: CostModel) -> tuple[tuple[str, str, str], ...]:
    """Return mean and quantiles of the cost per row."""
    full, unit = costs.full_cost(report.feature_names), report.unit
    remark = f"{compare_cost(report.mean, full)} all features ({format_cost(full)})" if full > 0 else ""
    least, median, most = (format_cost(float(q)) for q in np.quantile(report.per_row, [0, 0.5, 1]))
    figures = [
        ("mean cost per row", format_cost(report.mean), f"{unit}, {remark}" if remark else unit),
        ("median row", median, f"from {least} to {most}"),
    ]
    if report.latency is not None:
        middle, p95, late = map(milliseconds, report.latency_quantiles((0.5, 0.95, 0.99)))
        figures.append(("median latency", middle, f"95 % of the rows within {p95}, 99 % within {late}"))
    return tuple(figures)


def _prices(costs: CostModel, used: tuple[str, ...]) -> tuple[tuple[str, float, tuple[str, ...]], ...]:
    """Return name, price and needs of the resources and features that a row may pay for."""
    price = {feature.name: feature for feature in costs.features}
    features, needs = [price[name] for name in used], {resource.name: resource for resource in costs.resources}
    reached = dict.fromkeys(need for feature in features for need in feature.needs)
    for name in (waiting := list(reached)):
        further = [need for need in needs[name].needs if need not in reached]
        reached.update(dict.fromkeys(further))
        waiting += further
    resources = tuple((name, needs[name].cost, needs[name].needs) for name in reached)
    return resources + tuple((feature.name, feature.cost, feature.needs) for feature in features)
