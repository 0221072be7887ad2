"""`costframe fit` of a table larger than memory: the features stay in their Parquet files, and are read in blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.cli.group import name_written_files
from costframe.core.amounts import cost as shown_cost
from costframe.core.amounts import saving
from costframe.core.errors import DataError, ParameterError, format_count, printable
from costframe.core.exact_sums import exact_mean
from costframe.core.plugins.registry import TASKS, estimator, registry
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.storage.saving import save
from costframe.datasets.block_tables import BlockDataset, draw_rows, read_block_table
from costframe.frontier.checks import check_score, name_failures
from costframe.frontier.clusters import open_client
from costframe.training.cluster.block_partitions import to_dask
from costframe.training.console import output as make_console
from costframe.training.scoring import score_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from costframe.datasets.block_tables import BlockRows
    from costframe.training.console import Output

__all__ = ["fit_in_blocks"]

_MOST_CELLS = 1 << 26  # of valid rows, which are in memory


def fit_in_blocks(
    data: str,
    algorithm: str,
    tradeoff: float | None,
    score: str | None,
    output: Path,
    cluster: str | None,
    reading: dict[str, Any],
) -> None:
    """Fit at a tradeoff on the train rows of a table, stopped by valid rows, save the model, and measure it on test.

    With the address of a dask cluster, its workers read the row groups, and train together.

    Raises
    ------
    ParameterError
        If there is no tradeoff, or the algorithm needs the whole table in memory.
    """
    if tradeoff is None:
        why = "does not fit in memory" if cluster is None else "is not in memory with --cluster"
        raise ParameterError(
            f"{data}: {why}, which a search within a budget needs; give --tradeoff, which `costframe compare` finds"
        )
    if reading["target"] is None:
        raise ParameterError(f"{data}: say with --target which column to predict")
    console = make_console()
    dataset = read_block_table(data, **reading | {"seed": reading["seed"] or 0})
    kind = getattr(registry().algorithms[algorithm], TASKS[dataset.task], None)
    if cluster is None and not getattr(kind, "trains_on_blocks", False):
        raise ParameterError(
            f"{algorithm}: needs the whole table in memory, and {data} does not fit; see miser and cegb, or --cluster"
        )
    named = str(check_score(dataset, score))
    chosen, notes = _valid_rows(dataset)
    train, valid = dataset.part("train"), dataset.part("valid")
    where = "does not fit in memory: it is read by row groups" if cluster is None else "is read by the cluster"
    for note in (*dataset.notes, f"the table {where}", *notes):
        console.print(printable(note), style="dim", markup=False)
    verbose = int(console.is_terminal)
    given = {"categorical_features": dict(dataset.categorical)} if dataset.categorical else {}
    model = estimator(algorithm, dataset.task, costs=dataset.costs, tradeoff=tradeoff, verbose=verbose, **given)
    qid_val = None if valid.qid is None else valid.qid[chosen]
    train_on = evolve(train.X, verbose=verbose), train.y, train.qid
    stop_on = valid.X.take(chosen), valid.y[chosen], qid_val
    with name_failures(algorithm):
        if cluster is None:
            _fit(model, train_on, stop_on)
        else:
            with open_client(cluster) as client:
                _fit(model, to_dask(*train_on), to_dask(*stop_on), client=client)
    save(model.predictor_, output, costs=dataset.costs)
    with name_written_files(str(output)):
        _report(console, dataset, model, algorithm, tradeoff, named)
        console.print(f"wrote {printable(str(output))}", soft_wrap=True, markup=False)
        console.finish()


def _fit(model: Any, train: Sequence[Any], valid: Sequence[Any], **more: Any) -> None:
    """Fit on features, labels and queries, stopped by others."""
    X, y, qid = train
    X_val, y_val, qid_val = valid
    queries = {} if qid is None or qid_val is None else {"qid": qid, "qid_val": qid_val}
    model.fit(X, y, X_val=X_val, y_val=y_val, **queries, **more)


def _valid_rows(dataset: BlockDataset) -> tuple[NDArray[np.bool_], list[str]]:
    """Choose the valid rows that are read into memory, bool (n,): of many some drawn at random, or whole queries."""
    rows = dataset.part("valid")
    chosen = draw_rows(
        np.zeros(len(rows.y), np.int64), rows.qid, min(1.0, _MOST_CELLS / (len(rows.y) * len(rows.X.columns))), 0
    )
    return chosen, [] if chosen.all() else [f"{chosen.sum():,} of {len(chosen):,} rows of valid stop the training"]


def _report(console: Output, dataset: BlockDataset, model: Any, algorithm: str, tradeoff: float, score: str) -> None:
    """Print the score and the cost on test, and the size of the model."""
    test = dataset.part("test")
    predictions, paid, fixed = _predict(model, test)
    labels = np.asarray(dataset.classes)
    y = test.y if not dataset.classes else np.searchsorted(labels, test.y).astype(np.int64)
    value = score_named(score)(y, predictions, None, test.qid)
    if math.isnan(value):
        raise DataError(f"score: there is no {score} on {len(y)} rows that lack a class or variation")
    mean, full, unit = exact_mean(paid), dataset.costs.full_cost(dataset.costs.names), printable(dataset.costs.unit)
    saved = f" (saves {saving(mean, full)})" if full > 0 else ""
    once = f", and {shown_cost(fixed)} {unit} once per batch" if fixed else ""
    console.print(f"[bold]fitted:[/] {printable(algorithm)}, at tradeoff {tradeoff:.3g}")
    console.print(f"  {printable(score)} {value:.4f} on test", markup=False)
    console.print(f"  cost {shown_cost(mean)} {unit} per row on test{saved}{once}", markup=False)
    tree = model.predictor_
    assert isinstance(tree, StageTree)  # noqa: S101 - algorithms that train on blocks are sums of trees
    features = format_count(len(dataset.X.columns), "feature")
    learners = format_count(len(tree.bank), "learner")
    console.print(f"  it reads {len(tree.layout.used)} of {features}, with {learners}", markup=False)


def _predict(model: Any, rows: BlockRows) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return predictions of rows, their costs, float64 (n,), and the once-prices that they pay together."""
    costs, bought = model.costs_, np.zeros(len(rows.X.columns), np.bool_)
    predictions, paid = [], []
    for block in rows.X.blocks():
        report = model.predictor_.cost(block, costs)
        predictions.append(report.predictions)
        paid.append(report.per_row)
        bought |= np.asarray(report.acquired).any(axis=0)
    once = costs.select(model.predictor_.feature_names).once
    return np.concatenate(predictions), np.concatenate(paid), float(once[bought].sum())
