"""A search over every parameter of every algorithm with values that hardly any expects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import costframe as cf
from costframe.testing.case import cases
from costframe.testing.laws_of_settings import HOSTILE, check_setting

QUICK = {"ridge": 0.1, "rejected": 0.2, "optimize": False, "full_share": 0.3, "n_stages": 1}
QUICK |= {"expensive": DecisionTreeClassifier(max_depth=2)}
CASES = [(case, QUICK) for name in cf.algorithms() for case in cases(name)]
CASES += [
    (c, QUICK | {"recipe": "paper", "ridge": None}) for c, _ in CASES if "bank" in c.parameters and c.n_classes < 3
]


@pytest.mark.deep  # the law of the kit has tried some for each parameter
@pytest.mark.parametrize("part", range(4))
@given(data=st.data())
def test_any_setting_trains_or_is_refused_by_name(part, data):
    case, chosen = data.draw(st.sampled_from(CASES[part::4]))
    parameter, label = data.draw(st.sampled_from(list(case.parameters))), data.draw(st.sampled_from(list(HOSTILE)))
    check_setting(case, parameter, label, **{key: value for key, value in chosen.items() if key in case.parameters})
