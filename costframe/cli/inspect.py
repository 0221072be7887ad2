"""What `costframe inspect` does: it describes one model in a few lines, and as a page."""

from __future__ import annotations

import contextlib
from pathlib import Path

from attrs import evolve

from costframe.cli.cost import evaluate_cost, show_cost
from costframe.cli.exits import name_written_files
from costframe.cli.given_model import open_model
from costframe.cli.model_rows import open_rows
from costframe.cli.outputs import check_apart, check_file, check_overwrite
from costframe.cli.reading import ReadingOptions
from costframe.core.errors import ParameterError, format_count, printable
from costframe.core.files import write_atomically
from costframe.report.model_facts import facts_table, list_model_facts
from costframe.report.model_page import model_page
from costframe.report.page import render_page
from costframe.training.console import output as make_console


def inspect(model: str, data: str | None, *, reading: ReadingOptions, output: Path | None, force: bool) -> None:
    """Print the facts of a model, with rows also their payments, and write the page."""
    part = reading.part
    for option, value in (("--part", part), ("--missing", reading.missing)):
        if value and data is None:
            raise ParameterError(f"{option}: has no effect without DATA")
    if output is not None:
        check_apart({"--output": [output]}, {"MODEL": model, "DATA": data, "--costs": reading.costs})
        if output.suffix.lower() not in {".html", ".htm"}:
            raise ParameterError(f"--output {output}: expected a file name that ends in .html")
        check_file(output)
        check_overwrite([output], force=force)
    given = open_model(model, reading.costs, uniform=True)
    rows = None if data is None else open_rows(data, given, evolve(reading, allow_unknown=True))
    if rows is not None and not len(rows):
        raise ParameterError(f"{data}: expected rows, got none")
    report = None if rows is None else evaluate_cost(given, [rows])
    facts = list_model_facts(given.fitted, given.prices)
    console = make_console()
    if output is not None:
        used = "" if rows is None else f"{format_count(len(rows), 'row')} of {data}" + (f", {part}" if part else "")
        page = model_page(
            given.predictor,
            given.prices,
            facts,
            name=Path(model).name,
            path=model,
            rows=rows,
            report=report,
            paid_by=used,
        )
        write_atomically(output, render_page(page).encode())
    with name_written_files(str(output)) if output is not None else contextlib.nullcontext():
        console.print(printable(model), style="bold", markup=False)
        console.print(facts_table(facts))
        if report is not None:
            console.print()
            show_cost(console, report, given.prices, part or "all")
        if output is not None:
            console.print(f"\nwrote {printable(str(output))}", soft_wrap=True, markup=False)
        console.finish()
