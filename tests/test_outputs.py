"""H kept as leaf numbers, against the outputs written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

import costframe as cf
from costframe.core.learners import outputs as module
from costframe.core.learners.outputs import BankOutputs
from costframe.engine import write_outputs
from costframe.errors import BankError
from costframe.testing import strategies as kit

pytestmark = pytest.mark.engine
NAMES = ("a", "b", "c")
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@given(st.data(), st.integers(0, 10_000))
def test_products_are_those_of_the_dense_matrix(data, seed):
    bank, rng = data.draw(kit.banks(NAMES)), np.random.default_rng(seed)
    nasty, X = data.draw(kit.rows(len(NAMES))), rng.standard_normal((23, len(NAMES)))
    weight = rng.random(23) * (rng.random(23) < 0.8)
    some, y = weight > 0, np.where(weight[:, None] > 0, rng.standard_normal((23, 2)), np.nan)  # what weighs nothing
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("BLOCK", 64), ("GRAM_BLOCK", 64), ("PART", 8)):
            patch.setattr(module, name, size)  # so that small tables are many blocks
        np.testing.assert_array_equal(BankOutputs.of(bank, nasty).block(slice(0, len(nasty))), bank.outputs(nasty))
        found, H = BankOutputs.of(bank, X), bank.outputs(X)
        gram, right = found.products(weight, y)
        np.testing.assert_allclose(gram, H[some].T @ (weight[some, None] * H[some]), **CLOSE)
        np.testing.assert_allclose(right, (weight[some, None] * H[some]).T @ y[some], **CLOSE)
        np.testing.assert_allclose(found.mean(weight + 0.1), np.average(H, axis=0, weights=weight + 0.1), **CLOSE)
        shift = rng.standard_normal(H.shape[1])
        found, H = found.centered(shift), H - shift
        for more in ((), (2,)):
            beta, v = rng.standard_normal((H.shape[1], *more)), rng.standard_normal((23, *more))
            np.testing.assert_allclose(found.times(beta), H @ beta, **CLOSE)
            np.testing.assert_allclose(found.rmatvec(v), H.T @ v, **CLOSE)
        gram, few = found.gram(weight), rng.permutation(H.shape[1])[: H.shape[1] // 2]
        np.testing.assert_allclose(gram, H.T @ (weight[:, None] * H), **CLOSE)
        np.testing.assert_allclose(found.columns(few).gram(weight), gram[np.ix_(few, few)], **CLOSE)
        with pytest.raises(BankError, match="weight: expected numbers >= 0, got -1"):
            found.products(np.full(23, -1.0), y)


@given(st.data(), st.integers(0, 10_000))
def test_comparisons_cost_what_the_evaluator_says(data, seed):
    bank, rng = data.draw(kit.banks(NAMES, opaque=False)), np.random.default_rng(seed)
    X, weight, split = rng.standard_normal((9, len(NAMES))), rng.random(9) + 0.1, [0.5, 0.0, 2.0]
    costs = {"features": {name: {"cost": 0, "split": price} for name, price in zip(NAMES, split, strict=True)}}
    paid = BankOutputs.of(bank, X).comparisons(bank, np.array(split), weight)
    for t in range(len(bank)):
        alone = cf.StageTree(bank, [cf.Answer([t], np.ones((bank.widths[t], 1)), [0.0])])
        assert paid[t] == pytest.approx(alone.cost(X, costs, sample_weight=weight).mean)


def test_trees_take_a_byte_a_row_or_two_if_they_have_many_leaves():
    X = np.random.default_rng(0).standard_normal((700, 2))
    bank = cf.adopt(RandomForestRegressor(2, random_state=0, bootstrap=False).fit(X, X[:, 0] * X[:, 1])).bank
    found = BankOutputs.of(bank, X)
    assert found.codes.dtype == np.uint16
    np.testing.assert_array_equal(found.block(slice(300, 500)), bank.outputs(X)[300:500])
    found = BankOutputs.of(cf.train_bank(X, X.sum(axis=1), n_estimators=30), X)
    assert found.codes.nbytes + found.dense.nbytes == 700 * 30
    assert np.shares_memory(found.columns(np.arange(3)).codes, found.codes)


def test_the_compiled_rows_are_the_naive_ones():
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
