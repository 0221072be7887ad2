"""Scores at hard caps: a CEGB model whose rows are cut at 5 to 50 % of the full cost, with fallbacks and without.

Run: python benchmarks/hard_caps.py [TABLE ...]; tables are folders of ../shared/data.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from attrs import evolve
from sklearn.metrics import roc_auc_score

import costframe as cf
from costframe.datasets import read_table

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TABLES = ("nhanes", "thyroid")
SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
TRADEOFFS = (0.0, 0.003, 0.03)  # loss per row, in units of the full cost


def score(y: np.ndarray, p: np.ndarray) -> str:
    proba = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
    codes = np.searchsorted(np.unique(y), y)
    auc = roc_auc_score(codes, proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr")
    loss = -np.log(np.clip(proba[np.arange(len(y)), codes], 1e-15, 1)).mean()
    return f"{auc:.4f} {loss:7.4f}"


def measure(name: str) -> None:
    data = read_table(SHARED / name / "data.parquet", "label", SHARED / name / "costs.toml")
    train, valid, test = (data.part(part) for part in ("train", "valid", "test"))
    for tradeoff in TRADEOFFS:
        model = cf.estimator("cegb", costs=data.costs, tradeoff=tradeoff / data.full_cost)
        start = time.perf_counter()
        tree = model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y).predictor_
        seconds = time.perf_counter() - start
        bare, mean = evolve(tree, fallbacks=None), tree.cost(test.X).mean
        start = time.perf_counter()
        tree = bare.with_fallbacks(train.X)
        assert tree.fallbacks is not None  # noqa: S101 - learned here
        more = time.perf_counter() - start
        print(f"{name}, tradeoff {tradeoff:g}: {len(tree.bank)} trees, mean cost {mean:.4g} of {data.full_cost:g}; "
              f"fit {seconds:.2f} s, fallbacks {more:.3f} s")  # fmt: skip
        print(f"  {'cap':>8} {'cut':>6}   {'partial sums':>15}   {'with fallbacks':>15}   (AUC, log loss)")
        for share in SHARES:
            cap = share * data.full_cost
            cut = np.mean(tree.cost(test.X, max_cost=cap).cut)
            without, with_ = (score(test.y, one.predict(test.X, max_cost=cap)) for one in (bare, tree))
            print(f"  {cap:8.4g} {cut:6.1%}   {without:>15}   {with_:>15}")


if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        if (SHARED / table).is_dir():
            measure(table)
        else:
            print(f"{table}: skipped, there is no {SHARED / table}")
