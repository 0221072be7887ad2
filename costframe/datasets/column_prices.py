"""Prices in the order of a table's columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from costframe.core.errors import CostModelError, quote_names, suggestion
from costframe.core.prices.costs import CostModel


def order_prices(
    costs: CostModel,
    names: Sequence[str],
    *,
    table: str = "the table",
    source: str = "its prices",
    others: Mapping[str, str] | None = None,
    ignored: Iterable[str] = (),
    way_out: str = "",
) -> CostModel:
    """Return the prices in the order of the columns `names`; refuse prices of other features.

    Prices of columns in `ignored`, and of those that the prices themselves ignore, are left out. The error names the
    table and the source of the prices; `others` are columns that are not features, with a text for each, and `way_out`
    says what helps where a column has no price.
    """
    price, known = {feature.name: feature for feature in costs.features}, {*names, *ignored, *costs.ignore}
    unpriced = [name for name in names if name not in price]
    absent = [name for name in costs.names if name not in known]
    if unpriced or absent:
        parts = [
            f"columns without a price: {_side(unpriced, absent)}",
            f"prices without a column: {_side(absent, unpriced)}",
        ]
        parts += [f"{name!r} is {what}" for name, what in (others or {}).items() if name in absent]
        parts += [way_out] if unpriced and way_out else []
        raise CostModelError(f"{table} and {source} do not fit: {'; '.join(parts)}")
    return evolve(costs, features=tuple(price[name] for name in names), ignore=())


def read_empty_cells(costs: CostModel, records: bool | None) -> CostModel:
    """Return prices by which empty cells of priced columns are tests that nobody made, or answers; None: as they are.

    `records` is True or False.
    """
    if records is None:
        return costs
    return costs.as_records() if records else costs.as_answers()


def source_of(costs: object, otherwise: str) -> str:
    """Return a name for prices: their file, if they have one."""
    return os.fsdecode(costs) if isinstance(costs, str | os.PathLike) else otherwise


def _side(lone: Sequence[str], other: Sequence[str]) -> str:
    return f"{quote_names(lone)}{suggestion(lone[0], other)}" if lone else "none"
