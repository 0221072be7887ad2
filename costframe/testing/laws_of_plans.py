"""Laws of models that plan acquisitions during prediction: prices may change after training."""

# ruff: noqa: D401 - a law's docstring is the law itself, a sentence that is true

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.prices.costs import CostModel
from costframe.testing.case import expect, same_bits
from costframe.testing.counting import inquire
from costframe.testing.data import COSTS
from costframe.testing.law import law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.testing.case import Case

__all__: list[str] = []

SOME = 20  # rows to step through one by one


@law
def prices_may_change_after_training(case: Case) -> None:
    """At other prices and another tradeoff, a plan predicts and charges the same in tables and in inquiries."""
    predictor = case.fitted().predictor_
    if not isinstance(predictor, PlannedPredictor):
        return
    rows = case.table.fresh[:SOME]
    for scale, tradeoff in ((3.0, 0.01), (0.1, 0.01), (1.0, 0.0), (1.0, 0.1), (1.0, 1e9)):
        prices = _scale_prices(scale)
        values = predictor.predict(rows, costs=prices, tradeoff=tradeoff)
        report = predictor.cost(rows, prices, tradeoff=tradeoff)
        for i, row in enumerate(rows):
            end, source = inquire(predictor, row, prices, tradeoff=tradeoff)
            where = f"row {i}, prices times {scale:g}, tradeoff {tradeoff:g}"
            expect(same_bits(end.value, values[i]), f"{where}: the inquiry ends in {end.value}, not {values[i]}")
            expect(end.cost == report.per_row[i], f"{where}: {report.per_row[i]} reported, {end.cost} charged")
            expect(
                abs(source.charged - end.cost) <= 1e-9 * max(1.0, end.cost), f"{where}: {source.charged} by the book"
            )


@law
def what_gets_cheaper_is_bought_no_less(case: Case) -> None:
    """A plan made without prices never buys less of a feature, or of a resource, whose price falls."""
    predictor = case.fitted().predictor_
    if not isinstance(predictor, PlannedPredictor):
        return
    predictor = predictor.with_tradeoff(predictor.tradeoff + 1e-3)  # removes plans for fixed prices
    needs = COSTS.select(predictor.feature_names).needs
    mine = {name: [f] for f, name in enumerate(predictor.feature_names)}
    mine |= {name: np.flatnonzero(needs[:, r]).tolist() for r, name in enumerate(COSTS.resource_names)}
    for name, columns in mine.items():
        dear = _buyers(predictor, case, columns, COSTS)
        for share in (0.2, 0.0):
            cheap = _buyers(predictor, case, columns, _scale_prices(share, name))
            lost = np.flatnonzero(dear & ~cheap)
            expect(not len(lost), f"the price of {name!r} falls, and rows {lost[:5].tolist()} no longer buy it")


def _buyers(predictor: Any, case: Case, columns: list[int], prices: CostModel) -> NDArray[np.bool_]:
    """Return the rows that buy any of the columns: bool (rows,)."""
    return np.asarray(predictor.cost(case.table.fresh, prices).acquired[:, columns].any(axis=1))


def _scale_prices(scale: float, only: str | None = None) -> CostModel:
    """Return the table's prices times a number, all of them or only one."""
    table = COSTS.to_dict()
    for group in ("features", "resources"):
        for name, entry in table[group].items():
            if only in {None, name}:
                dear = isinstance(entry, dict)
                table[group][name] = {**entry, "cost": scale * entry["cost"]} if dear else scale * entry
    return CostModel.from_dict(table)
