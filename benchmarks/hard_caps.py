"""Needs ../shared: scores of CEGB under a hard cap for each row, with learned fallbacks and with partial sums.

    python benchmarks/hard_caps.py [nhanes thyroid ...]

Caps are 5 to 100 % of the cost of all features; rows that would cost more are answered early.
"""

from __future__ import annotations

import numpy as np
from attrs import evolve
from sklearn.metrics import log_loss, roc_auc_score

import costframe as cf
from harness.points import markdown
from harness.tables import fitting_rows, load, options
from harness.timing import clock

CAPS = (0.05, 0.1, 0.2, 0.5, 1.0)  # shares of the cost of all features
TRADEOFFS = (0.0, 0.003, 0.03)  # loss per row, in units of 1 / that cost


def main() -> None:
    for name in options(__doc__, ("nhanes", "thyroid")).tables:
        for tradeoff in TRADEOFFS:
            measure(name, tradeoff)


def measure(name: str, tradeoff: float) -> None:
    """Fit a model and print its scores at each cap."""
    data = load(name, 0)
    test, train = data.part("test"), data.part("train")
    model = cf.estimator("cegb", costs=data.costs, tradeoff=tradeoff / data.full_cost)
    with clock() as fitting:
        tree = model.fit(**fitting_rows(data)).predictor_
    partial, mean = evolve(tree, fallbacks=None), tree.cost(test.X).mean
    with clock() as learning:
        learned = partial.with_fallbacks(train.X)
    print(
        f"\n{name}, tradeoff {tradeoff:g}: {len(tree.bank)} trees, mean cost {mean:.4g} of {data.full_cost:g}; "
        f"fit {fitting['seconds']:.2f} s, fallbacks {learning['seconds']:.3f} s\n"
    )
    rows = []
    for cap in np.multiply(CAPS, data.full_cost).tolist():
        cut = np.mean(learned.cost(test.X, max_cost=cap).cut)
        scores = [score(data.codes(test.y), one.predict(test.X, max_cost=cap)) for one in (partial, learned)]
        rows.append([f"{cap:.4g}", f"{cut:.1%}", *scores])
    print(markdown(["cap", "rows cut", "partial sums: AUC, log loss", "fallbacks: AUC, log loss"], rows), flush=True)


def score(codes: np.ndarray, predictions: np.ndarray) -> str:
    """Write the AUC, one class against the rest if there are more than two, and the log loss."""
    auc = roc_auc_score(codes, predictions, multi_class="ovr")
    return f"{auc:.4f}, {log_loss(codes, predictions):.4f}"


if __name__ == "__main__":
    main()
