"""Panels: features whose empty cells mean that a test was not made, those together that are made together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from costframe.core.prices.entries import ANSWER, NOT_MADE, FeaturePrice, ResourcePrice


@frozen
class Panel:
    """Features of one test that a row has had or not, with the name of the resource, or of the one feature."""

    name: str
    features: tuple[str, ...]


def panels_of(features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]) -> tuple[Panel, ...]:
    """Return the panels of prices.

    A feature whose own empty cells mean "not made" is one alone; others, that say nothing themselves, are in that of
    the nearest resource that says so, of those that they need directly or through others.
    """
    known = {resource.name: resource for resource in resources}
    members: dict[str, list[str]] = {}
    for feature in features:
        absent, name = _said_of(feature, known)
        if absent == NOT_MADE:
            members.setdefault(name, []).append(feature.name)
    return tuple(Panel(name, tuple(names)) for name, names in members.items())


def _said_of(feature: FeaturePrice, known: Mapping[str, ResourcePrice]) -> tuple[str | None, str]:
    """Return what an empty cell of a feature is, None if nothing says it, and the name of what says it.

    The feature itself says it, or else the first resource that does, nearest in needs.
    """
    if feature.absent is not None:
        return feature.absent, feature.name
    waiting, seen = list(feature.needs), set[str]()
    for name in waiting:  # it grows on the way
        if name not in seen:
            seen.add(name)
            if (absent := known[name].absent) is not None:
                return absent, name
            waiting += known[name].needs
    return None, feature.name


def mark_answers(
    features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]
) -> tuple[tuple[FeaturePrice, ...], tuple[ResourcePrice, ...]]:
    """Return prices by which every empty cell is what a source answered."""
    answers = (evolve(price, absent=ANSWER) if price.absent == NOT_MADE else price for price in features)
    others = (evolve(price, absent=ANSWER) if price.absent == NOT_MADE else price for price in resources)
    return tuple(answers), tuple(others)


def mark_not_made(
    features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]
) -> tuple[tuple[FeaturePrice, ...], tuple[ResourcePrice, ...]]:
    """Return prices by which empty cells of all that costs something mean "not made": of resources, else of features.

    What says already what they are stays as it is.
    """
    marked = tuple(
        evolve(resource, absent=NOT_MADE) if resource.cost > 0 and resource.absent is None else resource
        for resource in resources
    )
    known, priced = {resource.name: resource for resource in marked}, list[FeaturePrice]()
    for feature in features:
        unsaid = (feature.cost > 0 or feature.once > 0) and _said_of(feature, known)[0] is None
        priced.append(evolve(feature, absent=NOT_MADE) if unsaid else feature)
    return tuple(priced), marked
