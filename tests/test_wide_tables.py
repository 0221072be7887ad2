"""Laws of tables of many columns: names are looked up once, and memory stays linear."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.learners.bits import as_set, members
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.datasets.dataset import order_prices
from costframe.datasets.table_files import TableFile
from costframe.training import duplicates
from costframe.training.data import Rows, TrainingData
from costframe.training.sampling import row_numbers
from costframe.trees.binning.thresholds import at_quantiles, distinct, quantile_columns

seeds = st.integers(0, 2**32 - 1)


class CountedNames(list):
    """Names that count how often somebody goes through them."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_names_are_looked_up_without_going_through_all_for_each():
    names = CountedNames(f"x{i}" for i in range(50))
    order_prices(CostModel.uniform(reversed(names)), names)
    assert names.times < 10


def test_a_header_longer_than_a_block_is_read(tmp_path):
    names = [f"{i}{'x' * 40_000}" for i in range(40)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert list(TableFile.open(tmp_path / "wide.csv").read()) == names


def test_rows_are_hashed_without_a_copy_of_the_table():
    X, names = np.zeros((2000, 2500)), tuple(f"x{f}" for f in range(2500))
    data = TrainingData(
        Rows(X, np.zeros(2000), np.ones(2000)), None, CostModel.uniform(names), CostModel.uniform(names).select(names)
    )
    tracemalloc.start()
    numbers = row_numbers(data.train, data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < X.nbytes / 2
    assert len(set(numbers.tolist())) == 1


@given(seeds, st.integers(2, 255))
def test_compiled_thresholds_equal_their_twins(seed, max_bins):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 600))
    columns = np.stack([
        rng.normal(size=n),
        rng.integers(0, rng.integers(1, 400), n),
        np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),
        np.where(rng.random(n) < 0.3, np.nan, rng.exponential(size=n)),
        np.where(rng.random(n) < 0.2, rng.choice([-np.inf, np.inf], n), rng.normal(size=n).round(2)),
    ])  # fmt: skip
    for column, found in zip(columns, quantile_columns(np.sort(columns, axis=1), max_bins), strict=True):
        values, masses = distinct(column, None)
        if len(values) <= max_bins:
            assert found is None
        else:
            assert found.tolist() == at_quantiles(values, masses, max_bins).tolist()


@given(st.sets(st.integers(0, 20_000), max_size=200))
def test_sets_as_integers_hold_their_members(numbers):
    assert list(members(as_set(numbers))) == sorted(numbers)
    assert as_set(numbers) == sum(1 << number for number in numbers)


@given(seeds)
def test_duplicates_are_those_that_all_pairs_show(seed):
    rng = np.random.default_rng(seed)
    needs = [(), ("a",), ("b",), ("a", "b"), ("b", "a")]
    features = tuple(
        FeaturePrice(f"f{f}", float(rng.integers(2)), needs[rng.integers(5)], float(rng.integers(2))) for f in range(12)
    )
    prices = CostModel(features, (ResourcePrice("a", 1.0, ("b",)), ResourcePrice("b", 1.0))).select(
        [f"f{f}" for f in range(12)]
    )
    X = rng.integers(0, 2, (1, 12)) * 1.0

    def beats(one, other):
        cheaper = all(p[one] <= p[other] for p in (prices.cost, prices.once))
        return cheaper and not (prices.needs[one] & ~prices.needs[other]).any() and X[0, one] == X[0, other]

    expected = [any(g != f and beats(g, f) and (g < f or not beats(f, g)) for g in range(12)) for f in range(12)]
    assert duplicates.dominated_duplicates(X, prices).tolist() == expected


def test_constant_columns_are_not_compared_in_pairs(monkeypatch):
    names, pairs = [f"x{f}" for f in range(300)], []
    monkeypatch.setattr(duplicates, "_dominates", lambda *pair: pairs.append(pair))
    found = duplicates.dominated_duplicates(np.zeros((2, 300)), CostModel.uniform(names).select(names))
    assert (found.tolist(), pairs) == ([False] + [True] * 299, [])
