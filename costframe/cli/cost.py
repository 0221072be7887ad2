"""`costframe cost`: the exact cost of predicting rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from costframe.cli.arguments import costs_option, is_file, text
from costframe.core.errors import CostModelError, DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.expected import CostReport
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.prices.costs import CostModel
    from costframe.core.stages.certain_layout import Until

__all__ = ["cost"]

EXAMPLES = """\b
Examples:
  costframe cost my.model breast-cancer --part test
  costframe cost xgboost.ubj patients.parquet --costs prices.toml --part test
"""


@click.command(epilog=EXAMPLES, short_help="Report the exact cost of predictions.")
@click.argument("model", type=text)
@click.argument("data", type=text)
@costs_option
@click.option("--part", type=click.Choice(["train", "valid", "test"]), help="Use only the rows of this part.")
@click.option(
    "--acquisition", type=click.Choice(["path", "learner"]), default="path", show_default=True,
    help="Whether a tree acquires features split by split, or all of them before it is evaluated.",
)  # fmt: skip
@click.option(
    "--until", metavar="class|NUMBER",
    help="End a row as soon as the rest cannot change its class, or move its score by more than this.",
)  # fmt: skip
def cost(model: str, data: str, costs: str | None, part: str | None, acquisition: str, until: str | None) -> None:
    """Report the exact cost of predicting the rows of DATA, and their payments.

    MODEL is a file of `costframe fit` or `costframe.save`, or a model of LightGBM, XGBoost or CatBoost. DATA is a CSV
    or Parquet file with a column for each feature that the model reads, or the name of a data set. The default prices
    are those in MODEL.
    """
    from costframe.core.prices.costs import CostModel

    given = None if costs is None else CostModel.load(costs)
    predictor = _open(Path(model), given)
    prices = given or predictor.costs
    if prices is None:
        raise ParameterError(f"{model} holds no prices: give them with --costs")
    _check_prices(prices, predictor, model, costs or "its prices")
    rows = _rows(data, predictor, part, model)
    report = predictor.cost(rows, prices, acquisition=acquisition, until=_goal(until))
    _show(report, prices, part or "all")


def _goal(until: str | None) -> Until:
    """Return the value of `--until`; refuse other texts."""
    if until is None or until == "class":
        return until
    try:
        return float(until)
    except ValueError:
        raise ParameterError(f"--until: expected 'class' or a number, got {until!r}") from None


def _open(path: Path, costs: CostModel | None) -> Predictor:
    """Load or adopt a model, for the columns that it reads."""
    from costframe.core.predictors.fitted import as_predictor
    from costframe.core.storage.saving import is_saved, load

    if is_saved(path):
        return as_predictor(load(path)).only_used_features()
    from costframe.adoption import adopt

    predictor = adopt(path)
    own = predictor.feature_names
    if costs is not None and own == tuple(f"f{f}" for f in range(len(costs.names))) and own != costs.names:
        predictor = adopt(path, feature_names=costs.names)  # trained on an array, in the order of the prices
    return predictor.only_used_features()


def _check_prices(prices: CostModel, predictor: Predictor, model: str, source: str) -> None:
    """Refuse prices that lack a feature of the model; further prices are allowed."""
    from costframe.core.errors import quote_names
    from costframe.core.prices.entry_checks import suggestion

    unpriced = [name for name in predictor.feature_names if name not in prices.names]
    if not unpriced:
        return
    unread = [name for name in prices.names if name not in predictor.feature_names]
    raise CostModelError(
        f"{model} and {source} do not fit: features without a price: {quote_names(unpriced)}"
        f"{suggestion(unpriced[0], unread)}; prices of no feature: {quote_names(unread) or 'none'}"
    )


def _rows(data: str, predictor: Predictor, part: str | None, model: str) -> NDArray[np.float64]:
    if is_file(data):
        from costframe.datasets.tables import read_rows

        return read_rows(data, predictor.feature_names, part, categories=predictor.categories, reader=model)
    from costframe.core.errors import quote_names
    from costframe.core.tables.hashed_labels import HashedLabels
    from costframe.datasets import load

    dataset = load(data)
    missing = [name for name in predictor.feature_names if name not in dataset.feature_names]
    if missing:
        raise DataError(f"{data}: no feature {missing[0]!r}, which {model} reads")
    for name, labels in predictor.categories.items():
        if dataset.categorical.get(name) != labels:
            known = "hashes of texts" if isinstance(labels, HashedLabels) else quote_names(labels)
            raise DataError(f"{data}: feature {name!r} has other labels than {model}: {known}")
    X = dataset.X if part is None else dataset.part(part).X
    return X[:, [dataset.feature_names.index(name) for name in predictor.feature_names]]


def _show(report: CostReport, costs: CostModel, part: str) -> None:
    from costframe.core.errors import format_count, printable
    from costframe.report.console import compare_cost, output
    from costframe.report.console import cost as shown
    from costframe.report.tables import paid_table

    console = output()
    full = costs.full_cost(report.feature_names)
    compared = f", {compare_cost(report.mean, full)} all features of the model ({full:,.6g})" if full > 0 else ""
    least, median, most = (shown(float(q)) for q in np.quantile(report.per_row, [0, 0.5, 1]))
    rows, cost = format_count(len(report.per_row), "row"), "costs" if len(report.per_row) == 1 else "cost"
    lines = [
        f"{rows} {cost} {report.mean:,.6g} {printable(report.unit)} per row on average{compared}",
        f"  least {least}, median {median}, most {most}",
    ]
    if report.cut is not None:
        lines.append(f"  {report.cut.mean():.0%} of the rows end before the last learner")
    if report.fixed:
        lines.append(f"  and {report.fixed:,.6g} {printable(report.unit)} once for the batch")
    if unused := len(set(costs.names) - set(report.feature_names)):
        verb, features = ("is", "feature") if unused == 1 else ("are", "features")
        every = format_count(len(costs.names), "price")
        lines.append(f"  {unused:,} of {every} {verb} not used: the model has no such {features}")
    console.print("\n".join(lines), markup=False)
    console.print()
    console.print(paid_table({part: report}, costs, width=console.width))
    console.finish()
