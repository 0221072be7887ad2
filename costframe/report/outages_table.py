"""What outages cost a model, as a table on the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from costframe.core.display import format_cost
from costframe.core.errors import format_count, printable
from costframe.core.terms.outages import Outages
from costframe.report.tables import LETTERS, narrow_table

MOST_SHOWN = 5


def outages_table(outages: Outages, *, width: int) -> Table:
    """Return a table of the worst outages beside what is so with everything there.

    A narrow table leaves out the differences.
    """
    shown = outages.each[:MOST_SHOWN]
    rest = len(outages.each) - len(shown) + len(outages.left_out)

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
        table.add_column("without", overflow="fold", max_width=LETTERS)
        headers = [outages.worth_name, *([] if without else ["difference"]), "cost"]
        for header in headers:
            table.add_column(Text(printable(header)), justify="right", no_wrap=True)
        rows = [(outage.name, outages.worth_text(outage), outages.change_text(outage), outage.cost) for outage in shown]
        for name, worth, change, cost in [("nothing", outages.worth_text(), "", outages.cost), *rows]:
            cells = [worth, *([] if without else [change]), format_cost(cost)]
            table.add_row(Text(printable(name)), *map(Text, cells))
        if rest:
            table.add_row(Text(format_count(rest, "other"), "dim"))
        return table

    return narrow_table(make, [[], ["difference"]], width)[0]
