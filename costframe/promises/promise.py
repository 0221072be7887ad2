"""What is promised of a model on fresh rows: a rate, a cost, or a loss of the user's, with a level and a confidence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from costframe.core.checks import as_items
from costframe.core.errors import ParameterError, brief, quote_names, shown, suggestion

_SIDE = r"(<=|>=|\u2264|\u2265|<|>|==|=)"
_TEXT = re.compile(rf"\s*([^\s()<>=\u2264\u2265]+)\s*(?:\((.*)\))?\s*{_SIDE}\s*(.+?)\s*", re.DOTALL)
AT_LEAST, AT_MOST = ">=", "<="
SIDES = {
    "error": AT_MOST,
    "accuracy": AT_LEAST,
    "recall": AT_LEAST,
    "precision": AT_LEAST,
    "agreement": AT_LEAST,
    "disagreement": AT_MOST,
    "excess": AT_MOST,
    "cost": AT_MOST,
    "bill": AT_MOST,
    "loss": AT_MOST,
}
CONFIDENCE = 0.9  # by default
OF_CLASS, OF_OTHER, OF_MONEY = {"recall", "precision"}, {"agreement", "disagreement", "excess"}, {"cost", "bill"}


@frozen(init=False, repr=False)
class Promise:
    """A statement about a model's answers for fresh rows, to hold with a probability.

    Parameters
    ----------
    what : str or callable
        A text such as ``"recall(ill) >= 0.95"``, a kind, or a loss of rows. Kinds, each a mean over fresh rows:

        - ``error``, ``accuracy``: share of rows with a wrong, or the right class;
        - ``recall(c)``: share of the rows of class c that are predicted as c;
        - ``precision(c)``: share of the rows predicted as c that are of class c;
        - ``agreement(m)``, ``disagreement(m)``: share of rows with the same, or another class than m says; m is a
          point of the frontier, ``best`` for that of the best score, or a column with classes;
        - ``excess(m)``: error rate minus that of m;
        - ``cost``: cost of a row, and ``bill``: cost and that of its error, in the unit of prices.

        A callable takes the true values and the predicted ones, (n,) each, and returns the loss of each row, (n,).
    of : object, optional
        For a kind: its class, or of agreement and excess a point's name, a column's name, a fitted model, or the
        classes that another model gave, (n,). Not beside a text with all parts.
    level : float, optional
        For a kind or a callable: the least or greatest mean. Rates are above 0 and below 1.
    confidence : float
        Probability, over draws of the rows that certify it, that a chosen model keeps the promise; above 0, below 1.
    bounds : (float, float), optional
        Of a callable, the least and greatest loss of a row; of a cost or bill the greatest is otherwise known from
        prices. A row outside is an error.

    Raises
    ------
    ParameterError
        If a part is wrong, or missing.
    """

    kind: str
    of: Any = field(eq=False)
    level: float
    confidence: float
    bounds: tuple[float, float] | None
    loss: Callable[..., Any] | None
    name: str = ""

    def __init__(
        self, what: Any, *, of: Any = None, level: Any = None, confidence: Any = CONFIDENCE, bounds: Any = None
    ) -> None:
        loss = None
        if isinstance(what, str):
            kind, of, level = _parse(what, of, level)
        elif callable(what) and not isinstance(what, type):
            kind, loss = "loss", what
            if of is not None:
                raise ParameterError(f"of: has no effect on a loss, got {shown(of)}")
        else:
            raise ParameterError(
                f"promise: expected a text such as 'recall(ill) >= 0.95', or a loss, got {shown(what)}"
            )
        bounds = _check_bounds(kind, bounds)
        _check_of(kind, of)
        _check_level(kind, level, bounds)
        _check_confidence(confidence)
        self.__attrs_init__(
            kind=kind, of=of, level=float(level), confidence=float(confidence), bounds=bounds, loss=loss
        )

    @property
    def is_of_other(self) -> bool:
        """Whether it compares with another model."""
        return self.kind in OF_OTHER

    def about(self, of: Any) -> Promise:
        """Return the same promise, with its text, about another model, such as the classes that one gave."""
        made = object.__new__(Promise)
        given = {name: getattr(self, name) for name in ("kind", "level", "confidence", "bounds", "loss")}
        made.__attrs_init__(**given, of=of, name=_short(self.of))
        return made

    @property
    def is_least(self) -> bool:
        """Whether the level is the least value that keeps the promise, and not the greatest."""
        return SIDES[self.kind] == AT_LEAST

    @property
    def limit(self) -> float:
        """Greatest mean loss that keeps the promise; the loss of what is promised to be at least is 1 minus it."""
        return 1 - self.level if self.is_least else self.level

    def of_loss(self, loss: float) -> float:
        """Return the value of what is promised for a mean loss."""
        return 1 - loss if self.is_least else loss

    @property
    def measure(self) -> str:
        """The left side of the text, such as ``recall(ill)``."""
        if self.kind == "loss":
            return getattr(self.loss, "__name__", "loss")
        if self.of is None:
            return self.kind
        return f"{self.kind}({self.name or _short(self.of)})"

    def says(self, level: float) -> str:
        """Return the promise with another level as text."""
        return f"{self.measure} {SIDES[self.kind]} {level:.4g}"

    def __str__(self) -> str:
        return f"{self.measure} {SIDES[self.kind]} {self.level:g}"

    def __repr__(self) -> str:
        return brief(self, str(self), f"confidence {self.confidence:g}")


def _short(of: Any) -> str:
    if isinstance(of, str):
        return of
    scalar = hasattr(of, "item") and getattr(of, "ndim", 1) == 0
    if scalar or isinstance(of, int | float | bool):
        return str(of.item() if scalar else of)
    return type(of).__name__ if hasattr(of, "predict") else "given"


def as_promises(given: Any) -> tuple[Promise, ...]:
    """Return promises, given one or several, each a text or `Promise`; refuse none, and differing confidences."""
    alone = isinstance(given, Promise | str) or callable(given)
    items = (given,) if alone else as_items(given)
    if items is None:
        raise ParameterError(
            f"promise: expected a Promise, a text such as 'error <= 0.03', or a list, got {shown(given)}"
        )
    if not items:
        raise ParameterError("promise: expected at least one, got none")
    promises = tuple(item if isinstance(item, Promise) else Promise(item) for item in items)
    if len(confidences := {promise.confidence for promise in promises}) > 1:
        values = " and ".join(f"{value:g}" for value in sorted(confidences))
        raise ParameterError(f"confidence: expected one for all promises, as they hold together, got {values}")
    return promises


def _parse(text: str, of: Any, level: Any) -> tuple[str, Any, Any]:
    """Return kind, `of` and level of a text; a kind alone takes the two given ones."""
    if text.strip() in SIDES and text.strip() != "loss":
        if level is None:
            raise ParameterError(f"level: expected a number, as {text.strip()!r} has none, got None")
        return text.strip(), of, level
    parts = _TEXT.fullmatch(text)
    if parts is None:
        kinds = suggestion(text.strip(), SIDES)
        raise ParameterError(f"promise: expected a text such as 'recall(ill) >= 0.95', got {shown(text)}{kinds}")
    kind, inner, side, number = parts.groups()
    if kind not in SIDES or kind == "loss":
        known = [name for name in SIDES if name != "loss"]
        raise ParameterError(
            f"promise {shown(text)}: unknown kind {kind!r}{suggestion(kind, known)}; kinds are {quote_names(known, 20)}"
        )
    for name, value in (("of", of), ("level", level)):
        if value is not None:
            raise ParameterError(f"{name}: has no effect beside the text {shown(text)}")
    side = {"\u2264": AT_MOST, "\u2265": AT_LEAST}.get(side, side)
    if side != SIDES[kind]:
        raise ParameterError(f"promise {shown(text)}: expected {kind} {SIDES[kind]} a number, got {side}")
    scale, digits = (100.0, number[:-1]) if number.endswith("%") else (1.0, number)
    if scale != 1.0 and kind in OF_MONEY:
        raise ParameterError(f"promise {shown(text)}: expected an amount of {kind} per row, got {number!r}")
    try:
        value = float(digits) / scale
    except ValueError:
        raise ParameterError(f"promise {shown(text)}: expected a number behind {side}, got {number!r}") from None
    return kind, None if inner is None else _unquoted(inner.strip()), value


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'" else text


def _check_of(kind: str, of: Any) -> None:
    wanted = "its class, as in recall(ill)" if kind in OF_CLASS else "a model or column, as in agreement(best)"
    if kind in OF_CLASS | OF_OTHER:
        if of is None or (isinstance(of, str) and not of):
            raise ParameterError(f"{kind}: expected {wanted}, got none")
    elif of is not None:
        raise ParameterError(f"{kind}: is of all rows, got {kind}({_short(of)})")


def _check_bounds(kind: str, bounds: Any) -> tuple[float, float] | None:
    if bounds is None:
        if kind == "loss":
            raise ParameterError("bounds: expected the least and greatest loss of a row, got None")
        return None
    if kind not in {"loss", *OF_MONEY}:
        raise ParameterError(f"bounds: has no effect on {kind}, whose bounds are known")
    pair = as_items(bounds)
    if pair is None or len(pair) != 2 or not all(_is_finite(bound) for bound in pair) or not pair[0] < pair[1]:
        raise ParameterError(f"bounds: expected two finite numbers, the lower one first, got {shown(bounds)}")
    return float(pair[0]), float(pair[1])


def _is_finite(value: Any) -> bool:
    try:
        return not isinstance(value, bool | str) and math.isfinite(value)
    except (TypeError, OverflowError):
        return False


def _check_level(kind: str, level: Any, bounds: tuple[float, float] | None) -> None:
    low, high = (0.0, math.inf) if kind in OF_MONEY else (-1.0, 1.0) if kind == "excess" else bounds or (0.0, 1.0)
    if not (_is_finite(level) and low < level < high):
        span = f"a finite number > {low:g}" if high == math.inf else f"a number above {low:g} and below {high:g}"
        raise ParameterError(f"level: expected {span} for {kind}, got {shown(level)}")


def _check_confidence(confidence: Any) -> None:
    if not (_is_finite(confidence) and 0 < confidence < 1):
        raise ParameterError(f"confidence: expected a number above 0 and below 1, got {shown(confidence)}")
