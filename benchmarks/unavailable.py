"""Needs ../shared: what an outage costs in score, beside boosters that are trained on just the columns that are left.

    python benchmarks/unavailable.py [heart thyroid ...] [--algorithms planner cegb lightgbm] [--draws 8] [--caps 8]

A model trained once answers test rows while a random 20 to 70 % of the columns are unavailable ("subset"), while each
resource, or each column of the tables without any, is down ("source"), and where a random part of the columns is known
at the start and nothing else can be had ("known"). The other side is LightGBM, trained anew on just these columns. The
score is the area under the ROC curve, of several classes the mean of each against the rest; prices are ignored.

With `--caps`, the scores of rows under so many caps instead, in the mean over sources that are down: from the price of
the cheapest feature that is left to that of all, at equal ratios.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

import costframe as cf
from harness.points import markdown
from harness.tables import FREE, fewer_rows, fitting_rows, load, options

if TYPE_CHECKING:
    from costframe.datasets import Dataset

TABLES = ("heart", "thyroid", "nhanes", "sat12", "letter", "nhanes1", "cube-20k", "breast-cancer")
MOST_ROWS, MOST_TEST, MOST_ASKED, MOST_SOURCES = 3_000, 4_000, 200, 12
ABSENT = 0.2, 0.7  # shares of unavailable columns
ROUNDS, PATIENCE = 600, 30
FREELY = {"planner": {"tradeoff": 1e-4}, "cegb": {"tradeoff": 0.0}, "miser": {"tradeoff": 0.0}}
ASKED = {"planner": {"tradeoff": 0.0}}  # with these, prices are ignored


def score(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the area under the ROC curve, of several classes the mean over each against the rest."""
    if probabilities.ndim == 1:
        return float(roc_auc_score(y, probabilities))
    present = [k for k in range(probabilities.shape[1]) if 0 < (y == k).sum() < len(y)]
    return float(np.mean([roc_auc_score(y == k, probabilities[:, k]) for k in present]))


def boosted(data: Dataset, columns: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the probabilities of rows by LightGBM trained on just some columns."""
    import lightgbm

    train, valid = data.part("train"), data.part("valid")
    model = lightgbm.LGBMClassifier(
        n_estimators=ROUNDS, learning_rate=0.05, num_leaves=15, min_child_samples=10, n_jobs=1, verbose=-1
    )
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    model.fit(train.X[:, columns], train.y, eval_set=[(valid.X[:, columns], valid.y)], callbacks=[stop])
    found = model.predict_proba(X[:, columns])
    return np.asarray(found[:, 1] if found.shape[1] == 2 else found)


def draw_sources(data: Dataset) -> list[tuple[str, ...]]:
    """Return names that can be down alone: resources, or columns where there are none."""
    resources = [(each.name,) for each in data.costs.resources]
    return (resources or [(name,) for name in data.feature_names])[:MOST_SOURCES]


def left_by(data: Dataset, names: tuple[str, ...]) -> np.ndarray:
    """Return the columns that are left where some features and resources are unavailable: int64 (any,)."""
    gone = data.costs.select(data.feature_names).columns_of(names, "unavailable")
    return np.setdiff1d(np.arange(len(data.feature_names)), sorted(gone))


def ask_known(predictor: Any, X: np.ndarray, columns: np.ndarray, asked: dict[str, Any]) -> np.ndarray:
    """Return the answers of inquiries that begin with the values of some columns, and can have no others."""
    names = np.array(predictor.feature_names)
    barred = tuple(np.delete(names, columns).tolist())
    answers = []
    for row in X:
        known = dict(zip(names[columns].tolist(), row[columns].tolist(), strict=True))
        inquiry = predictor.inquire(known=known, unavailable=barred, **asked)
        answers.append(inquiry.answer.value)
    return np.array(answers)


def fit(data: Dataset, algorithm: str) -> Any:
    """Return the predictor of an algorithm, or of another library's model, adopted and given rows and labels."""
    if algorithm in FREELY:
        estimator = cf.estimator(algorithm, task="classification", costs=data.costs, n_jobs=1, **FREELY[algorithm])
        return estimator.fit(**fitting_rows(data)).predictor_
    train = data.part("train")
    X, y = train.X, np.unique(train.y, return_inverse=True)[1]  # XGBoost takes no other labels
    model = adopted_models()[algorithm].fit(X, y)
    return cf.adopt(model, data.feature_names).with_costs(data.costs).with_fallbacks(X, y=y)


def adopted_models() -> dict[str, Any]:
    """Return models of other libraries, not fitted, by name."""
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import RandomForestClassifier
    from xgboost import XGBClassifier

    return {
        "lightgbm": LGBMClassifier(learning_rate=0.05, num_leaves=15, min_child_samples=10, n_jobs=1, verbose=-1),
        "xgboost": XGBClassifier(learning_rate=0.1, max_depth=4, n_jobs=1),
        "catboost": CatBoostClassifier(iterations=200, thread_count=1, verbose=False, allow_writing_files=False),
        "forest": RandomForestClassifier(min_samples_leaf=3, random_state=0),
    }


def load_few(name: str) -> Dataset:
    """Return a table, or its first rows if it has many."""
    data = load(name, 0)
    return data if len(data.X) < 3 * MOST_ROWS else fewer_rows(data, MOST_ROWS)


def measure(name: str, algorithm: str, draws: int) -> dict[str, np.ndarray]:
    """Return by kind of outage what the model scores beside LightGBM on the rest: model and booster, (any, 2)."""
    data = load_few(name)
    start = time.process_time()
    predictor = fit(data, algorithm)
    print(f"{name} {algorithm}: {time.process_time() - start:.1f} s of fit", flush=True)
    test, random, asked = data.part("test"), np.random.default_rng(0), ASKED.get(algorithm, {})
    X, y, names = test.X[:MOST_TEST], test.y[:MOST_TEST], np.array(data.feature_names)
    found: dict[str, list[tuple[float, float]]] = {"all": [], "subset": [], "source": [], "known": []}
    every = np.arange(len(names))
    found["all"].append((score(y, predictor.predict(X, **asked)), score(y, boosted(data, every, X))))
    subsets = [random.random(len(names)) < random.uniform(*ABSENT) for _ in range(draws)]
    outages = [("subset", tuple(names[gone].tolist())) for gone in subsets if not gone.all()]
    outages += [("source", down) for down in draw_sources(data)]
    for kind, down in outages:
        left = left_by(data, down)
        if len(left):
            answers = predictor.predict(X, unavailable=down, **asked)
            other = boosted(data, left, X)
            found[kind].append((score(y, answers), score(y, other)))
            if kind == "subset" and len(found["known"]) < draws // 2:
                at = slice(MOST_ASKED)
                known = ask_known(predictor, X[at], left, asked)
                found["known"].append((score(y[at], known), score(y[at], other[at])))
    return {kind: np.array(each) for kind, each in found.items()}


def measure_caps(name: str, algorithm: str, count: int) -> np.ndarray:
    """Return the scores of rows under caps, with each source down, (sources, caps)."""
    data = load_few(name)
    predictor, test, scores = fit(data, algorithm), data.part("test"), []
    X, y, names = test.X[:MOST_TEST], test.y[:MOST_TEST], np.array(data.feature_names)
    for down in draw_sources(data):
        left = [each for each in names[left_by(data, down)].tolist() if each in predictor.used_features]
        least, most = min(data.costs.full_cost([each]) for each in left), data.costs.full_cost(left)
        caps = np.round(np.geomspace(least, most, count), 2).tolist()
        asked = ASKED.get(algorithm, {})
        scores.append([score(y, predictor.predict(X, unavailable=down, max_cost=cap, **asked)) for cap in caps])
    return np.array(scores)


def print_caps(tables: list[str], algorithms: list[str], count: int) -> None:
    """Print, by table and algorithm, the mean scores under caps."""
    lines = []
    for name in tables:
        for algorithm in algorithms:
            scores = measure_caps(name, algorithm, count).mean(axis=0)
            lines.append([name, algorithm, *(f"{each:.3f}" for each in scores)])
            print(*lines[-1], sep=" | ", flush=True)
    print("\n" + markdown(["table", "model", *(f"cap {number + 1}" for number in range(count))], lines))


def main() -> None:
    """Print, by table and algorithm, the mean and the worst difference from the boosters on the rest."""
    asked = options(
        __doc__,
        TABLES,
        free=FREE,
        algorithms={"nargs": "+", "default": list(FREELY)},
        draws={"type": int, "default": 8},
        caps={"type": int, "default": 0},
    )
    warnings.simplefilter("ignore")
    if asked.caps:
        print_caps(asked.tables, asked.algorithms, asked.caps)
        return
    lines = []
    for name in asked.tables:
        for algorithm in asked.algorithms:
            line = [name, algorithm]
            for each in measure(name, algorithm, asked.draws).values():
                lost = each[:, 1] - each[:, 0]
                line.append(f"{each[:, 0].mean():.3f}, {-lost.mean():+.3f}, {-lost.max():+.3f}")
            lines.append(line)
            print(*line, sep=" | ", flush=True)
    print("\n" + markdown(["table", "model", "all", "subset", "source", "known"], lines))


if __name__ == "__main__":
    main()
