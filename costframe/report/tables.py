"""Tables of the command line: installed algorithms, and payments of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from rich import box
from rich.table import Table
from rich.text import Text

from costframe.core.plugins.registry import two_classes_only
from costframe.report.console import cost, narrow_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costframe.core.cost.expected import CostReport
    from costframe.core.prices.costs import CostModel
    from costframe.hooks import Algorithm

__all__ = ["Payment", "algorithms_table", "paid_table", "payments"]

NARROW = 70  # a narrower table has the summary below the name


def algorithms_table(algorithms: Mapping[str, Algorithm], roles: Mapping[str, str], *, width: int) -> Table:
    """Return a table of algorithms with their tasks; `roles` maps each task to the attribute of its estimator."""
    narrow = width < NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=not narrow)
    for header in ("algorithm", "tasks", "summary")[: 1 if narrow else 3]:
        table.add_column(header, overflow="fold", min_width=len(header))
    for name, algorithm in algorithms.items():
        kinds = {task: getattr(algorithm, role) for task, role in roles.items()}
        tasks = ", ".join(_task_text(task, kind) for task, kind in kinds.items() if kind is not None)
        what = Text.assemble(f"{algorithm.summary} ", (f"({algorithm.reference})", "dim"))
        if narrow:
            table.add_row(Text.assemble((name, "bold"), f": {tasks}\n", what, "\n"))
        else:
            table.add_row(Text(name, "bold"), tasks, what)
    return table


def _task_text(task: str, kind: type) -> str:
    return f"{task} of two classes" if two_classes_only(kind) else task


@frozen
class Payment:
    """One item that rows pay for.

    Attributes
    ----------
    kind : {"resource", "feature", "computing"}
    name : str
    price : float or None
        Price for one row; None for computing, which a row pays in many small parts.
    share : float or None
        Share of rows that pay it.
    mean : float
        Part of the mean cost per row: price * share.
    once : float
        Once-per-batch price; only features have one.
    """

    kind: str
    name: str
    price: float | None
    share: float | None
    mean: float
    once: float = 0.0


def payments(report: CostReport, costs: CostModel) -> list[Payment]:
    """List the payments of rows: resources and features that any row acquired, then computing.

    Parameters
    ----------
    report : CostReport
        Of hard routing.
    costs : CostModel
        Prices of the report.
    """
    prices = costs.select(report.feature_names)
    acquired = np.asarray(report.acquired, np.float64)
    share = acquired.mean(axis=0) if len(acquired) else np.zeros(len(prices.names))
    found = [
        Payment("resource", name, float(prices.resource_cost[r]), needing, mean)
        for r, (name, mean) in enumerate(report.by_resource.items())
        if (needing := _share(acquired, prices.needs[:, r])) > 0
    ]
    found += [
        Payment("feature", name, float(prices.cost[f]), float(share[f]), mean, float(prices.once[f]))
        for f, (name, mean) in enumerate(report.by_feature.items())
        if share[f] > 0
    ]
    computing = {
        "learners": report.evaluation.learners,
        "comparisons": report.evaluation.comparisons,
        "reuse": report.evaluation.reuse,
    }
    found += [Payment("computing", name, None, None, mean) for name, mean in computing.items() if mean > 0]
    return found


def _share(
    acquired: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    needing: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> float:
    """Return the share of rows that acquired any feature in `needing`."""
    return float((acquired[:, needing] > 0).any(axis=1).mean()) if len(acquired) else 0.0


KINDS = ("resource", "feature", "computing")
MOST_FEATURES, MOST_FREE = 20, 6
LONG, LETTERS, FEW_LETTERS = "long names", 30, 20


def paid_table(reports: dict[str, CostReport], costs: CostModel, *, width: int) -> Table:
    """Return a table of payments, reports side by side: share of rows, and mean per row.

    It lists an item if rows of any report pay it, and leaves it blank in the other reports. A narrow table leaves out
    the kind, breaks names, leaves out prices, and at last all reports but the first.
    """
    found = {label: {(p.kind, p.name): p for p in payments(report, costs)} for label, report in reports.items()}
    means = {label: report.mean for label, report in reports.items()}
    first, *others = reports
    parts = [[], ["kind"], ["kind", LONG], ["kind", LONG, "price", "once"]]
    ways = [*parts, *([*part, *others] for part in parts)]

    def make(without: frozenset[str]) -> Table:
        shown = {label: part for label, part in found.items() if label == first or label not in without}
        return _Paid(shown, means, without).table()

    return narrow_table(make, ways, width)[0]


@frozen
class _Paid:
    """A table under construction: payments and means by report, and the columns to leave out."""

    found: dict[str, dict[tuple[str, str], Payment]]
    means: dict[str, float]
    without: frozenset[str]

    def table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, show_footer=True)
        if "kind" not in self.without:
            table.add_column("", no_wrap=True)
        letters = FEW_LETTERS if LONG in self.without else LETTERS
        table.add_column("", Text("mean", style="bold"), overflow="fold", max_width=letters)
        for name in self._prices():
            table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
        for label in self.found:
            table.add_column(f"{label}\nrows", justify="right", no_wrap=True, vertical="bottom")
            mean = Text(cost(self.means[label]), style="bold")
            table.add_column("\ncost", mean, justify="right", no_wrap=True, vertical="bottom")
        keys = self._keys()
        hidden = self._hidden(keys)
        for key in keys:
            if key not in hidden:
                self._add(table, key, [part.get(key) for part in self.found.values()])
        if hidden:
            self._add_rest(table, hidden)
        return table

    def _prices(self) -> list[str]:
        """Return the columns of prices; once per batch only if there is such a price."""
        once = any(payment.once for part in self.found.values() for payment in part.values())
        return [name for name in ("price", "once") if name not in self.without and (once or name != "once")]

    def _keys(self) -> list[tuple[str, str]]:
        keys = list(dict.fromkeys(key for part in self.found.values() for key in part))
        return sorted(keys, key=lambda key: (KINDS.index(key[0]), self._weight(key)))

    def _weight(self, key: tuple[str, str]) -> tuple[float, float]:
        """Return the sort key of an item: features by mean, then by share of rows; other items keep their order."""
        if key[0] != "feature":
            return 0.0, 0.0
        mine = [part[key] for part in self.found.values() if key in part]
        return -max(p.mean for p in mine), -max(p.share or 0.0 for p in mine)

    def _hidden(self, keys: list[tuple[str, str]]) -> set[tuple[str, str]]:
        features = [key for key in keys if key[0] == "feature"]
        free = [key for key in features if not any(part[key].mean for part in self.found.values() if key in part)]
        return {*features[MOST_FEATURES:], *free[MOST_FREE:]}

    def _add(self, table: Table, key: tuple[str, str], each: list[Payment | None]) -> None:
        known = next(payment for payment in each if payment is not None)
        prices = {"price": known.price, "once": known.once or None}
        cells = ["" if (price := prices[name]) is None else cost(price) for name in self._prices()]
        for payment in each:
            share = None if payment is None else payment.share
            cells += ["" if share is None else f"{share:.1%}", "" if payment is None else cost(payment.mean)]
        self._add_row(table, key[0], key[1], cells)

    def _add_rest(self, table: Table, hidden: set[tuple[str, str]]) -> None:
        cells = [""] * len(self._prices())
        for part in self.found.values():
            mine = [payment.mean for key, payment in part.items() if key in hidden]
            cells += ["", cost(sum(mine)) if mine else ""]
        self._add_row(table, "feature", f"... {len(hidden)} more", cells)

    def _add_row(self, table: Table, kind: str, name: str, cells: list[str]) -> None:
        table.add_row(*([] if "kind" in self.without else [kind]), Text(name), *cells)
