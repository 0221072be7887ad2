"""An inquiry that goes on without something asks, answers and pays as a live row does whose source has failed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from serve_cases import NAMES, model, rows

import costframe as cf
from costframe.sources.live_row import LiveRow
from costframe.sources.rounds import Outcome
from costframe.sources.terms import RowTerms


@pytest.fixture(scope="module", params=["cegb", "planner", "miser"])
def predictor(request):
    return model(request.param).predictor_


def walk(inquiry, row, lost):
    """Supply an inquiry, which goes on without each feature in `lost` when it asks for it."""
    while needs := inquiry.needs:
        values = {name: row[name] for name in needs if name not in lost}
        gone = [name for name in needs if name in lost]
        if gone:
            inquiry = inquiry.without(gone, values)
        else:
            inquiry.supply(values)
    return inquiry


@pytest.mark.parametrize("lost", [("scan",), ("iron",), ("scan", "glucose"), NAMES])
@pytest.mark.parametrize("cap", [None, 8.0, 30.0])
def test_it_ends_as_a_live_row_does(predictor, lost, cap):
    X, _ = rows(25, seed=11)
    for values in X.tolist():
        row = dict(zip(NAMES, values, strict=True))
        live = LiveRow(RowTerms.of(predictor, max_cost=cap, policies=dict.fromkeys(NAMES, "without")))
        while needs := live.needs:
            came = {name: row[name] for name in needs if name not in lost}
            live.supply(Outcome(came, {name: "lost" for name in needs if name in lost}))
        end = walk(predictor.inquire(max_cost=cap), row, lost).answer
        assert np.array_equal(end.value, live.answer.value)
        assert (end.cost, end.acquired, end.label) == (live.answer.cost, live.answer.acquired, live.answer.label)
        assert cap is None or end.cost <= cap


def test_it_goes_on_as_text_and_leaves_the_first_as_it_was(predictor):
    X, _ = rows(25, seed=12)
    for values in X.tolist():
        row = dict(zip(NAMES, values, strict=True))
        inquiry = predictor.inquire()
        while "scan" not in inquiry.needs and inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
        if not inquiry.needs:
            continue
        before = repr(inquiry)
        gone = inquiry.without(["scan"])
        assert repr(inquiry) == before
        resumed = predictor.resume(gone.to_json())
        assert resumed.needs == gone.needs
        first, second = walk(gone, row, ()).answer, walk(resumed, row, ()).answer
        assert (first.cost, first.acquired, first.rounds) == (second.cost, second.acquired, second.rounds)
        assert np.array_equal(first.value, second.value)
        assert gone.values().keys() >= set(gone.acquired)


def test_what_it_cannot_do_is_refused_by_name(predictor):
    inquiry = predictor.inquire()
    with pytest.raises(cf.errors.InquiryError, match="mri"):
        inquiry.without(["mri"])
    with pytest.raises(cf.errors.InquiryError, match="not asked for"):
        inquiry.without([], {"mri": math.nan})
    inquiry = walk(inquiry, dict.fromkeys(NAMES, 0.1), ())
    with pytest.raises(cf.errors.InquiryError, match="has ended"):
        inquiry.without(["scan"])
