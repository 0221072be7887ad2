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

    A feature whose own empty cells mean "not made" is one alone; others are in that of the nearest such resource that
    they need, directly or through others.
    """
    known = {resource.name: resource for resource in resources}
    members: dict[str, list[str]] = {}
    for feature in features:
        name = feature.name if feature.absent == NOT_MADE else _nearest(feature.needs, known)
        if name is not None:
            members.setdefault(name, []).append(feature.name)
    return tuple(Panel(name, tuple(names)) for name, names in members.items())


def _nearest(needs: Sequence[str], known: Mapping[str, ResourcePrice]) -> str | None:
    """Return the first resource that is said to be absent where nobody made it, nearest in needs; None without any."""
    waiting, seen = list(needs), set[str]()
    for name in waiting:  # it grows on the way
        if name not in seen:
            seen.add(name)
            if known[name].absent == NOT_MADE:
                return name
            waiting += known[name].needs
    return None


def mark_answers(
    features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]
) -> tuple[tuple[FeaturePrice, ...], tuple[ResourcePrice, ...]]:
    """Return prices by which every empty cell is what a source answered."""
    answers = tuple(evolve(price, absent=ANSWER) for price in features)
    return answers, tuple(evolve(resource, absent=ANSWER) for resource in resources)


def mark_not_made(
    features: Sequence[FeaturePrice], resources: Sequence[ResourcePrice]
) -> tuple[tuple[FeaturePrice, ...], tuple[ResourcePrice, ...]]:
    """Return prices by which empty cells of all that costs something mean "not made": of resources, else of features.

    What says so already stays as it is.
    """
    marked = tuple(
        evolve(resource, absent=NOT_MADE) if resource.cost > 0 and resource.absent == ANSWER else resource
        for resource in resources
    )
    known, priced = {resource.name: resource for resource in marked}, list[FeaturePrice]()
    for feature in features:
        alone = (feature.cost > 0 or feature.once > 0) and _nearest(feature.needs, known) is None
        priced.append(evolve(feature, absent=NOT_MADE) if alone else feature)
    return tuple(priced), marked
