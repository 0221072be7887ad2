"""A soak: random fits, saves, loads, inquiries and reports over all algorithms, until the time is over.

    python benchmarks/soak.py --minutes 60 --processes 2
    python benchmarks/soak.py --seed 4711 --worlds 1     # repeat one world

A world is a drawn table with drawn prices, settings and limits, and one model fitted to it. Each of its rows is a case:
the report of its cost, an inquiry that fetches from a counting source, and the kernels that predict tables must agree
on it, to the bit for predictions, and the model loaded from a file with the model saved. Each world has a seed of its
own, printed with a mismatch. The last line tells cases, mismatches, and whether the memory stayed flat.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

import costframe as cf
from costframe.core.plugins.entries import TASKS
from costframe.core.plugins.estimators import two_classes_only
from costframe.core.plugins.registry import registry
from costframe.study.algorithms import check_saved
from costframe.testing import expect_as_reported, inquire, same_bits
from costframe.testing.case import expect

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

FRESH = 2000  # rows of a world to predict: its cases
LIMITED = 8  # one row in so many is inquired about under limits too
QUICK = {"n_estimators": 15, "min_samples_leaf": 5, "n_jobs": 1}  # as tables are small
FLAT = 1.05  # memory at the end over that after the first fifth of the time
SHOWN = 60.0  # seconds between lines


@define
class Tally:
    """What was done so far."""

    worlds: int = 0
    cases: int = 0
    refused: int = 0
    wrong: list[str] = field(factory=list)
    by_algorithm: collections.Counter[str] = field(factory=collections.Counter)
    memory: list[tuple[float, float]] = field(factory=list)  # seconds, MB of all processes


def main() -> None:
    asked = _options()
    tally, start = Tally(), time.monotonic()
    end, shown, last = start + 60 * asked.minutes, start, asked.seed + asked.worlds
    context = multiprocessing.get_context("spawn")
    with context.Pool(asked.processes) as pool:
        workers = [worker.pid for worker in multiprocessing.active_children()]
        seeds = iter(range(asked.seed, last))
        waiting = collections.deque(
            pool.apply_async(run, (seed,)) for _, seed in zip(range(2 * asked.processes), seeds, strict=False)
        )
        while waiting:
            _count(tally, *waiting.popleft().get())
            now = time.monotonic()
            if now < end and (seed := next(seeds, None)) is not None:
                waiting.append(pool.apply_async(run, (seed,)))
            if now - shown >= SHOWN or not waiting:
                tally.memory.append((now - start, sum(resident(pid) for pid in workers if pid)))
                shown = now
                _show(tally)
    print(f"cases by algorithm: {dict(sorted(tally.by_algorithm.items()))}")
    growth, flat = _growth(tally.memory)
    print(f"{tally.cases:,} cases, {len(tally.wrong)} mismatches, {tally.refused} refused fits, memory {growth}")
    sys.exit(0 if flat and not tally.wrong else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="default: 60")
    parser.add_argument("--worlds", type=int, default=10**9, help="end after so many")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the first world; the next has the next seed")
    return parser.parse_args()


def _count(tally: Tally, algorithm: str, cases: int, refusal: str, wrong: str) -> None:
    tally.worlds += 1
    tally.cases += cases
    tally.by_algorithm[algorithm] += cases
    if refusal:
        tally.refused += 1
        print(f"  refused: {refusal}", flush=True)
    if wrong:
        tally.wrong.append(wrong)
        print(wrong, flush=True)


def _show(tally: Tally) -> None:
    seconds, memory = tally.memory[-1]
    print(
        f"{seconds / 60:5.1f} min {tally.worlds:6,} worlds {tally.cases:10,} cases "
        f"{len(tally.wrong)} mismatches {memory:6.0f} MB",
        flush=True,
    )


def _growth(memory: list[tuple[float, float]]) -> tuple[str, bool]:
    """Compare the last fifth of the time with the second, as kernels and imports load in the first."""
    if len(memory) < 10:
        return "was not judged: less than ten minutes", True
    fifth = len(memory) // 5
    early, late = (np.mean([mb for _, mb in part]) for part in (memory[fifth : 2 * fifth], memory[-fifth:]))
    return f"{early:.0f} MB, then {late:.0f} MB: x {late / early:.3f}", bool(late <= FLAT * early)


def resident(pid: int) -> float:
    """Return the MB that a process holds (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def run(seed: int) -> tuple[str, int, str, str]:
    """Run one world: its algorithm, number of cases, why a fit was refused, and what is wrong."""
    random, about = np.random.default_rng(seed), f"seed {seed}"
    name = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            name, task, settings, (X, y, queries), prices = draw_world(random)
            about = f"seed {seed}: {name} {task} {settings}"
            model = cf.estimator(name, task, costs=prices, **settings)
            train = slice(len(X) - FRESH)
            more = {} if queries is None else {"qid": queries[train]}
            try:
                check_saved(name, task, len(np.unique(y)) if task == "classification" else 0)
                model.fit(X[train], y[train], **more)
            except cf.CostframeError as error:
                return name, 0, f"{about}: {error}", ""
            check_model(random, model, X[train.stop :], prices)
    except Exception:  # noqa: BLE001 - what is wrong is told with its seed, and the soak goes on
        return name, 0, "", f"{about}\n{traceback.format_exc()}"
    return name, FRESH, "", ""


def draw_world(random: Generator) -> tuple[str, str, dict[str, Any], tuple[Any, Any, Any], cf.CostModel]:
    """Draw an algorithm, a task, settings, rows with labels and queries, and prices."""
    name = str(random.choice(list(cf.algorithms())))
    found = registry().algorithm(name)
    task = str(random.choice([task for task, kind in TASKS.items() if getattr(found, kind) is not None]))
    several = task == "classification" and not two_classes_only(found.classifier)
    X, y, queries = draw_rows(random, task, int(random.integers(2, 5)) if several else 2)
    prices = draw_prices(random, X.shape[1])
    known = cf.estimator(name, task).get_params()
    settings: dict[str, Any] = {key: value for key, value in QUICK.items() if key in known}
    settings["tradeoff"] = float(random.choice([0.0, 10 ** random.uniform(-4, 0)])) / max(prices.full_cost(), 1.0)
    for key, values in {
        "max_depth": (None, 2, 3),
        "max_features": (None, 0.5),
        "random_state": (0, 1),
        "n_stages": (None, 1, 3),
        "acquisition": ("path", "learner"),
    }.items():
        if known.get(key, ...) is not ... and random.random() < 0.3:
            allowed = [value for value in values if value is not None or known[key] is None]
            settings[key] = allowed[random.integers(len(allowed))]
    return name, task, settings, (X, y, queries), prices


def draw_rows(random: Generator, task: str, n_classes: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Draw rows with ties and missing values, and their labels and queries."""
    n, d = int(random.integers(60, 400)) + FRESH, int(random.integers(1, 12))
    hidden = random.standard_normal((n, 3))
    X = hidden @ random.standard_normal((3, d)) + random.exponential(1.0, d) * random.standard_normal((n, d))
    rounded = random.random(d) < 0.4
    X[:, rounded] = np.round(X[:, rounded] * random.choice([1, 4]))
    X[random.random((n, d)) < random.choice([0.0, 0.1, 0.5])] = np.nan
    signal = hidden[:, 0] + hidden[:, 1] * hidden[:, 2] + 0.2 * random.standard_normal(n)
    if task == "regression":
        return X, signal, None
    levels = n_classes if task == "classification" else 4
    y = np.digitize(signal, np.quantile(signal, np.arange(1, levels) / levels))
    return X, y, np.arange(n) // 10 if task == "ranking" else None


def draw_prices(random: Generator, d: int) -> cf.CostModel:
    """Draw prices of features and of chained resources, some of them zero."""
    price = lambda: float(random.choice([0.0, 1.0, np.round(random.exponential(5.0), 2)]))  # noqa: E731
    resources: dict[str, Any] = {}
    for r in range(random.integers(0, 4)):
        needs = [one for one in resources if random.random() < 0.4]
        resources[f"r{r}"] = {"cost": price(), "needs": needs}
    features = {
        f"x{f}": {"cost": price(), "needs": [one for one in resources if random.random() < 0.3]} for f in range(d)
    }
    return cf.CostModel.from_dict({"features": features, "resources": resources})


def check_model(random: Generator, model: Any, rows: NDArray[np.float64], prices: cf.CostModel) -> None:
    """Expect of each row that report, inquiry and kernels agree, also after saving and loading, and under limits."""
    predictor = model.predictor_
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.costframe"
        cf.save(predictor, file)
        loaded = cf.load(file, {learner.name: learner.function for learner in predictor.bank.opaques})
    values = predictor.predict(rows)
    expect(same_bits(loaded.predict(rows), values), "predictions differ after loading")
    acquisition = str(random.choice(["path", "learner"]))
    report = loaded.cost(rows, prices, acquisition=acquisition, rounds=True)
    expect(same_bits(report.per_row, predictor.cost(rows, prices, acquisition=acquisition).per_row), "costs differ")
    for i, row in enumerate(rows):
        end, source = inquire(loaded, row, prices, acquisition)
        expect_as_reported(report, i, end, source, f"row {i}, {acquisition}")
        expect(same_bits(end.value, values[i]), f"row {i}: inquiry {end.value}, predict {values[i]}")
    limits: dict[str, Any] = {"max_cost": random.uniform(0, 1.1) * float(report.per_row.max())}
    if random.random() < 0.3:
        limits["unavailable"] = [name for name in prices.names if random.random() < 0.3]
    some = rows[::LIMITED]
    report = loaded.cost(some, prices, acquisition=acquisition, rounds=True, **limits)
    for i, row in enumerate(some):
        end, source = inquire(loaded, row, prices, acquisition, **limits)
        expect_as_reported(report, i, end, source, f"row {i}, {acquisition}, {limits}")


if __name__ == "__main__":
    main()
