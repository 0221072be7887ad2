"""What rows pay for: resources, features and computing, as a list and as a table on the terminal."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from rich import box
from rich.table import Table
from rich.text import Text

from costframe.core.cost.report import CostReport
from costframe.core.display import format_cost
from costframe.core.errors import printable
from costframe.core.prices.costs import CostModel
from costframe.report.tables import LETTERS, narrow_table

KINDS = ("resource", "feature", "computing")
MOST_FEATURES = 20
LONG, FEW_LETTERS = "long names", 20


@frozen
class Payment:
    """One item that rows pay for, of the kind "resource", "feature" or "computing"."""

    kind: str
    name: str
    price: float | None  # for one row; None for computing, which a row pays in many small parts
    share: float | None  # of rows that pay it
    mean: float  # part of the mean cost per row: price * share
    once: float = 0.0  # once-per-batch price; only features have one


def payments(report: CostReport, costs: CostModel) -> list[Payment]:
    """List the payments of a report of hard routing: resources and features that any row acquired, then computing.

    Shares of rows that were completed are those of their copies.
    """
    prices = costs.select(report.feature_names)
    acquired = np.concatenate([np.asarray(each.acquired, np.bool_) for each in report.copies or (report,)])
    share = np.count_nonzero(acquired, axis=0) / max(1, len(acquired))
    needing = prices.direct_needs.count_rows(acquired) / max(1, len(acquired))
    paid = [
        Payment("resource", name, float(prices.resource_cost[r]), float(needing[r]), mean)
        for r, (name, mean) in enumerate(report.by_resource.items())
        if needing[r] > 0
    ]
    paid += [
        Payment("feature", name, float(prices.cost[f]), float(share[f]), mean, float(prices.once[f]))
        for f, (name, mean) in enumerate(report.by_feature.items())
        if share[f] > 0
    ]
    computing = {
        "learners": report.evaluation.learners,
        "comparisons": report.evaluation.comparisons,
        "reuse": report.evaluation.reuse,
    }
    paid += [Payment("computing", name, None, None, mean) for name, mean in computing.items() if mean > 0]
    return paid


def paid_table(label: str, report: CostReport, costs: CostModel, *, width: int) -> Table:
    """Return a table of payments of rows with a label: share of rows, and mean per row.

    A narrow table leaves out the kind, breaks names, and leaves out prices.
    """
    paid = sorted(payments(report, costs), key=lambda payment: (KINDS.index(payment.kind), _weight(payment)))
    features = [payment for payment in paid if payment.kind == "feature"]
    free = [payment for payment in features if not (payment.mean or payment.once)]
    hidden = list(dict.fromkeys([*features[MOST_FEATURES:], *free]))
    shown, left = [payment for payment in paid if payment not in hidden], sum(payment.mean for payment in hidden)
    rest = [f"{len(hidden)} {'more' if left else 'free'}"] if hidden else []

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, show_footer=True)
        columns: list[list[str | Text]] = []

        def add(header: str, footer: str, cells: list[str]) -> None:
            table.add_column(header, Text(footer, style="bold"), justify="right", no_wrap=True, vertical="bottom")
            columns.append([*cells, *[""] * (len(shown) + len(rest) - len(cells))])

        if "kind" not in without:
            table.add_column("", no_wrap=True)
            columns.append([*(payment.kind for payment in shown), *("feature" for _ in rest)])
        letters = FEW_LETTERS if LONG in without else LETTERS
        table.add_column("", Text("mean", style="bold"), overflow="fold", max_width=letters)
        columns.append([*(Text(printable(payment.name)) for payment in shown), *map(Text, rest)])
        if "price" not in without:
            add("price", "", ["" if payment.price is None else format_cost(payment.price) for payment in shown])
        if "once" not in without and any(payment.once for payment in paid):
            add("once", "", [format_cost(payment.once) if payment.once else "" for payment in shown])
        add(f"{label}\nrows", "", ["" if payment.share is None else f"{payment.share:.1%}" for payment in shown])
        add(
            "\ncost",
            format_cost(report.mean),
            [*(format_cost(payment.mean) for payment in shown), *(format_cost(left) for _ in rest)],
        )
        for row in zip(*columns, strict=True):
            table.add_row(*row)
        return table

    return narrow_table(make, [[], ["kind"], ["kind", LONG], ["kind", LONG, "price", "once"]], width)[0]


def _weight(paid: Payment) -> tuple[float, float]:
    """Return the sort key of an item: features by mean, then by share of rows; other items keep their order."""
    return (-paid.mean, -(paid.share or 0.0)) if paid.kind == "feature" else (0.0, 0.0)
