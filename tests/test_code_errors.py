"""Errors of a source's own code are told, whatever its policy is: at `open`, or at the first row."""

from __future__ import annotations

import numpy as np
import pytest

import costframe as cf
from costframe.errors import SourceError
from costframe.plugin import ParameterError
from costframe.sources import CallSource, Lookup, Policy, Source, Sources

ROWS = range(40)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    return cf.CEGBClassifier({"a": 1.0, "b": 2.0}, n_estimators=5).fit(X, (X[:, 0] + X[:, 1] > 0).astype(int))


def sources(calls, policy="missing", **how):
    source = calls if isinstance(calls, Source) else CallSource(calls, **how)
    return Sources({"lab": Lookup(source, ["a", "b"], policy=Policy(on_failure=policy))})


def ends(model, made):
    return [end for _, end in cf.predict_stream(model, made, ROWS)]


@pytest.mark.parametrize("policy", ["missing", "without", "raise"])
@pytest.mark.parametrize(
    ("calls", "how", "text"),
    [
        (lambda _: {}, {"each": True}, r"calls: expected a function of \(key, places\), got .*lambda>\(_\): too many"),
        (lambda _key, _places: {}, {}, r"calls: expected a function of \(wanted\), got .* missing a required argument"),
        ({"a": lambda: 1.0, "b": lambda _: 1.0}, {}, r"calls, 'a': expected a function of \(key\)"),
        ({"a": lambda _: 1.0}, {}, "calls: no function for 'b'"),
    ],
)
def test_a_function_of_other_arguments_is_refused_when_it_is_opened(model, calls, how, policy, text):
    with pytest.raises(ParameterError, match=f"sources: lab: {text}"):
        sources(calls, policy, **how).open(model)
    with pytest.raises((ParameterError, SourceError)):
        cf.predict_one(model, sources(calls, policy, **how), key=1)


class WithoutPlaces(Source):
    async def connect(self):
        """Open nothing."""

    async def fetch(self, _wanted):
        return {}


class Forgetful(Source):
    async def fetch(self, wanted):
        return {key: self.table[key] for key in wanted}


class NotAsync(Source):
    def fetch(self, _wanted):
        return {}


def test_a_source_whose_connect_has_another_signature_is_refused(model):
    with pytest.raises(ParameterError, match="sources: lab: its code cannot be called: TypeError"):
        sources(WithoutPlaces()).open(model)


@pytest.mark.parametrize("policy", ["missing", "without", "raise"])
@pytest.mark.parametrize(
    ("calls", "how", "text"),
    [
        (lambda key, _places: undefined[key], {"each": True}, "NameError at test_code_errors.py, line"),  # noqa: F821
        (lambda key, _places: {}["lab"][key], {"each": True}, "KeyError at test_code_errors.py, line"),
        (lambda wanted: wanted.column, {}, "AttributeError at test_code_errors.py, line"),
        ({"a": lambda key: key + "1", "b": lambda _: 1.0}, {}, "TypeError at test_code_errors.py, line"),
        (Forgetful(), {}, "AttributeError at test_code_errors.py, line"),
        (NotAsync(), {}, "TypeError"),
    ],
)
def test_code_that_fails_for_every_row_ends_them_all(model, calls, how, policy, text):
    found = ends(model, sources(calls, policy, **how))
    assert len(found) == len(ROWS)
    assert all(isinstance(end, SourceError) and text in str(end) for end in found)
    if "KeyError" not in text:
        with pytest.raises(SourceError, match=text):
            cf.predict_one(model, sources(calls, policy, **how), key=1)


def test_an_unknown_key_or_one_odd_row_is_a_failure_like_others(model):
    table = {key: {"a": 0.5, "b": None if key == 3 else 1.0} for key in ROWS if key % 2}

    def fetch(key, places):
        return {place: float(table[key][place]) for place in places}

    made = sources(fetch, each=True)
    assert not any(isinstance(end, Exception) for end in ends(model, made))
    made = sources(fetch, each=True)
    assert [cf.predict_one(model, made, key=key).failures != () for key in (0, 1, 2, 3)] == [True, False, True, True]
    rare = sources(fetch, each=True)
    told = []
    for key in (0, 2, 4):
        try:
            told.append(cf.predict_one(model, rare, key=key).failures)
        except SourceError as error:
            told.append(str(error))
    assert "KeyError at test_code_errors.py" in told[2]
    assert "as for every key so far" in told[2]
