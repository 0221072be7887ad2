"""Prices of a pipeline's raw columns, made of those of the model at its end."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from costframe.core.errors import AdoptionError, CostModelError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.entries import FeaturePrice
from costframe.core.tables.preparation import Preparation


def raw_prices(inner: Predictor, preparation: Preparation) -> CostModel | None:
    """Return prices of raw columns at which a predictor of made columns pays, and answers, as at its own prices.

    None if there are none such, and no answer depends on prices.
    """
    costs = inner.costs
    if costs is None:
        return None
    price: dict[str | None, Any] = {feature.name: feature for feature in costs.features}
    price |= {resource.name: resource for resource in costs.resources}
    names = CostModel.uniform(preparation.feature_names).trace(preparation.made_from).names
    raw = {name: price.get(names.get(name), FeaturePrice(name, 1.0)) for name in preparation.feature_names}
    try:
        costs = evolve(costs, features=tuple(price[name] for name in preparation.names))
        others = tuple(resource for resource in costs.resources if resource not in raw.values())
        raw_costs = evolve(
            costs, features=tuple(_as_feature(name, entry) for name, entry in raw.items()), resources=others
        )
        through = raw_costs.trace(preparation.made_from).costs
        if {*through.resources} == {*costs.resources} and evolve(through, resources=costs.resources) == costs:
            return raw_costs
    except CostModelError:  # such as a need of a raw column
        pass
    if costs.errors is None and not isinstance(inner, PlannedPredictor):  # no answer depends on them
        return None
    raise AdoptionError(
        f"{type(inner).__name__}: its answers depend on its prices, which are not those of raw columns; train it with "
        "costs.through(...) of the steps before it"
    )


def _as_feature(name: str, price: Any) -> FeaturePrice:
    """Return the price of a made column, or of the resource that several need, as that of their raw column."""
    if isinstance(price, FeaturePrice):
        return evolve(price, name=name)
    return FeaturePrice(name, price.cost, price.needs, time=price.time)
