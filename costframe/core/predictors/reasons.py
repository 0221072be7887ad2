"""Why an inquiry asks for features, or why it stopped: data, sentences, and values for JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import frozen

from costframe.core.errors import format_count
from costframe.core.predictors.grounds import NOTHING_PAYS, Ground, Grounds

_SHOWN = 3  # reasons in a text
_CAUSES = {
    "complete": "the model has read all it needs",
    "certain": "the answer is certain",
    "max_cost": "the row cannot pay more within its cap",
    "unavailable": "it cannot have a feature that it would read next",
    NOTHING_PAYS: "nothing further pays",
}


@frozen
class Reason:
    """Features that are asked together, or were not, and why.

    Attributes
    ----------
    names : tuple of str
    gain : float or None
        What the model expects of them, in `unit`; None if it does not tell.
    unit : {"loss", "money", "score", "weight"} or None
        "loss": the expected decrease of the loss; "money": that of the cost of errors, in the unit of prices; both are
        net of what the model expects to buy afterwards, if it plans that far. "score": how far the score may still move
        by what waits for them. "weight": the share of the model's weight that waits for them.
    price : float
        What they cost the row now, given what is paid.
    runner_up : Reason or None
        The next best that was not chosen.
    purpose : str
        What they are for, where that is no gain.
    """

    names: tuple[str, ...]
    gain: float | None
    unit: str | None
    price: float
    runner_up: Reason | None = None
    purpose: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        other = None if self.runner_up is None else self.runner_up.to_dict()
        own = {"names": [*self.names], "gain": self.gain, "unit": self.unit, "price": self.price}
        return own | {"runner_up": other, "purpose": self.purpose}


@frozen
class Ending:
    """Why an inquiry stopped, and what it left.

    Attributes
    ----------
    cause : str
        "complete", "certain", "max_cost" or "unavailable", as `Prediction.reason`; "nothing pays", where a plan would
        answer better with more features, but not by as much as they cost.
    further : tuple of Reason
        What it did not buy, the best first: of a plan its other sets, of a row that a limit cut what it gave up, else
        the features that it did not read. Each price is that of these alone, given what is paid.
    """

    cause: str
    further: tuple[Reason, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        return {"cause": self.cause, "further": [reason.to_dict() for reason in self.further]}


@frozen
class Why:
    """Why an inquiry asks for what it needs, or why it stopped.

    Attributes
    ----------
    asks : tuple of Reason
        The largest gain first; their names together are what the inquiry needs. Empty at the end.
    stops : Ending or None
        None while it asks.
    price : float
        What all that it needs costs together, given what is paid.
    currency : str
        Unit of prices.
    tradeoff : float or None
        Loss that a plan accepts per unit of cost.
    """

    asks: tuple[Reason, ...]
    stops: Ending | None
    price: float
    currency: str
    tradeoff: float | None = None

    @classmethod
    def of(cls, grounds: Grounds, names: Sequence[str], quote: Callable[[Iterable[int]], float], currency: str) -> Why:
        """Give grounds the names of their columns and prices."""

        def reason(ground: Ground) -> Reason:
            gain = ground.gain if ground.gain is not None and math.isfinite(ground.gain) else None
            other = None if ground.runner_up is None else reason(ground.runner_up)
            named = tuple(names[f] for f in ground.columns)
            unit = None if gain is None else ground.unit
            return Reason(named, gain, unit, quote(ground.columns), other, ground.purpose)

        asks = sorted(map(reason, grounds.asks), key=_gain, reverse=True)
        price = quote({f for ground in grounds.asks for f in ground.columns})
        stops = None if grounds.cause is None else Ending(grounds.cause, tuple(map(reason, grounds.further)))
        return cls(tuple(asks), stops, price, currency, grounds.tradeoff)

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON, without NaN."""
        stops = None if self.stops is None else self.stops.to_dict()
        asks = [reason.to_dict() | {"text": self._sentence(reason)} for reason in self.asks]
        own = {"asks": asks, "stops": stops, "price": self.price}
        return own | {"currency": self.currency, "tradeoff": self.tradeoff, "text": str(self)}

    def __str__(self) -> str:
        """Return sentences."""
        if self.stops is not None:
            return f"it stops since {_CAUSES.get(self.stops.cause, self.stops.cause)}{self._left(self.stops)}"
        sentences = [self._sentence(reason) for reason in self.asks[:_SHOWN]]
        if len(self.asks) > 1:
            more = len(self.asks) - len(sentences)
            also = f"{format_count(more, 'further feature')}, " if more else ""
            sentences.append(f"{also}all together {self._priced(self.price)}")
        return "\n".join(sentences)

    def _sentence(self, reason: Reason) -> str:
        """Return why features are asked."""
        verb, them = ("is", "it") if len(reason.names) == 1 else ("are", "them")
        said, price = f"{list_names(reason.names)} {verb} asked", self._priced(reason.price)
        if reason.gain is None:
            return f"{said} {price}" + (f": {reason.purpose}" if reason.purpose else "")
        if reason.unit == "weight":
            text = f"{said} since {_share(reason.gain)} of the model's weight waits for {them}, {price}"
        elif reason.unit == "score":
            text = f"{said} since what waits for {them} may move the score by {reason.gain:.3g}, {price}"
        else:
            text = f"{said} since {'it is' if verb == 'is' else 'they are'} expected {self._effect(reason)} {price}"
        return text + self._next_best(reason.runner_up)

    def _effect(self, reason: Reason) -> str:
        """Return what features are expected to do, of a plan."""
        gain = 0.0 if reason.gain is None else reason.gain
        if reason.unit == "money":
            return f"to save {self._money(gain)} of errors" if gain > 0 else "to save no errors"
        worth = f", worth {self._money(gain / self.tradeoff)}," if self.tradeoff else ""
        return f"to lower the loss by {gain:.3g}{worth}" if gain > 0 else "not to lower the loss"

    def _next_best(self, other: Reason | None) -> str:
        if other is None:
            return ""
        gain = "" if other.gain is None else f" {other.gain:.3g}"
        return f"; next best {list_names(other.names)},{gain} for {other.price:.4g}"

    def _left(self, stops: Ending) -> str:
        """Return what an inquiry left, as the end of a sentence."""
        if not stops.further:
            return ""
        best = stops.further[0]
        if best.unit in {"loss", "money"}:
            return f"; next best {list_names(best.names)}, expected {self._effect(best)} for {self._money(best.price)}"
        if best.unit == "weight":
            gone = [
                f"{list_names(reason.names)} ({_share(reason.gain or 0.0)}, {self._money(reason.price)})"
                for reason in stops.further[:_SHOWN]
            ]
            return f"; of the model's weight it gave up what waits for {', '.join(gone)}"
        moves = "" if best.gain is None else f", and can move the score by at most {best.gain:.3g}"
        return f"; {list_names(best.names)} would cost {self._money(best.price)}{moves}"

    def _priced(self, amount: float) -> str:
        return f"for {self._money(amount)}" if amount else "at no cost"

    def _money(self, amount: float) -> str:
        return f"{amount:.4g} {self.currency}"


def _gain(reason: Reason) -> float:
    return -math.inf if reason.gain is None else reason.gain


def _share(part: float) -> str:
    return "under 1%" if 0.0 < part < 0.01 else f"{part:.0%}"


def list_names(names: Sequence[str], most: int = 3) -> str:
    """Return names in a sentence."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
