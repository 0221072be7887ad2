"""Table of payments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen
from rich import box
from rich.table import Table
from rich.text import Text

from costframe.report.console import cost
from costframe.report.paid import payments
from costframe.report.terminal import narrow_table

if TYPE_CHECKING:
    from costframe.core.cost.expected import CostReport
    from costframe.core.prices.costs import CostModel
    from costframe.report.paid import Payment

__all__ = ["paid_table"]

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
