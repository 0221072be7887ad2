"""What is promised: texts and parts, their limits, and every wrong one refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import costframe as cf
from costframe.plugin import ParameterError
from costframe.promises.promise import as_promises


@pytest.mark.parametrize(
    ("text", "kind", "of", "limit"),
    [
        ("error <= 0.03", "error", None, 0.03),
        ("error<=3%", "error", None, 0.03),
        ("accuracy \u2265 0.9", "accuracy", None, 0.1),
        ("recall(ill) >= 0.95", "recall", "ill", 0.05),
        ("recall( very ill ) >= 0.75", "recall", "very ill", 0.25),
        ("precision('a <= b') >= 0.5", "precision", "a <= b", 0.5),
        ("disagreement(best) <= 2 %", "disagreement", "best", 0.02),
        ("agreement(cegb-3) >= 0.98", "agreement", "cegb-3", 0.02),
        ("excess(best) <= 0.01", "excess", "best", 0.01),
        ("excess(best) <= -0.01", "excess", "best", -0.01),
        ("cost <= 30", "cost", None, 30.0),
        ("bill <= 1e2", "bill", None, 100.0),
    ],
)
def test_texts_are_read(text, kind, of, limit):
    promise = cf.Promise(text)
    assert (promise.kind, promise.of, promise.confidence) == (kind, of, 0.9)
    assert promise.limit == pytest.approx(limit)


def test_parts_say_what_a_text_says():
    assert cf.Promise("recall", of="ill", level=0.95, confidence=0.8) == cf.Promise(
        "recall(ill) >= 0.95", confidence=0.8
    )
    assert str(cf.Promise("recall", of=1, level=0.95)) == "recall(1) >= 0.95"
    assert repr(cf.Promise("recall(ill) >= 95%")) == "Promise(recall(ill) >= 0.95, confidence 0.9)"
    assert str(cf.Promise(np.subtract, level=0.5, bounds=(0, 1))) == "subtract <= 0.5"


@pytest.mark.parametrize(
    ("given", "parts", "text"),
    [
        ("recal(ill) >= 0.9", {}, r"unknown kind 'recal' \(did you mean 'recall'\?\)"),
        ("loss <= 0.9", {}, "unknown kind 'loss'"),
        ("recall(ill)", {}, "expected a text such as"),
        ("", {}, "expected a text such as"),
        ("error >= 0.1", {}, "expected error <= a number, got >="),
        ("recall(ill) < 0.1", {}, "expected recall >= a number, got <"),
        ("error <= few", {}, "expected a number behind <=, got 'few'"),
        ("error <= nan", {}, "level: expected a number above 0 and below 1 for error, got nan"),
        ("error <= 0", {}, "level"),
        ("accuracy >= 1", {}, "level"),
        ("accuracy >= 97", {}, "level"),
        ("excess(best) <= 1", {}, "level: expected a number above -1 and below 1"),
        ("cost <= inf", {}, "level: expected a finite number > 0 for cost, got inf"),
        ("cost <= 0", {}, "level"),
        ("cost <= 3%", {}, "expected an amount of cost per row"),
        ("recall >= 0.9", {}, "recall: expected its class"),
        ("recall() >= 0.9", {}, "recall: expected its class"),
        ("agreement >= 0.9", {}, "agreement: expected a model or column"),
        ("error(ill) <= 0.1", {}, r"error: is of all rows, got error\(ill\)"),
        ("error <= 0.1", {"level": 0.1}, "level: has no effect beside the text"),
        ("error <= 0.1", {"of": 1}, "of: has no effect beside the text"),
        ("error <= 0.1", {"bounds": (0, 1)}, "bounds: has no effect on error"),
        ("error", {}, "level: expected a number"),
        ("error", {"level": True}, "level"),
        ("error", {"level": "0.1"}, "level"),
        (np.subtract, {"level": 0.1}, "bounds: expected the least and greatest loss"),
        (np.subtract, {"level": 2, "bounds": (0, 1)}, "level: expected a number above 0 and below 1 for loss"),
        (np.subtract, {"level": 0.1, "bounds": (1, 0)}, "bounds: expected two finite numbers"),
        (np.subtract, {"level": 0.1, "bounds": (0, np.nan)}, "bounds"),
        (np.subtract, {"level": 0.1, "bounds": 1}, "bounds"),
        (np.subtract, {"of": "ill", "level": 0.1, "bounds": (0, 1)}, "of: has no effect on a loss"),
        (5, {}, "promise: expected a text"),
        (None, {}, "promise: expected a text"),
        *(
            ("error <= 0.1", {"confidence": value}, "confidence: expected a number above 0 and below 1")
            for value in (0, 1, 1.5, -0.1, np.nan, "0.9", None, True)
        ),
    ],
)
def test_wrong_promises_are_refused_by_name(given, parts, text):
    with pytest.raises(ParameterError, match=text):
        cf.Promise(given, **parts)


def test_several_promises_hold_together_at_one_confidence():
    both = as_promises(["error <= 0.1", cf.Promise("cost <= 5")])
    assert [str(each) for each in both] == ["error <= 0.1", "cost <= 5"]
    assert as_promises("error <= 0.1") == as_promises([cf.Promise("error <= 0.1")])
    with pytest.raises(ParameterError, match=r"confidence: expected one for all promises.* 0\.8 and 0\.9"):
        as_promises(["error <= 0.1", cf.Promise("cost <= 5", confidence=0.8)])
    with pytest.raises(ParameterError, match="at least one"):
        as_promises([])
    with pytest.raises(ParameterError, match="promise: expected a Promise"):
        as_promises(0.9)
