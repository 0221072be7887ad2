"""One stage of linear models over the columns: as the paper prints it, or at several penalties, and refitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe_adapt.linear.columns import JudgedColumns

if TYPE_CHECKING:
    from costframe.gates.composite import Candidate
    from costframe_adapt.judge import Judge
    from costframe_adapt.linear.models import LinearPair

__all__ = ["PENALTIES", "fit_linear_stage"]

_ROUNDS = 50
_LIMITS = (0.3, 0.6)  # of the share, tried where the price decides it
_ROUNDS_TRIED = 10  # of the alternation at these
PENALTIES = (1.0, 0.3, 3.0)  # times the tradeoff: the norm of weights is not what their columns cost


def fit_linear_stage(
    judge: Judge, warm: tuple[LinearPair, ...] = ()
) -> tuple[list[Candidate], tuple[LinearPair, ...], list[float]]:
    """Fit at the tradeoff from several starts, or from a solution nearby, and from there at other penalties.

    Each solution is looked at with its weights as they are, and refitted without the penalty on the same columns. Where
    the price decides the share, some shares are tried as limits too: a gate that is sharp enough costs more norm than
    it saves, and a limit finds it nevertheless. As the paper prints it there is one solution, from the plain start.

    Returns
    -------
    list of Candidate, tuple of LinearPair, list of float
        All that was looked at; the solution at the tradeoff for each limit; the bound of the first after each round.
    """
    settings, columns = judge.settings, JudgedColumns.of(judge)
    own = settings.full_share
    if settings.paper:
        pair = columns.fit(own, 1.0, _ROUNDS, starts=False, start=None)
        return [columns.look_at(pair)], (), pair.bounds.tolist()
    found: list[Candidate] = []
    solutions: list[LinearPair] = []
    shares = (None, *_LIMITS) if own is None else (own,)
    for share, start in zip(shares, warm or [None] * len(shares), strict=True):
        rounds = _ROUNDS if share == own else _ROUNDS_TRIED
        pair = columns.fit(share, 1.0, rounds, starts=True, start=start)
        solutions.append(pair)
        for penalty in PENALTIES if share == own else PENALTIES[:1]:
            if penalty != 1:
                pair = columns.fit(share, penalty, rounds, starts=True, start=pair)
            found += [columns.look_at(pair), columns.look_at(columns.refit(pair, share))]
    return found, tuple(solutions), solutions[0].bounds.tolist()
