"""The state of an inquiry that is put away: a JSON object, whose text is checked when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from costframe.core.errors import CostframeError, InquiryError, shown
from costframe.core.strict_json import parse_strictly
from costframe.core.tables.categories import Categories
from costframe.core.tables.kept_outputs import Outputs
from costframe.core.tables.written_values import read_number, read_value, write_number, write_value
from costframe.core.terms.terms import Terms
from costframe.core.terms.values import as_number

FORMAT = 1
MOST_LETTERS = 1 << 24  # of a text
Round = tuple[tuple[str, ...], Sequence[float]]
"""The names of the features that a row asked for, and their values as numbers."""

_KEYS = ("format", "model", "prices", "asked", "rounds")  # always there
_OPTIONAL = ("restart", "outputs", "needs")
_ASKED = ("acquisition", "max_cost", "unavailable", "tradeoff", "paid", "known")


@frozen(eq=False)
class InquiryState:
    """The state of an inquiry: from it, and its model and prices, follows all else.

    Attributes
    ----------
    model, prices : str
        Digests; empty where the model and the prices themselves go along.
    asked : dict
        What was asked of the row, as `Predictor.inquire` takes it, without prices.
    rounds : list of dict
        Values by name of each round.
    restart : int
        Rounds before the row began again, at other prices or without something.
    outputs : list
        Place, bits of missing arguments, and outputs of each call of a foreign function.
    needs : list of str
        Features that it asks for.
    """

    model: str
    prices: str
    asked: Mapping[str, Any]
    rounds: Sequence[Mapping[str, Any]]
    restart: int = 0
    outputs: Sequence[Any] = ()
    needs: Sequence[str] = ()

    def to_json(self) -> str:
        """Return the state as one line of JSON."""
        state: dict[str, Any] = {"format": FORMAT, **{key: getattr(self, key) for key in _KEYS[1:]}}
        state |= {key: getattr(self, key) for key in _OPTIONAL if getattr(self, key)}
        return json.dumps(state, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: object) -> InquiryState:
        """Read a text; an `InquiryError` refuses one that is no state, by name."""
        state = _parse(text)
        if not isinstance(state, dict) or state.get("format") != FORMAT or type(state["format"]) is not int:
            got = state.get("format") if isinstance(state, dict) else state
            raise InquiryError(f"resume: expected the state of an inquiry in format {FORMAT}, got {shown(got)}")
        if not state.keys() >= {*_KEYS} or state.keys() - {*_KEYS, *_OPTIONAL}:
            raise InquiryError(f"resume: expected the keys {_KEYS}, and of {_OPTIONAL} some, got {shown(list(state))}")
        del state["format"]
        known = cls(**state)
        _check("model", isinstance(known.model, str), "a text", known.model)
        _check("prices", isinstance(known.prices, str), "a text", known.prices)
        _check("asked", isinstance(known.asked, dict) and not known.asked.keys() - {*_ASKED}, "an object", known.asked)
        rounds = known.rounds
        _check("rounds", _is_list(rounds) and all(isinstance(one, dict) and one for one in rounds), "objects", rounds)
        restart = known.restart
        _check("restart", type(restart) is int and 0 <= restart <= len(rounds), "a number of rounds", restart)
        _check("outputs", isinstance(known.outputs, list | tuple), "a list", known.outputs)
        needs = known.needs
        _check("needs", isinstance(needs, list | tuple) and all(isinstance(n, str) for n in needs), "names", needs)
        return known


def _parse(text: object) -> Any:
    if not isinstance(text, str):
        raise InquiryError(f"resume: expected a text of `Inquiry.to_json`, got {type(text).__name__}")
    if len(text) > MOST_LETTERS:
        raise InquiryError(f"resume: expected a text of at most {MOST_LETTERS:,} letters, got {len(text):,}")
    try:
        return parse_strictly(text)
    except ValueError as error:
        raise InquiryError(f"resume: expected the state of an inquiry in JSON: {error}") from None


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _check(name: str, fits: bool, expected: str, got: object) -> None:
    if not fits:
        raise InquiryError(f"resume: {name}: expected {expected}, got {shown(got)}")


def write_asked(terms: Terms) -> dict[str, Any]:
    """Return what was asked of a row as JSON values, without what is so by default."""
    asked: dict[str, Any] = {} if terms.by_path else {"acquisition": terms.acquisition}
    if terms.max_cost is not None:
        asked["max_cost"] = terms.max_cost
    if terms.tradeoff is not None:
        asked["tradeoff"] = float(terms.tradeoff)
    if terms.unavailable:
        asked["unavailable"] = list(terms.unavailable)
    if not isinstance(terms.known, Mapping):
        return asked | ({"paid": list(terms.known)} if terms.known else {})
    card = terms.card
    values = {card.feature_names[f]: value for f, value in terms.values.items()}
    if paid := [name for name in terms.known if name not in values]:
        asked["paid"] = paid
    return asked | {"known": write_values(tuple(values), tuple(values.values()), card.categories)}


def read_asked(asked: Mapping[str, Any], categories: Categories) -> dict[str, Any]:
    """Return what `write_asked` wrote as `Predictor.row_terms` takes it; an `InquiryError` refuses what is no value."""
    terms = {name: asked[name] for name in ("acquisition", "max_cost", "tradeoff") if name in asked}
    _check("acquisition", isinstance(terms.get("acquisition", ""), str), "a text", asked)
    for name in ("max_cost", "tradeoff"):
        _check(name, type(terms.get(name, 0.0)) in {int, float}, "a number", terms.get(name))
    for name, names in (("unavailable", asked.get("unavailable", [])), ("paid", asked.get("paid", []))):
        _check(name, _is_list(names) and all(isinstance(each, str) for each in names), "names", names)
    terms["unavailable"], paid = tuple(asked.get("unavailable", ())), tuple(asked.get("paid", ()))
    if "known" not in asked:
        return terms | {"known": paid}
    _check("known", isinstance(asked["known"], dict), "values by name", asked["known"])
    known = {name: _read("known", name, value, categories) for name, value in asked["known"].items()}
    return terms | {"known": dict.fromkeys(paid) | known}


def write_values(names: Sequence[str], values: Sequence[float], categories: Categories) -> dict[str, Any]:
    """Return values, given as numbers, by name as JSON values."""
    written = {}
    for name, value in zip(names, values, strict=True):
        try:
            written[name] = write_value(value, categories.get(name))
        except CostframeError as error:
            raise InquiryError(f"to_json: value of {name!r}: {error}") from error
    return written


def read_round(number: int, values: Mapping[str, Any], categories: Categories) -> dict[str, float]:
    """Return the values of a round by name as numbers; an `InquiryError` refuses one by name."""
    return {name: _read(f"round {number}", name, value, categories) for name, value in values.items()}


def _read(where: str, name: str, written: object, categories: Categories) -> float:
    labels = categories.get(name)
    try:
        return as_number(name, read_value(written, labels), labels)
    except CostframeError as error:
        raise InquiryError(f"resume: {where}: {name!r}: {error}") from error


def write_outputs(outputs: Outputs) -> list[Any]:
    """Return the outputs of foreign functions as JSON values."""
    return [[place, missing, list(map(write_number, values))] for (place, missing), values in outputs.items()]


def read_outputs(written: Sequence[Any], held: Sequence[Any]) -> Outputs:
    """Return what `write_outputs` wrote; an `InquiryError` refuses outputs of none of the functions of a model."""
    outputs = Outputs()
    for entry in written:
        is_entry = isinstance(entry, list) and len(entry) == 3 and [type(part) for part in entry] == [int, int, list]
        _check("outputs", is_entry and 0 <= entry[0] < len(held) and entry[1] >= 0, "place, bits and numbers", entry)
        place, missing, values = entry
        _check("outputs", len(values) == held[place].width, f"{held[place].width} of {held[place].name!r}", values)
        try:
            outputs[place, missing] = tuple(map(read_number, values))
        except CostframeError as error:
            raise InquiryError(f"resume: outputs of {held[place].name!r}: {error}") from error
    return outputs
