"""Needs ../shared: whether the gains that a plan states for its asks are those that held-out rows realise.

    python benchmarks/reasons.py [heart thyroid nhanes sat12 letter drawn] [--splits 3] [--rows 600] [--judged 2000]

For each ask of each test row: the stated gain, beside the loss (or cost of errors) of the row at the stop where it
asked, minus that at the stop that it asked for. Where a plan states gains net of what follows, it is minus that at the
row's end and minus what the row bought after the ask. Bias is stated minus realised, both summed over the asks of a
row, with its standard error over splits, or over test rows of a single split; so is, beside it, that of the gains that
rows compare, of which reasons state the share that rows realised out of fold. Of "drawn" the losses are expected ones
under the probabilities that it was drawn by, for all of a row's columns. Plans of losses are at the tradeoff 1e-3,
plans in money where each wrong class costs what all features do; both are trained on some of the training rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

import costframe as cf
from harness.points import markdown
from harness.tables import chances_of_borrowers, load, options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costframe.core.arrays import F8, I8
    from costframe.datasets import Dataset

    Found = tuple[int, F8, F8, F8, F8, list[float]]

TABLES = ("heart", "thyroid", "nhanes", "sat12", "letter", "drawn")
HEADER = [
    "plan",
    "train",
    "test",
    "asks a row",
    "stated",
    "realised",
    "bias",
    "bias of gains compared",
    "why, median us",
]
_SURE = 1e-15


def main() -> None:
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    chosen = options(
        __doc__,
        TABLES,
        splits=number | {"default": 3, "help": "splits of each table"},
        rows=number | {"default": 600, "help": "most training rows"},
        judged=number | {"default": 2000, "help": "most test rows"},
    )
    rows = []
    for name in chosen.tables:
        for kind in ("loss", "money"):
            splits = range(chosen.splits)
            found = [compare(load(name, split), kind, split, chosen.rows, chosen.judged) for split in splits]
            rows.append([f"{name}, {kind}", *summarize(found)])
            print(" | ".join(rows[-1]), flush=True)
    print(markdown(HEADER, rows))


def compare(data: Dataset, kind: str, seed: int, most: int, judged: int) -> Found:
    """Fit a plan to some rows, and compare its gains with those of test rows; see `measure`."""
    random = np.random.default_rng(seed)

    def draw(name: str, count: int) -> tuple[F8, Any]:
        part = data.part(name)
        some = np.sort(random.permutation(len(part.y))[:count])
        return part.X[some], part.y[some]

    (X, y), (X_test, y_test) = draw("train", most), draw("test", judged)
    labels = np.unique(y)
    known = np.isin(y_test, labels)
    X_test, truth = X_test[known], np.searchsorted(labels, y_test[known])
    tradeoff: float | None = 1e-3
    weights = np.eye(len(labels))[truth]  # of the classes that a row may have
    if data.name == "drawn":
        fails = chances_of_borrowers(X_test)
        weights = np.column_stack([1.0 - fails, fails])
    costs, losses = data.costs, log_losses(weights)
    if kind == "money":
        price = data.costs.full_cost(data.feature_names)
        errors = np.where(np.eye(len(labels), dtype=bool), 0.0, price)
        costs, tradeoff, losses = cf.CostModel.of(data.costs, errors=errors), None, wrong(weights, price)
    model = cf.estimator("planner", data.task, costs=costs, tradeoff=tradeoff, n_jobs=1).fit(X, y)
    return len(y), *measure(model.predictor_, X_test, losses)


def log_losses(weights: F8) -> Callable[[F8], F8]:
    """Return the log losses of rows, given their probabilities, (n, M), where each class has a weight, (n, M)."""
    return lambda chances: -(weights * np.log(np.maximum(chances, _SURE))).sum(axis=1)


def wrong(weights: F8, price: float) -> Callable[[F8], F8]:
    """Return the costs of rows' likeliest classes, given their probabilities, where every error has one price."""
    return lambda chances: price * (1.0 - weights[np.arange(len(weights)), chances.argmax(axis=1)])


def summarize(found: list[Found]) -> list[str]:
    """Return the cells of a line: numbers of rows, means over splits, the bias with its error, and times."""
    n_train, asks, stated, compared, realised, times = zip(*found, strict=True)
    biases = [bias_of(said, realised) for said in (stated, compared)]
    asked, said, real = (np.mean([each.mean() for each in part]) for part in (asks, stated, realised))
    figures = f"{asked:.2f}", f"{said:.3g}", f"{real:.3g}", *biases
    return [f"{n_train[0]:,}", f"{len(asks[0]):,}", *figures, f"{1e6 * np.median(np.concatenate(times)):.0f}"]


def bias_of(stated: Sequence[F8], realised: Sequence[F8]) -> str:
    """Return the mean difference over splits of numbers of test rows, with its standard error."""
    gaps = [said - real for said, real in zip(stated, realised, strict=True)]
    means = np.array([gap.mean() for gap in gaps])
    spread = means.std(ddof=1) if len(means) > 1 else gaps[0].std()
    error = spread / np.sqrt(len(means) if len(means) > 1 else len(gaps[0]))
    return f"{means.mean():+.2g} +- {error:.2g}"


def measure(plan: Any, X: F8, losses: Callable[[F8], F8]) -> tuple[F8, F8, F8, F8, list[float]]:
    """Return each row's number of asks with gains, sums of their stated, compared and realised gains, and times."""
    terms = plan.terms()
    at_stops, ways = losses_at_stops(plan, X, losses), np.concatenate([part.to for part in plan.walk(X, terms)])
    is_planned, tradeoff = plan.plan_terms(terms).planned, plan.plan_terms(terms).tradeoff
    plain = evolve(plan, realised=(1.0, 1.0))
    asks, stated, compared, realised = np.zeros((4, len(X)))
    times = list[float]()
    for i, row in enumerate(X):
        (gains, paid), whole = ask(plan, row, times), ask(plain, row, [])[0]
        stops, steps = steps_of(plan, ways[i])
        for (stop, later), gain, full, before in zip(steps, gains, whole, paid, strict=True):
            if gain is None or full is None:
                continue
            planned = plan.stops[stop].planned
            is_net = is_planned and planned is not None and len(planned.learners) > 0
            gained = at_stops[i, stop] - at_stops[i, stops[-1] if is_net else later]
            asks[i], stated[i], compared[i] = asks[i] + 1, stated[i] + gain, compared[i] + full
            realised[i] += gained - (tradeoff * (paid[-1] - before) if is_net else 0.0)
    return asks, stated, compared, realised, times


def losses_at_stops(plan: Any, X: F8, losses: Callable[[F8], F8]) -> F8:
    """Return the losses of rows at each stop, as if they had its features: float64 (n, stops)."""
    table = np.hstack([X, np.empty((len(X), plan.n_outputs))])
    predictions = [stop.answer.predictions(plan.layout.score(k, table)) for k, stop in enumerate(plan.stops)]
    return np.stack([losses(np.hstack([1.0 - p, p]) if p.shape[1] == 1 else p) for p in predictions], axis=1)


def steps_of(plan: Any, to: I8) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the stops of a row, given where it goes from each one, and its steps to stops with new features.

    The first step is to stop 0 itself, if it has features.
    """
    have, stops = set(plan.stops[0].features.tolist()), [0]
    steps = [(0, 0)] if have else []
    while to[stops[-1]] not in {stops[-1], -1}:
        stops.append(int(to[stops[-1]]))
        wanted = set(plan.stops[stops[-1]].features.tolist())
        steps += [(stops[-2], stops[-1])] if wanted - have else []
        have |= wanted
    return stops, steps


def ask(plan: Any, row: F8, times: list[float]) -> tuple[list[float | None], list[float]]:
    """Return the stated gain of each ask of a row, and what it has paid after each; append the times of reasons."""
    inquiry, gains, paid = plan.inquire(), list[float | None](), list[float]()
    values = dict(zip(plan.feature_names, row.tolist(), strict=True))
    while inquiry.needs:
        begun = time.perf_counter()
        why = inquiry.why()
        times.append(time.perf_counter() - begun)
        gains.append(why.asks[0].gain)
        inquiry.supply({name: values[name] for name in inquiry.needs})
        paid.append(inquiry.cost)
    return gains, paid


if __name__ == "__main__":
    main()
