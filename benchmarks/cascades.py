"""Cascades of three models of growing price: a planner that buys their answers, against thresholds and agreement.

    python benchmarks/cascades.py [digits drawn views] [--seeds 5]

The planner trains on answers out of fold; `own rows` is the planner trained on answers of models on the rows that they
learned from. All ways choose on the same valid rows, and are measured on test rows.

- `within`: the cheapest way whose accuracy on valid is at most a loss below that of the large model.
- `cost at`, `accuracy at`: the ways on the convex hull of valid accuracy and cost, neighbors mixed, at equal accuracy
  (a loss below the large model on test) and at equal cost. First this, then its difference to thresholds.
- `promise`: certified at 0.9 on rows that nothing else saw; a miss is an accuracy on test below the limit.

One thread.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import costframe as cf
from costframe.errors import BrokenPromiseError
from harness.points import markdown
from harness.tables import options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PRICES = {"small": 1.0, "medium": 5.0, "large": 25.0}
LOSSES = (0.0, 0.005, 0.01, 0.02)  # of accuracy, against the large model
BUDGETS = (3.0, 6.0, 10.0, 15.0, 20.0)  # mean cost of a row
LEVELS = 20  # of a threshold
ALLOWED = 0.02  # loss of accuracy that the promise allows
PARTS = ("train", "valid", "promise", "test")


@frozen(eq=False)
class Task:
    """What three models see of the rows of a binary problem."""

    inputs: dict[str, np.ndarray]
    models: dict[str, Any]
    y: np.ndarray
    shares: tuple[float, ...]  # of the rows, for PARTS


@frozen(eq=False)
class Answers:
    """Probabilities of class 1 by each model: out of fold on train, and of models fitted to train elsewhere."""

    probability: np.ndarray  # (rows, 3)
    own: np.ndarray  # the same, on train by the models that learned from train
    y: np.ndarray
    part: np.ndarray

    def of(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the answers and classes of a part."""
        return self.probability[self.part == part], self.y[self.part == part]


@frozen(eq=False)
class Way:
    """A way to answer: its accuracy and mean cost on valid and test."""

    valid: tuple[float, float]
    test: tuple[float, float]
    name: str = field(default="")


def digits(seed: int) -> Task:
    """Is a handwritten digit five or more: 4 x 4 blocks, and all 8 x 8 pixels."""
    X, digit = load_digits(return_X_y=True)
    blocks = X.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(len(X), -1)
    models = make_models(seed, depth=6)
    return Task({"small": blocks, "medium": X, "large": X}, models, (digit >= 5).astype(int), (0.45, 0.25, 0.0, 0.3))


def drawn(seed: int) -> Task:
    """Two classes in clusters: the models see 6, 10 and 30 columns."""
    X, y = make_classification(
        20_000, 30, n_informative=12, n_redundant=4, n_clusters_per_class=4, class_sep=1.6, shuffle=False,
        random_state=seed,
    )  # fmt: skip
    inputs = {"small": X[:, :6], "medium": X[:, :10], "large": X}
    return Task(inputs, make_models(seed, depth=8), y, (0.2, 0.1, 0.1, 0.6))


def views(seed: int) -> Task:
    """Draw the same rows; models see columns that others do not see, the large one none of the small one's."""
    task = drawn(seed)
    X = task.inputs["large"]
    return evolve(task, inputs={"small": X[:, :6], "medium": X[:, 6:12], "large": X[:, 6:]})


TASKS = {"digits": digits, "drawn": drawn, "views": views}


def make_models(seed: int, depth: int) -> dict[str, Any]:
    """Return a linear model, a small forest and a large boosted model."""
    return {
        "small": LogisticRegression(max_iter=2000),
        "medium": RandomForestClassifier(20, max_depth=depth, random_state=seed),
        "large": HistGradientBoostingClassifier(max_iter=150, random_state=seed),
    }


def answer(task: Task, seed: int) -> Answers:
    """Train the models on train, and have them answer all rows."""
    part = np.random.default_rng(seed).choice(PARTS, len(task.y), p=task.shares)
    train = part == "train"
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    columns, own = [], []
    for name, model in task.models.items():
        X, probability = task.inputs[name], np.empty(len(task.y))
        probability[train] = cross_val_predict(model, X[train], task.y[train], cv=folds, method="predict_proba")[:, 1]
        model.fit(X[train], task.y[train])
        probability[~train] = model.predict_proba(X[~train])[:, 1]
        columns.append(probability)
        own.append(model.predict_proba(X[train])[:, 1])
    return Answers(np.column_stack(columns), np.column_stack(own), task.y, part)


def measure(answers: Answers, walk: Any, name: str) -> Way:
    """Measure a way; `walk` takes probabilities, and returns classes and costs of rows."""
    ends = []
    for part in ("valid", "test"):
        probability, y = answers.of(part)
        classes, costs = walk(probability)
        ends.append((float(np.mean(classes == y)), float(np.mean(costs))))
    return Way(*ends, name)


def thresholds(answers: Answers) -> Iterator[Way]:
    """Yield every order of models, in which a model answers if it is at least so sure, at all levels."""
    valid = answers.of("valid")[0]
    sure = np.maximum(valid, 1 - valid)
    levels = np.quantile(sure, np.linspace(0, 1, LEVELS), axis=0)
    for count in (1, 2, 3):
        for order in itertools.permutations(range(3), count):
            for chosen in itertools.product(*(levels[:, m] for m in order[:-1])):
                yield measure(answers, lambda p, o=order, c=chosen: ask_in_turn(p, o, c), f"{order} {chosen}")


def ask_in_turn(
    probability: np.ndarray, order: Sequence[int], levels: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Ask models in turn until one is sure; the last one answers the rest."""
    price = np.array(list(PRICES.values()))
    classes, costs = np.zeros(len(probability), int), np.zeros(len(probability))
    left = np.ones(len(probability), bool)
    for m, level in itertools.zip_longest(order, levels, fillvalue=0.0):
        costs[left] += price[m]
        said = probability[:, m]
        done = left & (np.maximum(said, 1 - said) >= level)
        classes[done] = said[done] > 0.5
        left &= ~done
    return classes, costs


def agreement(answers: Answers) -> Iterator[Way]:
    """Yield cascades in which small and medium answer if they agree and are at least so sure in the mean."""
    price = np.array(list(PRICES.values()))

    def walk(p: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        cheap = p[:, :2]
        agree = ((cheap > 0.5).sum(axis=1) != 1) & (np.maximum(cheap, 1 - cheap).mean(axis=1) >= level)
        return np.where(agree, p[:, 1] > 0.5, p[:, 2] > 0.5), price[:2].sum() + price[2] * ~agree

    for level in np.linspace(0.5, 1.0, 2 * LEVELS):
        yield measure(answers, lambda p, t=level: walk(p, t), f"{level:.2f}")


def planner(answers: Answers, X: np.ndarray) -> Iterator[Way]:
    """Yield the plans of a path, trained on answers (rows of train, 3)."""
    path = make_planner().fit_path(X, answers.of("train")[1], scoring="accuracy")
    for point in path.frontier():
        model = path.predictor(point)

        def walk(p: np.ndarray, model: Any = model) -> tuple[np.ndarray, np.ndarray]:
            report = model.cost(p)
            return report.predictions > 0.5, report.per_row

        yield measure(answers, walk, f"{point.tradeoff:.2g}")


def make_planner() -> Any:
    return cf.PlannerClassifier(cf.CostModel.of(PRICES), tradeoff=1e-3, random_state=0, n_jobs=1)


def promised(answers: Answers, limit: float) -> list[float]:
    """Return whether a plan is certified, whether its promise is broken on test, and its cost and accuracy there.

    Where none is certified, the large model answers.
    """
    (X, y), (X_valid, y_valid), (fresh, y_fresh), (test, y_test) = map(answers.of, PARTS)
    frontier = cf.Frontier.fit(make_planner(), X, y, X_val=X_valid, y_val=y_valid, cv=0)
    try:
        plan = (X_valid, y_valid)
        found = frontier.cheapest(promise=f"accuracy >= {limit}", X=fresh, y=y_fresh, plan=plan)
    except BrokenPromiseError:
        return [0.0, np.nan, PRICES["large"], float(np.mean((test[:, 2] > 0.5) == y_test))]
    accuracy = float(np.mean(found.model.predict(test) == y_test))
    return [1.0, float(accuracy < limit), found.model.cost(test).mean, accuracy]


def choose(ways: list[Way], large: Way, loss: float) -> Way:
    """Choose the cheapest way within a loss of accuracy on valid."""
    good = [way for way in ways if way.valid[0] >= large.valid[0] - loss]
    return min(good, key=lambda way: (way.valid[1], -way.valid[0]), default=large)


def hull(ways: list[Way]) -> list[Way]:
    """Return the ways on the upper convex hull of valid accuracy and cost, by growing cost."""
    chosen: list[Way] = []
    for way in sorted(ways, key=lambda way: (way.valid[1], -way.valid[0])):
        if chosen and way.valid[0] <= chosen[-1].valid[0]:
            continue
        while len(chosen) > 1 and slope(chosen[-1], way) >= slope(chosen[-2], chosen[-1]):
            chosen.pop()
        chosen.append(way)
    return chosen


def slope(one: Way, other: Way) -> float:
    return (other.valid[0] - one.valid[0]) / max(other.valid[1] - one.valid[1], 1e-12)


def cost_at(ways: list[Way], accuracy: float, large: Way) -> float:
    """Return the least test cost at which mixed neighbors of the hull have an accuracy; at most the large model's."""
    before = None
    for way in [*hull(ways), large]:
        score, cost = way.test
        if score >= accuracy:
            if before is None:
                return cost
            share = (accuracy - before[0]) / (score - before[0])
            return min(before[1] + share * (cost - before[1]), large.test[1])
        before = way.test
    return large.test[1]


def accuracy_at(ways: list[Way], cost: float) -> float:
    """Return the test accuracy of mixed neighbors of the hull at a test cost."""
    score, costs = zip(*sorted((way.test for way in hull(ways)), key=lambda end: end[1]), strict=True)
    return float(np.interp(cost, costs, score))


def run(name: str, seed: int) -> dict[tuple[str, str], list[float]]:
    """Return accuracy and cost on test of what each way chooses by each rule, and other figures."""
    answers = answer(TASKS[name](seed), seed)
    test, y_test = answers.of("test")
    single = [measure(answers, lambda p, m=m: ask_in_turn(p, [m], []), model) for m, model in enumerate(PRICES)]
    train = answers.of("train")[0]
    ways = {
        "planner": list(planner(answers, train)),
        "planner, own rows": list(planner(answers, answers.own)),
        "thresholds": list(thresholds(answers)),
        "agreement": [*agreement(answers), *single],
    }
    ends = {("alone", way.name): [*way.test] for way in single}
    large, base = single[2], ways["thresholds"]
    for kind, some in ways.items():
        for loss in LOSSES:
            ends[f"within {loss:.1%}", kind] = [*choose(some, large, loss).test]
            costs = [cost_at(each, large.test[0] - loss, large) for each in (some, base)]
            ends[f"cost at -{loss:.1%}", kind] = [costs[0], costs[0] - costs[1]]
        for budget in BUDGETS:
            scores = [accuracy_at(each, budget) for each in (some, base)]
            ends[f"accuracy at {budget:g}", kind] = [scores[0], scores[0] - scores[1]]
    if (answers.part == "promise").any():
        limit = round(float(np.mean((test[:, 2] > 0.5) == y_test)) - ALLOWED, 4)
        ends["promise", "planner"] = promised(answers, limit)
        for kind in ("planner", "thresholds"):  # chosen by the estimate on valid, without a promise
            way = min((w for w in ways[kind] if w.valid[0] >= limit), key=lambda w: w.valid[1], default=single[2])
            ends["by estimate", kind] = [1.0, float(way.test[0] < limit), way.test[1], way.test[0]]
    return ends


def table(runs: list[dict[tuple[str, str], list[float]]]) -> str:
    """Return means and standard errors over seeds."""
    rows = []
    for rule, kind in sorted(runs[0], key=lambda key: key[0]):
        values = np.array([each[rule, kind] for each in runs])
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1])
        mean = np.nanmean(values, axis=0)
        if rule in {"promise", "by estimate"}:
            kept = f"certified {mean[0]:.0%}, missed {mean[1]:.0%}, {mean[3]:.2%}"
            shown = [kept, f"{mean[2]:.2f} ± {error[2]:.2f}"]
        elif rule.startswith("cost"):
            shown = [f"{mean[0]:.2f} ± {error[0]:.2f}", f"{mean[1]:+.2f} ± {error[1]:.2f}"]
        elif rule.startswith("accuracy"):
            shown = [f"{mean[0]:.2%} ± {error[0]:.2%}", f"{mean[1]:+.2%} ± {error[1]:.2%}"]
        else:
            shown = [f"{mean[0]:.2%} ± {error[0]:.2%}", f"{mean[1]:.2f} ± {error[1]:.2f}"]
        rows.append([rule, kind, *shown])
    return markdown(["rule", "way", "test accuracy, or at equal", "test cost, or difference"], rows)


def main() -> None:
    chosen = options(__doc__, tuple(TASKS), known=TASKS, free=TASKS, seeds={"type": int, "default": 5})
    for name in chosen.tables:
        print(f"\n{name}, {chosen.seeds} seeds\n")
        print(table([run(name, seed) for seed in range(chosen.seeds)]), flush=True)


if __name__ == "__main__":
    main()
