"""Laws of settings: any value of any parameter trains, or is refused by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from costframe.core.errors import CostframeError
from costframe.testing.case import (
    KINDS,
    Case,
    expect,
    fit,
    law,
)
from costframe.testing.laws_of_refusals import expect_refused

HOSTILE: dict[str, Any] = {
    "none": None,
    "empty list": [],
    "empty dict": {},
    "empty text": "",
    "text": "x",
    "huge text": "x" * 10**6,
    "text of controls": "\x1b[31m\u202e\n\ud800\0",
    "bytes": b"x",
    "nan": float("nan"),
    "infinity": float("inf"),
    "minus infinity": -float("inf"),
    "minus zero": -0.0,
    "minus one": -1,
    "zero": 0,
    "one": 1,
    "half": 0.5,
    "huge number": 1e308,
    "minus huge number": -1e308,
    "tiny number": 1e-308,
    "least number": 5e-324,
    "huge whole": 10**30,
    "whole of 64 bits": 2**63,
    "endless whole": 10**5000,
    "true": True,
    "complex": 1j,
    "object": object(),
    "class": int,
    "function": lambda *_: None,
    "numpy whole": np.int8(3),
    "numpy number": np.float32(0.25),
    "numpy nan": np.float64("nan"),
    "numpy time": np.datetime64("NaT"),
    "numpy true": np.bool_(True),
    "array of no dimension": np.array(2),
    "array": np.arange(3.0),
    "table": np.ones((2, 2)),
    "array of objects": np.array([None, {}], object),
    "array of texts": np.array(["a", "b"]),
    "nested list": [[1, [2]], []],
    "list of none": [None],
    "tuple": (1, 2),
    "set": {1},
    "dict of numbers": {0: 1},
    "dict of texts": {"x": "y"},
    "dict of none": {None: None},
}
"""Values that hardly any parameter expects, by a name for each."""
_SMALL = {"n_estimators": 2, "max_leaves": 3, "n_stages": 2, "depth": 2, "n_sets": 2, "max_tries": 1}
_ROWS, _LONGEST, _SAMPLE = 40, 2000, 3


@law
def any_setting_trains_or_is_refused_by_name(case: Case) -> None:
    """A setting of any value and type trains, or is a CostframeError that names it: not another error, nor a hang."""
    kind = list(KINDS).index(case.title)
    for place, name in enumerate(case.parameters):
        start = _SAMPLE * (kind + len(KINDS) * place)  # other values for every parameter and kind
        labels = list(HOSTILE)
        for i in range(start, start + _SAMPLE):
            check_setting(case, name, labels[i % len(labels)])


@law
def settings_out_of_range_are_refused(case: Case) -> None:
    """A setting with an invalid value is a ValueError that names it."""
    shared = (
        "n_estimators",
        "learning_rate",
        "max_leaves",
        "max_depth",
        "min_samples_leaf",
        "l2_regularization",
        "max_bins",
    )
    for name in shared:
        if name in case.parameters:
            for value in (-1, float("nan"), "many"):
                expect_refused(lambda name=name, value=value: case.fit(**{name: value}), name)  # type: ignore[misc]


@law
def unused_settings_are_refused(case: Case) -> None:
    """A given setting without effect is an error that names it."""
    table = case.table
    queries = {} if table.qid is None else {"qid": table.qid}
    if "n_iter_no_change" in case.parameters:
        run = lambda: fit(case.make(n_iter_no_change=5), table)  # noqa: E731
        expect_refused(run, "n_iter_no_change")
    expect_refused(lambda: fit(case.make(), table, sample_weight_val=np.ones(len(table.X))), "sample_weight_val")
    expect_refused(lambda: case.make().fit(table.X, table.y, **queries, qid_val=np.zeros(len(table.X))), "qid_val")
    if not queries:
        expect_refused(lambda: case.make().fit(table.X, table.y, qid=np.arange(len(table.X)) // 10), "qid")


def check_setting(case: Case, name: str, label: str, **settings: Any) -> None:
    """Expect that a small estimator trains with a hostile value of a parameter, or refuses it by name."""
    small = {key: value for key, value in _SMALL.items() if key in case.parameters and key not in case.settings}
    estimator = case.make(**small | settings | {name: HOSTILE[label]})
    table = case.table.take(np.arange(_ROWS))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit(estimator, table).predict(table.fresh)
    except CostframeError as error:
        text = str(error)
        expect(name in text, f"{name} of {label} is refused by a text that does not name it: {text:.200}")
        expect(len(text) <= _LONGEST, f"{name} of {label} is refused by a text of {len(text):,} letters")
    except Exception as error:
        raise AssertionError(f"{name} of {label} raises {type(error).__name__}: {error!s:.200}") from error
