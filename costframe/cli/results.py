"""The results of `costframe compare`: its files, and what it prints."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from rich.markup import escape
from rich.table import Table

from costframe.choices import Frontier, Point
from costframe.choices.buys import next_buys
from costframe.choices.chosen_model import score_of
from costframe.choices.sentences import describe_choice, describe_few_rows, describe_model, describe_useless_budget
from costframe.cli.exits import print_error
from costframe.cli.outages import show_outages
from costframe.cli.outputs import write_into
from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import CostframeError, ParameterError, format_count, printable
from costframe.core.storage.loading import load
from costframe.core.storage.saving import content_of
from costframe.core.terms.outages import Outages
from costframe.datasets import Dataset
from costframe.datasets.leaks import Leak
from costframe.records.made import find_made
from costframe.report.frontier_display import FrontierDisplay
from costframe.report.frontier_page import frontier_page
from costframe.report.frontier_tables import frontier_table, name_purchases, points_table
from costframe.report.page import render_page
from costframe.report.payments import paid_table
from costframe.study.outages import measure_outages
from costframe.study.rows import StudyRows
from costframe.study.run_folder import RECOMMENDED
from costframe.study.service import complete_part
from costframe.training.console import Output


@frozen(eq=False)
class Results:
    """The results of a run on a data set, chosen within a budget if there is one."""

    dataset: Dataset
    budget: float | None
    output: Path
    console: Output

    def introduce(self) -> None:
        """Print what the table is."""
        (_, kind), *facts = self._facts()
        lines = [f"{printable(self.dataset.name)}: {kind}", *(f"  {name}: {fact}" for name, fact in facts)]
        self.console.print("\n".join(lines), markup=False)
        for note in self.dataset.notes:
            style = "" if isinstance(note, Leak) else "dim"
            self.console.print(f"  {printable(note)}", style=style, markup=False)

    def say_limit(self, seconds: float) -> None:
        """Print how long fits may take if nobody said so."""
        text = f"  ends after {seconds / 60:.0f} minutes; --time-limit changes that, Ctrl-C ends it with what is there"
        self.console.print(text, style="dim", markup=False)

    def _facts(self) -> list[tuple[str, str]]:
        """Return what the table is, as pairs of a name and a text."""
        dataset = self.dataset
        kind = f"{len(dataset.classes)} classes" if dataset.classes else dataset.task
        rows = ", ".join(f"{len(dataset.part(part)):,} {part}" for part in ("train", "valid", "test"))
        return [
            ("task", f"{kind}, {format_count(len(dataset.feature_names), 'feature')}"),
            ("rows", rows),
            ("all features cost", f"{dataset.full_cost:,.6g} {printable(dataset.costs.unit)} per row"),
        ]

    def _title(self, frontier: Frontier) -> str:
        return f"{self.dataset.name}: {'bill' if frontier.has_bills else 'score'} and cost"

    def choose(self, frontier: Frontier) -> Point:
        """Return the recommended point, of those within the budget."""
        return frontier.recommended(self.budget)

    def table(self, frontier: Frontier) -> Table:
        """Return the table of a frontier, also of one so far, which may have nothing within the budget."""
        try:
            chosen = self.choose(frontier)
        except ParameterError:
            chosen = frontier.recommended()
        return frontier_table(frontier, chosen, width=self.console.width)

    def find_outages(self, frontier: Frontier) -> Outages | None:
        """Return what outages cost the chosen model on test rows; None where it reads nothing, or cannot be asked."""
        with contextlib.suppress(ParameterError):  # `show` raises it
            chosen = self.choose(frontier)
            if not (frontier.has_model(chosen) and chosen.n_features):
                return None
            rows = StudyRows.of_part(self.dataset.part("test")).with_records_of(self.dataset)
            try:
                model = frontier.model(chosen)
                return measure_outages(score_of(frontier, model, None), model, rows, ExpectedCost(self.dataset.costs))
            except CostframeError as error:
                print_error(f"what outages cost was not measured: {error}")
        return None

    def write(self, frontier: Frontier, outages: Outages | None = None) -> str:
        """Write points, pictures, report and models; return the files as a text.

        What outages cost is in the report, and in the file of the recommended model.
        """
        chosen: Point | None = None
        with contextlib.suppress(ParameterError):  # `show` raises it for the last frontier
            chosen = self.choose(frontier)
        frontier.save(self.output, overwrite=True)  # the command has asked
        picture = FrontierDisplay(frontier, chosen or frontier.recommended(), title=self._title(frontier))
        png, svg = picture.to_files("png", "svg")
        files = {
            "points.csv": frontier.to_csv().encode(),
            "frontier.png": png,
            "frontier.svg": svg,
            "report.html": self._report(frontier, chosen, outages).encode(),
        }
        if chosen is not None and (file := type(frontier).load(self.output).file(chosen)) is not None:
            files[RECOMMENDED] = file.read_bytes() if outages is None else content_of(load(file), outages=outages)
        return write_into(self.output, files)

    def _report(self, frontier: Frontier, chosen: Point | None, outages: Outages | None) -> str:
        test, facts = complete_part(self.dataset, "test"), [("data", self.dataset.name), *self._facts()]
        if chosen is not None:
            facts += [("possible leak", leak) for leak in self._leaks(frontier, chosen)]
        facts += [("not known", note) for note in frontier.notes]
        title, costs = self._title(frontier), self.dataset.costs
        told = {} if chosen is None or outages is None else {chosen: outages}
        page = frontier_page(frontier, test, costs, title=title, facts=facts, budget=self.budget, outages=told)
        return render_page(page)

    def _leaks(self, frontier: Frontier, point: Point) -> list[str]:
        """Return what may leak, except through features that the model of a point does not read."""
        read = set(self.dataset.feature_names) if point.n_features else set()
        if point.n_features and frontier.has_model(point):
            read = set(frontier.model(point).predictor_.used_features)
        leaks = [note for note in self.dataset.notes if isinstance(note, Leak)]
        return [leak.what for leak in leaks if not leak.features or read.intersection(leak.features)]

    def show(self, frontier: Frontier, outages: Outages | None, *, all_points: bool) -> None:
        """Print the choice, the frontier, how sure the choice is, what a bit more would buy, and what it pays for."""
        chosen = self.choose(frontier)
        label = "Recommended" if self.budget is None else f"Chosen within {self.budget:g} {printable(frontier.unit)}"
        useless = describe_useless_budget(frontier, chosen, self.budget)
        model = describe_model(frontier, chosen, chosen=not useless)
        self.console.print(f"\n[bold]{escape(label)}:[/] {escape(model)}\n")
        for note in frontier.notes:
            self.console.print(f"{printable(note)}\n", markup=False)
        for leak in self._leaks(frontier, chosen):
            self.console.print(f"First check this possible leak: {printable(leak)}\n", markup=False)
        self._show_table(frontier, chosen, all_points=all_points)
        words = [None if useless else describe_choice(frontier, chosen)]
        words += [str(buy) for buy in next_buys(frontier, chosen)]
        words += [useless, describe_few_rows(frontier, chosen, self._class_rows(frontier))]
        words.append(self._how_wrong(frontier, chosen))
        if sentences := [text for text in words if text]:
            self.console.print("\n".join(["", *sentences]), markup=False)
        self._show_paid(frontier, chosen)
        if outages is not None:
            show_outages(self.console, outages, "test rows")

    def _how_wrong(self, frontier: Frontier, chosen: Point) -> str | None:
        """Return how wrong the figures of a point may be, as test rows show, where they lack tests; else None."""
        rows = self.dataset.part("test")
        lacking = find_made(rows.X, self.dataset.feature_names, self.dataset.costs.panels, rows.made)
        if lacking is None or not frontier.has_model(chosen):
            return None
        return str(frontier.how_wrong(rows.X, rows.y, chosen, made=rows.made, qid=rows.qid))

    def end(self, written: str) -> None:
        """Print the files."""
        models = self.output / "models"
        self.console.print(
            f"\nwrote {printable(written)}, and a model of each point in {printable(str(models))}",
            soft_wrap=not self.console.is_terminal,  # which breaks words
            markup=False,
        )
        self.console.finish()

    def _show_table(self, frontier: Frontier, chosen: Point, *, all_points: bool) -> None:
        purchases = name_purchases(frontier, chosen, self.dataset)
        table = frontier_table(frontier, chosen, purchases, width=self.console.width)
        what = "costs of errors" if frontier.has_bills else "scores"
        notes = [f"{what} are estimates from {self._rests_on(frontier)}; costs are estimates for fresh rows"]
        if chosen.rows_lacked and not frontier.has_bills:
            notes.append("the models themselves are trained on more rows, so their intervals reach further up")
        self.console.print(table)
        if all_points:
            full, omitted = points_table(frontier, chosen, width=self.console.width)
            notes += [f"in points.csv, too wide for here: {', '.join(omitted)}"] if omitted else []
            self.console.print()
            self.console.print(full)
        elif (more := len(frontier.points) - table.row_count) > 0:
            notes.append(f"--all prints {format_count(more, 'more point')}")
        self.console.print("; ".join(notes), style="dim", markup=False)

    def _rests_on(self, frontier: Frontier) -> str:
        """Return a text that names the rows of the estimates."""
        rows = self._rows_of_estimates(frontier)
        if rows == len(self.dataset.part("valid")):
            return f"the {rows:,} rows of valid"
        return f"rows left out in turn, {rows:,} in all" if rows else "the algorithm itself"

    def _rows_of_estimates(self, frontier: Frontier) -> int:
        return max((len(moved) for moved in frontier.influences if moved is not None), default=0)

    def _class_rows(self, frontier: Frontier) -> dict[Any, int]:
        """Return the number of rows of each class among those that estimates rest on; none without classes."""
        if not self.dataset.classes:
            return {}
        valid = self.dataset.part("valid").y
        inside = self._rows_of_estimates(frontier) <= len(valid)
        y = valid if inside else np.concatenate([self.dataset.part("train").y, valid])
        return {label: int((y == label).sum()) for label in self.dataset.classes}

    def _show_paid(self, frontier: Frontier, chosen: Point) -> None:
        """Show what test rows pay for by the chosen model."""
        if not (frontier.has_model(chosen) and chosen.n_features):
            return
        rows = complete_part(self.dataset, "test")
        report = ExpectedCost(self.dataset.costs).evaluate(frontier.model(chosen).predictor_, rows, made=True)
        self.console.print("\n[bold]What test rows pay for:[/] the share of rows, and the mean cost per row\n")
        self.console.print(paid_table("chosen", report, self.dataset.costs, width=self.console.width))
