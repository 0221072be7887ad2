"""Measures what a study states of records in which somebody chose who was tested, and what its choice pays in service.

    python benchmarks/records.py run OUT.jsonl [--tables nhanes hospital in-turn] [--histories risk ...] [--seeds 5]
    python benchmarks/records.py summary OUT.jsonl [...]
    python benchmarks/records.py page OUT.jsonl [...]
    python benchmarks/records.py same

`run` takes tables whose tests are all known, leaves a test empty where a history did not make it, sweeps what is left
as `costframe compare` does, and evaluates all points on further rows where each request is answered. A kind of study
has prices of errors ("bill") or none ("score"). It appends a line of JSON for each, and skips those whose line is
there; nhanes needs ../shared.

Truth is the mean over the further rows. References: the same sweep of free columns alone and of rows where all tests
are made; and LightGBM, which asks for all, as people use it on such tables: rows with all tests, means in empty cells,
means with marks of what was empty, rows with all tests by inverse propensity, and its own missing values.

`same` tells whether a table without empty cells gives the same models, to the bit, with and without `absent`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one study at a time on one thread, so that seconds compare

import numpy as np
from attrs import frozen
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import costframe as cf
from costframe.datasets import Dataset
from harness.histories import HISTORIES, NHANES, TABLES, KnownTable
from harness.record_tables import KINDS, kept_table, page_table, rivals_table, stated_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from costframe.study.points import Point

    Floats = NDArray[np.float64]

KEY = ("table", "history", "seed", "kind", "algorithms", "rows")  # of a study
SHARES = (0.5, 0.25)  # of the rows that train and that choose, the others test
SEEN = sum(SHARES)
STATED = (
    *("score", "score_error", "cost", "cost_error", "test_score", "test_error", "test_cost"),
    *("recorded_score", "recorded_cost"),
)
FRESH, RISKS = 30_000, 6_000  # the mean over the former is the truth: its error is a small part of those stated
POINTS = 10  # of a path
WIDEST = 20.0  # largest weight of a row by inverse propensity


@frozen(eq=False)
class Case:
    """A table, its rows as a history leaves them, and which are studied and which are further ones."""

    table: KnownTable
    recorded: Floats
    made: NDArray[np.bool_]
    rows: int

    @classmethod
    def of(cls, table: str, history: str, seed: int, rows: int) -> Case:
        """Draw a case: of each history other rows, so that all draws tell how often figures are near."""
        rng = np.random.default_rng([seed, 55, [*HISTORIES].index(history)])
        known = TABLES[table](rng, rows + FRESH + RISKS)
        return cls(known, *known.record(history, rng), rows)

    @property
    def fresh(self) -> slice:
        """Further rows."""
        return slice(self.rows, self.rows + FRESH)

    @property
    def data(self) -> tuple[Floats, NDArray[np.int64]]:
        """Rows to train on and to choose by, as recorded, and their labels: for models that know no costs."""
        seen = int(self.rows * SEEN)
        return self.recorded[:seen], self.table.y[:seen]

    def dataset(self, X: Floats, *, errors: bool) -> Dataset:
        """Return the rows that are studied, of an X, as a data set."""
        ends = (np.array(SHARES) * self.rows).astype(int)
        return Dataset.from_arrays(
            X[: self.rows],
            self.table.y[: self.rows],
            self.table.costs(errors=errors),
            feature_names=self.table.names,
            split=np.repeat(["train", "valid", "test"], [ends[0], ends[1], self.rows - ends[:2].sum()]),
            name="records",
        )

    @property
    def tests(self) -> slice:
        """Rows that neither train nor choose, in which a study completes the tests that were not made."""
        return slice(int(self.rows * SEEN), self.rows)

    def measure(self, predict: Callable[[Floats], Floats], cost: float, rows: slice | None = None) -> dict[str, float]:
        """Return the truth of predictions at a cost on further rows, or others: cost, score, and that of errors."""
        rows = self.fresh if rows is None else rows
        y, p = self.table.y[rows], np.clip(predict(self.table.X[rows]), 1e-6, 1 - 1e-6)
        alarm, miss = self.table.errors[0][1], self.table.errors[1][0]
        answer = p * miss > (1 - p) * alarm
        wrong = np.where(y == 1, miss * ~answer, alarm * answer).mean()
        found = {"auc": roc_auc_score(y, p), "loss": log_loss(y, p), "cost": cost, "bill": cost + wrong}
        return {name: float(f"{value:.7g}") for name, value in found.items()}


def study(case: Case, kind: str, algorithms: list[str]) -> dict[str, Any]:
    """Return what a sweep of recorded rows states of its points, what is true, and what references reach."""
    data, began = case.dataset(case.recorded, errors=kind == "bill"), time.process_time()
    frontier = cf.Frontier.sweep(data, algorithms, points=POINTS, n_jobs=1, references=True)
    seconds = time.process_time() - began  # steadier than the clock where others compute too
    points = {point.name: figures(case, frontier, point) for point in frontier}
    all_made = case.dataset(case.table.X, errors=kind == "bill")
    whole = cf.Frontier.sweep(all_made, algorithms, points=POINTS, cv=0, n_jobs=1, references=True)
    best = [whole.recommended(), whole.best()]
    known = {name: true_figures(case, whole, point) for name, point in zip(("recommended", "best"), best, strict=True)}
    return {
        "seconds": round(seconds, 1),
        "donors": case.table.fewest_donors(case.made[: int(case.rows * SHARES[0])]),
        "recommended": frontier.recommended().name,
        "best": frontier.best().name,
        "points": points,
        "all made": known,
        "rivals": dict(rivals(case)),
    }


def figures(case: Case, frontier: cf.Frontier, point: Point) -> dict[str, Any]:
    """Return what is stated of a point, and what is true."""
    told = {name: getattr(point, name) for name in STATED}
    told["score_low"], told["score_high"] = frontier.score_interval(point)
    if frontier.has_bills:
        told |= {"bill": frontier.bill(point), "bill_error": frontier.bill_error(point)}
        told["bill_low"], told["bill_high"] = frontier.bill_interval(point)
    told = {name: None if value is None else float(f"{value:.7g}") for name, value in told.items()}
    true = true_figures(case, frontier, point)
    true_of_tests = true_figures(case, frontier, point, case.tests)
    return told | {"free": true["cost"] == 0, "true": true, "true of test rows": true_of_tests}


def true_figures(case: Case, frontier: cf.Frontier, point: Point, rows: slice | None = None) -> dict[str, float]:
    """Return the true figures of a point, on further rows, or others, where each request is answered."""
    model, rows = frontier.model(point), case.fresh if rows is None else rows
    report = cf.ExpectedCost(case.table.costs(errors=False)).evaluate(model.predictor_, case.table.X[rows])
    assert report.predictions is not None  # noqa: S101 - routing is hard
    return case.measure(lambda _: report.predictions, report.mean, rows)


def rivals(case: Case) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the name and true figures of what people do with such rows today, LightGBM on all columns."""
    X, y = case.data
    made, tested = case.made[: len(X)], np.concatenate(case.table.tested)
    all_made, paid = made.all(axis=1), case.table.costs(errors=False).full_cost(case.table.names)
    means = np.nanmean(X, axis=0)

    def fill(rows: Floats) -> Floats:
        filled = rows.copy()
        filled[:, tested] = np.where(np.isnan(rows[:, tested]), means[tested], rows[:, tested])
        return filled

    def mark(rows: Floats) -> Floats:
        return np.column_stack([fill(rows), np.isnan(rows[:, tested])])

    def as_is(rows: Floats) -> Floats:
        return rows

    every, weight = np.ones(len(X), np.bool_), np.ones(len(X))
    ways: dict[str, tuple[Any, Any, Any]] = {
        "lightgbm": (as_is, every, weight),
        "means": (fill, every, weight),
        "marks": (mark, every, weight),
        "complete rows": (as_is, all_made, weight),
        "propensity": (as_is, all_made, _by_propensity(X[:, case.table.free], all_made)),
    }
    yield "lightgbm, free columns", case.measure(_boost(X[:, case.table.free], y, weight, case.table.free), 0.0)
    for name, (prepare, chosen, weights) in ways.items():
        if len(np.unique(y[chosen])) == 2:
            predict = _boost(prepare(X)[chosen], y[chosen], weights[chosen], None)
            yield name, case.measure(lambda rows, p=predict, by=prepare: p(by(rows)), paid)


def _by_propensity(free: Floats, made: NDArray[np.bool_]) -> Floats:
    """Return one over the chance that all tests of a row are made, by its free columns: (n,)."""
    if made.all():
        return np.ones(len(made))
    filled = np.where(np.isnan(free), np.nanmean(free, axis=0), free)
    scaled = (filled - filled.mean(axis=0)) / (filled.std(axis=0) + 1e-12)
    chance = LogisticRegression(max_iter=500).fit(scaled, made).predict_proba(scaled)[:, 1]
    return np.minimum(made.mean() / np.maximum(chance, 1e-6), WIDEST)


def _boost(X: Floats, y: Floats, weight: Floats, columns: list[int] | None) -> Callable[[Floats], Floats]:
    """Train LightGBM, with a fifth of the rows to stop by; return its predictions of rows."""
    import lightgbm as lgb

    out = np.arange(len(y)) % 5 == 0
    model = lgb.LGBMClassifier(
        n_estimators=300, learning_rate=0.05, num_leaves=15, min_child_samples=10, n_jobs=1, verbose=-1
    )
    stopping = [(X[out], y[out])] if len(np.unique(y[out])) == 2 else None
    stop = [lgb.early_stopping(20, verbose=False)] if stopping else []
    model.fit(X[~out], y[~out], weight[~out], eval_set=stopping, eval_sample_weight=[weight[out]], callbacks=stop)
    return lambda rows: model.predict_proba(rows if columns is None else rows[:, columns])[:, 1]


def run(given: argparse.Namespace) -> None:
    """Append the missing studies to a file."""
    done = {tuple(map(str, map(one.get, KEY))) for one in read(given.output)} if given.output.exists() else set()
    for seed in range(given.first, given.first + given.seeds):
        for table in _available(given.tables):
            for history in given.histories:
                case = None
                for kind in given.kinds:
                    values = (table, history, seed, kind, given.algorithms, given.rows)
                    if tuple(map(str, values)) in done:
                        continue
                    case = case or Case.of(table, history, seed, given.rows)
                    found = dict(zip(KEY, values, strict=True)) | study(case, kind, given.algorithms)
                    with given.output.open("a") as file:
                        file.write(json.dumps(found) + "\n")
                    print(_line(found), flush=True)


def _available(tables: list[str]) -> Iterator[str]:
    for table in tables:
        if table == "nhanes" and not NHANES.exists():
            print(f"nhanes: left out, {NHANES} is not there")
        else:
            yield table


def _line(found: dict[str, Any]) -> str:
    name = found["recommended" if found["kind"] == "bill" else "best"]
    point, kind = found["points"][name], found["kind"]
    stated = (
        f"bill {point['bill']:.2f}, true {point['true']['bill']:.2f}"
        if kind == "bill"
        else f"score {point['score']:.3f}, true {point['true']['auc']:.3f}, recorded {point['recorded_score'] or 0:.3f}"
    )
    return f"{found['table']} {found['history']} {found['seed']} {kind}: {name}, {stated} ({found['seconds']:.0f} s)"


def read(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def summarize(given: argparse.Namespace) -> None:
    """Print, for each kind of study, what is stated and true, what the choice pays, and what others reach."""
    studies = [one for path in given.files for one in read(path)]
    for kind in KINDS:
        some = [one for one in studies if one["kind"] == kind]
        if some:
            for table in (stated_table, kept_table, rivals_table):
                print(f"\n{kind}\n\n{table(some, kind)}", flush=True)


def page(given: argparse.Namespace) -> None:
    """Print the table of docs/records.md."""
    print(page_table([one for path in given.files for one in read(path)]))


def same(given: argparse.Namespace) -> None:
    """Print whether tables without empty cells give the same models with and without `absent`."""
    for name in _available(given.tables):
        table = TABLES[name](np.random.default_rng(0), given.rows + RISKS)
        without = {
            group: {key: _without_absent(price) for key, price in prices.items()}
            for group, prices in table.prices.items()
        }
        stored = []
        for prices in (table.prices, without):
            costs = cf.CostModel.of(prices, errors=table.errors)
            X, y = np.nan_to_num(table.X[: given.rows]), table.y[: given.rows]
            data = Dataset.from_arrays(X, y, costs, feature_names=table.names)
            frontier = cf.Frontier.sweep(data, given.algorithms, points=POINTS, n_jobs=1, cv=0)
            stored.append([(p.name, p.score, p.cost, frontier.model(p).predict_proba(X).tobytes()) for p in frontier])
        print(f"{name}: {'the same' if stored[0] == stored[1] else 'DIFFERENT'}, {len(stored[0])} models", flush=True)


def _without_absent(price: Any) -> Any:
    return {key: value for key, value in price.items() if key != "absent"} if isinstance(price, dict) else price


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("output", type=Path)
    running.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES])
    running.add_argument("--histories", nargs="+", choices=HISTORIES, default=[*HISTORIES])
    running.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    running.add_argument("--algorithms", nargs="+", default=["cegb"])
    running.add_argument("--seeds", type=int, default=5, help="number of draws of a table")
    running.add_argument("--first", type=int, default=0, help="first seed")
    running.add_argument("--rows", type=int, default=4000, help="rows of each study: a half trains, a quarter tests")
    running.set_defaults(action=run)
    showing = commands.add_parser("summary")
    showing.add_argument("files", nargs="+", type=Path)
    showing.set_defaults(action=summarize)
    writing = commands.add_parser("page", help="the table of docs/records.md")
    writing.add_argument("files", nargs="+", type=Path)
    writing.set_defaults(action=page)
    comparing = commands.add_parser("same")
    comparing.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES])
    comparing.add_argument("--algorithms", nargs="+", default=["cegb"])
    comparing.add_argument("--rows", type=int, default=2000)
    comparing.set_defaults(action=same)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    given.action(given)


if __name__ == "__main__":
    main()
