"""Counts how often promises are broken on many draws of rows, and what the chosen models cost; nhanes needs ../shared.

    python benchmarks/promises.py [interactions rare ...] [--draws 400] [--rows 2000] [--kinds error ...]

Each family is a drawn problem, or the table nhanes, with CEGB at 24 (14, 40) tradeoffs, trained on 4,000 (6,000) rows.
Truth is the mean over 40,000 (24,000) further rows, from which each draw takes its rows without replacement. Promises
have confidence 0.9. Limits are at a third and two thirds of the way from the best loss of a point to the largest one,
in two digits, but at least three standard errors of the rows above the best: closer to it, this number of rows cannot
tell. Kinds of which even the constant is so near are left out.

Compared are the cheapest point that keeps the promise on the rows ("by estimate"); points tested from the dear end
("fixed sequence"); and `Frontier.cheapest(promise=...)`, with cascades: where a fifth of the rows fixes the order of
tests ("a fifth plans"), and where the validation rows do, as in a search or comparison ("valid plans"). Each pays the
dearest point where it certifies nothing. The ratio is that of the last to the cheapest point that truly keeps the
promise. "Alone" is the ratio if that point were known, and it alone were tested, on all rows.
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit

import costframe as cf
from costframe.choices import Frontier
from costframe.choices.model_pool import ModelPool, cascades_of
from costframe.errors import BrokenPromiseError
from costframe.promises.choose import Certifier, certify_cheapest
from costframe.promises.losses import losses_of
from costframe.promises.sample import Answers
from costframe.study.rows import StudyRows

if TYPE_CHECKING:
    from numpy.random import Generator

Drawn = tuple[Any, Any, list[float]]
CONFIDENCE, PLANNED = 0.9, 0.2
FINE, DIFFERS = "nhanes-fine", "disagreement(best)"
SURE = 3.0  # standard errors from the best loss to a limit
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
KINDS = ("error", "recall(1)", "precision(1)", "disagreement(best)", "excess(best)", "bill")


def interactions(r: Generator, n: int) -> Drawn:
    """Rows whose sign of a product decides."""
    X = r.normal(size=(n, 10))
    return X, 3 * np.sign(X[:, 4] * X[:, 5]) + X[:, 0] / 2 + X[:, 1] - 0.5, [0.0] * 3 + [2.0, 5.0, 5.0] + [3.0] * 4


def rare(r: Generator, n: int) -> Drawn:
    """Few rows of class 1, and prices of errors."""
    X = r.normal(size=(n, 9))
    return X, -4.2 + X[:, 0] + 1.2 * X[:, 4] + 1.5 * X[:, 6] * (X[:, 0] > 0), [0.0] * 3 + [1.0] * 3 + [8.0] * 3


def noise(r: Generator, n: int) -> Drawn:
    """Rows of which hardly anything can be known."""
    X = r.normal(size=(n, 8))
    return X, 0.3 * X[:, 0] - 1.2 + 0.2 * X[:, 5], [0.0] * 2 + [4.0] * 6


def many(r: Generator, n: int) -> Drawn:
    """Many cheap features, each with little effect."""
    X = r.normal(size=(n, 30))
    return X, X @ np.linspace(0.05, 0.6, 30) * 1.5 - 1, [0.5] * 30


def patients(r: Generator, n: int) -> Drawn:
    """Rows of patients, three each, who differ more than their rows do."""
    of = np.repeat(r.normal(size=(n // 3 + 1, 8)), 3, axis=0)[:n]
    X = 0.8 * of + 0.6 * r.normal(size=(n, 8))
    return X, 2 * X[:, 0] + 2 * X[:, 3] + 1.5 * X[:, 6] * X[:, 7] + 2 * of[:, 1] - 1, [0.0] * 2 + [3.0] * 4 + [10.0] * 2


DRAWN = {"interactions": interactions, "rare": rare, "noise": noise, "many": many, "patients": patients}


@frozen(eq=False)
class Family:
    """A frontier, and rows of known truth."""

    name: str
    frontier: Frontier
    X: Any
    y: Any
    groups: Any
    valid: tuple[Any, Any]


def make(name: str) -> Family:
    """Fit the frontier of a family."""
    if name.startswith("nhanes"):
        return _nhanes(name, 40 if name == FINE else 14)
    r = np.random.default_rng([*name.encode()])
    X, z, prices = DRAWN[name](r, 45_000)
    y = (r.random(len(z)) < expit(2 * z)).astype(int)
    names = [f"x{i}" for i in range(X.shape[1])]
    costs = cf.CostModel.of(dict(zip(names, prices, strict=True)), errors={0: {1: 10.0}, 1: {0: 40.0}})
    costs = costs if name == "rare" else costs.without_errors()
    groups = np.arange(len(y)) // 3 if name == "patients" else None
    model = cf.CEGBClassifier(costs, n_estimators=60)
    frontier = Frontier.fit(model, X[:4000], y[:4000], X_val=X[4000:5000], y_val=y[4000:5000], cv=0, n_jobs=1)
    held = None if groups is None else groups[5000:]
    return Family(name, frontier, X[5000:], y[5000:], held, (X[4000:5000], y[4000:5000]))


def _nhanes(name: str, count: int) -> Family:
    import pandas as pd

    table = pd.read_parquet(SHARED / "nhanes/data.parquet").sample(frac=1, random_state=0)
    costs = cf.CostModel.load(SHARED / "nhanes/costs.toml")
    X, y = table.drop(columns=["label", "split"]).astype(float), table.label.astype(int).to_numpy()
    tradeoffs = [0.0, *np.geomspace(3e-5, 1e-2, count)]
    model = cf.CEGBClassifier(costs, n_estimators=60)
    train, valid, pool = slice(0, 6000), slice(6000, 8000), slice(8000, 32_000)
    frontier = Frontier.fit(
        model, X[train], y[train], X_val=X[valid], y_val=y[valid], cv=0, n_jobs=1, tradeoffs=tradeoffs
    )
    return Family(name, frontier, X[pool], y[pool], None, (X[valid], y[valid]))


@frozen(eq=False)
class Known:
    """The answers of all candidates for all rows of a family."""

    pool: ModelPool
    candidates: list[Any]
    answers: dict[str, Answers]
    whole: Any  # sample of all rows
    valid: Any  # and of the validation rows

    @classmethod
    def of(cls, family: Family, promises: tuple[Any, ...]) -> Known:
        """Ask all points, and cascades with the safest of them on the validation rows."""
        pool = ModelPool.of(family.frontier)
        valid = pool.sample(StudyRows.of(*family.valid, None, None), promises)
        judge = Certifier(promises, valid)
        candidates = [*pool.candidates, *cascades_of(pool.candidates, judge)]
        whole = pool.sample(StudyRows.of(family.X, family.y, None, None, groups=family.groups), promises)
        bill = any(each.kind == "bill" for each in promises)
        return cls(pool, candidates, {c.name: Answers.of(c.make(), whole, bill=bill) for c in candidates}, whole, valid)

    def ask(self, candidate: Any, sample: Any, _bill: bool) -> Answers:
        """Return the answers for a sample whose X are numbers of rows."""
        rows, known = sample.X, self.answers[candidate.name]
        taken = {name: getattr(known, name)[rows] for name in ("values", "labels", "cost")}
        return evolve(known, **taken, bill=None if known.bill is None else known.bill[rows])


def limits(known: Known, kind: str, n: int) -> list[float]:
    """Return two limits of a kind, between the best and the largest loss of points."""
    probe, points = promise_of(kind, None), known.pool.candidates
    true = true_losses(known, probe, points)
    best = losses_of(probe, known.answers[points[int(true.argmin())].name], known.whole)
    spread = best.width * float(best.values.std()) / math.sqrt(n * len(best.values) / len(known.whole))  # noqa: PD011
    low, high = best.mean, float(true[np.isfinite(true)].max())
    least = low + max(SURE * spread, SURE**2 * best.width / n)  # of no error among n rows, the second one
    asked = (max(low + part * (high - low), least) for part in (1 / 3, 2 / 3))
    return sorted({rounded for limit in asked if low < (rounded := float(f"{limit:.2g}")) < high})


def promise_of(kind: str, limit: float | None) -> cf.Promise:
    """Return the promise of a kind with a limit on its loss."""
    least = kind.startswith(("recall", "precision"))
    limit = (0.5 if "bill" not in kind else 1e6) if limit is None else limit
    return cf.Promise(f"{kind} {'>=' if least else '<='} {1 - limit if least else limit:.10g}", confidence=CONFIDENCE)


def true_losses(known: Known, promise: cf.Promise, candidates: Any) -> np.ndarray:
    """Return the mean loss of each candidate over all rows, in its own scale; infinite without any."""
    found = [losses_of(promise, known.answers[each.name], known.whole).mean for each in candidates]
    return np.array([math.inf if math.isnan(loss) else loss for loss in found])


def run(known: Known, promise: cf.Promise, n: int, draws: int, seed: int) -> dict[str, Any]:
    """Draw rows many times, and choose in five ways; return shares of broken promises, and mean costs."""
    candidates, points = known.candidates, list(known.pool.candidates)
    true = dict(zip([c.name for c in candidates], true_losses(known, promise, candidates), strict=True))
    cost = {c.name: float(known.answers[c.name].cost.mean()) for c in candidates}
    dearest, r = max(cost[c.name] for c in points), np.random.default_rng(seed)
    from_dear = sorted(points, key=lambda c: -cost[c.name])
    valid = Certifier((promise,), known.valid)  # asks each model once
    kept_truly = [c for c in points if true[c.name] <= promise.limit]
    cheapest = min(kept_truly, key=lambda c: cost[c.name], default=None)
    broken, paid, none = np.zeros(5), np.zeros(5), np.zeros(5)
    for _ in range(draws):
        rows = _draw(known, n, r)
        sample = evolve(known.whole.take(rows), X=rows)
        judge = Certifier((promise,), sample, known.ask)
        kept = [c for c in points if judge.losses(c)[0].mean <= promise.limit]
        first = min(kept, key=lambda c: judge.answers(c).cost.mean(), default=None)
        plan, rest = (Certifier((promise,), part, known.ask) for part in sample.split(PLANNED, 0))
        ways = (
            first and first.name,
            _fixed_sequence(from_dear, judge),
            _chosen(candidates, rest, plan),
            _chosen(candidates, judge, valid),
            None if cheapest is None else _fixed_sequence([cheapest], judge),
        )
        for k, name in enumerate(ways):
            broken[k] += name is not None and true[name] > promise.limit
            none[k] += name is None
            paid[k] += dearest if name is None else cost[name]
    least = math.nan if cheapest is None else cost[cheapest.name]
    return {"broken": broken / draws, "paid": paid / draws, "none": none / draws, "cheapest": least}


def _draw(known: Known, n: int, r: Generator) -> Any:
    """Return the numbers of n rows, or of those of n / 3 groups of three."""
    units = known.whole.units
    if units is None:
        return r.choice(len(known.whole), n, replace=False)
    return np.flatnonzero(np.isin(units, r.choice(int(units.max()) + 1, n // 3, replace=False)))


def _fixed_sequence(from_dear: list[Any], judge: Certifier) -> str | None:
    found = None
    for candidate in from_dear:
        if judge.losses(candidate)[0].p_value(1 - CONFIDENCE) > 1 - CONFIDENCE:
            break
        found = candidate.name
    return found


def _chosen(candidates: list[Any], judge: Certifier, plan: Certifier) -> str | None:
    try:
        return certify_cheapest(candidates, judge, plan, "").name
    except BrokenPromiseError:
        return None


def main() -> None:
    """Print a line of a table for each family and promise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=["nhanes", FINE, *DRAWN])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--rows", type=int, default=2000)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    most = 1 - CONFIDENCE + 2 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / given.draws)
    print(f"{given.rows} rows, {given.draws} draws; at most {most:.3f} may be broken\n")
    columns = ("family", "promise", "cheapest true", "by estimate", "fixed sequence", "a fifth plans", "valid plans")
    print(f"| {' | '.join((*columns, 'none', 'ratio', 'alone'))} |\n{'|---' * 10}|")
    ratios, worst = [], 0.0
    for name in given.families:
        family = make(name)
        for kind in given.kinds:
            if kind == "bill" and family.frontier.has_bills is False:
                continue
            known = Known.of(family, (promise_of(kind, None),))
            as_asked = [0.02, 0.03] if name.startswith("nhanes") and kind == DIFFERS else None
            for limit in as_asked or limits(known, kind, given.rows):
                promise = promise_of(kind, limit)
                found = run(known, promise, given.rows, given.draws, 0)
                ways = [f"{b:.1%} at {p:.2f}" for b, p in zip(found["broken"][:4], found["paid"][:4], strict=True)]
                ratio, alone = found["paid"][3:] / found["cheapest"] if found["cheapest"] > 0 else (math.nan, math.nan)
                ratios.append(ratio)
                worst = max(worst, *found["broken"][2:4])
                none = f"{found['none'][3]:.0%}"
                line = [name, str(promise), f"{found['cheapest']:.2f}", *ways, none, f"{ratio:.2f}", f"{alone:.2f}"]
                print(f"| {' | '.join(line)} |", flush=True)
    print(f"\nmost often broken {worst:.1%}; ratio: median {np.nanmedian(ratios):.2f}, mean {np.nanmean(ratios):.2f}")


if __name__ == "__main__":
    main()
