"""Tables, split as they come or anew by seed; all but "breast-cancer" and "drawn" need ../shared."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads of a peer would slow the other side's turn

import attrs
import numpy as np
from attrs import frozen

import costframe as cf
from costframe.core.prices.costs import CostModel, FeaturePrice

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import ModuleType

    from costframe.datasets import Dataset

SHARED = Path(__file__).resolve().parents[3] / "shared"
SCORES = {
    "letter": "accuracy",
    "thyroid": "accuracy",
    "heart": "roc_auc",
    "nhanes": "roc_auc",
    "cover": "average_precision",
    "mslr": "ndcg@5",
    "sat12": "accuracy",
    "synthetic": "ndcg@5",
    "breast-cancer": "roc_auc",
    "drawn": "roc_auc",
    "cube": "accuracy",
    "cube-20k": "accuracy",
    "cube-nm": "accuracy",
    "cube-nm-20k": "accuracy",
    "nhanes1": "roc_auc",
}
FREE = ("breast-cancer", "drawn")
DRAWN = {"train": 1500, "valid": 1000, "test": 20_000}  # rows; the last are enough to know a score
STORED = tuple(SCORES)[:7]  # in ../shared/data
QUERIES = {"train": 1500, "valid": 500, "test": 1500}  # of the synthetic ranking
OUTPUT: dict[str, Any] = {"type": Path, "default": Path(__file__).parents[1] / "figures", "help": "folder for pictures"}
COUNTS = {1: 24, 5: 8, 20: 32, 50: 20, 100: 4, 150: 5, 200: 1}  # features by price
NOISE = {1: 2.2, 5: 1.5, 20: 1.1, 50: 0.8, 100: 0.45, 150: 0.35, 200: 0.2}  # its deviation; qualities have one of 1
_BANK, _BUREAU = -0.5, 0.3  # of drawn borrowers: what a bank tells beside noise of 1, and the noise of a bureau
QUALITIES = ("words", "proximity", "links", "trust", "freshness", "clicks")
SHARES = (0.07, 0.09, 0.16, 0.28)  # of grades 4 and 3, 2, 1, 0 the rest; grade 3 is relevant
RELEVANT, COPIES = 3, 10
FEWEST, MOST = 20, 40  # documents a query
FEWER = {"train": 1, "valid": 4, "test": 4}  # rows kept by `fewer_rows`, in units of its bound


def require_shared() -> None:
    """End with a message where there is no ../shared."""
    if not SHARED.is_dir():
        sys.exit(f"this reads tables and peers from the folder {SHARED.name} beside the project, which is not there")


def shared_module(name: str) -> ModuleType:
    """Import a module of ../shared/bench, or end with a message where there is none."""
    require_shared()
    if (folder := str(SHARED / "bench")) not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


@functools.lru_cache(maxsize=2)
def load_table(name: str, split: int) -> Any:
    """Return a table as peers read it (../shared/bench/common.py), with its prices as `costs`.

    Split 0 is a stored table's own, others are drawn by seed; a synthetic ranking is drawn anew for each.
    """
    kind = shared_module("common").Table
    shared_module("common").METRIC.setdefault("nhanes1", "auc")
    if name == "synthetic":
        return _draw_ranking(kind.__new__(kind), split)
    table = kind(name, split or None)
    table.costs = cf.CostModel.load(table.dir / "costs.toml")
    return table


def _draw_ranking(table: Any, seed: int) -> Any:
    """Fill in a ranking of thousands of queries; LightGBM knows no price of a tree, so trees are free."""
    parts = {part: draw_ranking(4 * seed + at, count) for at, (part, count) in enumerate(QUERIES.items())}
    table.name, table.metric, table.classes = "synthetic", "ndcg5", 0
    table.X = {part: rows.X for part, rows in parts.items()}
    table.y = {part: rows.grade for part, rows in parts.items()}
    table.q = {part: rows.qid for part, rows in parts.items()}
    prices = parts["train"].costs.features
    table.features, table.cost = [price.name for price in prices], np.array([price.cost for price in prices])
    table.needs, table.resource = np.zeros((len(prices), 0), bool), np.empty(0)
    table.costs = cf.CostModel(prices)
    return table


def as_dataset(table: Any) -> Dataset:
    """Return a table's rows, parts and prices as a data set of costframe."""
    parts = ("train", "valid", "test")
    return cf.datasets.Dataset.from_arrays(
        np.concatenate([table.X[part] for part in parts]),
        np.concatenate([table.y[part] for part in parts]),
        table.costs,
        feature_names=table.features,
        split=np.repeat(parts, [len(table.y[part]) for part in parts]),
        qid=np.concatenate([table.q[part] for part in parts]) if table.q else None,
        task="classification" if table.classes else "ranking",
        name=table.name,
    )


def draw_borrowers(seed: int) -> Dataset:
    """Draw borrowers who may fail: five free columns, a bank's noisy answer at 0.8, a bureau's better one at 2.5."""
    seen = sum(DRAWN.values()) - DRAWN["test"]
    parts = [_borrowers(seed, seen), _borrowers(1000 + seed, DRAWN["test"])]
    prices = {f"free{i}": 0.0 for i in range(5)} | {"bank": 0.8, "bureau": 2.5}
    return cf.datasets.Dataset.from_arrays(
        *(np.concatenate(each) for each in zip(*parts, strict=True)),
        CostModel.from_dict({"features": prices}),
        feature_names=tuple(prices),
        split=np.repeat(tuple(DRAWN), tuple(DRAWN.values())),
        task="classification",
        name="drawn",
    )


def chances_of_borrowers(X: np.ndarray) -> np.ndarray:
    """Return the true probability that each drawn borrower fails, given all columns: float64 (n,).

    Given bank and bureau, what both measure is normal; the mean over it is by Gauss's rule.
    """
    nodes, weight = np.polynomial.hermite_e.hermegauss(40)
    precision = 1 + _BANK**2 + 1 / _BUREAU**2
    mean = (_BANK * X[:, 5] + X[:, 6] / _BUREAU**2) / precision
    latent = mean[:, np.newaxis] + nodes / np.sqrt(precision)
    chances = 1 / (1 + np.exp(-_odds(latent, X[:, :5])))
    return np.asarray(chances @ (weight / weight.sum()))


def _odds(latent: np.ndarray, free: np.ndarray) -> np.ndarray:
    return -2.6 - 1.1 * latent + (free @ [0.35, 0.25, 0.2, 0.15, 0.1]).reshape(-1, *[1] * (latent.ndim - 1))


def _borrowers(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    latent, free = random.normal(size=n), random.normal(size=(n, 5))
    bank = _BANK * latent + random.normal(size=n)
    bureau = latent + _BUREAU * random.normal(size=n)
    odds = _odds(latent, free)
    return np.column_stack([free, bank, bureau]), (random.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


@functools.lru_cache(maxsize=2)
def load(name: str, split: int) -> Dataset:
    """Return a table as a data set, with its own split (0), or one that the number draws."""
    if name == "drawn":
        return draw_borrowers(split)
    if name != "breast-cancer":
        return as_dataset(load_table(name, split))
    return cf.datasets.load(name, split)


def fitting_rows(data: Dataset) -> dict[str, Any]:
    """Return what `fit` and `fit_path` are given by name: training rows, validation rows, queries."""
    train, valid = data.part("train"), data.part("valid")
    rows = {"X": train.X, "y": train.y, "X_val": valid.X, "y_val": valid.y}
    return rows if train.qid is None else rows | {"qid": train.qid, "qid_val": valid.qid}


def fewer_rows(data: Dataset, most: int) -> Dataset:
    """Keep the first training rows, and of valid and test four times as many; queries may be cut at the end."""
    kept = [np.flatnonzero(data.split == part)[: most * times] for part, times in FEWER.items()]
    rows = np.sort(np.concatenate(kept))
    qid = None if data.qid is None else data.qid[rows]
    return attrs.evolve(data, X=data.X[rows], y=data.y[rows], split=data.split[rows], qid=qid)


def shuffle_rows(data: Dataset) -> Dataset:
    """Return the same rows in another order, always the same, with their parts: the first ones are like all others."""
    rows = np.random.default_rng(0).permutation(len(data.X))
    return attrs.evolve(data, X=data.X[rows], y=data.y[rows], split=data.split[rows])


def single_prices(costs: cf.CostModel) -> np.ndarray:
    """Return the price of each feature alone, with the resources that it needs: float64 (d,)."""
    return costs.select(costs.names).alone


def options(
    doc: str | None,
    tables: Sequence[str] = (),
    *,
    known: Collection[str] = SCORES,
    free: Collection[str] = FREE,
    **flags: dict[str, Any],
) -> argparse.Namespace:
    """Parse the names of tables, all of `tables` by default, and flags by name; make the folder for output.

    All tables but those of `free` need ../shared.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if tables:
        parser.add_argument("tables", nargs="*", help=f"by default {' '.join(tables)}")
    for name, settings in flags.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    chosen = parser.parse_args()
    if tables:
        chosen.tables = chosen.tables or list(tables)
        if unknown := [name for name in chosen.tables if name not in known]:
            parser.error(f"no table {unknown[0]!r}, there are {', '.join(known)}")
        if set(chosen.tables) - set(free):
            require_shared()
    if "output" in flags:
        chosen.output.mkdir(parents=True, exist_ok=True)
    return chosen


@frozen(eq=False)
class Ranking:
    """A ranking like the one that Cronus was tried on, documents in the order of their queries.

    A document has six qualities. It is relevant if it matches the query well, more so if it is also trusted or fresh,
    less the query's own standard; then comes noise that no feature sees. The best 7 % of all documents are relevant.

    A feature sees one quality or the product of two, through a monotone curve and noise, or sees nothing at all (a
    third of those that cost 1 or 20, a fifth of the others). The more it costs, the less noise. All features of one
    quality and price share half of the variance of their noise, so that many cheap features together are still not a
    good one. Negatives have weight ten, as in the paper.

    Attributes
    ----------
    X : float64 (n, d)
    grade : int64 (n,)
        0 to 4; from 3 on relevant.
    qid : int64 (n,)
    weight : float64 (n,)
        1 if relevant, else 10.
    costs : CostModel
    """

    X: np.ndarray
    grade: np.ndarray
    qid: np.ndarray
    weight: np.ndarray
    costs: CostModel


def draw_ranking(seed: int, n_queries: int) -> Ranking:
    """Draw queries and their documents; all seeds have the same features, with the same curves."""
    random = np.random.default_rng([seed, 2012])
    sizes = random.integers(FEWEST, MOST + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    quality = random.standard_normal((len(qid), len(QUALITIES)))
    value = _relevance(quality) + 0.5 * random.standard_normal(n_queries)[qid] + 0.3 * random.standard_normal(len(qid))
    grade = _grades(value)
    X = np.column_stack([column for price in COUNTS for column in _features(price, quality, random)])
    names = [f"c{price}_{i}" for price, count in COUNTS.items() for i in range(count)]
    prices = [float(price) for price, count in COUNTS.items() for _ in range(count)]
    costs = CostModel(tuple(map(FeaturePrice, names, prices)), learner=1.0, unit="trees")
    return Ranking(X, grade, qid, np.where(grade >= RELEVANT, 1.0, float(COPIES)), costs)


def _relevance(quality: np.ndarray) -> np.ndarray:
    words, proximity, links, trust, freshness, clicks = quality.T
    match = words + 1.2 * proximity
    return match + 0.8 * np.minimum(match, trust) + 0.5 * links + 0.7 * np.maximum(freshness, clicks)


def _grades(value: np.ndarray) -> np.ndarray:
    """Cut into grades by rank: int64 (n,)."""
    best, good, fair, poor = np.cumsum((SHARES[0] / 3, SHARES[0] * 2 / 3, SHARES[1], SHARES[2]))
    above = [np.quantile(value, 1 - share) for share in (best, good, fair, poor)]
    return sum((value > bound).astype(np.int64) for bound in above)


def _features(price: int, quality: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    """Return the columns of one price; only the price decides which qualities each sees."""
    kinds = np.random.default_rng([price, 1])
    n, deviation = len(quality), NOISE[price] * np.sqrt(0.5)
    shared = deviation * random.standard_normal(quality.shape)
    columns = []
    for _ in range(COUNTS[price]):
        blind = kinds.random() < (1 / 3 if price in {1, 20} else 1 / 5) and price < 100
        one, other = kinds.permutation(len(QUALITIES))[:2]
        mixed, curve = kinds.random() < 0.3, int(kinds.integers(3))
        if price >= 100:  # expensive features are about how words match
            one, other = int(kinds.integers(2)), 1
        seen = quality[:, one] + shared[:, one]
        if mixed and one != other:
            seen = (seen + quality[:, other] + shared[:, other]) / np.sqrt(2)
        own = deviation * random.standard_normal(n)
        columns.append(_curved(random.standard_normal(n) if blind else seen + own, curve))
    return columns


def _curved(values: np.ndarray, curve: int) -> np.ndarray:
    """Bend without changing the order; counts are whole numbers."""
    if curve == 0:
        return values
    return np.exp(values) if curve == 1 else np.floor(8 * np.exp(0.5 * values))
