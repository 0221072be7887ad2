"""What may be down: features of a model that one outage takes away together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from costframe.core.checks import as_items
from costframe.core.cost.report import CostReport
from costframe.core.errors import ParameterError, quote_names, shown
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel

FREE = "all free features"
MOST_PRICED = 12


@frozen
class OutageGroup:
    """Features on which a model depends that are down together, and the resources that nobody then pays."""

    name: str
    features: frozenset[str]
    resources: tuple[str, ...] = ()
    is_free: bool = False  # and needs no resource

    def spent(self, report: CostReport) -> float:
        """Return what rows pay for it on average."""
        resources = sum(report.by_resource.get(name, 0.0) for name in self.resources)
        return resources + sum(report.by_feature.get(name, 0.0) for name in self.features)


def list_groups(predictor: Predictor, prices: CostModel) -> list[OutageGroup]:
    """Return what may be down: resources, priced features that need none, and all other features together."""
    names, used = predictor.feature_names, frozenset(predictor.label_features(prices))
    arrays = prices.select(names)
    groups: dict[frozenset[str], OutageGroup] = {}
    for place, resource in enumerate(arrays.resource_names):
        gone = used.intersection(names[f] for f in arrays.direct_needs.needing([place]).tolist())
        if gone in groups:  # both take away the same, so they are one outage
            known = groups[gone]
            groups[gone] = evolve(known, name=f"{known.name} or {resource}", resources=(*known.resources, resource))
        elif gone:
            groups[gone] = OutageGroup(resource, gone, (resource,))
    price = dict(zip(names, (arrays.cost + arrays.once).tolist(), strict=True))
    rest = [name for name in names if name in used and not any(name in gone for gone in groups)]
    alone = [OutageGroup(name, frozenset([name])) for name in rest if price[name] > 0]
    free = frozenset(name for name in rest if not price[name] > 0)
    return [*groups.values(), *alone, *([OutageGroup(FREE, free, is_free=True)] if free else [])]


def split_by_spending(groups: list[OutageGroup], report: CostReport) -> tuple[list[OutageGroup], tuple[str, ...]]:
    """Return the groups that rows pay the most for, at most 12, with the free one; and the names of the others."""
    priced = sorted((group for group in groups if not group.is_free), key=lambda group: -group.spent(report))
    kept = [*priced[:MOST_PRICED], *(group for group in groups if group.is_free)]
    return kept, tuple(group.name for group in priced[MOST_PRICED:])


def groups_of_sources(sources: Any, predictor: Predictor, prices: CostModel) -> list[OutageGroup]:
    """Return the features of each source on which labels depend at some prices; without sources that serve none.

    They are `Sources`, whose lookups may serve further features, or names of the predictor's features by source.
    """
    given = getattr(sources, "lookups", sources)
    if not isinstance(given, Mapping):
        raise ParameterError(f"sources: expected Sources, or names of features by source, got {shown(sources)}")
    used, groups = frozenset(predictor.label_features(prices)), list[OutageGroup]()
    for name, served in given.items():
        features = as_items([*served.features] if given is not sources else served, ordered=False)
        if not isinstance(name, str) or features is None or not all(isinstance(each, str) for each in features):
            where = f"{shown(served)} for {shown(name)}"
            raise ParameterError(f"sources: expected names of features by source, got {where}")
        if given is sources and (unknown := [each for each in features if each not in predictor.feature_names]):
            raise ParameterError(f"sources: {shown(name)}: the model has no features {quote_names(unknown)}")
        if gone := used.intersection(features):
            groups.append(OutageGroup(name, gone))
    return groups
