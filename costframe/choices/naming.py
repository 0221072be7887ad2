"""The points of a frontier from those of a study: with scores that a choice may trust, and with names."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from attrs import evolve

from costframe.choices.optimism import correct_choice, correct_choice_of_algorithm
from costframe.study.fitted import Fitted
from costframe.study.objective import Objective


def correct_and_name(fits: Sequence[Fitted], objective: Objective) -> list[Fitted]:
    """Return fitted models without the optimism of choices among them, those of an algorithm together, with names."""
    algorithms = dict.fromkeys(fitted.point.algorithm for fitted in fits)
    of_each = [
        correct_choice([fitted for fitted in fits if fitted.point.algorithm == name], objective) for name in algorithms
    ]
    return _name_points(correct_choice_of_algorithm(list(itertools.chain(*of_each)), objective))


def _name_points(fits: Sequence[Fitted]) -> list[Fitted]:
    """Return fitted models whose points have names, each algorithm's numbered from 1 by ascending cost."""
    names: dict[int, str] = {}
    count: Counter[str] = Counter()
    for place, fitted in sorted(enumerate(fits), key=lambda item: (item[1].point.cost, -item[1].point.score)):
        count[fitted.point.algorithm] += 1
        names[place] = f"{fitted.point.algorithm}-{count[fitted.point.algorithm]}"
    return [
        fitted if fitted.point.name else evolve(fitted, point=evolve(fitted.point, name=names[place]))
        for place, fitted in enumerate(fits)
    ]
