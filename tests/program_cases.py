"""Programs outside, written for a test each, and a table with all that a value may be."""

import sys

import numpy as np

import costframe as cf
from costframe.comparison import SeenTable
from costframe.programs import OutsiderProgram

# A program whose `reply` to a message is made by a line or two; its first argument is a file to note in.
PROGRAM = """
import json, os, sys, time
for line in sys.stdin:
    message = json.loads(line)
    values, reply = message.get("values"), {{"format": 1, "points": [{{}}]}}
    is_row = "fit" not in message
{body}
    print(json.dumps(reply))
"""
PRICES = {"resources": {"blood": 3}, "features": {
    "age": 0, "sex": 1, "iron": {"cost": 2, "needs": ["blood"]}, "sugar": {"cost": 4, "needs": ["blood"]}}}  # fmt: skip


def table(classes=("ill", "well"), task="classification", n=200):
    """Draw rows of numbers, one of categories that are texts, and missing values."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(20, 90, n), rng.integers(0, 2, n), rng.normal(size=(n, 2))]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.choice(classes, n) if task == "classification" else np.round(rng.normal(size=n), 3)
    return cf.datasets.Dataset.from_arrays(
        X, y, PRICES, feature_names=("age", "sex", "iron", "sugar"), categorical={"sex": ("f", "m, or 'other'")},
        qid=np.arange(n) // 10 if task == "ranking" else None, task=task,
    )  # fmt: skip


def seen(data):
    return SeenTable.of(data, {"classification": "roc_auc", "regression": "r2", "ranking": "ndcg@5"}[data.task], 7)


def program(folder, body, name="outside", arguments=(), **settings):
    """Return the outsider whose program has this body."""
    script = folder / "policy.py"
    script.write_text(PROGRAM.format(body="\n".join(f"    {line}" for line in body.splitlines())))
    return OutsiderProgram(name, [sys.executable, str(script), *map(str, arguments)], **settings)
