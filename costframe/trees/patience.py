"""When folds that boost side by side stop: all at the same round, that of the least loss over their held-out rows."""

from __future__ import annotations

import numpy as np
from attrs import define, field

from costframe.core.arrays import F8

_LEAST_GAIN = 1e-4  # of the loss of a constant: patience counts rounds with less gain
_SLOWEST, _FURTHER = 0.95, 2.0  # most that the last fall is of the one before, and how many times their sequence counts


@define
class Patience:
    """Counts rounds since the last one with enough gain, and knows the best one.

    Attributes
    ----------
    rounds : int or None
        Rounds without enough gain after which nothing is tried; None goes on, and the last round is the best.
    constant : float
        Loss of a constant.
    best : float
        Least loss so far; at first, that before any round.
    n_best, done : int
        Rounds until the least loss, and all.
    reach : float
        What the loss may come to: twice as low as by falls that go on to shrink as the last two did; -inf before these.
    """

    rounds: int | None
    constant: float
    best: float
    n_best: int = 0
    done: int = 0
    reach: float = -np.inf
    _fall: float | None = None
    _since: int = 0
    _mark: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._mark = self.best

    @property
    def is_over(self) -> bool:
        """Whether enough rounds have passed without enough gain."""
        return self.rounds is not None and self._since >= self.rounds

    def note(self, losses: F8) -> int | None:
        """Take the losses after each further round, float64 (rounds,); return the place of the best, if it is new."""
        place = len(losses) - 1 if self.rounds is None else int(np.argmin(losses))
        is_new, before = self.rounds is None or bool(losses[place] < self.best), self.best
        if is_new:
            self.best, self.n_best = float(losses[place]), self.done + place + 1
        for loss in losses.tolist():
            self._since += 1
            if loss < self._mark - _LEAST_GAIN * self.constant:
                self._mark, self._since = loss, 0
        self.done += len(losses)
        fall, self._fall = self._fall, before - self.best
        if fall is not None:
            share = min(self._fall / fall, _SLOWEST) if fall > 0 else _SLOWEST
            self.reach = self.best - _FURTHER * self._fall * share / (1 - share)
        return place if is_new else None
