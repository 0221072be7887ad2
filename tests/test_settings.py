"""A search over every parameter of every algorithm with values that hardly any expects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import costframe as cf
from costframe.core.errors import CostframeError, printable, shown
from costframe.core.plugins.registry import algorithms
from costframe.testing.case import cases
from costframe.testing.laws_of_settings import check_setting, settings_of

QUICK = {
    "ridge": 0.1,
    "rejected": 0.2,
    "optimize": False,
    "full_share": 0.3,
    "n_stages": 1,
    "expensive": DecisionTreeClassifier(max_depth=2),
}
PAPER = {"recipe": "paper", "ridge": None}
SEARCHES = [(name, recipe) for name in algorithms() for recipe in ("default", "paper")]


def cases_of(name, recipe):
    """The kinds of an algorithm that train with small settings and a recipe."""
    return [case for case in cases(name) if recipe == "default" or ("bank" in case.parameters and case.n_classes < 3)]


@pytest.mark.parametrize(("name", "recipe"), [search for search in SEARCHES if cases_of(*search)])
@given(data=st.data())
def test_any_setting_trains_or_is_refused_by_name(name, recipe, data):
    case = data.draw(st.sampled_from(cases_of(name, recipe)))
    parameter, label = data.draw(st.sampled_from(list(settings_of(case))))
    chosen = QUICK | (PAPER if recipe == "paper" else {})
    check_setting(case, parameter, label, **{key: value for key, value in chosen.items() if key in case.parameters})


@pytest.mark.parametrize(
    "hostile",
    [[[10**400]], np.array(2), [["a"]], np.ones((2, 2)), {}, np.ones(1) * 1j, np.ma.ones((1, 1)) * 1j,
     np.ma.array([[10**400]], dtype=object), np.zeros(1, "M8[s]")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.parametrize("place", ["X", "sample_weight", "fit", "known", "unavailable", "name", "task"])
def test_arguments_of_any_value_are_refused(place, hostile):
    model = cf.StageTree(cf.WeakLearnerBank.columns(("a",)), (cf.Answer([0], [1.0], 0.0),))
    calls = {
        "X": lambda: model.predict(hostile),
        "sample_weight": lambda: model.cost(np.ones((1, 1)), sample_weight=hostile),
        "fit": lambda: cf.estimator("cegb", "regression").fit(hostile, [1.0]),
        "known": lambda: model.inquire(known=hostile),
        "unavailable": lambda: model.predict(np.ones((1, 1)), unavailable=hostile),
        "name": lambda: cf.estimator(hostile),
        "task": lambda: cf.estimator("cegb", hostile),
    }
    takes = {"known": dict, "unavailable": dict}  # an empty one has no names
    if type(hostile) is not takes.get(place) and not (place == "sample_weight" and np.shape(hostile) == ()):
        with pytest.raises(CostframeError):
            calls[place]()


class Unprintable:
    def __repr__(self):
        raise RuntimeError


def test_values_are_shown_in_one_short_printable_line():
    assert shown("a\x1b[31m\n\u202e") == r"'a\x1b[31m\n\u202e'"
    assert shown([[1, 2]] * 1000).endswith("...")
    assert len(shown("x" * 10**6)) == 80
    assert shown(10**5000) == "int that cannot be shown"
    assert shown(Unprintable()) == "Unprintable that cannot be shown"


def test_what_controls_a_terminal_is_escaped():
    assert printable("Größe 血圧 µg/l") == "Größe 血圧 µg/l"
    assert printable("a\nb\tc\x1b[2J") == r"a\nb\tc\x1b[2J"
    assert printable("\u202e\u2066\u200b\u2028\ufeff\ud800\x9b\x00") == r"\u202e\u2066\u200b\u2028\ufeff\ud800\x9b\x00"
