"""What a change of the house must leave as it is: models, their answers, exact costs, rounds and inquiries, to the bit.

    python benchmarks/goldens.py freeze FOLDER     before the change
    python benchmarks/goldens.py check FOLDER      after it: a line for each difference, and then exit status 1

Every algorithm and task is trained on drawn rows, each classifier on the embedded data too, in their default recipes
and the papers'. Saved files are opened again. The figures are of one machine: BLAS differs elsewhere.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, ASKED = 700, 12
TASKS = {"classifier": "classification", "regressor": "regression", "ranker": "ranking"}


def draw(task: str, seed: int = 0) -> tuple:
    """Return rows with missing values and ties, targets, and queries (None unless `task` is "ranker")."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(ROWS, 8)), 2)
    X[rng.random(X.shape) < 0.05] = np.nan
    Z = np.nan_to_num(X)
    score = Z[:, 0] + Z[:, 1] * (Z[:, 2] > 0) - Z[:, 3] + 0.5 * rng.normal(size=ROWS)
    qid = np.repeat(np.arange(ROWS // 10), 10) if task == "ranker" else None
    y = {"classifier": (score > 0).astype(int), "regressor": score, "ranker": np.digitize(score, [-0.5, 0.8])}[task]
    return X, y, qid


def prices(folder: Path) -> cf.CostModel:
    """Return prices with a shared resource, and with what comparisons, learners and reuse cost."""
    path = folder / "prices.toml"
    path.write_text(
        'unit = "EUR"\nsplit = 0.001\nlearner = 0.002\nreuse = 0.0005\n[features]\n'
        'x0 = 1.0\nx1 = 2.0\nx2 = { cost = 0.5, needs = ["draw"] }\nx3 = 1.5\nx4 = 2.0\n'
        'x5 = { cost = 0.5, needs = ["draw"] }\nx6 = 1.0\nx7 = 0.0\n[resources]\ndraw = 2.0\n'
    )
    return cf.CostModel.load(path)


def look(predictor: cf.Predictor, X: np.ndarray, costs: cf.CostModel) -> dict[str, np.ndarray]:
    """Return what a predictor does with rows: answers, exact costs, and inquiries with and without limits."""
    seen = {"predict": predictor.predict(X), "scores": predictor.decision_function(X)}
    for name, limits in {
        "free": {},
        "learner": {"acquisition": "learner"},
        "capped": {"max_cost": 4.0},
        "unavailable": {"unavailable": (predictor.feature_names[0],)},
    }.items():
        try:
            report = predictor.cost(X, costs, rounds=True, **limits)
        except cf.CostframeError as error:
            seen[f"{name} refused"] = np.array([type(error).__name__])
            continue
        for part in ("per_row", "acquired", "rounds"):
            value = getattr(report, part)
            seen[f"{name} {part}"] = np.asarray(value.toarray() if hasattr(value, "toarray") else value, dtype=float)
        seen[f"{name} fixed"] = np.array([report.fixed])
        answers = []
        for row in X[:ASKED]:
            inquiry = predictor.inquire(costs, **limits)
            while inquiry.needs:
                inquiry.supply({f: row[predictor.feature_names.index(f)] for f in inquiry.needs})
            said = inquiry.answer
            answers.append([*np.ravel(said.value), said.cost, said.rounds, len(said.acquired)])
            seen.setdefault(f"{name} names", np.array([], dtype=str))
            seen[f"{name} names"] = np.append(seen[f"{name} names"], " ".join(said.acquired) + f" {said.reason}")
        seen[f"{name} asked"] = np.array(answers, dtype=float)
    return seen


def models(folder: Path) -> Iterator[tuple[str, Any, tuple[Any, ...], np.ndarray, cf.CostModel]]:
    """Yield names and estimators, what they are trained on, the rows they are asked about, and their prices."""
    costs, plain = prices(folder), cf.CostModel.uniform([f"x{i}" for i in range(8)])
    cancer = cf.datasets.load("breast-cancer")
    train, test = cancer.part("train"), cancer.part("test")
    known = {name: algorithm for name, algorithm in sorted(cf.algorithms().items()) if name != "stumps"}
    for (name, algorithm), task, recipe, tradeoff in product(known.items(), TASKS, (None, "paper"), (0.003, 0.05)):
        kind = getattr(algorithm, task)
        has = kind(costs=costs).get_params() if kind else {}
        if kind is None or (recipe and "recipe" not in has) or (tradeoff > 0.01 and "tradeoff" not in has):
            continue
        paid, half = costs if recipe is None else plain, ROWS // 2
        chosen = {"tradeoff": tradeoff} if "tradeoff" in has else {}
        chosen |= {"recipe": recipe} if recipe else {}
        chosen |= {"random_state": 0} if "random_state" in has else {}
        chosen |= {"full_share": 0.3} if recipe and name == "adapt" else {}
        X, y, qid = draw(task)
        held = {"X_val": X[half:], "y_val": y[half:]}
        held |= {} if qid is None else {"qid": qid[:half], "qid_val": qid[half:]}
        label = f"{name} {task} {recipe} {tradeoff}"
        yield label, kind(costs=paid, **chosen), (X[:half], y[:half], held), X, paid
    for name, algorithm in known.items():
        if algorithm.classifier is not None:
            model = algorithm.classifier(costs=cancer.costs)
            if "random_state" in model.get_params():
                model.set_params(random_state=0)
            yield f"{name} embedded", model, (train.X, train.y, {}), test.X, cancer.costs


def freeze(folder: Path) -> dict[str, np.ndarray]:
    """Return all that is seen of all models; their files lie in `folder`."""
    seen: dict[str, np.ndarray] = {}
    for label, model, (X, y, held), rows, costs in models(folder):
        try:
            model.fit(X, y, **held)
        except (cf.CostframeError, ValueError) as error:
            seen[f"{label}: refused"] = np.array([str(error)])
            print(label, "refused:", error)
            continue
        path = folder / f"{label.replace(' ', '-')}.cf"
        try:
            cf.save(model, path)
        except cf.CostframeError as error:
            seen[f"{label}: not saved"] = np.array([str(error).replace(str(folder), "")])
        for what, value in look(model.predictor_, np.asarray(rows, dtype=float), costs).items():
            seen[f"{label}: {what}"] = value
        if path.exists() and not np.array_equal(cf.load(path).predict(rows), model.predict(rows)):
            raise SystemExit(f"{label}: predictions differ after saving")
        print(label, flush=True)
    return seen


def main() -> int:
    """Freeze or check."""
    action, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    path = folder / "goldens.npz"
    if action == "freeze":
        np.savez_compressed(path, **freeze(folder))
        return 0
    with TemporaryDirectory() as now:
        old, new = np.load(path), freeze(Path(now))
    wrong = [f"only before: {key}" for key in old.files if key not in new]
    wrong += [f"only now: {key}" for key in new if key not in old.files]
    for key in set(old.files) & set(new):
        before, now = old[key], new[key]
        if before.dtype != now.dtype or not np.array_equal(before, now, equal_nan=before.dtype.kind == "f"):
            gap = (
                float(np.nanmax(np.abs(before - now))) if before.dtype.kind == "f" and before.shape == now.shape else ""
            )
            wrong.append(f"differs: {key} {gap}")
    print("\n".join(sorted(wrong)) or f"{len(new)} figures are the same")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
