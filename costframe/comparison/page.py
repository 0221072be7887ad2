"""The page of a comparison: what it says over tables, and a picture and tables of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from costframe.comparison.compared import Compared
from costframe.comparison.figures import ComparisonDisplay, DifferencesDisplay
from costframe.comparison.records import Record
from costframe.comparison.sheets import Sheet, describe_test, over_tables, table_sheets
from costframe.comparison.standings import Standing
from costframe.core.display import format_cost
from costframe.core.errors import format_count
from costframe.report.page import render_template
from costframe.report.page_pictures import paint_picture, read_picture, tell_ids_apart

PICTURE = 7.2, 4.2  # inches
_DIGITS = 12  # of digests


@frozen
class _Shown:
    """A sheet as the template of tables has it."""

    caption: str
    head: tuple[str, ...]
    cells: tuple[tuple[None, tuple[str, ...]], ...]

    @classmethod
    def of(cls, sheet: Sheet) -> _Shown:
        return cls(sheet.caption, sheet.head, tuple((None, row) for row in sheet.rows))


@frozen(eq=False)
class _Section:
    """A part of the page: a title, a picture, sheets, and facts."""

    title: str
    picture: Any
    sheets: tuple[_Shown, ...]
    facts: tuple[tuple[str, str], ...] = ()


@frozen(eq=False)
class _Head:
    """What the frame of all pages shows of this one."""

    title: str
    lead: str
    facts: tuple[tuple[str, str], ...]
    frontier: bool = True  # as wide as the page of a frontier


def comparison_page(comparison: Compared, title: str = "Comparison") -> str:
    """Return the page as an HTML document: equal figures give equal text."""
    sections = [*_over_tables(comparison), *(_of_table(comparison, one) for one in comparison.standings)]
    head = _Head(title, describe_comparison(comparison), _facts(comparison))
    return render_template("comparison.html", page=head, sections=sections, notes=comparison.notes)


def describe_comparison(comparison: Compared) -> str:
    """Return a sentence on what is compared."""
    counts = {len(standing.splits) for standing in comparison.standings}
    splits = format_count(counts.pop(), "split") if len(counts) == 1 else f"{min(counts)} to {max(counts)} splits"
    return (
        f"{format_count(len(comparison.sides), 'side')} on {format_count(len(comparison.standings), 'table')}, "
        f"{splits} each: every side chooses its model within a budget by its own estimates, and is scored on test rows."
    )


def _facts(comparison: Compared) -> tuple[tuple[str, str], ...]:
    made = [record for records in comparison.standings for side in records.records.values() for record in side.values()]
    spent = sum(record.processor_seconds for record in made)
    facts = [("sides", ", ".join(comparison.sides)), ("differences to", comparison.reference)]
    versions = sorted({f"{name} {value}" for record in made for name, value in record.versions.items()})
    facts.append(("versions", ", ".join(versions)))
    if plugins := sorted({_plugin(record) for record in made if record.side.plugin}):
        facts.append(("plugins", ", ".join(plugins)))
    facts.append(("fits", f"{len(made):,}, {spent:,.0f} seconds of processors"))
    return tuple(facts)


def _plugin(record: Record) -> str:
    return f"{record.side.plugin} {record.side.version}"


def _over_tables(comparison: Compared) -> Iterator[_Section]:
    sheets = tuple(map(_Shown.of, over_tables(comparison)))
    if not sheets:
        return
    facts = [("ranks", describe_test(comparison))] if comparison.ranks.ranks else []
    facts += [("without ranks", f"{side}, which has not all tables") for side in comparison.ranks.left_out]
    displays = list(differences_displays(comparison).items())
    picture = None
    if displays:
        (unit, display), words = displays[0], "Differences to the reference over budgets; the figures are in the table"
        picture = _draw(display.to_bytes("svg", PICTURE), words, f"over-{unit}")
    yield _Section("Over tables", picture, sheets, tuple(facts))


def differences_displays(comparison: Compared) -> dict[str, DifferencesDisplay]:
    """Return the pictures of differences over several tables, by their unit."""
    if len(comparison.standings) < 2:
        return {}
    differences = comparison.differences()
    units = sorted({unit for by_unit in differences.values() for unit in by_unit}, reverse=True)
    return {
        unit: DifferencesDisplay(
            {side: by_unit[unit] for side, by_unit in differences.items() if unit in by_unit},
            comparison.levels,
            comparison.reference,
            unit,
            comparison.sides,
        )
        for unit in units
    }


def _of_table(comparison: Compared, standing: Standing) -> _Section:
    words = f"{standing.measure} of each side over budgets on {standing.label}; the figures are in the table"
    number = comparison.tables.index(standing.label)
    svg = ComparisonDisplay(standing, comparison.sides).to_bytes("svg", PICTURE)
    first = standing.first
    table, prices = first.table, first.prices
    facts = (
        ("table", f"{table.rows:,} rows, {format_count(table.features, 'feature')}, {_task(first)}"),
        ("rows", f"{first.split.train:,} train, {first.split.valid:,} valid, {first.split.test:,} test"),
        ("all features cost", f"{format_cost(prices.full_cost)} {prices.unit} per row"),
        ("digests", f"rows {table.digest[:_DIGITS]}, prices {prices.digest[:_DIGITS]}"),
    )
    sheets = tuple(map(_Shown.of, table_sheets(comparison, standing)))
    return _Section(standing.label, _draw(svg, words, f"table-{number}"), sheets, facts)


def _task(record: Record) -> str:
    return f"{record.table.classes} classes" if record.table.classes else record.table.task


def _draw(svg: bytes, words: str, prefix: str) -> Any:
    from markupsafe import Markup

    root = read_picture(svg, words)
    tell_ids_apart(root, prefix)
    return Markup(paint_picture(root))  # noqa: S704 - its texts are outlines, and its words are escaped
