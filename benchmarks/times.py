"""Times beside LightGBM's, as ratios in one run: predictions, fits, memory, the planner's plans and inquiries.

    python benchmarks/times.py [predict cold miser cegb roofline planner first memory large]

By default all but the last two, which take minutes. Tables are drawn. The planner's model is the cheapest whose score
is within 1 % of the best, beside LightGBM cut at the first round that scores as much on valid.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

import costframe as cf
from harness.compilers import compiled
from harness.fit_phases import time_phases
from harness.predict_phases import time_predict_phases
from harness.tables import SHARED, load, single_prices
from harness.timing import THREADS, draw_table, ratio, seconds, train_lightgbm

if TYPE_CHECKING:
    from collections.abc import Callable

    import lightgbm as lgb

ROUNDS, LEAVES, TRADEOFF = 100, 31, 1e-4
CALLS = 500  # of one row
PLANNED, ASKED = 2000, 300  # rows of the planner's table, and those that are inquired about


def predict() -> None:
    """Predict 100,000 x 50 rows with 100 trees of 31 leaves, and one row at a time."""
    X, y = draw_table()
    booster = train_lightgbm(X, y)
    predictor, row = cf.adopt(booster), X[:1]
    np.testing.assert_allclose(predictor.predict(X), booster.predict(X), rtol=1e-12)
    evaluator = cf.ExpectedCost(cf.CostModel.uniform(predictor.feature_names))
    ratio(
        "predict / LightGBM's predict of the same model",
        lambda: predictor.predict(X, n_jobs=THREADS),
        lambda: booster.predict(X, num_threads=THREADS),
        goal="<= 0.167",
    )
    ratio(
        "predict with the exact cost report / predict alone",
        lambda: evaluator.evaluate(predictor, X, n_jobs=THREADS),
        lambda: predictor.predict(X, n_jobs=THREADS),
        goal="<= 1.2",
        repeats=21,
    )
    ratio(
        f"predict one row, {CALLS} calls / LightGBM's",
        lambda: [predictor.predict(row) for _ in range(CALLS)],
        lambda: [booster.predict(row, num_threads=1) for _ in range(CALLS)],
        goal="<= 1",
    )
    for name, peer in compiled(booster):
        np.testing.assert_allclose(predictor.predict(X), peer(X, THREADS), rtol=1e-9)
        ratio(
            f"predict / {name}'s of the same model",
            lambda: predictor.predict(X, n_jobs=THREADS),
            lambda peer=peer: peer(X, THREADS),
            goal="-",
        )
        ratio(
            f"predict one row, {CALLS} calls / {name}'s",
            lambda: [predictor.predict(row) for _ in range(CALLS)],
            lambda peer=peer: [peer(row, 1) for _ in range(CALLS)],
            goal="-",
        )
    model = cf.estimator("cegb", "classification", n_estimators=ROUNDS, max_leaves=LEAVES, n_jobs=THREADS)
    model.fit(X[:5000], y[:5000] > 0)
    model.predict_proba(row)
    times = [seconds(lambda: model.predict_proba(row)) for _ in range(CALLS)]
    print(f"{'predict_proba of one row, 100 trees':58s} {1e6 * statistics.median(times):.0f} us   (goal: <= 30 us)")
    inquire(model.predictor_, X[: ASKED + 1])
    many("boosted trees", model.predictor_, X)
    chain = cf.estimator("cronus", "classification", tradeoff=1e-3, n_jobs=THREADS).fit(X[:5000], y[:5000] > 0)
    many(f"Cronus, {len(chain.predictor_.stages)} stages", chain.predictor_, X)


def cold() -> None:
    """Load a saved model and predict in a fresh process, with its kernels in the cache."""
    X, y = draw_table(5000)
    model = cf.estimator("cegb", "classification", n_estimators=ROUNDS, max_leaves=LEAVES).fit(X, y > 0)
    with tempfile.TemporaryDirectory() as folder:
        cf.save(model, path := Path(folder) / "model")
        code = (
            "import time; start = time.perf_counter(); import numpy, costframe; "
            f"costframe.load({str(path)!r}).predict(numpy.zeros((1, 50))); print(time.perf_counter() - start)"
        )
        times = [float(_in_a_process(code)) for _ in range(6)][1:]  # the first may compile
    print(f"{'import, load and a first prediction':58s} {statistics.median(times):.2f} s   (goal: <= 1 s)")


def miser() -> None:
    """Fit Greedy Miser (depth 3) against LightGBM's plain fit of as many leaves, binning included in both."""
    X, y = draw_table()
    prices = cf.CostModel.uniform([f"x{f}" for f in range(X.shape[1])])
    settings = {"n_estimators": ROUNDS, "learning_rate": 0.1, "min_samples_leaf": 20, "n_jobs": THREADS}
    for task, labels, objective in (("regression", y, "regression"), ("classification", y > 0, "binary")):

        def ours(task: str = task, labels: np.ndarray = labels) -> Any:
            return cf.estimator("miser", task, costs=prices, tradeoff=1e-6, **settings).fit(X, labels)

        def theirs(labels: np.ndarray = labels, objective: str = objective) -> lgb.Booster:
            return train_lightgbm(X, labels, ROUNDS, leaves=8, objective=objective)

        ratio(f"Miser's fit, {task} / LightGBM's", ours, theirs, goal="<= 1", repeats=5)


def cegb() -> None:
    """Fit CEGB with lazy prices and resources against LightGBM, lazy and plain, at equal leaves, trees and threads."""
    X, y = draw_table()
    compare_fits("100,000 x 50", X, y, 3)
    if not SHARED.is_dir():
        print("cover: skipped, its table is in ../shared, which is not there")
        return
    data = load("cover", 0)
    rows, prices = data.part("train"), data.costs
    lazy = {"cegb_tradeoff": 1.0, "cegb_penalty_feature_lazy": (TRADEOFF * single_prices(prices)).tolist()}
    settings = {"costs": prices, "tradeoff": TRADEOFF, "n_estimators": ROUNDS, "max_leaves": LEAVES, "n_jobs": THREADS}
    ratio(
        "CEGB's fit, cover / LightGBM's lazy",
        lambda: cf.estimator("cegb", "classification", **settings).fit(rows.X, rows.y),
        lambda: train_lightgbm(rows.X, rows.y, ROUNDS, LEAVES, objective="binary", **lazy),
        goal="<= 0.3",
        repeats=3,
    )


def compare_fits(title: str, X: np.ndarray, y: np.ndarray, repeats: int) -> None:
    """Print the ratios of one table, for classes and numbers."""
    for classes in (True, False):

        def ours(classes: bool = classes) -> Any:
            return fit_cegb(X, y, classes=classes)

        for lazy, goal in ((True, "<= 0.15"), (False, "<= 0.4")):

            def theirs(lazy: bool = lazy, classes: bool = classes) -> lgb.Booster:
                return fit_lightgbm(X, y, lazy=lazy, classes=classes)

            kinds = f"{'two classes' if classes else 'numbers'} / LightGBM's {'lazy' if lazy else 'plain'}"
            ratio(f"CEGB's fit, {title}, {kinds}", ours, theirs, goal=goal, repeats=repeats)


def fit_cegb(X: np.ndarray, y: np.ndarray, rounds: int = ROUNDS, *, classes: bool = True, n_jobs: int = THREADS) -> Any:
    """Fit CEGB, each feature at 1 and in need of one of five resources."""
    d = X.shape[1]
    features = {f"x{f}": {"cost": 1.0, "needs": [f"r{f % 5}"]} for f in range(d)}
    prices = cf.CostModel.from_dict({"features": features, "resources": {f"r{g}": 1.0 for g in range(5)}})
    settings = {"costs": prices, "tradeoff": TRADEOFF, "n_estimators": rounds, "max_leaves": LEAVES, "n_jobs": n_jobs}
    model = cf.estimator("cegb", "classification" if classes else "regression", **settings)
    return model.fit(X, y > 0 if classes else y)


def fit_lightgbm(
    X: np.ndarray, y: np.ndarray, rounds: int = ROUNDS, *, lazy: bool, classes: bool = True
) -> lgb.Booster:
    """Fit LightGBM, with the same price of every feature or none; it knows no resources."""
    prices = {"cegb_tradeoff": 1.0, "cegb_penalty_feature_lazy": [2 * TRADEOFF] * X.shape[1]} if lazy else {}
    objective = "binary" if classes else "regression"
    return train_lightgbm(X, y > 0 if classes else y, rounds, LEAVES, objective=objective, **prices)


def roofline() -> None:
    """Time the phases of fit, predict and price on one thread, beside the least time for their bytes and updates."""
    X, y = draw_table()
    time_predict_phases("100,000 x 50, 100 trees of 31 leaves", cf.adopt(train_lightgbm(X, y)), X)
    for classes in (True, False):
        kind = f"100,000 x 50, {'two classes' if classes else 'numbers'}"
        time_phases(kind, lambda classes=classes: fit_cegb(X, y, classes=classes, n_jobs=1), n_words=1 + classes)  # type: ignore[misc]


def planner() -> None:
    """Predict with the planner's model, and inquire row by row."""
    X, y = draw_table(2 * PLANNED, 10)
    labels, valid = y > 0, slice(PLANNED, 2 * PLANNED)
    model = cf.estimator("planner", "classification", n_jobs=THREADS)
    path = model.fit_path(X[:PLANNED], labels[:PLANNED], X_val=X[valid], y_val=labels[valid], scoring="roc_auc")
    best = max(point.score for point in path.points)
    point = min((point for point in path.points if point.score >= 0.99 * best), key=lambda point: point.cost)
    predictor = path.predictor(point)
    booster = train_lightgbm(X[:PLANNED], labels[:PLANNED], 300, objective="binary")
    ends = range(10, 301, 10)
    reached = [roc_auc_score(labels[valid], booster.predict(X[valid], num_iteration=end)) for end in ends]
    rounds = next((end for end, score in zip(ends, reached, strict=True) if score >= point.score), 300)
    rows = np.resize(X, (100_000, 10))
    ratio(
        f"the planner's predict, 100,000 x 10 / {rounds} rounds of LightGBM",
        lambda: predictor.predict(rows, n_jobs=THREADS),
        lambda: booster.predict(rows, num_iteration=rounds, num_threads=THREADS),
        goal="<= 1",
    )
    inquire(predictor, X[valid][: ASKED + 1])
    many("the planner", predictor, rows)


def many(title: str, predictor: cf.Predictor, X: np.ndarray) -> None:
    """Print the time of a row of `predict_many` over an array, with its value, cost and acquired features."""
    times = [seconds(lambda: cf.predict_many(predictor, X)) for _ in range(6)][1:]  # the first may compile
    each = 1e6 * statistics.median(times) / len(X)
    print(f"{f'predict_many over an array, {title}':58s} {each:.1f} us a row   (goal: <= 5 us)")


def inquire(predictor: cf.Predictor, X: np.ndarray) -> None:
    """Print the time of all that costframe does for a row: begin, ask until there is an answer, read it."""
    times, trips = [], []
    for values in X.tolist():
        row = dict(zip(predictor.feature_names, values, strict=True))
        before, inquiry = time.process_time(), predictor.inquire()
        while needs := inquiry.needs:
            inquiry.supply({name: row[name] for name in needs})
        trips.append(inquiry.answer.rounds)
        times.append(time.process_time() - before)
    median = 1e6 * statistics.median(times[1:])  # the first may compile
    print(f"{'inquiry of a row':58s} {median:.0f} us, {statistics.mean(trips[1:]):.1f} trips   (goal: <= 100 us)")


def first() -> None:
    """Time the import and the first fit, prediction, cost and inquiry of a fresh process."""
    code = (
        "import time; start = time.perf_counter(); import numpy as np, costframe as cf; "
        "X = np.random.default_rng(0).normal(size=(300, 4)); y = X[:, 0] > X[:, 1]; "
        "m = cf.estimator('miser', task='classification').fit(X, y); m.predict(X); m.cost(X); cf.predict_one(m, X[0]); "
        "print(time.perf_counter() - start)"
    )
    times = [float(_in_a_process(code)) for _ in range(3)]
    title = "import, first fit, prediction, cost and inquiry of a process"
    print(f"{title:58s} {statistics.median(times):.2f} s   (goal: <= 1.5 s)")


def memory() -> None:
    """Measure by how much the resident memory grows while fitting, beyond the libraries and the table."""
    n, grown = 1_000_000, {}
    fits = {"CEGB": "fit_cegb(X, y, 10)"}
    fits |= {name: f"fit_lightgbm(X, y, 10, lazy={name == 'lazy'})" for name in ("plain", "lazy")}
    for name, fit in fits.items():
        code = (
            f"{_LOAD}; X, y = draw_table(2000); {fit}; X, y = draw_table({n}); "
            f"Path('/proc/self/clear_refs').write_text('5'); before = resident('VmRSS'); {fit}; "
            "print(resident('VmHWM') - before)"
        )
        grown[name] = int(_in_a_process(code))
        print(f"{f'memory growth at {n:,} x 50, {name}':58s} {grown[name] / 2**20:7.0f} MiB", flush=True)
    share = grown["CEGB"] / (grown["plain"] + 50 * n)
    print(f"{'CEGB / (LightGBM plain + a byte a cell)':58s} {share:5.2f}   (goal: <= 1)")


_LOAD = "from times import *; from harness.timing import seconds"


def resident(field: str) -> int:
    """Return bytes of this process (Linux)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _in_a_process(code: str, **environment: str) -> str:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True)  # noqa: S603 # our own code
    return done.stdout.strip()


def large() -> None:
    """Fit CEGB and LightGBM to a million rows."""
    compare_fits("1,000,000 x 50", *draw_table(1_000_000), repeats=1)


BENCHMARKS: dict[str, Callable[[], None]] = {
    each.__name__: each for each in (predict, cold, miser, cegb, roofline, planner, first, memory, large)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=", ".join(BENCHMARKS))
    names = parser.parse_args().names or list(BENCHMARKS)[:-2]
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}, there are {', '.join(BENCHMARKS)}")
    for name in names:
        print(f"-- {name}: {BENCHMARKS[name].__doc__}")
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
