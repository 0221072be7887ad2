"""Why a model asks for columns, or why it ended, before names and prices: what predictors tell an inquiry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from attrs import evolve, frozen

NOTHING_PAYS = "nothing pays"  # a cause of an end beside those of `Prediction.reason`
_SUMMED = ("weight", "score")


@frozen
class Ground:
    """Columns asked together, and what for; see `Reason`, which has their names and price."""

    columns: tuple[int, ...]
    gain: float | None = None
    unit: str | None = None
    purpose: str = ""
    runner_up: Ground | None = None

    def through(self, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Ground:
        """Return the same ground for the columns that a function makes of its own."""
        other = self.runner_up and self.runner_up.through(change)
        return evolve(self, columns=change(self.columns), runner_up=other if other and other.columns else None)


@frozen
class Grounds:
    """Why a walker asks; or, where it needs nothing, why it ended and what it left.

    Attributes
    ----------
    asks : tuple of Ground
        Their columns together are those needed.
    cause : str or None
        Why the walk ended; see `Ending`.
    further : tuple of Ground
        What it did not buy, the best first, as far as the model can tell.
    tradeoff : float or None
        Of a plan: the loss accepted per unit of cost, at which it decided.
    """

    asks: tuple[Ground, ...] = ()
    cause: str | None = None
    further: tuple[Ground, ...] = ()
    tradeoff: float | None = None

    @classmethod
    def untold(cls, needs: tuple[int, ...], cause: str | None, unread: Iterable[int]) -> Grounds:
        """Return the grounds of a model that does not tell what a feature is for: its needs, and what it left."""
        if needs:
            return cls((Ground(needs, purpose="the model does not tell what for"),))
        left = tuple(unread)
        return cls(cause=cause, further=(Ground(left),) if left else ())

    def through(self, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Grounds:
        """Return the same grounds for other columns, without those for none, and one for the same columns."""
        asks, further = ([ground.through(change) for ground in part] for part in (self.asks, self.further))
        return evolve(self, asks=_join(asks), further=_join(further))

    def among(self, columns: Collection[int]) -> Grounds:
        """Return the same grounds, whose asks are for some columns only."""
        kept = tuple(ground.through(lambda own: tuple(f for f in own if f in columns)) for ground in self.asks)
        return evolve(self, asks=tuple(ground for ground in kept if ground.columns))


def _join(grounds: Iterable[Ground]) -> tuple[Ground, ...]:
    """Join grounds for the same columns, whose weights and scores add up; leave out those for none."""
    found: dict[tuple[int, ...], Ground] = {}
    for ground in grounds:
        if not ground.columns:
            continue
        first = found.setdefault(ground.columns, ground)
        if first is not ground and ground.unit in _SUMMED and first.gain is not None and ground.gain is not None:
            gain = first.gain + ground.gain
            found[ground.columns] = evolve(first, gain=min(gain, 1.0) if ground.unit == "weight" else gain)
    return tuple(found.values())
