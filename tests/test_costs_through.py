"""Prices through preprocessing: what made columns cost, in which names, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import costframe as cf
from costframe.core.errors import AdoptionError, CostModelError

COSTS = cf.CostModel.from_dict(
    {
        "unit": "CAD",
        "split": 0.5,
        "learner": 0.1,
        "features": {
            "age": {"cost": 1.0, "once": 7.0},
            "chol": {"cost": 5.0, "needs": ["blood"], "split": 2.0},
            "iron": {"cost": 3.0, "needs": ["blood"], "split": 1.0},
            "town": 4.0,
        },
        "resources": {"blood": {"cost": 2.0, "needs": ["visit"]}, "visit": 10.0},
    }
)


def test_a_column_made_alone_keeps_all_prices():
    through = COSTS.through({"scaled age": "age", "chol": ("chol",)})
    assert through.to_dict() == {
        "unit": "CAD",
        "split": 0.5,
        "learner": 0.1,
        "reuse": 0.0,
        "features": {
            "scaled age": {"cost": 1.0, "once": 7.0},
            "chol": {"cost": 5.0, "needs": ["blood"], "split": 2.0},
        },
        "resources": {"blood": {"cost": 2.0, "needs": ["visit"]}, "visit": 10.0},
    }


def test_columns_made_of_one_raw_column_share_it_and_those_of_several_need_all():
    made_from = {"town_A": "town", "town_B": "town", "chol": "chol", "chol iron": ("chol", "iron"), "one": ()}
    through = COSTS.through(made_from)
    assert through.to_dict()["features"] == {
        "town_A": {"cost": 0.0, "needs": ["town"]},
        "town_B": {"cost": 0.0, "needs": ["town"]},
        "chol": {"cost": 0.0, "needs": ["chol (raw)"], "split": 2.0},  # a column has the name already
        "chol iron": {"cost": 0.0, "needs": ["chol (raw)", "iron"], "split": 2.0},
        "one": 0.0,
    }
    assert through.to_dict()["resources"]["iron"] == {"cost": 3.0, "needs": ["blood"]}
    assert [through.full_cost([name]) for name in through.names] == [4.0, 4.0, 17.0, 20.0, 0.0]
    assert through.full_cost(["town_A", "town_B", "chol", "chol iron"]) == 24.0


def test_a_resource_gives_way_to_a_made_column_of_its_name():
    through = COSTS.through({"blood": "chol", "blood (raw)": "iron"})
    assert through.full_cost(["blood"]) == 17.0
    assert through.resource_names == ("blood (raw) (raw)", "visit")


@pytest.mark.parametrize(
    ("costs", "made_from", "match"),
    [
        (COSTS, {"a": "agee"}, "no price for 'agee' .did you mean 'age'"),
        (COSTS, {"a": "age", "b": "age"}, r"features\.age\.once: cannot be priced through"),
        (COSTS, {"a": 3}, "expected names of raw columns for 'a', got 3"),
        (cf.CostModel.from_dict({"features": {"x": 1}, "reuse": 1}), {"a": "x", "b": "x"}, "reuse: cannot be priced"),
        (COSTS, {}, "at least one feature"),
        (COSTS, SimpleNamespace(), "expected a fitted transformer, a preparation"),
    ],
)
def test_what_has_no_exact_price_is_refused(costs, made_from, match):
    with pytest.raises(CostModelError, match=match):
        costs.through(made_from)


def test_names_of_raw_columns_are_the_fit_s_or_the_cost_model_s_or_given():
    X = np.arange(12.0).reshape(3, 4)
    scaler = StandardScaler().fit(X)
    assert COSTS.through(scaler).names == ("age", "chol", "iron", "town")
    swapped = COSTS.through(scaler, feature_names=["town", "iron", "chol", "age"])
    assert swapped.full_cost(["town"]) == 4.0
    with pytest.raises(CostModelError, match="have names already"):
        COSTS.through({"a": "age"}, feature_names=["age"])
    with pytest.raises(AdoptionError, match="it has 3 features"):
        COSTS.through(StandardScaler().fit(X[:, :3]))
    with pytest.raises(AdoptionError, match="PolynomialFeatures: is not fitted"):
        COSTS.through(PolynomialFeatures())
