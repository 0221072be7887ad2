"""The price table: what it accepts, what it refuses and how it says so, and that files give back what they got."""

import copy
import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import attrs
import naive_costs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from costframe import CostModel
from costframe.core.prices.costs import FeaturePrice, ResourcePrice
from costframe.errors import AdoptionError
from costframe.plugin import CostModelError

HEART = {
    "unit": "CAD", "split": 0.125, "learner": 0.5, "reuse": 0.25,
    "features": {
        "age": 1.0,
        "chol": {"cost": 5.17, "needs": ["blood"]},
        "blur": {"cost": 0.0, "once": 40.0, "split": 0.0},
        "scan": {"cost": 2.0, "needs": ["mri", "blood"]},
    },
    "resources": {"blood": 2.1, "mri": {"cost": 120.0, "needs": ["appointment"]}, "appointment": 15.0},
}  # fmt: skip
AB = CostModel((FeaturePrice("a", 1.0), FeaturePrice("b", 2.5)))

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
    table = inner = copy.deepcopy(HEART)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return table


def message(build, *args, **kwargs):
    with pytest.raises(CostModelError) as caught:
        build(*args, **kwargs)
    return str(caught.value)


# --- what comes back ---


@pytest.mark.parametrize("suffix", [".TOML", ".json"])
@given(model=cost_models(), ignored=st.lists(names, unique=True, max_size=2))
def test_files_and_dicts_give_back_an_equal_model(tmp_path_factory, suffix, model, ignored):
    path = tmp_path_factory.getbasetemp() / f"round{suffix}"
    model = attrs.evolve(model, ignore=tuple(ignored))
    model.save(path)
    for again in (CostModel.load(path), CostModel.from_dict(json.loads(json.dumps(model.to_dict())))):
        assert (again, hash(again)) == (model, hash(model))
        # Python counts 0.0 == -0.0 and 1 == 1.0; the text of a value tells them apart, and a split left open from one.
        assert repr(again.to_dict()) == repr(model.to_dict())


def test_toml_is_written_as_a_person_would_and_read_as_one_writes_it(tmp_path):
    path = tmp_path / "costs.toml"
    CostModel.from_dict(HEART).save(path)
    assert path.read_text(encoding="utf-8") == (
        'unit = "CAD"\nsplit = 0.125\nlearner = 0.5\nreuse = 0.25\n\n'
        '[features]\nage = 1.0\nchol = { cost = 5.17, needs = ["blood"] }\n'
        'blur = { cost = 0.0, once = 40.0, split = 0.0 }\nscan = { cost = 2.0, needs = ["mri", "blood"] }\n\n'
        '[resources]\nblood = 2.1\nmri = { cost = 120.0, needs = ["appointment"] }\nappointment = 15.0\n'
    )
    text = 'split = 0.0 # one comparison\n[features]\na = 1\n[features.b]\ncost = 2.5\n[sources.crm]\nkind = "redis"\n'
    path.write_text(text, encoding="utf-8-sig")
    assert CostModel.load(path) == AB
    path.write_text("sources = 3\n[features]\nage = 1.0\n")
    assert "'sources'" in message(CostModel.load, path)


def test_models_are_immutable_hashable_and_compared_by_value():
    model = CostModel.from_dict(HEART)
    assert {model, CostModel.from_dict(HEART), pickle.loads(pickle.dumps(model))} == {model}  # noqa: S301 (our own)
    assert model != CostModel.from_dict(changed("reuse", to=0.75))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        model.features[0].cost = 1.0
    assert math.copysign(1.0, CostModel.uniform(["a"], -0.0).features[0].cost) == 1.0


def test_of_accepts_what_estimators_accept(tmp_path):
    model = CostModel.from_dict(HEART)
    model.save(tmp_path / "costs.json")
    assert CostModel.of(None, ["a", "b"]) == CostModel.uniform(["a", "b"]) == CostModel.from_array([1, 1], ["a", "b"])
    for costs in (model, HEART, tmp_path / "costs.json", str(tmp_path / "costs.json")):
        assert CostModel.of(costs, ["a"]) == CostModel.of(costs) == model
    exact = [Decimal(1), Fraction(5, 2)]
    of_numpy = [np.int8(1), np.longdouble(2.5)]
    series = [pd.Series([1, 2.5]), pd.Series([1, 2.5], ["a", "b"]), pd.Series(exact, ["a", "b"])]
    for row in ((1.0, 2.5), np.array([1, 2.5], dtype=np.float32), exact, of_numpy, *series):
        assert CostModel.of(row, ["a", "b"]) == AB
    assert CostModel.of(pd.Series([2.5, 1], ["b", "a"]), ["a", "b"]).names == ("b", "a")
    for costs in (None, np.ones(1)):
        assert message(CostModel.of, costs) == "costs: names: expected a list of names, got None"


@pytest.mark.parametrize(
    "text",
    [
        "name,cost\na,1\nb,2.5\n",
        "feature;price\na;1\nb;2,5\n",
        '\ufeff"a",1.0\r\n\r\n"b", 2.5\r\n',
        "# prices\na|1|\nb|2,5|\n",
        "sep=\t\na\t1\nb\t2.5\n",
        "Merkmal;EUR\na;1\n# the rest, from the lab\nb;2,5\n",
        "a,1\n# below, new\nb,2.5\n",
    ],
    ids=repr,
)
def test_a_csv_of_two_columns_has_prices(text, tmp_path):
    (tmp_path / "prices.csv").write_bytes(text.encode())
    assert CostModel.of(str(tmp_path / "prices.csv")) == AB


def test_names_may_have_the_separators_of_other_files(tmp_path):
    (tmp_path / "prices.csv").write_text('a;b,1.5\nc|d,2\n"e,f",3\n# of visits,4\n')
    found = {price.name: price.cost for price in CostModel.load(tmp_path / "prices.csv").features}
    assert found == {"a;b": 1.5, "c|d": 2.0, "e,f": 3.0, "# of visits": 4.0}


@pytest.mark.parametrize(
    "price", ["free", "n/a", "", "unknown", "0x10", "true", "1 # the lab's", "free of charge", "no costs"]
)
def test_a_first_line_with_a_word_for_a_price_is_no_header(price, tmp_path):
    (tmp_path / "prices.csv").write_text(f"mri,{price}\nage,2\n")
    expected = (
        f"features.mri: expected a finite number >= 0: got {price!r}; a header above the prices reads feature,price"
    )
    assert message(CostModel.load, tmp_path / "prices.csv") == f"{tmp_path / 'prices.csv'}: {expected}"


def test_a_file_of_prices_alone_needs_no_table(tmp_path):
    for name, text in (("p.toml", "a = 1\nb = { cost = 2.5 }\n"), ("p.json", '{"a": 1, "b": 2.5}')):
        (tmp_path / name).write_text(text)
        assert CostModel.load(tmp_path / name) == AB


MENDED = {
    "[features]\nSepal.Length = 1\n": 'a name with a point stands in quotes: "Sepal.Length" = 1',
    "Sepal.Length = 1\n": 'below a line [features], and a name with a point stands in quotes: "Sepal.Length" = 1',
    'unit = "EUR"\nage = 1\n': "unknown key 'age', .*; the prices of features stand below a line [features]",
    "[features]\nmean radius = 1\n": '; write "mean radius" = 1',
    "[features]\nage = 1,5\n": "; write age = 1.5",
    "[features]\nage = 1,500\n": ": 'age = 1,500'",
}


@pytest.mark.parametrize("text", MENDED, ids=repr)
def test_a_refused_file_tells_the_line_that_mends_it(text, tmp_path):
    (tmp_path / "p.toml").write_text(text)
    found = message(CostModel.load, tmp_path / "p.toml")
    begin, _, end = MENDED[text].rpartition(".*")
    assert begin in found
    assert found.endswith(end)


# --- prices as arrays ---


def test_select_aligns_prices_with_columns():
    arrays = CostModel.from_dict(HEART).select(["scan", "blur", "age"])
    assert arrays.cost.tolist() == [2.0, 0.0, 1.0]
    assert arrays.once.tolist() == [0.0, 40.0, 0.0]
    assert arrays.split.tolist() == [0.125, 0.0, 0.125]
    assert arrays.resource_names == ("blood", "mri", "appointment")
    assert arrays.resource_cost.tolist() == [2.1, 120.0, 15.0]
    assert arrays.needs.tolist() == [[True, True, True], [False] * 3, [False] * 3]
    assert (arrays.learner, arrays.reuse, arrays.unit) == (0.5, 0.25, "CAD")
    assert not any(
        getattr(arrays, name).flags.writeable for name in ("cost", "once", "split", "resource_cost", "needs")
    )
    assert CostModel.uniform(["a"]).select([]).needs.shape == (0, 0)


@given(model=cost_models(), data=st.data())
def test_needs_and_full_cost_equal_their_naive_twins(model, data):
    chosen = data.draw(st.lists(st.sampled_from(model.names), unique=True))
    arrays = model.select(chosen)
    for f, name in enumerate(chosen):
        found = {arrays.resource_names[r] for r in np.flatnonzero(arrays.needs[f])}
        assert found == naive_costs.needed_resources(model, name)
    assert model.full_cost(chosen) == pytest.approx(naive_costs.full_cost(model, chosen), rel=1e-12)


# --- refusals ---

PLACES = {
    "features.age.cost": ("features", "age"),
    "features.blur.once": ("features", "blur", "once"),
    "features.blur.split": ("features", "blur", "split"),
    "resources.mri.cost": ("resources", "mri", "cost"),
    "learner": ("learner",),
}


@pytest.mark.parametrize(
    "price",
    [-0.5, math.nan, math.inf, True, "5", [1.0], 1 + 0j, 10**5000, np.float64(-2)],
    ids=lambda price: type(price).__name__,
)
def test_what_is_no_price_is_refused_by_its_entry(price):
    for place, path in PLACES.items():
        text = message(CostModel.from_dict, changed(*path, to=price))
        assert text.startswith(f"{place}: expected a finite number >= 0, got ")
    assert CostModel.from_dict(changed("features", "blur", "split", to=None)).features[2].split is None


CIRCLE = {"a": {"cost": 1, "needs": ["b"]}, "b": {"cost": 1, "needs": ["a"]}}
REFUSED = [
    (changed("features", "a.b c", to=-1), 'features."a.b c".cost: expected a finite number'),
    (changed("features", "chol", "need", to=[]), "features.chol: unknown key 'need' (did you mean 'needs'?), expected"),
    (changed("features", "chol", "needs", to="blood"), "features.chol.needs: expected a list of names, got 'blood'"),
    (
        changed("features", "chol", "needs", to=["age"]),
        "features.chol.needs: expected names of resources, got 'age' (a",
    ),
    (
        changed("resources", to=CIRCLE | HEART["resources"]),
        "resources.a.needs: expected needs without a circle, got a ",
    ),
    (changed("resources", "age", to=1.0), "resources.age: expected a name that no feature has"),
    (changed("features", "a\udcff", to=1.0), "features: expected a text without lone surrogates, got 'a\\udcff'"),
]


@pytest.mark.parametrize(("table", "expected"), REFUSED, ids=[text for _, text in REFUSED])
def test_a_bad_table_is_refused_by_its_entry(table, expected):
    assert message(CostModel.from_dict, table).startswith(expected)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: CostModel.from_dict(HEART).select(["chl"]), "features: no price for 'chl' (did you mean 'chol'?)"),
        (lambda: CostModel.uniform(["a"]).select(["a", "a"]), "names: expected different names, got 'a' twice"),
        (lambda: FeaturePrice("a", -1), "features.a.cost: expected a finite number >= 0, got -1"),
        (lambda: CostModel.from_array(b"123", ["a", "b", "c"]), "costs: expected an array or sequence"),
    ],
)
def test_what_is_made_by_hand_is_checked_too(call, expected):
    assert message(call).startswith(expected)


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([1.0, 2.0], "costs: expected 3 prices, one for each of the features ['a', 'b', 'c'], got 2"),
        (np.array(["1", "2", "3"]), "costs: expected an array of numbers, got the dtype <U1"),
        (pd.Series([1.0, 2.0], ["a", "a"]), "costs: expected different names, got 'a' twice"),
        (3.0, "costs: expected None, a CostModel, a mapping, a file or a row of numbers, got 3.0"),
        ({"feature": {"a": 1.0}}, "costs: unknown key 'feature' (did you mean 'features'?), expected only features"),
    ],
)
def test_of_refuses_prices_that_do_not_fit(costs, expected):
    assert message(CostModel.of, costs, ["a", "b", "c"]).startswith(expected)


BROKEN = {
    "twice.json": (b'{"features": {"age": 1, "chol": 2, "age": 3}}', "expected different names, got 'age' twice"),
    "twice.toml": (b"[features]\nage = 1.0\nchol = 2.0\nage = 3.0\n", ": 'age = 3.0'"),
    "digits.json": (b'{"features": {"age": 1' + b"0" * 5000 + b"}}", "expected valid JSON, got: "),
    "deep.json": (b"[" * 100_000, "expected a table of prices, got one nested too deeply"),
    "three.csv": (b"name,cost\nage,1,2\n", "expected a name and a price in each line, got 3 cells in line 2"),
    "missing.toml": (None, "cannot be read: No such file or directory"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_its_name_and_entry(name, tmp_path):
    content, expected = BROKEN[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    text = message(CostModel.load, path)
    assert text.startswith(f"{path}: ")
    assert expected in text
    where = tmp_path / "nowhere" / "costs.toml"
    assert message(CostModel.uniform(["a"]).save, where).startswith(f"{where}: cannot be written")


# --- prices through preprocessing ---

COSTS = CostModel.from_dict({
    "unit": "CAD", "split": 0.5,
    "features": {
        "age": {"cost": 1.0, "once": 7.0},
        "chol": {"cost": 5.0, "needs": ["blood"], "split": 2.0},
        "iron": {"cost": 3.0, "needs": ["blood"], "split": 1.0},
        "town": 4.0,
    },
    "resources": {"blood": {"cost": 2.0, "needs": ["visit"]}, "visit": 10.0},
})  # fmt: skip


def test_columns_made_of_one_raw_column_share_it_and_those_of_several_need_all():
    alone = COSTS.through({"scaled age": "age", "chol": ("chol",)}).to_dict()
    assert alone["features"] == {"scaled age": COSTS.to_dict()["features"]["age"], "chol": alone["features"]["chol"]}
    made_from = {"town_A": "town", "town_B": "town", "chol": "chol", "chol iron": ("chol", "iron"), "one": ()}
    through = COSTS.through(made_from)
    assert through.to_dict()["features"] == {
        "town_A": {"cost": 0.0, "needs": ["town"]},
        "town_B": {"cost": 0.0, "needs": ["town"]},
        "chol": {"cost": 0.0, "needs": ["chol (raw)"], "split": 2.0},  # a column has the name already
        "chol iron": {"cost": 0.0, "needs": ["chol (raw)", "iron"], "split": 2.0},
        "one": 0.0,
    }
    assert [through.full_cost([name]) for name in through.names] == [4.0, 4.0, 17.0, 20.0, 0.0]
    assert through.full_cost(["town_A", "town_B", "chol", "chol iron"]) == 24.0
    through = COSTS.through({"blood": "chol", "blood (raw)": "iron"})  # a resource gives way to a column of its name
    assert (through.full_cost(["blood"]), through.resource_names) == (17.0, ("blood (raw) (raw)", "visit"))


def test_names_of_raw_columns_are_the_fit_s_or_the_cost_model_s_or_given():
    scaler = StandardScaler().fit(np.arange(12.0).reshape(3, 4))
    assert COSTS.through(scaler).names == ("age", "chol", "iron", "town")
    assert COSTS.through(scaler, feature_names=["town", "iron", "chol", "age"]).full_cost(["town"]) == 4.0


@pytest.mark.parametrize(
    ("made_from", "match"),
    [
        ({"a": "agee"}, "no price for 'agee' .did you mean 'age'"),
        ({"a": "age", "b": "age"}, r"features\.age\.once: cannot be priced through"),
        ({"a": 3}, "expected names of raw columns for 'a', got 3"),
        (StandardScaler().fit(np.ones((3, 3))), "it has 3 features"),
    ],
)
def test_what_has_no_exact_price_is_refused(made_from, match):
    with pytest.raises((CostModelError, AdoptionError), match=match):
        COSTS.through(made_from)
