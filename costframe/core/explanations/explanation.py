"""Explanations of rows: scores split into contributions of features, and costs into what each row paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.cost.report import CostReport
from costframe.core.errors import ParameterError, brief, format_count
from costframe.core.html import html_table
from costframe.core.stages.stages import squeeze

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from costframe.core.cost.report import Charges
    from costframe.core.explanations.contributions import Contributions
    from costframe.core.prices.price_arrays import PriceArrays

COMPUTING = ("learners", "comparisons", "reuse")
_MOST = 10  # parts in a table


@frozen(eq=False, repr=False)
class Explanation:
    """The scores and costs of some rows, in parts that add up to them.

    Attributes
    ----------
    scores : float64 (rows,) or (rows, K)
        Weighted sum of learners that answers the row: `decision_function`, unless that has no sum (answers that are
        ranked, of different links, or blends of sums).
    base : float64 (rows,) or (rows, K)
        The score expected before any feature is known.
    contributions : float64 (rows, P) or (rows, P, K)
        Changes from the expected score, by part; base + their sum = scores.
    parts : tuple of str (P,)
        The d features, then what belongs to several together: opaque learners, and columns made of several.
    costs : float64 (rows,)
        Cost of each row, in `unit`, as in a report.
    payments : float64 (rows, d + R + 3)
        Parts of the costs, which add up to them.
    items : tuple of (str, str) (d + R + 3,)
        Kind, "feature", "resource" or "computing", and name of each payment; the last are learners, comparisons and
        reuse.
    unit : str
    """

    scores: NDArray[np.float64]
    base: NDArray[np.float64]
    contributions: NDArray[np.float64]
    parts: tuple[str, ...]
    costs: NDArray[np.float64]
    payments: NDArray[np.float64]
    items: tuple[tuple[str, str], ...]
    unit: str

    @classmethod
    def of(cls, prices: PriceArrays, charges: Charges, found: Contributions) -> Explanation:
        """Join contributions to scores with charges."""
        values = found.values[:, :, 0] if found.values.shape[2] == 1 else found.values
        report = CostReport.of(prices, charges, np.ones(len(charges.acquisition)))
        items = [("feature", name) for name in prices.names] + [("resource", name) for name in prices.resource_names]
        return cls(
            squeeze(found.scores),
            squeeze(found.base),
            values,
            (*prices.names, *(each.name for each in found.joint)),
            report.per_row,
            split_charges(prices, charges),
            (*items, *(("computing", name) for name in COMPUTING)),
            prices.unit,
        )

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.costs)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each row; its columns are pairs of a kind and a name.

        The kinds are "score", or "score 0", "score 1", ... for several outputs, whose first name is "base"; and
        "feature cost", "resource cost" and "computing cost".

        Raises
        ------
        ParameterError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ParameterError("to_frame: needs pandas, which is not installed: pip install pandas") from None
        base, values = (each[..., None] if self.base.ndim == 1 else each for each in (self.base, self.contributions))
        n_outputs = base.shape[1]
        kinds = ["score"] if n_outputs == 1 else [f"score {k}" for k in range(n_outputs)]
        columns = [(kind, name) for kind in kinds for name in ("base", *self.parts)]
        columns += [(f"{kind} cost", name) for kind, name in self.items]
        blocks = [np.column_stack([base[:, k], values[:, :, k]]) for k in range(n_outputs)]
        return pd.DataFrame(np.column_stack([*blocks, self.payments]), columns=pd.MultiIndex.from_tuples(columns))

    def __repr__(self) -> str:
        """Name the largest parts in one line."""
        score, money = self._sizes()
        by, paid = (", ".join(_largest(sizes)[:2]) or "nothing" for sizes in (score, money))
        mean = self.costs.mean() if len(self) else 0.0
        return brief(
            self, format_count(len(self), "row"), f"score by {by}", f"mean cost {mean:g} {self.unit} for {paid}"
        )

    def _repr_html_(self) -> str:
        score, money = self._sizes()
        most = {name: score.get(name, 0.0) / (sum(score.values()) or 1.0) for name in score | money}
        for name, paid in money.items():
            most[name] += paid / (sum(money.values()) or 1.0)
        names = _largest(most)
        rows = [(name, _digits(score.get(name)), _digits(money.get(name))) for name in names[:_MOST]]
        if len(names) > _MOST:
            rows.append((f"{len(names) - _MOST} more", "", ""))
        title = f"{format_count(len(self), 'row')}: mean size of contributions to the score, mean cost in {self.unit}"
        return html_table(title, ("", "score", "cost"), rows)

    def _sizes(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the mean size of the contributions of each part, and the mean payment of each item, if not zero."""
        flat = np.abs(self.contributions)
        flat = flat if flat.ndim == 2 else flat.sum(axis=2)
        items = [name if kind != "computing" else f"({name})" for kind, name in self.items]
        return _means(self.parts, flat), _means(items, self.payments)


def _means(names: Iterable[str], table: NDArray[np.float64]) -> dict[str, float]:
    means = table.mean(axis=0) if len(table) else np.zeros(table.shape[1])
    return {name: mean for name, mean in zip(names, means.tolist(), strict=True) if mean}


def _largest(sizes: dict[str, float]) -> list[str]:
    return sorted(sizes, key=lambda name: -sizes[name])


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def split_charges(prices: PriceArrays, charges: Charges) -> NDArray[np.float64]:
    """Return the payments of rows for features, resources, and learners, comparisons and reuse: (rows, d + R + 3).

    A model that can only be stepped does not tell what it computes apart; it counts as learners.
    """
    acquired = np.asarray(charges.acquired, np.bool_)
    resources = prices.direct_needs.of_rows(acquired) * prices.resource_cost
    computing = [getattr(charges, name) for name in COMPUTING]
    paid = np.column_stack([
        acquired * prices.cost, resources, *(np.zeros(len(acquired)) if one is None else one for one in computing)
    ])  # fmt: skip
    rest = charges.acquisition - paid[:, :-3].sum(axis=1)
    paid[:, -3] += np.where(rest > 1e-9 * charges.acquisition, rest, 0.0)
    return paid
