"""Prices of columns made from raw columns: each costs what its raw columns cost, and shares them with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from costframe.core.checks import as_items
from costframe.core.errors import CostModelError, shown
from costframe.core.plugins.registry import registry
from costframe.core.prices.entries import FeaturePrice, ResourcePrice

_RAW = " (raw)"  # ends the name of a resource whose own name a made column has


def price_through(
    features: Sequence[FeaturePrice],
    resources: Sequence[ResourcePrice],
    made_from: Mapping[str, Sequence[str]],
    *,
    split: float,
    reuse: float,
    paid_apart: bool,
) -> tuple[tuple[FeaturePrice, ...], tuple[ResourcePrice, ...], dict[str, str]]:
    """Return the prices of columns made from raw columns, of their resources, and what each raw name became.

    A raw column from which one column is made, from it alone, gives its prices to that one. Any other becomes a
    resource, with the needs and the price of the raw column, which all columns made from it need. A comparison with a
    made column costs as much as with its raw column; the maximum if there are several.

    Parameters
    ----------
    features, resources : sequence of FeaturePrice, of ResourcePrice
        Prices of the raw columns, each of which has one, and of what they need.
    made_from : mapping of str to tuple of str
        The raw columns from which each made column is made; none for a constant, which is free.
    split, reuse : float
        Those of the cost model.
    paid_apart : bool
        Whether the caller charges once-per-batch prices of raw columns himself; else they cannot be shared.

    Raises
    ------
    CostModelError
        If there are prices that cannot be shared exactly: once-per-batch prices of a raw column that becomes a
        resource, or a price of reuse if any raw column does.
    """
    alone = _find_alone(made_from)
    shared = [name for name in list_raw_columns(made_from) if name not in alone.values()]
    if reuse and len(alone) < len(made_from):
        made = next(name for name in made_from if name not in alone)
        raise CostModelError(f"reuse: cannot be priced through {made!r}, which shares its raw columns or has none")
    prices = {feature.name: feature for feature in features}
    for name in shared:
        if prices[name].once and not paid_apart:
            raise CostModelError(
                f"features.{name}.once: cannot be priced through a preparation that makes several columns of {name!r}, "
                "or one of it and others; a resource has no price per batch"
            )
    names = _free_names([*(resource.name for resource in resources), *shared], made_from) | {
        name: made for made, name in alone.items()
    }
    needed = [_renamed(resource, resource.name, names) for resource in resources]
    raw_prices = [ResourcePrice(name, (p := prices[name]).cost, p.needs, p.time, p.absent, 0.0) for name in shared]
    needed += [_renamed(price, price.name, names) for price in raw_prices]
    priced = []
    for made, sources in made_from.items():
        if made in alone:
            priced.append(evolve(_renamed(prices[alone[made]], alone[made], names), name=made, parts=(), epoch=None))
        else:
            needs = tuple(names[name] for name in dict.fromkeys(sources))
            highest = _highest_split(split, [prices[name] for name in sources])
            priced.append(FeaturePrice(made, needs=needs, split=highest))
    return tuple(priced), tuple(needed), names


def list_raw_columns(made_from: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the raw columns that made columns are made from, each once."""
    return list(dict.fromkeys(name for sources in made_from.values() for name in sources))


def trace_columns(
    transformer: Any, names: Sequence[str], feature_names: Sequence[str] | None
) -> dict[str, tuple[str, ...]]:
    """Return the raw columns from which each column is made, of a mapping, a preparation or a foreign transformer."""
    made_from = transformer if isinstance(transformer, Mapping) else getattr(transformer, "made_from", None)
    if made_from is None:
        stated = getattr(transformer, "feature_names_in_", None)
        given = names if feature_names is None and stated is None else feature_names
        prepared = registry().prepare(transformer, given)
        if prepared is None:
            raise CostModelError(
                "through: expected a fitted transformer, a preparation, or a mapping of made columns to raw ones, "
                f"got {shown(transformer)}"
            )
        made_from = prepared.made_from
    elif feature_names is not None:
        raise CostModelError("feature_names: the raw columns have names already")
    return {made: _as_names(made, sources) for made, sources in made_from.items()}


def _as_names(made: object, sources: object) -> tuple[str, ...]:
    names = (sources,) if isinstance(sources, str) else as_items(sources)
    if names is None or not all(isinstance(name, str) for name in names):
        raise CostModelError(f"through: expected names of raw columns for {shown(made)}, got {shown(sources)}")
    return names


def _find_alone(made_from: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the raw column of each column that is made from it alone, and it of nothing else."""
    readers = Counter(name for sources in made_from.values() for name in set(sources))
    return {made: raw[0] for made, raw in made_from.items() if len(raw) == 1 and readers[raw[0]] == 1}


def _free_names(wanted: Iterable[str], taken: Container[str]) -> dict[str, str]:
    """Return a name for each resource that no made column and no other resource has: its own where that is free."""
    free_names, used = dict[str, str](), set[str]()
    for name in wanted:
        free = name
        while free in taken or free in used:
            free += _RAW
        free_names[name] = free
        used.add(free)
    return free_names


def _renamed(price: Any, name: str, names: Mapping[str, str]) -> Any:
    """Return a price with new names of itself and of the resources that it needs."""
    return evolve(price, name=names[name], needs=tuple(names[need] for need in price.needs))


def _highest_split(split: float, sources: Sequence[FeaturePrice]) -> float | None:
    splits = [split if price.split is None else price.split for price in sources]
    return max(splits) if any(price.split is not None for price in sources) else None
