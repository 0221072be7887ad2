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
    return sorted(str(Path(name).relative_to(HOUSE)) for name in entered if name.startswith(str(HOUSE)))


def test_a_supply_is_read_charged_and_stepped():
    inquiries = [tree().inquire(COSTS) for _ in range(2)]
    entered = files_entered(lambda: inquiries.pop().supply({"age": 0.0}))
    assert len(entered) <= 4, entered


def test_a_row_over_asynchronous_sources():
    over, model = sources(FRAME), tree()

    async def predict():
        await predict_one_async(model, over, COSTS, key="k3")

    with asyncio.Runner() as loop:
        entered = files_entered(lambda: loop.run(predict()))
    assert len(entered) <= 29, entered  # the goal is 15: eighteen of core and the engine, eleven of sources


def test_a_booster_is_adopted():
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[bench]'")
    X = np.random.default_rng(0).normal(size=(300, 4))
    data = lightgbm.Dataset(X, X[:, 0] > X[:, 1])
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, data, 3)
    entered = [name for name in files_entered(lambda: costframe.adopt(booster)) if name.startswith("adoption")]
    assert len(entered) <= 13, entered  # the goal is 20 with those of core, of which the check of answers enters 31
