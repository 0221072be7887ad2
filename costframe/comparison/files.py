"""The files of a comparison: lines, tables as CSV, JSON and LaTeX, pictures, and a page."""

from __future__ import annotations

from costframe.comparison.compared import Compared
from costframe.comparison.export import level_rows, summary_rows, to_csv, to_json_lines
from costframe.comparison.figures import ComparisonDisplay
from costframe.comparison.latex import to_latex
from costframe.comparison.page import comparison_page, differences_displays
from costframe.comparison.sheets import sheets_of
from costframe.study.fit_files import file_name

TABLES = "levels.csv", "summary.csv", "summary.jsonl", "tables.tex", "report.html"


def files_of(comparison: Compared, title: str = "Comparison") -> dict[str, bytes]:
    """Return the contents of all files, by name.

    `levels.csv` has each model that a side chose, `summary.csv` and `summary.jsonl` means, differences and ranks,
    `tables.tex` tables for papers; each table has a picture, as SVG and PNG, and so have differences over tables.
    """
    summary = list(summary_rows(comparison))
    texts = {
        "levels.csv": to_csv(level_rows(comparison)),
        "summary.csv": to_csv(summary),
        "summary.jsonl": to_json_lines(summary),
        "tables.tex": to_latex(sheets_of(comparison)),
        "report.html": comparison_page(comparison, title),
    }
    files = {name: text.encode() for name, text in texts.items()}
    displays = {
        f"table-{file_name(standing.label)}": ComparisonDisplay(standing, comparison.sides)
        for standing in comparison.standings
    } | {f"differences-{unit}": display for unit, display in differences_displays(comparison).items()}
    for name, display in displays.items():
        for kind, content in zip(("svg", "png"), display.to_files("svg", "png"), strict=True):
            files[f"{name}.{kind}"] = content
    return files
