"""The files of a comparison: lines, tables as CSV, JSON, LaTeX and Markdown, pictures, and a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from costframe.comparison.compared import Compared
from costframe.comparison.export import level_rows, summary_rows, to_csv, to_json_lines
from costframe.comparison.figures import ComparisonDisplay
from costframe.comparison.latex import to_latex
from costframe.comparison.markdown import to_markdown
from costframe.comparison.page import comparison_page, differences_displays
from costframe.comparison.sheets import sheets_of
from costframe.comparison.standings import PERCENT, POINTS
from costframe.core.files import write_folder
from costframe.study.fit_files import file_name

SUMMARY = "summary.jsonl"
TABLES = "levels.csv", "summary.csv", SUMMARY, "tables.tex", "tables.md", "report.html"
_KINDS = "svg", "png"  # of pictures


def write_files(
    comparison: Compared, folder: Path, title: str = "Comparison", more: Mapping[str, bytes] | None = None
) -> list[Path]:
    """Write all files into a folder, and further ones, whole or not at all; return their paths.

    Pictures of the tables that the folder's summary was of go, unless they are written anew.
    """
    before = _pictures_in(folder)
    written = write_folder(folder, files_of(comparison, title) | dict(more or {}))
    for name in before - {path.name for path in written}:
        (folder / name).unlink(missing_ok=True)
    return written


def _pictures_in(folder: Path) -> set[str]:
    """Return the names of pictures of a comparison in a folder, by its summary; none without one."""
    try:
        rows = [json.loads(line) for line in (folder / SUMMARY).read_text("utf-8").splitlines()]
        tables = {row["table"] for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    of_tables = [_picture_of(table) for table in tables if isinstance(table, str)]
    return {f"{name}.{kind}" for name in (*of_tables, *map(_differences, (POINTS, PERCENT))) for kind in _KINDS}


def _picture_of(table: str) -> str:
    return f"table-{file_name(table)}"


def _differences(unit: str) -> str:
    return f"differences-{unit}"


def files_of(comparison: Compared, title: str = "Comparison") -> dict[str, bytes]:
    """Return the contents of all files, by name.

    `levels.csv` has each model that a side chose, `summary.csv` and `summary.jsonl` means, differences and ranks,
    `tables.tex` and `tables.md` tables for papers and pages; each table has a picture, as SVG and PNG, and so have
    differences over tables.
    """
    summary, sheets = list(summary_rows(comparison)), sheets_of(comparison)
    texts = {
        "levels.csv": to_csv(level_rows(comparison)),
        "summary.csv": to_csv(summary),
        SUMMARY: to_json_lines(summary),
        "tables.tex": to_latex(sheets),
        "tables.md": to_markdown(sheets),
        "report.html": comparison_page(comparison, title),
    }
    files = {name: text.encode() for name, text in texts.items()}
    displays = {
        _picture_of(standing.label): ComparisonDisplay(standing, comparison.sides) for standing in comparison.standings
    } | {_differences(unit): display for unit, display in differences_displays(comparison).items()}
    for name, display in displays.items():
        for kind, content in zip(_KINDS, display.to_files(*_KINDS), strict=True):
            files[f"{name}.{kind}"] = content
    return files
