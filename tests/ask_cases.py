"""What tests of pages that ask share: models of each kind, and Chromium, which answers rows by their pages."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import costframe as cf
from costframe.page import wasm

needs_engine = pytest.mark.skipif(
    not (Path(wasm.__file__).with_name("engine.wasm").exists() or importlib.util.find_spec("ziglang")),
    reason="needs ziglang",
)
NAMES = ("age", "pulse", "chol", "scan", "x-ray", "score")
# Answer rows one question at a time, as a person does: features listed as absent are not available.
ANSWER = """
const [cases, done] = arguments;
(async () => {
  const {model} = window.page, ends = [];
  for (const {row, absent, known, cap} of cases) {
    const steps = [];
    let told = await model.next(null, {known, cap});
    while (true) {
      steps.push({...told, state: null});
      if (told.answer !== null) {
        steps.at(-1).changes = await model.changes(told);
        break;
      }
      const {name} = told.needs[0];
      told = await model.next(told.state, absent.includes(name) ? {absent: [name]} : {values: {[name]: row[name]}});
    }
    ends.push(steps);
  }
  return ends;
})().then(done, (error) => done(String(error.stack)));
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


def draw_cases(names, X, seed=0, most=60.0):
    """Draw how rows are asked: what is not available, what is known before, and caps; NaN is None."""
    rng, cases = np.random.default_rng(seed), []
    for number, row in enumerate(X.tolist()):
        values = {name: None if np.isnan(value) else value for name, value in zip(names, row, strict=True)}
        absent = [name for name in names if number % 2 and rng.random() < 0.25]
        there = [name for name in names if values[name] is not None and name not in absent]
        known = {name: values[name] for name in there if number % 3 == 0 and rng.random() < 0.2}
        cap = [round(rng.random() * most, 2), round(rng.random() * most / 8, 1), 17.87, 0.0][number // 4 % 4]
        cases.append({"row": values, "absent": absent, "known": known, "cap": None if number % 4 < 2 else cap})
    return cases


def fit(algorithm, names=NAMES, classes=2, task="classification", costs=None, labelled=False, **settings):
    """A fitted model with labels of classes, and of the first feature if it is `labelled`."""
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    X, y = table(classes=classes)
    y = y if task == "regression" else np.array(["well", "ill", "very ill"])[y]
    costs, frame = prices(names) if costs is None else costs, pandas.DataFrame(X, columns=list(names))
    if labelled:
        frame[names[0]] = np.array(["<i>low</i>", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return cf.FittedEstimator(cf.estimator(algorithm, task=task, costs=costs, **settings).fit(frame, y).predictor_)


def answer_in_python(fitted, costs, case):
    """Ask for a row one question at a time by inquiries; return what steps say and know, the end and its changes."""
    predictor = fitted.predictor_
    inquiry = predictor.inquire(costs, known=case["known"] or (), max_cost=case["cap"])
    steps, known, told, column = [], [], {}, predictor.card.column
    while True:
        came, bought = tuple(told), [column[name] for name in inquiry.acquired]
        why, needs = inquiry.why(came).to_dict(), [name for name in inquiry.needs if name not in told]
        reasons = {name: ask["text"] for ask in why["asks"] for name in ask["names"]}
        prices = [inquiry.ledger.quote([column[name]], bought, [column[name] for name in came]) for name in needs]
        asked = [
            {"name": name, "price": price, "why": reasons[name]} for name, price in zip(needs, prices, strict=True)
        ]
        steps.append({"needs": asked, "bill": inquiry.cost_with(came), "why": why["text"]})
        known.append(inquiry.values() | told)
        if not needs:
            return steps, known, inquiry.answer, inquiry.changes()
        if needs[0] in case["absent"]:
            inquiry, told = inquiry.without([needs[0]], told), {}
            continue
        value = case["row"][needs[0]]
        told[needs[0]] = np.nan if value is None else value
        if len(needs) == 1:
            inquiry.supply(told)
            told = {}
