"""What tests of pages that ask share: models of each kind, and Chromium, which answers rows by their pages."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import attrs
import numpy as np
import pytest

import costframe as cf
from costframe.page import wasm
from costframe.plugin import PlannedPredictor
from costframe.sources.live_row import LiveRow
from costframe.sources.rounds import Outcome
from costframe.sources.terms import RowTerms

needs_engine = pytest.mark.skipif(
    not (Path(wasm.__file__).with_name("engine.wasm").exists() or importlib.util.find_spec("ziglang")),
    reason="needs ziglang",
)
NAMES = ("age", "pulse", "chol", "scan", "x-ray", "score")
# Answer rows one question at a time, as a person does; features listed as absent are not available.
ANSWER = """
const [rows, names, absent, done] = arguments;
(async () => {
  const {model} = window.page, ends = [];
  for (const [i, row] of rows.entries()) {
    const asks = [];
    let told = await model.next(null);
    while (told.answer === null) {
      const {name, price} = told.needs[0], f = names.indexOf(name);
      asks.push([name, price, told.bill]);
      told = await model.next(told.state, absent[i].includes(f) ? {absent: [name]} : {values: {[name]: row[f]}});
    }
    ends.push([asks, told.answer]);
  }
  return ends;
})().then(done, (error) => done(String(error)));
"""


def prices(names=NAMES, **more):
    """Prices that doubles do not hold, with resources that need others."""
    features = {
        name: {"cost": 0.1 + 0.37 * i, "needs": ["draw", "visit"][i % 2 : 2] if i % 3 else []}
        for i, name in enumerate(names)
    }
    resources = {"visit": 15.1, "draw": {"cost": 2.3, "needs": ["visit"]}}
    return cf.CostModel.from_dict({"unit": "CHF", "features": features, "resources": resources, **more})


def table(n=300, d=6, seed=0, classes=2):
    """Rows with gaps, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + rng.normal(size=n) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.digitize(score, np.linspace(-1, 1, classes + 1)[1:-1])


def fit(
    algorithm, names=NAMES, classes=2, task="classification", costs=None, labelled=False, has_spare=False, **settings
):
    """A fitted model with labels of classes, and of the first feature if it is `labelled`; plans may keep a spare."""
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    X, y = table(classes=classes)
    y = y if task == "regression" else np.array(["well", "ill", "very ill"])[y]
    costs, frame = prices(names) if costs is None else costs, pandas.DataFrame(X, columns=list(names))
    if labelled:
        frame[names[0]] = np.array(["<i>low</i>", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = cf.estimator(algorithm, task=task, costs=costs, **settings).fit(frame, y)
    predictor = model.predictor_
    if isinstance(predictor, PlannedPredictor) and not has_spare:
        predictor = attrs.evolve(predictor, spare=None)
    return cf.FittedEstimator(predictor)


def answer_in_python(fitted, costs, row, absent=()):
    """Ask for a row as drivers do, with features that are not available; return asks with prices, and the answer."""
    names = fitted.predictor_.feature_names
    live, asks = LiveRow(RowTerms.of(fitted.predictor_, costs, policies={})), []
    while live.needs:
        asks += live.needs
        values = {name: float(row[names.index(name)]) for name in live.needs if name not in absent}
        failed = {name: "not available" for name in live.needs if name in absent}
        live.supply(Outcome(values, failed))
    return asks, live.answer
