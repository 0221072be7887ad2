"""A search over every parameter of every algorithm with values that hardly any expects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from costframe.core.errors import printable, shown
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
