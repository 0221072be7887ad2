"""`costframe inspect`: one model in a few lines, and as a page."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from costframe.cli.arguments import (
    check_apart,
    check_file,
    check_overwrite,
    costs_option,
    force_option,
    missing_option,
    part_option,
    target_path,
    text,
)
from costframe.cli.cost import evaluate_cost, show_cost
from costframe.cli.given_data import Cells, open_model, open_rows
from costframe.cli.group import name_written_files
from costframe.core.errors import ParameterError, format_count, printable
from costframe.core.files import write_atomically

EXAMPLES = """\b
Examples:
  costframe inspect my.model
  costframe inspect my.model patients.csv --output my.html
  costframe inspect xgboost.ubj patients.parquet --costs prices.toml
"""


@click.command(epilog=EXAMPLES, short_help="Describe a model, on the terminal and as a page.")
@click.argument("model", type=text)
@click.argument("data", required=False, type=text)
@click.option("--output", metavar="FILE.html", type=target_path, help="Page to write, to be opened in a browser.")
@costs_option
@part_option
@missing_option
@force_option
def inspect(
    model: str,
    data: str | None,
    costs: str | None,
    part: str | None,
    missing: tuple[str, ...],
    output: Path | None,
    force: bool,
) -> None:
    """Describe MODEL: its kind, stages, learners, features and prices; with rows of DATA, also their payments.

    MODEL and DATA are those of `costframe cost`. The default prices are those in MODEL. The page needs no network.
    """
    from costframe.report.model_facts import describe_model, facts_table
    from costframe.training.console import output as make_console

    for option, given in (("--part", part), ("--missing", missing)):
        if given and data is None:
            raise ParameterError(f"{option}: has no effect without DATA")
    if output is not None:
        check_apart({"--output": [output]}, {"MODEL": model, "DATA": data, "--costs": costs})
        if output.suffix.lower() not in {".html", ".htm"}:
            raise ParameterError(f"--output {output}: expected a file name that ends in .html")
        check_file(output)
        check_overwrite([output], force=force)
    fitted, prices = open_model(model, costs, uniform=True)
    cells = Cells(missing, allow_unknown=True, decimal=fitted.decimal)
    rows = None if data is None else open_rows(data, fitted.predictor_, part, model, cells)
    if rows is not None and not len(rows):
        raise ParameterError(f"{data}: expected rows, got none")
    report = None if rows is None else evaluate_cost(fitted, [rows], prices)
    facts = describe_model(fitted, prices)
    console = make_console()
    if output is not None:
        from costframe.report.page import model_page, render_page

        used = "" if rows is None else f"{format_count(len(rows), 'row')} of {data}" + (f", {part}" if part else "")
        page = model_page(
            fitted.predictor_, prices, facts, name=Path(model).name, path=model, rows=rows, report=report, paid_by=used
        )
        write_atomically(output, render_page(page).encode())
    with name_written_files(str(output)) if output is not None else contextlib.nullcontext():
        console.print(printable(model), style="bold", markup=False)
        console.print(facts_table(facts))
        if report is not None:
            console.print()
            show_cost(console, report, prices, part or "all")
        if output is not None:
            console.print(f"\nwrote {printable(str(output))}", soft_wrap=True, markup=False)
        console.finish()
