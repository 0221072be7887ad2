"""Ways through the package: how many of its files a call enters, when everything is imported."""

import asyncio
import sys
from pathlib import Path

import numpy as np
import pytest
from live_cases import COSTS, sources, table, tree

import costframe
from costframe.sources import predict_one_async

FRAME, HOUSE = table(), Path(costframe.__file__).parent
ROWS = FRAME.drop(columns="key").to_numpy()
ROW = dict(zip(tree().feature_names, ROWS[0].tolist(), strict=True))


def files_entered(work):
    """The files of the package whose functions run, once they have run before."""
    work()
    entered = set()

    def note(frame, event, _):
        if event == "call":
            entered.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return sorted(str(Path(name).relative_to(HOUSE)) for name in entered if HOUSE in Path(name).parents)


def ask_one_row(model):
    """Step through a row."""
    inquiry = model.inquire()
    while inquiry.needs:
        inquiry.supply({name: ROW[name] for name in inquiry.needs})
    return inquiry.answer


def test_a_supply_is_read_charged_and_stepped():
    inquiries = [tree().inquire(COSTS) for _ in range(2)]
    entered = files_entered(lambda: inquiries.pop().supply({"age": 0.0}))
    assert len(entered) <= 4, entered


# the most files that a way enters, and what is wished for in the end
@pytest.mark.parametrize(
    ("way", "most", "wished"),
    [
        pytest.param(lambda model: model.predict(ROWS), 13, 9, id="a table"),
        pytest.param(ask_one_row, 11, 7, id="one row"),
        pytest.param(lambda model: model.cost(ROWS), 23, 14, id="the cost of a table"),
    ],
)
def test_a_prediction_enters_few_files(way, most, wished):
    model = tree()
    entered = files_entered(lambda: way(model))
    assert wished < len(entered) <= most, entered  # below a wish, lower the bound


def test_a_fit_enters_few_files():
    X = np.random.default_rng(0).normal(size=(200, 4))
    model = costframe.estimator("miser", task="regression", n_estimators=5)
    entered = files_entered(lambda: model.fit(X, X[:, 0]))
    assert len(entered) <= 53, entered  # the wish is 30


def test_a_row_over_asynchronous_sources():
    over, model = sources(FRAME), tree()

    async def predict():
        await predict_one_async(model, over, COSTS, key="k3")

    with asyncio.Runner() as loop:
        entered = files_entered(lambda: loop.run(predict()))
    assert len(entered) <= 25, entered  # the goal is 15: thirteen of core and the engine, twelve of sources


def test_a_booster_is_adopted():
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[bench]'")
    X = np.random.default_rng(0).normal(size=(300, 4))
    data = lightgbm.Dataset(X, X[:, 0] > X[:, 1])
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, data, 3)
    entered = [name for name in files_entered(lambda: costframe.adopt(booster)) if name.startswith("adoption")]
    assert len(entered) <= 13, entered  # the goal is 20 with those of core, of which the check of answers enters 31
