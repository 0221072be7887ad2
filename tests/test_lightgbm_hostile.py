"""Hostile files of LightGBM: changed ones, and ones made to take time or memory."""

from __future__ import annotations

import json

import numpy as np
import pytest
from lightgbm_cases import TEXT, import_lightgbm, read
from mutations import copies, mutate_bytes, survive


def small_booster():
    lgb = import_lightgbm()
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 3)), 1)
    X[:, 2] = rng.integers(0, 40, 80)
    options = {"objective": "multiclass", "num_class": 3, "verbosity": -1, "num_leaves": 4, "min_data_in_leaf": 5}
    options |= {"min_data_per_group": 2, "cat_smooth": 1, "num_threads": 1}
    return lgb.train(options, lgb.Dataset(X, rng.integers(0, 3, 80), categorical_feature=[2]), 2)


def use(data):
    """Adopt a file and predict with it."""
    adopted = read(data)
    adopted.predict(np.resize([0.5, np.nan, 7.0, -np.inf], (9, len(adopted.feature_names))), n_jobs=1)


def test_hostile_texts_are_refused_or_read_without_harm():
    text = small_booster().model_to_string().encode()
    for original in (TEXT, text):
        outcome = survive(use, copies(mutate_bytes, original, 150))
        assert outcome.refused > outcome.read > 0
        assert outcome.megabytes < 200


HEAD, REST = TEXT[: TEXT.index(b"tree_sizes")] + b"\n", b"\nend of trees\n"
STUMP = b"Tree=%d\nnum_leaves=1\nleaf_value=1\n\n"
CHAIN = (
    HEAD + b"Tree=0\nnum_leaves=%d\nsplit_feature=%s\nthreshold=%s\ndecision_type=%s\n"
    b"left_child=%s\nright_child=%s -%d\nleaf_value=%s" + REST
)


def chain(splits, feature=b"0 "):
    left = b" ".join(b"%d" % ~k for k in range(splits))
    right = b" ".join(b"%d" % k for k in range(1, splits))
    ones = b"1 " * splits
    return CHAIN % (splits + 1, feature * splits, ones, b"2 " * splits, left, right, splits + 1, ones + b"1")


def sets(words):
    split = (
        b"Tree=0\nnum_leaves=2\nnum_cat=1\nsplit_feature=1\nthreshold=0\ndecision_type=1\nleft_child=-1\nright_child=-2"
    )
    return (
        HEAD + split + b"\nleaf_value=1 2\ncat_boundaries=0 %d\ncat_threshold=" % words + b"4294967295 " * words + REST
    )


def classes(count, trees):
    head = HEAD.replace(b"class=1", b"class=%d" % count).replace(b"iteration=1", b"iteration=%d" % count)
    head = head.replace(b"binary sigmoid:1", b"multiclass num_class:%d" % count)
    return head + b"".join(STUMP % t for t in range(trees)) + REST


def wide(columns):
    head = HEAD.replace(b"idx=2", b"idx=%d" % (columns - 1))
    head = head.replace(b"age zone size", b" ".join(b"%x" % f for f in range(columns)))
    head = head.replace(b"[0:99] -1:0:3:70 [0:1]", b"none " * columns)
    return head + STUMP % 0 + REST + b"pandas_categorical:[[1]]"


BOMBS = {
    "many trees": HEAD + b"".join(STUMP % t for t in range(11_000)) + REST,
    "many classes": classes(5000, 10_000),
    "long chain": chain(25_000),
    "many numbers": chain(15_000, b"1 ")
    + b"pandas_categorical:[%s]\n" % json.dumps(list(range(40_000, 0, -1))).encode(),
    "all categories": sets(6_000),
    "many lists": TEXT.replace(b":null", b":[" + b"[0]," * 100_000 + b"[0]]"),
    "deep lists": TEXT.replace(b":null", b":" + b"[" * 400_000),
    "many columns": wide(45_000),
    "blanks": b"tree\nversion=v4\n" + b"\n" * 500_000,
    "one word": HEAD + b"Tree=0\nnum_leaves=1\nleaf_value=" + b"1" * 500_000 + REST,
    "no number": HEAD + b"Tree=0\nnum_leaves=" + b"1" * 500_000 + b"\nleaf_value=1\n" + REST,
}


@pytest.mark.parametrize("name", BOMBS)
def test_files_made_to_hurt_take_little_memory(name):
    outcome = survive(read, [BOMBS[name]])
    assert outcome.megabytes < 200
