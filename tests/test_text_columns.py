"""Columns of texts in data frames: categories, as on the command line, or an error with a way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import costframe as cf
from costframe.plugin import DataError

N = 300
RNG = np.random.default_rng(0)
COLOR = RNG.choice(["red", "blue", "green"], N)
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "color": COLOR})
Y = (COLOR == "red").astype(int)


def frames():
    pl = pytest.importorskip("polars", reason="needs polars")
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    texts = [FRAME, FRAME.astype({"color": object}), FRAME.astype({"color": "string"}), pl.from_pandas(FRAME)]
    return [*texts, pa.Table.from_pandas(FRAME), FRAME.astype({"color": "category"})]


@pytest.mark.parametrize("kind", [cf.CEGBClassifier, cf.MiserClassifier, cf.PlannerClassifier])
def test_texts_of_few_values_are_categories_of_every_frame(kind):
    found = [kind(tradeoff=0.0).fit(frame, Y) for frame in frames()]
    expected = found[-1].decision_function(FRAME)
    for model in found:
        assert model.predictor_.categories == {"color": ("blue", "green", "red")}
        np.testing.assert_array_equal(model.decision_function(FRAME), expected)
    assert found[0].score(FRAME, Y) > 0.95
    assert cf.predict_one(found[0], {"a": 0.0, "color": "red"}).label == 1


def test_missing_texts_are_missing_and_nothing_else_changes():
    frame = FRAME.assign(color=np.where(np.arange(N) % 10 == 0, None, COLOR), none=None)
    model = cf.CEGBClassifier(n_estimators=5).fit(frame, Y)
    assert model.predictor_.categories == {"color": ("blue", "green", "red")}
    search = cf.BudgetSearch(cf.CEGBClassifier(n_estimators=5), 5.0, tradeoffs=[0.0], cv=3).fit(FRAME, Y)
    assert search.score(FRAME, Y) > 0.95


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ([f"t{i}" for i in range(N)], "holds 300 different texts, such as 't0', too many .* or name it in cat"),
        ([str(i) for i in range(N)], r"holds numbers as texts, such as '0'; .* pd.to_numeric\(X\['color'\], er"),
        (["<1", "2", "3"] * 100, "holds numbers as texts, beside others, such as '<1'; make numbers"),
        (["$ 5", "$ 7", "$ 9.5"] * 100, r"holds amounts, such as '\$ 5'; make numbers"),
        (["a", 1, 2] * 100, "holds text .*, expected numbers"),
    ],
)
def test_texts_that_are_no_categories_are_refused_with_a_way_out(texts, text):
    frame = FRAME.assign(color=pd.Series(texts, dtype=object))
    with pytest.raises(DataError, match=f"X: column 'color' {text}"):
        cf.CEGBClassifier().fit(frame, Y)


def test_an_algorithm_without_categories_offers_the_line_that_mends_it():
    with pytest.raises(DataError, match=r"'color' holds texts, and L1Gate.* give numbers, as pd.get_dummies\(X, c"):
        cf.estimator("l1-gate").fit(FRAME, Y)


def test_an_array_of_texts_is_refused_as_before():
    with pytest.raises(DataError, match="X: expected numbers, got text"):
        cf.CEGBClassifier().fit(FRAME.to_numpy(object), Y)
