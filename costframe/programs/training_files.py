"""Files from which a program trains: rows as CSV, prices as TOML."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from costframe.comparison import SeenTable
from costframe.core.tables.written_values import write_value
from costframe.datasets import PartRows


def write_training_files(seen: SeenTable, folder: Path) -> dict[str, Any]:
    """Write train.csv, valid.csv and costs.toml; return their paths, and the names of the columns with more.

    Cells are those of a step's values: numbers to the last digit, labels of categories as texts, nothing where the
    value is missing. `target` names the column of the answers, and `query` that of a ranking's queries.
    """
    target = _unused("target", seen.feature_names)
    query = None if seen.train.qid is None else _unused("query", seen.feature_names)
    paths = {}
    for part, rows in (("train", seen.train), ("valid", seen.valid)):
        paths[part] = str(folder / f"{part}.csv")
        _write_rows(seen, rows, Path(paths[part]), [target] if query is None else [target, query])
    costs = folder / "costs.toml"
    seen.costs.save(costs)
    return paths | {"costs": str(costs), "target": target, "query": query}


def _unused(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name += "_"
    return name


def _write_rows(seen: SeenTable, rows: PartRows, path: Path, further: list[str]) -> None:
    answers = rows.y.tolist()
    columns = [_cells(rows.X[:, f].tolist(), seen.categorical.get(name)) for f, name in enumerate(seen.feature_names)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*seen.feature_names, *further])
        writer.writerows(zip(*columns, answers, *([] if rows.qid is None else [rows.qid.tolist()]), strict=True))


def _cells(values: list[float], labels: tuple[str, ...] | None) -> list[Any]:
    if labels is None:
        return ["" if math.isnan(value) else value for value in values]
    return [write_value(value, labels) for value in values]
