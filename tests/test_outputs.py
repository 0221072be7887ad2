"""H kept as leaf numbers, against the outputs written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

import costframe as cf
from costframe.core.errors import BankError
from costframe.core.learners import outputs as module
from costframe.core.learners.outputs import BankOutputs
from costframe.testing import strategies as kit

pytestmark = pytest.mark.kernels

NAMES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64)  # so that small tables are many blocks


@settings(max_examples=80)
@given(st.data())
def test_written_out_they_are_the_banks_outputs(data):
    bank = data.draw(kit.banks(NAMES))
    X = data.draw(kit.rows(len(NAMES)))
    found = BankOutputs.of(bank, X)
    assert found.shape == (len(X), bank.widths.sum())
    assert found.codes.dtype == np.uint8
    np.testing.assert_array_equal(found.block(slice(0, len(X))), bank.outputs(X))


@settings(max_examples=80)
@given(st.data(), st.integers(0, 10_000))
def test_products_are_those_of_the_dense_matrix(data, seed):
    bank = data.draw(kit.banks(NAMES))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((23, len(NAMES)))
    found, H = BankOutputs.of(bank, X), bank.outputs(X)
    shift, weight = rng.standard_normal(H.shape[1]), rng.random(23) * (rng.random(23) < 0.8)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(found.mean(weight + 0.1), np.average(H, axis=0, weights=weight + 0.1), **close)
    found, H = found.centered(shift), H - shift
    for more in ((), (2,)):
        beta, v = rng.standard_normal((H.shape[1], *more)), rng.standard_normal((23, *more))
        np.testing.assert_allclose(found.times(beta), H @ beta, **close)
        np.testing.assert_allclose(found.rmatvec(v), H.T @ v, **close)
    gram = found.gram(weight)
    np.testing.assert_allclose(gram, H.T @ (weight[:, None] * H), **close)
    np.testing.assert_array_equal(gram, gram.T)
    some = rng.permutation(H.shape[1])[: H.shape[1] // 2]
    np.testing.assert_allclose(found.columns(some).gram(weight), gram[np.ix_(some, some)], **close)


@settings(max_examples=80)
@given(st.data(), st.integers(0, 10_000))
def test_comparisons_cost_what_the_evaluator_says(data, seed):
    bank = data.draw(kit.banks(NAMES, opaque=False))
    rng = np.random.default_rng(seed)
    X, weight = rng.standard_normal((9, len(NAMES))), rng.random(9) + 0.1
    split = [0.5, 0.0, 2.0]
    costs = cf.CostModel.from_dict({
        "features": {name: {"cost": 0, "split": price} for name, price in zip(NAMES, split, strict=True)}
    })  # fmt: skip
    paid = BankOutputs.of(bank, X).comparisons(bank, np.array(split), weight)
    for t in range(len(bank)):
        width = bank.widths[t]
        alone = cf.StageTree(bank, [cf.Answer([t], np.ones((width, 1)), [0.0])])
        assert paid[t] == pytest.approx(alone.cost(X, costs, sample_weight=weight).mean)


def test_trees_of_many_leaves_take_two_bytes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 2))
    forest = RandomForestRegressor(2, random_state=0, bootstrap=False).fit(X, X[:, 0] * X[:, 1])
    bank = cf.adopt(forest).bank
    found = BankOutputs.of(bank, X)
    assert found.codes.dtype == np.uint16
    np.testing.assert_array_equal(found.block(slice(300, 500)), bank.outputs(X)[300:500])


def test_the_rows_are_kept_in_a_byte_a_tree():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 4))
    bank = cf.train_bank(X, X.sum(axis=1), n_estimators=30)
    found = BankOutputs.of(bank, X)
    assert found.codes.nbytes + found.dense.nbytes == 500 * 30
    assert np.shares_memory(found.columns(np.arange(3)).codes, found.codes)


def test_negative_weights_are_refused():
    bank = cf.WeakLearnerBank.columns(("a",))
    with pytest.raises(BankError, match="weight: expected numbers >= 0"):
        BankOutputs.of(bank, [[1.0], [2.0]]).gram(np.array([1.0, -1.0]))


@settings(max_examples=40)
@given(st.data(), st.integers(0, 10_000))
def test_sums_of_products_leave_out_what_weighs_nothing(data, seed):
    bank, rng = data.draw(kit.banks(NAMES)), np.random.default_rng(seed)
    X, weight = rng.standard_normal((23, len(NAMES))), rng.random(23) * (rng.random(23) < 0.5)
    y = np.where(weight[:, None] > 0, rng.standard_normal((23, 2)), np.nan)  # never looked at
    found, H, some = BankOutputs.of(bank, X), bank.outputs(X), weight > 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "GRAM_BLOCK", 64)
        patch.setattr(module, "PART", 8)
        gram, right = found.products(weight, y)
    heavy = weight[some, None] * H[some]
    np.testing.assert_allclose(gram, H[some].T @ heavy, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(right, heavy.T @ y[some], rtol=1e-10, atol=1e-10)
    with pytest.raises(BankError, match="weight: expected numbers >= 0, got -1"):
        found.products(np.full(23, -1.0), y)


def test_the_compiled_rows_are_the_naive_ones():
    from costframe.engine import write_outputs

    rng = np.random.default_rng(0)
    codes, dense = rng.integers(0, 4, (9, 3)).astype(np.uint8), rng.standard_normal((9, 2))
    source, values = np.array([2, -1, 0, -2, 2], np.int32), rng.standard_normal((5, 4))
    rows, factor = np.array([8, 0, 3]), np.array([1.0, 0.5, -2.0])
    out, twin = np.empty((3, 5)), np.empty((3, 5))
    for i, j in np.ndindex(3, 5):
        h = values[j, codes[rows[i], source[j]]] if source[j] >= 0 else dense[rows[i], -1 - source[j]] + values[j, 0]
        twin[i, j] = factor[i] * h
    write_outputs(codes, dense, source, values, rows, factor, out)
    np.testing.assert_array_equal(out, twin)
