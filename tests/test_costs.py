"""The price table: what it accepts, what it refuses and how it says so, and that files give back what they got."""

import copy
import json
import math
import os
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import attrs
import naive_costs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.errors import CostModelError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices import entries
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.core.stages.stages import Answer

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"
HEART = {
    "unit": "CAD",
    "split": 0.125,
    "learner": 0.5,
    "reuse": 0.25,
    "features": {
        "age": 1.0,
        "chol": {"cost": 5.17, "needs": ["blood"]},
        "blur": {"cost": 0.0, "once": 40.0, "split": 0.0},
        "scan": {"cost": 2.0, "needs": ["mri", "blood"]},
    },
    "resources": {"blood": 2.1, "mri": {"cost": 120.0, "needs": ["appointment"]}, "appointment": 15.0},
}

texts = st.text(max_size=6) | st.text("a.\"'\\ \t\n\r\x7f=#[]\u2028", max_size=4)
names = texts.filter(bool)
prices = st.floats(0, 1e300) | st.sampled_from([0.0, 0.1, 5e-324, 1e16, 1e22])


@st.composite
def cost_models(draw):
    """Any valid price table; resources need later ones in a hidden order, so that no circle arises."""
    words = draw(st.lists(names, min_size=1, max_size=9, unique=True))
    split_at = draw(st.integers(1, len(words)))
    rest = words[split_at:]
    some = lambda options: st.lists(st.sampled_from(options), unique=True).map(tuple) if options else st.just(())  # noqa: E731
    resources = [ResourcePrice(name, draw(prices), draw(some(rest[i + 1 :]))) for i, name in enumerate(rest)]
    features = [
        FeaturePrice(name, draw(prices), draw(some(rest)), draw(prices), draw(st.none() | prices))
        for name in words[:split_at]
    ]
    globals_ = [draw(prices) for _ in range(3)]
    return CostModel(tuple(features), tuple(draw(st.permutations(resources))), draw(texts), *globals_)


def changed(*path, to):
    """HEART with one entry set to another value."""
    table = copy.deepcopy(HEART)
    inner = table
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return table


def message(build, *args, **kwargs):
    with pytest.raises(CostModelError) as caught:
        build(*args, **kwargs)
    return str(caught.value)


# --- round trips ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_columns_to_ignore_are_read_back(tmp_path, ending):
    costs = CostModel.of({"features": {"a": 1.0}, "ignore": ["id", "größe, \x07 #"]})
    costs.save(tmp_path / f"prices.{ending}")
    assert CostModel.load(tmp_path / f"prices.{ending}") == costs
    with pytest.raises(CostModelError, match="ignore: expected different names, got 'id' twice"):
        CostModel.of({"features": {"a": 1.0}, "ignore": ["id", "id"]})
    with pytest.raises(CostModelError, match="ignore: expected a list of names, got 'id'"):
        CostModel.of({"features": {"a": 1.0}, "ignore": "id"})


@pytest.mark.parametrize("suffix", [".toml", ".json", ".TOML"])
@given(model=cost_models())
def test_files_give_back_an_equal_model(tmp_path_factory, suffix, model):
    path = tmp_path_factory.getbasetemp() / f"round{suffix}"
    model.save(path)
    again = CostModel.load(path)
    assert again == model
    assert hash(again) == hash(model)
    # Python counts 0.0 == -0.0 and 1 == 1.0; the text of a value tells them apart.
    assert repr(again.to_dict()) == repr(model.to_dict())


@given(model=cost_models())
def test_dict_gives_back_an_equal_model(model):
    assert repr(CostModel.from_dict(model.to_dict()).to_dict()) == repr(model.to_dict())
    assert json.loads(json.dumps(model.to_dict())) == model.to_dict()


def test_split_left_open_and_split_set_to_the_same_are_kept_apart(tmp_path):
    for split in (None, 0.0, 0.5):
        model = CostModel((FeaturePrice("a", 1.0, split=split),), split=0.5)
        for suffix in (".toml", ".json"):
            model.save(tmp_path / f"costs{suffix}")
            assert CostModel.load(tmp_path / f"costs{suffix}").features[0].split == split


def test_toml_is_written_as_a_person_would(tmp_path):
    path = tmp_path / "costs.toml"
    CostModel.from_dict(HEART).save(path)
    assert path.read_text(encoding="utf-8") == (
        'unit = "CAD"\nsplit = 0.125\nlearner = 0.5\nreuse = 0.25\n\n'
        '[features]\nage = 1.0\nchol = { cost = 5.17, needs = ["blood"] }\n'
        'blur = { cost = 0.0, once = 40.0, split = 0.0 }\nscan = { cost = 2.0, needs = ["mri", "blood"] }\n\n'
        '[resources]\nblood = 2.1\nmri = { cost = 120.0, needs = ["appointment"] }\nappointment = 15.0\n'
    )


def test_prices_stand_beside_sources_in_one_file(tmp_path):
    path = tmp_path / "costs.toml"
    path.write_text('[features]\nage = 1.0\n[sources.crm]\nkind = "redis"\n')
    assert CostModel.load(path) == CostModel.of({"age": 1.0})
    path.write_text("sources = 3\n[features]\nage = 1.0\n")
    with pytest.raises(CostModelError, match="'sources'"):
        CostModel.load(path)


def test_the_example_of_the_documentation_loads(tmp_path):
    path = tmp_path / "costs.toml"
    path.write_text(
        'unit = "CAD"\nsplit = 0.0 # one comparison\n[features]\nage = 1\nchol = { cost = 5.17, needs = ["blood"] }\n'
        "[features.blur]\ncost = 0.0\nonce = 40.0\nsplit = 0.25\n[resources]\nblood = 2.10\n",
        encoding="utf-8-sig",
    )
    assert CostModel.load(path) == CostModel(
        (
            FeaturePrice("age", 1.0),
            FeaturePrice("chol", 5.17, ("blood",)),
            FeaturePrice("blur", 0.0, once=40.0, split=0.25),
        ),
        (ResourcePrice("blood", 2.1),),
        unit="CAD",
    )


@pytest.mark.parametrize("table", ["cover", "heart", "letter", "mslr", "nhanes", "sat12", "thyroid"])
def test_published_tables_load_and_round_trip(table, tmp_path):
    path = SHARED / table / "costs.toml"
    if not path.exists():
        pytest.skip(f"the table {table} is not beside this checkout")
    model = CostModel.load(path)
    assert model.full_cost() > 0
    for suffix in (".toml", ".json"):
        model.save(tmp_path / f"costs{suffix}")
        assert CostModel.load(tmp_path / f"costs{suffix}") == model


def test_heart_costs_what_its_table_says():
    path = SHARED / "heart" / "costs.toml"
    if not path.exists():
        pytest.skip("the table heart is not beside this checkout")
    model = CostModel.load(path)
    assert model.full_cost(["chol", "fbs"]) == pytest.approx(5.17 + 3.1 + 2.1, rel=1e-15)
    assert model.full_cost(["age", "slope"]) == pytest.approx(1.0 + 1.0 + 86.3, rel=1e-15)


# --- values --------------------------------------------------------------------------------------------------------


def test_models_are_immutable_hashable_and_compared_by_value():
    model, other = CostModel.from_dict(HEART), CostModel.from_dict(HEART)
    assert model == other
    assert len({model, other}) == 1
    assert model != CostModel.from_dict(changed("reuse", to=0.75))
    assert pickle.loads(pickle.dumps(model)) == copy.deepcopy(model) == model  # noqa: S301 (our own bytes)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        model.split = 1.0
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        model.features[0].cost = 1.0


@pytest.mark.parametrize(
    "price",
    [2, np.int8(2), np.uint64(2), np.float32(2), np.float64(2), np.longdouble(2), Decimal("2.0"), Fraction(4, 2),
     np.array(2.0)],
    ids=repr,
)  # fmt: skip
def test_any_real_number_is_a_price_and_becomes_a_float(price):
    model = CostModel.from_dict(changed("features", "age", to=price))
    assert type(model.features[0].cost) is float
    assert model.features[0].cost == 2.0


def test_minus_zero_becomes_zero():
    model = CostModel.uniform(["a"], -0.0)
    assert math.copysign(1.0, model.features[0].cost) == 1.0


def test_names_of_numpy_become_plain_texts():
    model = CostModel.uniform(np.array(["a", "b"]))
    assert model == CostModel.uniform(["a", "b"])
    assert [type(name) for name in model.names] == [str, str]


def test_of_accepts_what_estimators_accept(tmp_path):
    model = CostModel.from_dict(HEART)
    model.save(tmp_path / "costs.json")
    assert CostModel.of(None, ["a", "b"]) == CostModel.uniform(["a", "b"]) == CostModel.from_array([1, 1], ["a", "b"])
    assert CostModel.of(model, ["a"]) is model
    assert CostModel.of(HEART, ["a"]) == model
    assert CostModel.of(tmp_path / "costs.json", ["a"]) == model
    assert CostModel.of(str(tmp_path / "costs.json"), ["a"]) == model
    expected = CostModel((FeaturePrice("a", 1.0), FeaturePrice("b", 2.5)))
    exact = [Decimal(1), Fraction(5, 2)]
    series = [pd.Series([1, 2.5]), pd.Series([1, 2.5], ["a", "b"]), pd.Series(exact, ["a", "b"])]
    for row in ([1, 2.5], (1.0, 2.5), np.array([1, 2.5]), np.array([1, 2.5], dtype=np.float32), exact, *series):
        assert CostModel.of(row, ["a", "b"]) == expected
    assert CostModel.of(pd.Series([2.5, 1], ["b", "a"]), ["a", "b"]).names == ("b", "a")


@pytest.mark.parametrize(
    "text",
    [
        "name,cost\na,1\nb,2.5\n",
        "a,1\nb,2.5",
        "feature;price\na;1\nb;2,5\n",
        ",0\na,1.0\nb,2.5\n",
        '\ufeff"a",1.0\r\n\r\n"b", 2.5\r\n',
    ],
    ids=repr,
)
def test_a_csv_of_two_columns_has_prices(text, tmp_path):
    (tmp_path / "prices.csv").write_bytes(text.encode())
    expected = CostModel((FeaturePrice("a", 1.0), FeaturePrice("b", 2.5)))
    assert CostModel.load(tmp_path / "prices.csv") == CostModel.of(str(tmp_path / "prices.csv")) == expected


# --- prices as arrays ----------------------------------------------------------------------------------------------


def test_select_aligns_prices_with_columns():
    arrays = CostModel.from_dict(HEART).select(["scan", "blur", "age"])
    assert arrays.names == ("scan", "blur", "age")
    assert arrays.cost.tolist() == [2.0, 0.0, 1.0]
    assert arrays.once.tolist() == [0.0, 40.0, 0.0]
    assert arrays.split.tolist() == [0.125, 0.0, 0.125]
    assert arrays.resource_names == ("blood", "mri", "appointment")
    assert arrays.resource_cost.tolist() == [2.1, 120.0, 15.0]
    assert arrays.needs.tolist() == [[True, True, True], [False] * 3, [False] * 3]
    assert (arrays.learner, arrays.reuse, arrays.unit) == (0.5, 0.25, "CAD")


def test_selected_arrays_are_typed_and_read_only():
    for arrays in (CostModel.from_dict(HEART).select(["age"]), CostModel.uniform(["a"]).select([])):
        for name, dtype in [("cost", "f8"), ("once", "f8"), ("split", "f8"), ("resource_cost", "f8"), ("needs", "?")]:
            array = getattr(arrays, name)
            assert array.dtype == np.dtype(dtype)
            assert not array.flags.writeable
        assert arrays.needs.shape == (len(arrays.names), len(arrays.resource_names))


@given(model=cost_models(), data=st.data())
def test_needs_and_full_cost_equal_their_naive_twins(model, data):
    chosen = data.draw(st.lists(st.sampled_from(model.names), unique=True))
    arrays = model.select(chosen)
    for f, name in enumerate(chosen):
        found = {arrays.resource_names[r] for r in np.flatnonzero(arrays.needs[f])}
        assert found == naive_costs.needed_resources(model, name)
    assert model.full_cost(chosen) == pytest.approx(naive_costs.full_cost(model, chosen), rel=1e-12)


def test_a_long_chain_of_needs_is_followed_to_its_end():
    length = 1500  # deeper than Python recurses
    chain = [ResourcePrice(f"r{i}", 1.0, (f"r{i + 1}",) if i + 1 < length else ()) for i in range(length)]
    model = CostModel((FeaturePrice("a", 1.0, ("r0",)),), tuple(chain))
    assert model.full_cost() == length + 1.0
    chain[-1] = ResourcePrice(f"r{length - 1}", 1.0, ("r0",))
    assert "r0 -> r1 -> r2" in message(CostModel, model.features, tuple(chain))


def test_full_cost_counts_a_shared_resource_once():
    model = CostModel.from_dict(HEART)
    assert model.full_cost() == pytest.approx(1.0 + 5.17 + 2.0 + 2.1 + 120.0 + 15.0, rel=1e-15)
    assert model.full_cost([]) == 0.0


def test_select_names_what_has_no_price():
    model = CostModel.from_dict(HEART)
    assert message(model.select, ["chl"]) == "features: no price for 'chl' (did you mean 'chol'?)"
    assert message(model.select, ["age", "zz", "y", "x"]) == "features: no price for 'zz', nor for 2 more"
    assert message(model.select, ["blood"]).startswith("features: no price for 'blood'")
    assert message(model.select, ["age", "age"]) == "names: expected different names, got 'age' twice"
    assert message(model.select, "age") == "names: expected a list of names, got 'age'"
    assert message(model.select, np.array(3)) == "names: expected a list of names, got 3"
    assert message(model.select, [3]) == "names: expected a name, a text that is not empty, got 3"


# --- refusals ------------------------------------------------------------------------------------------------------

NO_PRICES = [-1, -0.5, math.nan, math.inf, -math.inf, True, np.True_, "5", None, [1.0], 1 + 0j, 10**400, 10**5000]


@pytest.mark.parametrize("price", NO_PRICES, ids=lambda price: str(type(price).__name__))
@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("features", "age"), "features.age.cost"),
        (("features", "chol", "cost"), "features.chol.cost"),
        (("features", "blur", "once"), "features.blur.once"),
        (("resources", "blood"), "resources.blood.cost"),
        (("resources", "mri", "cost"), "resources.mri.cost"),
        (("split",), "split"),
        (("learner",), "learner"),
        (("reuse",), "reuse"),
    ],
)
def test_what_is_no_price_is_refused_by_its_entry(path, place, price):
    text = message(CostModel.from_dict, changed(*path, to=price))
    assert text.startswith(f"{place}: expected a finite number >= 0, got ")


def test_a_bad_split_of_a_feature_is_refused_but_none_is_the_default():
    place = "features.blur.split: expected a finite number >= 0, got -1"
    assert message(CostModel.from_dict, changed("features", "blur", "split", to=-1)) == place
    assert CostModel.from_dict(changed("features", "blur", "split", to=None)).features[2].split is None


REFUSED = {
    "negative": (
        changed("features", "chol", "cost", to=-1),
        "features.chol.cost: expected a finite number >= 0, got -1",
    ),
    "numpy value": (
        changed("features", "age", to=np.float64(-2)),
        "features.age.cost: expected a finite number >= 0, got -2.0",
    ),
    "quoted name": (changed("features", "a.b c", to=-1), 'features."a.b c".cost: expected a finite number'),
    "unknown model key": (
        changed("ressources", to={}),
        "unknown key 'ressources' (did you mean 'resources'?), expected only features, resources, unit",
    ),
    "prices outside a table": ({"age": 1.0}, "unknown key 'age', expected only features, resources"),
    "model key that is no text": (changed(3, to=1.0), "unknown key 3, expected only features"),
    "unknown feature key": (
        changed("features", "chol", "need", to=[]),
        "features.chol: unknown key 'need' (did you mean 'needs'?), expected only cost, needs, once, split",
    ),
    "unknown resource key": (
        changed("resources", "mri", "once", to=1.0),
        "resources.mri: unknown key 'once', expected only cost, needs",
    ),
    "needs a text": (
        changed("features", "chol", "needs", to="blood"),
        "features.chol.needs: expected a list of names, got 'blood'",
    ),
    "needs a number": (changed("features", "chol", "needs", to=3), "features.chol.needs: expected a list of names"),
    "needs a set": (changed("features", "chol", "needs", to={"blood"}), "features.chol.needs: expected a list"),
    "needs numbers": (changed("features", "chol", "needs", to=[3]), "features.chol.needs: expected a name"),
    "needs the unknown": (
        changed("features", "chol", "needs", to=["bloood"]),
        "features.chol.needs: expected names of resources, got 'bloood' (did you mean 'blood'?)",
    ),
    "resource needs the unknown": (
        changed("resources", "mri", "needs", to=["x"]),
        "resources.mri.needs: expected names of resources, got 'x'",
    ),
    "needs twice": (
        changed("features", "chol", "needs", to=["blood", "blood"]),
        "features.chol.needs: expected different names, got 'blood' twice",
    ),
    "needs a feature": (
        changed("features", "chol", "needs", to=["age"]),
        "features.chol.needs: expected names of resources, got 'age' (a feature)",
    ),
    "feature needs itself": (
        changed("features", "chol", "needs", to=["chol"]),
        "features.chol.needs: expected names of resources, got 'chol' (a feature)",
    ),
    "resource needs a feature": (
        changed("resources", "mri", "needs", to=["age"]),
        "resources.mri.needs: expected names of resources, got 'age' (a feature)",
    ),
    "resource needs itself": (
        changed("resources", "mri", "needs", to=["mri"]),
        "resources.mri.needs: expected needs without a circle, got mri -> mri",
    ),
    "both feature and resource": (
        changed("resources", "age", to=1.0),
        "resources.age: expected a name that no feature has",
    ),
    "empty features": (changed("features", to={}), "features: expected the price of at least one feature, got none"),
    "features no table": (changed("features", to=[1.0]), "features: expected a table, got [1.0]"),
    "no features": ({"resources": {"blood": 1.0}}, "features: expected a table, got None"),
    "resources no table": (changed("resources", to=None), "resources: expected a table, got None"),
    "no cost": (
        changed("features", "blur", to={"once": 40.0}),
        "features.blur.cost: expected a finite number >= 0, got no entry",
    ),
    "resource without cost": (
        changed("resources", "mri", to={}),
        "resources.mri.cost: expected a finite number >= 0, got no entry",
    ),
    "unit": (changed("unit", to=3), "unit: expected a text, got 3"),
    "unit with a surrogate": (changed("unit", to="\ud800"), "unit: expected a text without lone surrogates"),
    "empty name": (changed("features", "", to=1.0), "features: expected a name, a text that is not empty, got ''"),
    "name a number": (changed("features", 7, to=1.0), "features: expected a name, a text that is not empty, got 7"),
    "empty resource name": (changed("resources", "", to=1.0), "resources: expected a name, a text that is not empty"),
    "name with a surrogate": (
        changed("features", "a\udcff", to=1.0),
        "features: expected a text without lone surrogates, got 'a\\udcff'",
    ),
    "sum": (
        changed("features", to={"a": 1e308, "b": {"cost": 0.0, "once": 1.7e308}}),
        "features.b.once: expected prices with a finite sum, got 1.7e+308",
    ),
    "no mapping": ([("features", {})], "expected a table, got [('features', {})]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_table_is_refused_by_its_entry(case):
    table, expected = REFUSED[case]
    assert message(CostModel.from_dict, table).startswith(expected)


def test_a_circle_of_needs_is_shown_as_it_runs():
    table = changed("resources", to={"a": {"cost": 1, "needs": ["b"]}, "b": {"cost": 1, "needs": ["c"]}})
    table["resources"]["c"] = {"cost": 1, "needs": ["a"]}
    table["features"] = {"x": 1.0}
    text = message(CostModel.from_dict, table)
    assert any(circle in text for circle in ("a -> b -> c -> a", "b -> c -> a -> b", "c -> a -> b -> c"))


def test_the_sum_is_allowed_up_to_the_largest_float():
    half = 2.0**1023
    assert CostModel.uniform(["a"], half).full_cost() == half
    assert message(CostModel.uniform, ["a", "b"], half).startswith("features.a.cost: expected prices with a finite sum")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("ab",), "features: expected a tuple of FeaturePrice, got 'ab'"),
        (((1.0,),), "features: expected only FeaturePrice, got 1.0"),
        (((FeaturePrice("a"), FeaturePrice("a")),), "features: expected different names, got 'a' twice"),
        (((FeaturePrice("a"),), (FeaturePrice("b"),)), "resources: expected only ResourcePrice, got FeaturePrice("),
        (
            ((FeaturePrice("a"),), (ResourcePrice("r"), ResourcePrice("r"))),
            "resources: expected different names, got 'r' twice",
        ),
        ((()), "features: expected the price of at least one feature, got none"),
    ],
)
def test_a_model_made_by_hand_is_checked_too(args, expected):
    assert message(CostModel, *(args or ((),))).startswith(expected)


def test_entries_made_by_hand_are_checked_too():
    assert message(FeaturePrice, "a", -1) == "features.a.cost: expected a finite number >= 0, got -1"
    assert message(ResourcePrice, "r", math.nan) == "resources.r.cost: expected a finite number >= 0, got nan"
    assert message(ResourcePrice, "r", 1.0, "s") == "resources.r.needs: expected a list of names, got 's'"


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([1.0, 2.0], "costs: expected 3 prices, one for each of the features ['a', 'b', 'c'], got 2"),
        (np.ones(4), "costs: expected 3 prices, one for each of the features ['a', 'b', 'c'], got 4"),
        (np.ones((3, 1)), "costs: expected an array of one dimension, got the shape (3, 1)"),
        (np.array(1.0), "costs: expected an array of one dimension, got the shape ()"),
        (np.array(["1", "2", "3"]), "costs: expected an array of numbers, got the dtype <U1"),
        (np.ones(3, dtype=bool), "costs: expected an array of numbers, got the dtype bool"),
        (np.ones(3, dtype=complex), "costs: expected an array of numbers, got the dtype complex128"),
        (np.array([1, None, 2]), "costs: expected an array of numbers, got the dtype object"),
        (np.array([1.0, np.nan, 2.0]), "costs: features.b.cost: expected a finite number >= 0, got nan"),
        ([[1.0], [2.0], [3.0]], "costs: features.a.cost: expected a finite number >= 0, got [1.0]"),
        ([1.0, True, 2.0], "costs: features.b.cost: expected a finite number >= 0, got True"),
        (b"123", "costs: expected None, a CostModel, a mapping, a file or a row of numbers, got b'123'"),
        (pd.Series([1.0, np.nan], ["a", "b"]), "costs: features.b.cost: expected a finite number >= 0, got nan"),
        (pd.Series([1.0, 2.0], ["a", "a"]), "costs: expected different names, got 'a' twice"),
        (pd.Series([1.0, 2.0]), "costs: expected 3 prices, one for each of the features ['a', 'b', 'c'], got 2"),
        ({"a": Decimal("NaN")}, "costs: features.a.cost: expected a finite number >= 0, got Decimal('NaN')"),
        ({"a": Decimal(-1)}, "costs: features.a.cost: expected a finite number >= 0, got Decimal('-1')"),
        ({"a": Decimal("1e999")}, "costs: features.a.cost: expected a finite number >= 0, got Decimal('1E+999')"),
        (3.0, "costs: expected None, a CostModel, a mapping, a file or a row of numbers, got 3.0"),
        ({1.0, 2.0}, "costs: expected None, a CostModel, a mapping, a file or a row of numbers, got {1.0, 2.0}"),
        ({}, "costs: features: expected the price of at least one feature, got none"),
        ({"a": -1.0}, "costs: features.a.cost: expected a finite number >= 0, got -1.0"),
        ({0: 1.0}, "costs: features: expected a name, a text that is not empty, got 0"),
        ({"a": 10**5000}, "costs: features.a.cost: expected a finite number >= 0, got int that cannot be shown"),
        (
            {"unit": "CAD", "a": 1.0},
            "costs: unknown key 'a', expected only features, resources, unit, split, learner, reuse, trip_time, ignore",
        ),
        (
            {"feature": {"a": 1.0}},
            (
                "costs: unknown key 'feature' (did you mean 'features'?), "
                "expected only features, resources, unit, split, learner, reuse, trip_time, ignore"
            ),
        ),
    ],
)
def test_of_refuses_prices_that_do_not_fit(costs, expected):
    assert message(CostModel.of, costs, ["a", "b", "c"]) == expected


def test_of_needs_names_for_prices_by_position_only(tmp_path):
    model = CostModel.of({"a": 5.0, "b": {"cost": 1.0, "once": 2.0}})
    assert model == CostModel.from_dict({"features": {"a": 5.0, "b": {"cost": 1.0, "once": 2.0}}})
    model.save(tmp_path / "costs.json")
    for costs in (model, model.to_dict(), tmp_path / "costs.json"):
        assert CostModel.of(costs) == model
    for costs in (None, [5.0], np.ones(1)):
        assert message(CostModel.of, costs) == "costs: names: expected a list of names, got None"


@pytest.mark.parametrize("costs", ["123", b"123", 3.0, None, {1.0, 2.0, 3.0}])
def test_from_array_refuses_what_is_no_row(costs):
    assert message(CostModel.from_array, costs, ["a", "b", "c"]).startswith("costs: expected an array or sequence")


def test_names_that_do_not_fit_are_refused():
    assert message(CostModel.uniform, "abc") == "names: expected a list of names, got 'abc'"
    assert message(CostModel.uniform, ["a", "a"]) == "names: expected different names, got 'a' twice"
    assert message(CostModel.uniform, []) == "features: expected the price of at least one feature, got none"


# --- files ---------------------------------------------------------------------------------------------------------

BROKEN = {
    "twice.json": (b'{"features": {"age": 1, "chol": 2, "age": 3}}', "expected different names, got 'age' twice"),
    "twice.toml": (b"[features]\nage = 1.0\nchol = 2.0\nage = 3.0\n", ": 'age = 3.0'"),
    "nan.json": (b'{"features": {"age": NaN}}', "features.age.cost: expected a finite number >= 0, got nan"),
    "inf.json": (b'{"features": {"a": 1}, "split": Infinity}', "split: expected a finite number >= 0, got inf"),
    "huge.json": (b'{"features": {"age": 1e999}}', "features.age.cost: expected a finite number >= 0, got inf"),
    "nan.toml": (b"[features]\nage = nan\n", "features.age.cost: expected a finite number >= 0, got nan"),
    "hex.toml": (b"[features]\nage = 0x1" + b"0" * 5000, "features.age.cost: expected a finite number >= 0, got int"),
    "digits.json": (b'{"features": {"age": 1' + b"0" * 5000 + b"}}", "expected valid JSON, got: "),
    "date.toml": (b"[features]\nage = 2020-01-01\n", "features.age.cost: expected a finite number >= 0, got datetime"),
    "latin.toml": ("[features]\nâge = 1.0".encode("latin-1"), "expected a text in UTF-8, got other bytes"),
    "syntax.toml": (b"[features\nage = 1.0", "expected valid TOML, got: "),
    "syntax.json": (b'{"features": {"age": 1.0}', "expected valid JSON, got: "),
    "surrogate.json": (b'{"features": {"\\ud800": 1.0}}', "features: expected a text without lone surrogates"),
    "list.json": (b"[1.0]", "expected a table, got [1.0]"),
    "empty.json": (b"", "expected valid JSON, got: "),
    "empty.toml": (b"", "features: expected a table, got None"),
    "deep.json": (b"[" * 100_000, "expected a table of prices, got one nested too deeply"),
    "deep.toml": (b"a = " + b"[" * 100_000, "expected a table of prices, got one nested too deeply"),
    "chain.toml": (b"features" + b". 'a b'" * 40 + b" = 1", "expected a table of prices, got one nested too deeply"),
    "header.toml": (b"[features" + b".a" * 40 + b"]\nb = 1", "expected a table of prices, got one nested too deeply"),
    "costs.yaml": (b"features: {}", "expected a file name that ends in .toml, .csv or .json, got 'costs.yaml'"),
    "costs": (b"", "expected a file name that ends in .toml, .csv or .json, got 'costs'"),
    "three.csv": (b"name,cost\nage,1,2\n", "expected a name and a price in each line, got 3 cells in line 2"),
    "twice.csv": (b"age,1\nage,2\n", "expected different names, got 'age' twice"),
    "empty.csv": (b"age,1\nchol,\n", "features.chol.cost: expected a finite number >= 0, got ''"),
    "text.csv": (b"age,1\nchol,1_0\n", "features.chol.cost: expected a finite number >= 0, got '1_0'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_its_name_and_entry(name, tmp_path):
    content, expected = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content)
    text = message(CostModel.load, path)
    assert text.startswith(f"{path}: ")
    assert expected in text


def test_a_file_that_cannot_be_read_is_refused_by_its_name(tmp_path):
    (tmp_path / "folder.toml").mkdir()
    missing, folder = tmp_path / "missing.toml", tmp_path / "folder.toml"
    assert message(CostModel.load, missing) == f"{missing}: cannot be read: No such file or directory"
    assert message(CostModel.load, folder) == f"{folder}: cannot be read: Is a directory"
    assert "cannot be read" in message(CostModel.load, "null\0.toml")


def test_a_file_that_cannot_be_written_is_refused_by_its_name(tmp_path):
    model = CostModel.uniform(["a"])
    (tmp_path / "folder.toml").mkdir()
    for name, expected in [
        ("folder.toml", "cannot be written"),
        ("nowhere/costs.toml", "cannot be written"),
        ("costs.yaml", "expected a file name that ends in .toml or .json"),
    ]:
        assert message(model.save, tmp_path / name).startswith(f"{tmp_path / name}: {expected}")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.toml"]


@pytest.mark.parametrize(("raised", "caught"), [(OSError("full"), CostModelError), (KeyboardInterrupt(),) * 2])
@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, raised, caught):
    path = tmp_path / "costs.toml"
    old = CostModel.uniform(["a"])
    old.save(path)

    def interrupted(*_args, **_kwargs):
        raise raised

    with monkeypatch.context() as patch:
        patch.setattr(os, step, interrupted)
        with pytest.raises(caught if isinstance(caught, type) else type(caught)):
            CostModel.uniform(["b"]).save(path)
    assert CostModel.load(path) == old
    assert [found.name for found in tmp_path.iterdir()] == ["costs.toml"]


def test_a_rewritten_file_keeps_its_mode_and_its_link(tmp_path):
    path, link = tmp_path / "costs.toml", tmp_path / "link.toml"
    CostModel.uniform(["a"]).save(path)
    path.chmod(0o640)
    link.symlink_to(path)
    CostModel.uniform(["b"]).save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert CostModel.load(path).names == ("b",)


def test_rows_without_prices_share_one_cost_model(monkeypatch):
    tree = StageTree(WeakLearnerBank.columns(("a", "b")), (Answer([0, 1], [1.0, 2.0], [0.0]),))
    row = np.array([[1.0, 2.0]])
    expected = tree.predict(row), tree.predict(row, max_cost=1.0), tree.inquire().needs

    def refuse(*_: object) -> None:
        pytest.fail("a row makes prices of its own")

    monkeypatch.setattr(entries, "_check_entry", refuse)
    assert (tree.predict(row), tree.predict(row, max_cost=1.0), tree.inquire().needs) == expected
