"""What `costframe compare` over several tables or splits, and `costframe board`, print."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from costframe.comparison.compared import Compared
from costframe.comparison.files import TABLES
from costframe.comparison.lines import RESULTS
from costframe.comparison.page import describe_comparison
from costframe.comparison.sheets import PLUS_MINUS, Sheet, over_tables, table_sheets
from costframe.core.errors import printable
from costframe.report.tables import narrow_table
from costframe.training.console import Output

FILES = (RESULTS, *TABLES)
_MOST_TABLES = 3  # whose own sheets are printed, where there are several


def print_comparison(console: Output, comparison: Compared) -> None:
    """Print sheets over tables, those of a few tables, and remarks."""
    console.print(f"\n{printable(describe_comparison(comparison))}", markup=False)
    sheets = [*over_tables(comparison)]
    if len(comparison.standings) <= _MOST_TABLES:
        sheets += [sheet for standing in comparison.standings for sheet in table_sheets(comparison, standing)]
    for sheet in sheets:
        console.print(f"\n{printable(sheet.caption)}", markup=False)
        console.print(sheet_table(sheet, width=console.width))
    if comparison.notes:
        console.print()
    for note in comparison.notes:
        console.print(printable(note), style="dim", markup=False)


def sheet_table(sheet: Sheet, *, width: int) -> Table:
    """Return a sheet as a table, without errors, and then without levels, where it is too wide for a width."""
    columns = range(1, len(sheet.head))
    inner = [str(column) for column in columns[:-3]]
    ways = [[], ["errors"], *(["errors", *inner[::2][:count]] for count in range(1, len(inner) + 1))]
    return narrow_table(lambda without: _make(sheet, without), ways, width)[0]


def _make(sheet: Sheet, without: frozenset[str]) -> Table:
    kept = [column for column in range(len(sheet.head)) if str(column) not in without]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in kept:
        table.add_column(Text(printable(sheet.head[column])), justify="right" if column else "left", no_wrap=column > 0)
    for number, row in enumerate(sheet.rows):
        table.add_row(*_cells(sheet, number, row, kept, "errors" in without))
    return table


def _cells(sheet: Sheet, number: int, row: Sequence[str], kept: Sequence[int], plain: bool) -> list[Text]:
    texts = {column: row[column].split(PLUS_MINUS)[0] if plain and column else row[column] for column in kept}
    return [Text(printable(texts[column]), "bold" if (number, column) in sheet.best else "") for column in kept]
