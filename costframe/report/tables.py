"""Tables of results on the terminal: algorithms, mistakes, payments, and frontiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from attrs import frozen
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from costframe.choices.choices import distinct
from costframe.choices.frontier import Frontier
from costframe.choices.tables import columns_of, rows_of_frontier, to_cells
from costframe.core.arrays import I8
from costframe.core.cost.expected import CostReport, ExpectedCost
from costframe.core.display import cost, whole_percent
from costframe.core.errors import printable
from costframe.core.plugins import two_classes_only
from costframe.core.prices.costs import CostModel
from costframe.datasets import Dataset
from costframe.hooks import Algorithm
from costframe.study.points import Point

BOUNDLESS = 10_000
NARROW = 70  # a narrower table has the summary below the name
KINDS = ("resource", "feature", "computing")
MOST_FEATURES = 20
MOST_MISTAKES = 10  # pairs of classes, where these are too many for a square
LONG, LETTERS, FEW_LETTERS = "long names", 30, 20


def narrow_table(
    make: Callable[[frozenset[str]], Table], ways: Sequence[Iterable[str]], width: int
) -> tuple[Table, frozenset[str]]:
    """Return a table that fits the width in letters, and the parts left out.

    `make` makes the table without some parts; `ways` are sets of parts to leave out, in order of preference. The last
    one applies if no table fits.
    """
    console = Console(width=BOUNDLESS)
    for without in map(frozenset, ways):
        table = make(without)
        if Measurement.get(console, console.options, table).maximum <= width:
            break
    return table, without


def algorithms_table(algorithms: Mapping[str, Algorithm], roles: Mapping[str, str], *, width: int) -> Table:
    """Return a table of algorithms with their tasks; `roles` maps each task to the attribute of its estimator."""
    narrow = width < NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=not narrow)
    for header in ("algorithm", "tasks", "summary")[: 1 if narrow else 3]:
        table.add_column(header, overflow="fold", min_width=len(header))
    for name, algorithm in algorithms.items():
        kinds = {task: getattr(algorithm, role) for task, role in roles.items()}
        tasks = ", ".join(
            f"{task} of two classes" if two_classes_only(kind) else task
            for task, kind in kinds.items()
            if kind is not None
        )
        note = "Baseline. " if algorithm.baseline else ""
        what = Text.assemble(f"{note}{printable(algorithm.summary)} ", (f"({printable(algorithm.reference)})", "dim"))
        if narrow:
            table.add_row(Text.assemble((printable(name), "bold"), f": {tasks}\n", what, "\n"))
        else:
            table.add_row(Text(printable(name), "bold"), tasks, what)
    return table


def mistakes_table(confusion: I8, classes: Sequence[object], *, width: int) -> Table:
    """Return a table of the rows of each class by predicted class, int64 (M, M).

    If it is too wide, it lists the most frequent pairs of different classes.
    """
    names = [printable(str(label)) for label in classes]

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
        table.add_column("true class", overflow="fold", max_width=LETTERS)
        if not without:
            for name in names:
                table.add_column(Text(f"as {name}"), justify="right", no_wrap=True)
            for name, counts in zip(names, confusion.tolist(), strict=True):
                table.add_row(Text(name), *(f"{count:,}" for count in counts))
            return table
        table.add_column("predicted as", overflow="fold", max_width=LETTERS)
        table.add_column("rows", justify="right", no_wrap=True)
        wrong = confusion * ~np.eye(len(names), dtype=np.bool_)
        order = np.argsort(-wrong, axis=None, kind="stable")[: np.count_nonzero(wrong)]
        for true, named in zip(*np.unravel_index(order[:MOST_MISTAKES], wrong.shape), strict=True):
            table.add_row(Text(names[true]), Text(names[named]), f"{wrong[true, named]:,}")
        if (hidden := order[MOST_MISTAKES:]).size:
            table.add_row(f"... {len(hidden):,} more pairs", "", f"{wrong.ravel()[hidden].sum():,}")
        return table

    return narrow_table(make, [[], ["square"]], width)[0]


@frozen
class Payment:
    """One item that rows pay for, of the kind "resource", "feature" or "computing"."""

    kind: str
    name: str
    price: float | None  # for one row; None for computing, which a row pays in many small parts
    share: float | None  # of rows that pay it
    mean: float  # part of the mean cost per row: price * share
    once: float = 0.0  # once-per-batch price; only features have one


def payments(report: CostReport, costs: CostModel) -> list[Payment]:
    """List the payments of a report of hard routing: resources and features that any row acquired, then computing."""
    prices = costs.select(report.feature_names)
    acquired = np.asarray(report.acquired, np.bool_)
    share = np.count_nonzero(acquired, axis=0) / max(1, len(acquired))
    needing = prices.direct_needs.count_rows(acquired) / max(1, len(acquired))
    found = [
        Payment("resource", name, float(prices.resource_cost[r]), float(needing[r]), mean)
        for r, (name, mean) in enumerate(report.by_resource.items())
        if needing[r] > 0
    ]
    found += [
        Payment("feature", name, float(prices.cost[f]), float(share[f]), mean, float(prices.once[f]))
        for f, (name, mean) in enumerate(report.by_feature.items())
        if share[f] > 0
    ]
    computing = {
        "learners": report.evaluation.learners,
        "comparisons": report.evaluation.comparisons,
        "reuse": report.evaluation.reuse,
    }
    found += [Payment("computing", name, None, None, mean) for name, mean in computing.items() if mean > 0]
    return found


def paid_table(label: str, report: CostReport, costs: CostModel, *, width: int) -> Table:
    """Return a table of payments of rows with a label: share of rows, and mean per row.

    A narrow table leaves out the kind, breaks names, and leaves out prices.
    """
    paid = sorted(payments(report, costs), key=lambda each: (KINDS.index(each.kind), _weight(each)))
    features = [each for each in paid if each.kind == "feature"]
    free = [each for each in features if not (each.mean or each.once)]
    hidden = list(dict.fromkeys([*features[MOST_FEATURES:], *free]))
    shown, left = [each for each in paid if each not in hidden], sum(each.mean for each in hidden)
    rest = [f"{len(hidden)} {'more' if left else 'free'}"] if hidden else []

    def make(without: frozenset[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, show_footer=True)
        columns: list[list[str | Text]] = []

        def add(header: str, footer: str, cells: list[str]) -> None:
            table.add_column(header, Text(footer, style="bold"), justify="right", no_wrap=True, vertical="bottom")
            columns.append([*cells, *[""] * (len(shown) + len(rest) - len(cells))])

        if "kind" not in without:
            table.add_column("", no_wrap=True)
            columns.append([*(each.kind for each in shown), *("feature" for _ in rest)])
        letters = FEW_LETTERS if LONG in without else LETTERS
        table.add_column("", Text("mean", style="bold"), overflow="fold", max_width=letters)
        columns.append([*(Text(printable(each.name)) for each in shown), *map(Text, rest)])
        if "price" not in without:
            add("price", "", ["" if each.price is None else cost(each.price) for each in shown])
        if "once" not in without and any(each.once for each in paid):
            add("once", "", [cost(each.once) if each.once else "" for each in shown])
        add(f"{label}\nrows", "", ["" if each.share is None else f"{each.share:.1%}" for each in shown])
        add("\ncost", cost(report.mean), [*(cost(each.mean) for each in shown), *(cost(left) for _ in rest)])
        for row in zip(*columns, strict=True):
            table.add_row(*row)
        return table

    return narrow_table(make, [[], ["kind"], ["kind", LONG], ["kind", LONG, "price", "once"]], width)[0]


def _weight(paid: Payment) -> tuple[float, float]:
    """Return the sort key of an item: features by mean, then by share of rows; other items keep their order."""
    return (-paid.mean, -(paid.share or 0.0)) if paid.kind == "feature" else (0.0, 0.0)


ROWS_PAID, NEARLY_ALL = 2000, 0.995  # rows to find purchases on, and the share of them that needs no number
OTHER_COLUMNS, LEAST_LETTERS = 66, 20  # letters of the other columns, and least for purchases
# A narrow table keeps score and cost on test.
EXPENDABLE = ("learners", "rounds", "features", "score", "cost", "tradeoff")
EVERY = ("algorithm", "tradeoff", "score", "cost", "test score", "test cost", "features", "learners", "rounds")


def frontier_table(
    frontier: Frontier, chosen: Point, purchases: Mapping[str, Sequence[str]] | None = None, *, width: int
) -> Table:
    """Return a table of at most six points of the frontier; `purchases` says what the model of a point buys, by name.

    A narrow table leaves out the purchases, then the intervals.
    """
    points, purchases = rows_of_frontier(frontier, chosen), purchases or {}
    room = max(width - OTHER_COLUMNS, LEAST_LETTERS)

    def make(without: frozenset[str]) -> Table:
        wanted = ("model", "score alone", "90% interval", "cost", "saves")
        first, *others = columns = columns_of(frontier, (name for name in wanted if name not in without))
        rows = to_cells(frontier, points, columns)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
        table.add_column("", no_wrap=True)
        table.add_column(first, overflow="fold")
        for name in others:
            named = printable(frontier.score_name) if name == "score alone" else name
            table.add_column(named, justify="right", no_wrap=True)
        if purchases and not without:
            table.add_column("rows buy", no_wrap=True)
            rows = [
                [*row, _shorten(purchases.get(point.name, ()), room)] for row, point in zip(rows, points, strict=True)
            ]
        for row, point in zip(rows, points, strict=True):
            _add(table, ">" if point == chosen else " ", row, bold=point == chosen)
        return table

    return narrow_table(make, [[], ["buys"], ["buys", "90% interval"]], width)[0]


def points_table(frontier: Frontier, chosen: Point, *, width: int) -> tuple[Table, list[str]]:
    """Return a table of all models that fits the width, non-dominated ones in bold, and the columns left out."""
    algorithms = list(dict.fromkeys(point.algorithm for point in frontier.points))
    points = sorted(distinct(frontier), key=lambda point: algorithms.index(point.algorithm))
    good = frozenset(frontier.non_dominated())
    every, expendable = columns_of(frontier, EVERY), columns_of(frontier, EXPENDABLE)

    def make(without: frozenset[str]) -> Table:
        first, *others = columns = [name for name in every if name not in without]
        rows = to_cells(frontier, points, columns)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, int(width > 90), 0, 0), show_edge=False)
        table.add_column("", no_wrap=True)
        table.add_column(first, overflow="fold")
        for name in others:
            table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True, vertical="bottom")
        before = points[0].algorithm
        for row, point in zip(rows, points, strict=True):
            if point.algorithm != before:
                table.add_section()
            before = point.algorithm
            marks = ("*" if point in good else " ") + (">" if point == chosen else " ")
            _add(table, marks, row, bold=point in good)
        return table

    table, without = narrow_table(make, [expendable[:count] for count in range(len(expendable) + 1)], width)
    return table, [name for name in every if name in without]


def _add(table: Table, marks: str, row: list[str], *, bold: bool) -> None:
    table.add_row(marks, *(Text(printable(cell)) for cell in row), style="bold" if bold else "")


def _shorten(names: Sequence[str], letters: int) -> str:
    """Return names that fit into some letters, and the number of those left out."""
    for count in range(len(names), 0, -1):
        left = len(names) - count
        text = ", ".join(names[:count]) + (f" and {left} more" if left else "")
        if len(text) <= letters:
            return text
    return f"{len(names)} things" if names else ""


def name_purchases(frontier: Frontier, chosen: Point, dataset: Dataset) -> dict[str, list[str]]:
    """Return what rows buy by the models of the table's rows, dearest first, with the share of rows if not all do."""
    part = dataset.part("test").X
    rows = part[:: max(1, len(part) // ROWS_PAID)]
    found = {}
    for point in rows_of_frontier(frontier, chosen):
        if frontier.has_model(point) and point.n_features:
            report = ExpectedCost(dataset.costs).evaluate(frontier.model(point).predictor_, rows)
            paid = sorted(payments(report, dataset.costs), key=lambda payment: -payment.mean)
            found[point.name] = [
                printable(each.name)
                + (f" {whole_percent(each.share or 0.0)}" if (each.share or 0.0) < NEARLY_ALL else "")
                for each in paid
                if each.mean > 0 and each.kind != "computing"
            ]
    return found
