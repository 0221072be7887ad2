"""What outages cost a model, measured for a command, and on the terminal."""

from __future__ import annotations

from attrs import evolve

from costframe.cli.given_model import PricedModel
from costframe.cli.model_rows import EvenRows
from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import CostframeError, ParameterError, printable
from costframe.core.terms.outages import Outages
from costframe.report.outages_table import outages_table
from costframe.study.outages import measure_outages
from costframe.study.rows import StudyRows
from costframe.training.console import Output
from costframe.training.library_scores import LibraryScore


def find_outages(
    model: PricedModel, some: EvenRows, labels: StudyRows, score: str | LibraryScore, acquisition: str
) -> Outages | CostframeError:
    """Return what outages cost a model on some of the rows that have labels, or the reason why nobody can tell."""
    try:
        if labels.qid is not None and len(some.places) < some.seen:
            raise ParameterError(f"expected at most {some.most:,} rows of rankings, whose queries stay whole")
        rows = evolve(labels.take(some.places), X=some.rows).with_records_for(model.fitted, model.prices)
        evaluator = ExpectedCost(model.prices, acquisition=acquisition)
        return measure_outages(score, model.fitted, rows, evaluator)
    except CostframeError as error:
        return error


def show_outages(console: Output, outages: Outages | CostframeError, rows: str) -> None:
    """Print what outages cost on rows, named as "test rows", the worst first, or why nobody can tell."""
    if isinstance(outages, CostframeError):
        console.print(f"\nWhat an outage costs was not measured: {printable(str(outages))}", markup=False)
        return
    if not outages.each:
        return
    what = f"{printable(outages.worth_name)} and mean cost per row of {outages.n_rows:,} {rows}"
    console.print("\n[bold]What an outage costs:[/]", end=" ")
    console.print(f"{what}\n", markup=False)
    console.print(outages_table(outages, width=console.width))
