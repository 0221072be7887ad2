"""Needs a public file and PyTorch: GDFS (ICML 2023) on its spam table, beside reported figures.

    python benchmarks/gdfs_paper.py FOLDER [--splits 5]

FOLDER has spambase.data (harness/public_files.py). Each feature costs one, and rows buy as many features as they may:
means over splits with standard errors, on test rows. COSTFRAME_TORCH names a Python that has PyTorch.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, roc_auc_score

from costframe.comparison import SeenTable
from costframe.comparison.statistics import standard_error
from harness.points import markdown
from harness.public_files import load_public
from harness.torch_outsiders import gdfs

# Area under the ROC curve and accuracy at numbers of features, in per cent, as reported for one split
REPORTED = {
    1: (82.7, 78.5),
    2: (88.8, 82.3),
    3: (92.6, 85.8),
    4: (95.3, 90.5),
    5: (95.8, 90.9),
    6: (96.3, 91.2),
    8: (96.6, 91.9),
    10: (96.9, 92.2),
    15: (98.0, 93.4),
    25: (98.0, 93.8),
}

# The usual effort of the program ends before its losses do
LONGER = {"epochs": 250, "patience": 8, "updates": 400_000, "steps": max(REPORTED)}


def measure(folder: str, seed: int) -> np.ndarray:
    """Return both scores on one split at each number of features: float64 (numbers, 2), in per cent."""
    data = load_public("spam", folder, seed)
    test, scores = data.part("test"), []
    for number, model in zip(
        REPORTED, gdfs(budgets=REPORTED, **LONGER).fit(SeenTable.of(data, score="roc_auc", seed=seed)), strict=True
    ):
        bought = model.cost(test.X).per_row
        if (bought != number).any():
            raise SystemExit(f"expected {number} features of each row, got {bought.min():g} to {bought.max():g}")
        p = model.predict(test.X)
        scores.append((roc_auc_score(test.y, p), accuracy_score(test.y, p > 0.5)))
    return 100 * np.array(scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    asked = parser.parse_args()
    measured = []
    for seed in range(asked.splits):
        measured.append(measure(str(asked.folder), seed))
        print(f"split {seed}:", np.round(measured[-1], 1).tolist(), flush=True)
    ours = np.stack([np.mean(measured, axis=0), standard_error(measured)], axis=-1)  # (numbers, 2, 2)
    rows = []
    for (number, (area, share)), own in zip(REPORTED.items(), ours, strict=True):
        auc, accuracy = (f"{mean:.1f} ± {error:.1f}" for mean, error in own)
        rows.append([f"{number}", auc, f"{area}", accuracy, f"{share}"])
    print(markdown(["features", "AUC", "reported AUC", "accuracy", "reported accuracy"], rows))


if __name__ == "__main__":
    main()
