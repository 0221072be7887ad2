"""What the adoption of every foreign library has in common: names of columns, refusals, and that it imports nothing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from costframe.adoption.catboost.adopt import adopt_catboost, is_catboost, looks_like_catboost
from costframe.adoption.lightgbm.adopt import adopt_lightgbm, is_lightgbm, looks_like_lightgbm
from costframe.adoption.sklearn.adopt import adopt_sklearn, is_sklearn
from costframe.adoption.xgboost.adopt import adopt_xgboost, is_xgboost, looks_like_xgboost
from costframe.core.errors import AdoptionError

RNG = np.random.default_rng(0)
X, NAMES = np.round(RNG.normal(size=(80, 4)), 1), ["age", "b.c", "x|y", "-"]
Y = X[:, 0] + X[:, 1]


def sklearn(data):
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=2).fit(data, Y)


def xgboost(data):
    return pytest.importorskip("xgboost").XGBRegressor(n_estimators=2).fit(data, Y)


def lightgbm(data):
    return pytest.importorskip("lightgbm").LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1).fit(data, Y)


def catboost(data):
    kind = pytest.importorskip("catboost").CatBoostRegressor
    return kind(iterations=2, verbose=False, allow_writing_files=False).fit(data, Y)


LIBRARIES = {  # a fitted model, how it is adopted and recognised, and what its columns are called without names
    "sklearn": (sklearn, adopt_sklearn, is_sklearn, "f{}"),
    "xgboost": (xgboost, adopt_xgboost, is_xgboost, "f{}"),
    "lightgbm": (lightgbm, adopt_lightgbm, is_lightgbm, "Column_{}"),
    "catboost": (catboost, adopt_catboost, is_catboost, "f{}"),
}
each_library = pytest.mark.parametrize("library", LIBRARIES)


@each_library
def test_names_come_from_the_data_the_caller_or_the_position(library):
    fit, adopt, _, unnamed = LIBRARIES[library]
    model = fit(pd.DataFrame(X, columns=NAMES))
    assert adopt(model).feature_names == tuple(NAMES)
    assert adopt(model, list("abcd")).feature_names == tuple("abcd")
    assert adopt(fit(X)).feature_names == tuple(unnamed.format(f) for f in range(4))


@each_library
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], r"it has 4 features.*got 2 feature names \(a, b\)"),
        (["a", "b", "c", "a"], "4 features.*more than once: a"),
        ("abcd", "single text 'abcd'"),
    ],
)
def test_bad_names_are_refused(library, names, message):
    fit, adopt, _, _ = LIBRARIES[library]
    with pytest.raises(AdoptionError, match=message):
        adopt(fit(X), names)


@each_library
def test_models_are_told_apart(library):
    fit, adopt, knows, _ = LIBRARIES[library]
    model = fit(X)
    assert knows(model)
    assert knows(type("Mine", (type(model),), {"__module__": "elsewhere"})())
    assert not any(others[2](model) for name, others in LIBRARIES.items() if name != library)
    assert not any(knows(stranger) for stranger in (object(), "model.txt", type(model), sys.modules[library]))
    with pytest.raises(AdoptionError, match=f"{type(model).__name__}: is not fitted"):
        adopt(type(model)())
    with pytest.raises(AdoptionError, match="object: "):
        adopt(object())


@each_library
def test_nothing_is_imported_to_tell_a_model_or_to_read_a_file(library, tmp_path):
    model, path = LIBRARIES[library][0](X), tmp_path / "model.json"
    code = f"from costframe.adoption.{library}.adopt import *; is_{library}(3)\n"
    if library != "sklearn":
        saved = getattr(model, "booster_", model)
        saved.save_model(str(path), **{"format": "json"} if library == "catboost" else {})
        code += f"adopt_{library}_file(open({str(path)!r}, 'rb').read(), 'model').inquire()\n"
    code += f"import sys; sys.exit({library!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"tree", b"trees\nversion=v4\n", b"\x00" * 999, b'{"name": "tree", "tree_info": []}']
)
def test_other_contents_are_of_no_library(content):
    assert not looks_like_lightgbm(content)
    assert not looks_like_catboost(content)
    assert not looks_like_xgboost(content)
