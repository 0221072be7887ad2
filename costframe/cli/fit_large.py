"""`costframe fit` of a table larger than memory, or over a cluster: dask reads the features of its Parquet files."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from costframe.cli.cost import errors_in_words
from costframe.cli.exits import name_written_files
from costframe.cli.fit_checks import check_goal
from costframe.cli.reading import ReadingOptions
from costframe.core.cost.report import CostReport
from costframe.core.display import format_cost, saving
from costframe.core.errors import DataError, ParameterError, format_count, printable
from costframe.core.plugins.estimators import estimator
from costframe.core.plugins.registry import registry
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.storage.saving import save
from costframe.datasets.large_tables import LargeDataset
from costframe.datasets.tables import read_large_table
from costframe.study.failures import name_failures
from costframe.study.score_choice import check_score
from costframe.training.cluster.fitting import open_client
from costframe.training.console import Output
from costframe.training.console import output as make_console
from costframe.training.data import Traits
from costframe.training.scoring import score_named


def fit_large(
    data: str,
    algorithm: str,
    tradeoff: float | None,
    budget: float | None,
    score: str | None,
    output: Path,
    cluster: str | None,
    reading: ReadingOptions,
) -> None:
    """Fit on the train rows of a table, stopped by valid rows, save the model, and measure it on test.

    Without a tradeoff, it follows from the prices of errors.

    With the address of a dask cluster, its workers read the row groups, and train together; else this process does.

    Raises
    ------
    ParameterError
        If there is a budget, no tradeoff without prices of errors, or the algorithm needs the whole table in memory.
    """
    if budget is not None:
        why = "does not fit in memory" if cluster is None else "is not in memory with --cluster"
        raise ParameterError(
            f"{data}: {why}, which a search within a budget needs; give --tradeoff, which `costframe compare` finds"
        )
    if reading.target is None:
        raise ParameterError(f"{data}: say with --target which column to predict")
    console = make_console()
    dataset = read_large_table(data, costs=reading.costs, **reading.of_table)
    kind = registry().kind(algorithm, dataset.task)
    if not Traits.of(kind).trains_together:
        raise ParameterError(f"{algorithm}: needs the whole table in memory, where {data} is not; see miser and cegb")
    check_goal(tradeoff, budget, dataset.costs, score)
    named = str(check_score(dataset, score)) if score is not None or dataset.costs.errors is None else None
    where = "does not fit in memory: it is read by row groups" if cluster is None else "is read by the cluster"
    for note in (*dataset.notes, f"the table {where}"):
        console.print(printable(note), style="dim", markup=False)
    given = {"categorical_features": dict(dataset.categorical)} if dataset.categorical else {}
    verbose = int(console.is_terminal)
    model = estimator(algorithm, dataset.task, costs=dataset.costs, tradeoff=tradeoff, verbose=verbose, **given)
    train, valid = dataset.part("train"), dataset.part("valid")
    queries = {} if dataset.qid is None else {"qid": train.qid, "qid_val": valid.qid}
    with name_failures(algorithm), nullcontext() if cluster is None else open_client(cluster) as client:
        model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y, **queries, client=client)
    save(model.predictor_, output, costs=dataset.costs)
    with name_written_files(str(output)):
        _report(console, dataset, model, algorithm, named)
        console.print(f"wrote {printable(str(output))}", soft_wrap=True, markup=False)
        console.finish()


def _report(console: Output, dataset: LargeDataset, model: Any, algorithm: str, score: str | None) -> None:
    """Print the score, or without one the bill, and the cost on test, and the size of the model."""
    test = dataset.part("test")
    report = model.cost(test.X, *((test.y,) if score is None else ()))
    worth = f"{printable(score)} {_score(dataset, report, score):.4f}" if score is not None else errors_in_words(report)
    mean, full, unit = report.mean, dataset.costs.full_cost(dataset.costs.names), printable(dataset.costs.unit)
    saved = f" (saves {saving(mean, full)})" if full > 0 else ""
    once = f", and {format_cost(report.fixed)} {unit} once per batch" if report.fixed else ""
    tradeoff = "" if model.tradeoff is None else f", at tradeoff {model.tradeoff:.3g}"
    console.print(f"[bold]fitted:[/] {printable(algorithm)}{tradeoff}")
    console.print(f"  {worth} on test", markup=False)
    console.print(f"  cost {format_cost(mean)} {unit} per row on test{saved}{once}", markup=False)
    tree = model.predictor_
    assert isinstance(tree, StageTree)  # noqa: S101 - algorithms that train together are sums of trees
    features = format_count(dataset.X.shape[1], "feature")
    learners = format_count(len(tree.bank), "learner")
    console.print(f"  it reads {len(tree.layout.used)} of {features}, with {learners}", markup=False)


def _score(dataset: LargeDataset, report: CostReport, score: str) -> float:
    test, labels = dataset.part("test"), np.asarray(dataset.classes)
    y = test.y if not dataset.classes else np.searchsorted(labels, test.y).astype(np.int64)
    value = score_named(score)(y, np.asarray(report.predictions), None, test.qid)
    if math.isnan(value):
        raise DataError(f"score: there is no {score} on {len(y)} rows that lack a class or variation")
    return value
