"""The board of the field: costframe's algorithms beside others', over stored, drawn and public tables.

    python benchmarks/board.py OUTPUT [heart cube drawn spam ...] [--sides planner cegb LightGBM GDFS ...]
                               [--public FOLDER] [--repeats 5] [--rows 5000] [--reference LightGBM] [--time-limit 3600]
                               [--levels .15 .25 .35 .5]

Each table has a folder in OUTPUT with its lines of results, from which an interrupted board goes on; a table whose fits
have all ended costs nothing. OUTPUT itself gets the page, tables and pictures of all lines, as `costframe board` makes
them, at shares of the cost of all features (`--levels`), and `tables.txt`: which tables there were, and what the marks
of missing values alone score on them.

Stored tables need ../shared; those of optimal trees have names such as streed-pima-high, and are compared by bills.
"drawn" are borrowers, and family names of harness/families.py are drawn tables, too. Public tables are those of
harness/public_files.py: the user downloads them into FOLDER, and `tables.txt` says which were there. `NAME:records` is
a table whose missing tests were not made, so that each side is scored on completed records (docs/records.md).

Sides are names of algorithms, and LightGBM's and CatBoost's penalties, STreeD's optimal trees, DIME, GDFS, AACO, the
same features for all rows ("knapsack"), and a path of CEGB with all its models ("path", "no look-ahead"). DIME and GDFS
need PyTorch, in this environment or in that of the Python that COSTFRAME_TORCH names.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import costframe as cf
from costframe.comparison.levels import LEVELS, check_levels
from costframe.comparison.lines import RESULTS
from costframe.core.checks import check_number
from costframe.core.errors import format_count
from costframe.datasets import Dataset
from costframe.study.failures import UnfinishedError
from harness.aaco import AACO
from harness.cegb_paths import CEGBPath
from harness.families import FAMILIES, draw_classes
from harness.knapsack import Knapsack
from harness.optimal_trees import OptimalTrees
from harness.penalties import CatBoostPenalties, LightGBMPenalties
from harness.public_files import TABLES, load_public
from harness.tables import SCORES, SHARED, STORED, fewer_rows, load, require_shared, shuffle_rows
from harness.torch_outsiders import dime, gdfs

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.comparison import Outsider

OURS = ("planner", "cegb", "miser", "boosting")
FIELD: dict[str, Callable[[], Outsider]] = {
    "LightGBM": LightGBMPenalties,
    "CatBoost": CatBoostPenalties,
    "STreeD": OptimalTrees,
    "DIME": dime,
    "GDFS": gdfs,
    "AACO": AACO,
    "knapsack": Knapsack,
    "path": CEGBPath,
    "no look-ahead": lambda: CEGBPath(look_ahead=False, name="no look-ahead"),
}
USUAL_REFERENCE = "LightGBM"
USUAL = *OURS, *tuple(FIELD)[:6]
RECORDS = ":records"
BILLED = [
    f"streed-{name}-{level}" for name in ("heart", "hepatitis", "pima", "breast") for level in ("low", "middle", "high")
]
GAPS = 0.02  # share of missing cells from which their marks are looked at


def main() -> None:
    """Fit what is missing, and write the board."""
    asked = _options()
    states, folders, ends = list[str](), list[Path](), time.monotonic() + asked.time_limit

    def tell(state: str) -> None:
        states.append(state)
        print(state, flush=True)

    for name in asked.tables:
        try:
            data, score = open_table(name, asked.public, asked.rows)
        except cf.CostframeError as error:
            tell(f"{name}: left out, {error}")
            continue
        tell(f"{name}: {len(data.X):,} rows, {len(data.feature_names)} features{tell_marks(data)}")
        folder = asked.output / name.replace(":", "-")
        sides = [FIELD[side]() if side in FIELD else side for side in asked.sides]
        try:
            cf.Comparison.run(
                [data],
                sides,
                repeats=asked.repeats,
                score=score,
                directory=folder,
                resume=(folder / RESULTS).exists(),
                time_limit=max(ends - time.monotonic(), 1.0),
                n_jobs=1,
            )
        except UnfinishedError as error:
            tell(f"{name}: {error}")
        except cf.CostframeError as error:  # lines that its folder has may be of something else
            tell(f"{name}: left out, {error}")
            continue
        folders += [folder] if (folder / RESULTS).exists() else []
    (asked.output / "tables.txt").write_text("\n".join([*states, *_public_states(asked.public)]) + "\n")
    if not folders:
        sys.exit(f"there is no board, as no table has results; {asked.output / 'tables.txt'} says why")
    board = cf.Comparison.load(folders, levels=asked.levels)
    if asked.reference in board.sides:
        board = evolve(board, reference=asked.reference)
    elif asked.reference != USUAL_REFERENCE:
        print(f"{asked.reference} has no results, differences are to {board.reference}")
    board.write(asked.output, title="Board")
    print("\n".join([*board.notes, f"wrote the board of {format_count(len(board.tables), 'table')} to {asked.output}"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*SCORES, *BILLED, *FAMILIES, *TABLES, *(f"{name}{RECORDS}" for name in TABLES)]
    parser.add_argument("output", type=Path)
    parser.add_argument("tables", nargs="*", help=f"by default {' '.join(STORED)} and the public ones")
    parser.add_argument("--sides", nargs="+", default=USUAL, help=f"of plugins, or {', '.join(FIELD)}")
    parser.add_argument("--public", type=Path, help="folder with files of public tables")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=5_000, help="most training rows; four times as many of the others")
    parser.add_argument("--reference", default=USUAL_REFERENCE)
    parser.add_argument("--levels", type=float, nargs="+", default=LEVELS, help="shares of the cost of all features")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds")
    asked = parser.parse_args()
    asked.tables = asked.tables or [*STORED, *(TABLES if asked.public else ())]
    if unknown := [name for name in asked.tables if name not in known]:
        parser.error(f"no table {unknown[0]!r}, there are {', '.join(known)}")
    try:
        asked.levels = check_levels(asked.levels)
        check_number("rows", asked.rows, low=1, whole=True)
    except cf.CostframeError as error:
        parser.error(f"--{error}")
    asked.output.mkdir(parents=True, exist_ok=True)
    return asked


def open_table(name: str, public: Path | None, most_rows: int) -> tuple[Dataset, str | None]:
    """Return a table by its name, and its score; a DataError says what is missing of a public one."""
    plain, records = name.removesuffix(RECORDS), name.endswith(RECORDS)
    if plain in TABLES:
        data, score = load_public(plain, str(public or "")), TABLES[plain].score
        data = shuffle_rows(data) if len(data.X) > most_rows else data  # files may have one class after another
    elif plain in BILLED:
        data, score = load_billed(plain), None
    elif plain in FAMILIES:
        X, chances = FAMILIES[plain].sample(FAMILIES[plain].rows, rng := np.random.default_rng([0, 53]))
        costs = FAMILIES[plain].costs(errors=False)
        data = Dataset.from_arrays(X, draw_classes(chances, rng), costs, feature_names=costs.names, seed=0, name=plain)
        score = None
    else:
        if plain not in {"breast-cancer", "drawn"}:
            require_shared()
        data, score = load(plain, 0), SCORES[plain]
    data = fewer_rows(data, most_rows) if len(data.X) > most_rows else data
    return (data.with_costs(data.costs.as_records()) if records else data), score


def load_billed(name: str) -> Dataset:
    """Return a stored table of ../shared with prices of errors at one level, compared by bills."""
    require_shared()
    table, _, level = name.rpartition("-")
    folder = SHARED / "data" / table
    data = cf.datasets.read_table(folder / "data.parquet", target="label", costs=folder / f"costs-{level}.toml")
    return evolve(data, name=name)


def tell_marks(data: Dataset) -> str:
    """Return what the marks of missing values alone tell of two classes, as a text; nothing where few are missing."""
    gaps = np.isnan(data.X)
    if len(data.classes) != 2 or gaps.mean() < GAPS:
        return ""
    train, test = data.split == "train", data.split == "test"
    model = HistGradientBoostingClassifier(random_state=0).fit(gaps[train], data.y[train])
    area = roc_auc_score(data.y[test] == model.classes_[1], model.predict_proba(gaps[test])[:, 1])
    return f"; the marks of missing values alone have an area under the ROC curve of {area:.2f}"


def _public_states(folder: Path | None) -> list[str]:
    """Return lines that say which public tables a folder has."""
    if folder is None:
        return ["public tables: no folder was given"]
    return [line for table in TABLES.values() for line in table.state(folder)]


if __name__ == "__main__":
    main()
