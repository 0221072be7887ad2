"""A fit from Parquet files larger than memory, beside a fit of fewer rows in memory: time a row, and peak memory.

    python benchmarks/large.py                        # 20,000,000 x 50 in files against 1,000,000 x 50 in memory
    python benchmarks/large.py --rows 2000000 --memory-rows 500000 --algorithm miser

Files of 2,000,000 rows, in row groups of 500,000 doubles, are drawn into a temporary folder and deleted at the end; the
fit in memory reads the first of their rows. Each fit has a process of its own, and a small fit before, which compiles.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dask.dataframe
import numpy as np
import pyarrow as pa
from pyarrow import parquet

import costframe as cf
from harness.points import markdown
from harness.timing import THREADS, clock, draw_table, peak_memory

ROWS_OF_FILE = 2_000_000
SMALL = 20_000  # rows of the fit that compiles


def main() -> None:
    asked = _options()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder, size = Path(name), 9 * asked.rows * (asked.columns + 1)
        if size > shutil.disk_usage(folder).free:
            raise SystemExit(f"{folder}: {size / 1e9:.0f} GB are needed, and not free")
        _alone(write, folder, asked)
        print(
            markdown(["fit", "rows", "columns", "seconds", "us a row", "of processors", "before, GB", "peak, GB"], []),
            flush=True,
        )
        each = []
        for title, n_rows in (
            ("in memory", min(asked.memory_rows, asked.rows, ROWS_OF_FILE)),
            ("from files", asked.rows),
        ):
            seconds, busy, before, peak = _alone(measure, folder, asked, n_rows if title == "in memory" else None)
            each.append(1e6 * seconds / n_rows)
            cells = (
                title,
                f"{n_rows:,}",
                str(asked.columns),
                f"{seconds:.1f}",
                f"{each[-1]:.2f}",
                f"{1e6 * busy / n_rows:.2f}",
            )
            print(f"| {' | '.join([*cells, f'{before:.2f}', f'{peak:.2f}'])} |", flush=True)
        print(f"time a row from files over that in memory: {each[1] / each[0]:.2f}   (goal: 2.5)")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--memory-rows", type=int, default=1_000_000, help=f"in memory, at most {ROWS_OF_FILE:,}")
    parser.add_argument("--group-rows", type=int, default=500_000, help="rows of a row group")
    parser.add_argument("--algorithm", choices=("cegb", "miser"), default="cegb")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--folder", help="for the files, instead of the system's for temporary ones")
    return parser.parse_args()


def _alone(function: Any, *arguments: Any) -> Any:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def write(folder: Path, asked: argparse.Namespace) -> None:
    """Write the files."""
    for number, begin in enumerate(range(0, asked.rows, ROWS_OF_FILE)):
        X, y = draw_table(min(ROWS_OF_FILE, asked.rows - begin), asked.columns, seed=number)
        columns = {f"x{f}": X[:, f] for f in range(asked.columns)} | {"y": (y > 0).astype(np.int64)}
        parquet.write_table(pa.table(columns), folder / f"{number:03d}.parquet", row_group_size=asked.group_rows)


def measure(folder: Path, asked: argparse.Namespace, n_rows: int | None) -> tuple[float, float, float, float]:
    """Fit some rows in memory, with None all from files; return both times, and the memory before and at its peak."""
    made = {"tradeoff": 1e-4, "n_jobs": THREADS}
    X, y = draw_table(SMALL, asked.columns)
    cf.estimator(asked.algorithm, "classification", n_estimators=2, **made).fit(X, y > 0)
    model = cf.estimator(asked.algorithm, "classification", n_estimators=asked.trees, **made)
    if n_rows is None:
        whole = dask.dataframe.read_parquet(folder)
        table, given = whole.drop(columns="y"), whole["y"]
    else:
        file = parquet.ParquetFile(folder / "000.parquet")
        parts = [np.column_stack([each.to_numpy() for each in batch.columns]) for batch in file.iter_batches()]
        rows = np.concatenate(parts)[:n_rows]
        table, given = np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int64)
        del parts, rows
    before = peak_memory()
    with clock() as spent:
        model.fit(table, given)
    return spent["seconds"], spent["busy"], before, peak_memory()


if __name__ == "__main__":
    main()
