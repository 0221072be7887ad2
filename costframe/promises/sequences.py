"""Learn then test: many models tested in an order that is fixed before, without paying for each test.

Angelopoulos, Bates, Candes, Jordan, Lei: Learn then test (Annals of Applied Statistics 19, 2025). Along one sequence
every test has all of delta, and the sequence ends with the first model that is not certified: the first one that breaks
the promise is certified with a probability of at most delta. Several sequences share delta; one that comes to its end
gives its share to those that have not (Bretz et al., Statistics in Medicine 28, 2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def certified(sequences: Sequence[Sequence[int]], p_value: Callable[[int], float], delta: float) -> list[int]:
    """Return the numbers of the models that are certified with the probability 1 - delta, in the order of tests.

    A number may be in several sequences; its p-value is asked for only where a sequence comes to it.
    """
    known: dict[int, float] = {}
    numbers: list[int] = []
    waiting = [list(sequence) for sequence in sequences if sequence]
    share = delta / max(len(waiting), 1)
    shares = [share] * len(waiting)
    moved = True
    while moved:
        moved = False
        for place, queue in enumerate(waiting):
            while queue:
                number = queue[0]
                if number not in numbers:
                    if number not in known:
                        known[number] = p_value(number)
                    if known[number] > shares[place]:
                        break
                    numbers.append(number)
                queue.pop(0)
                moved = True
        open_ends = [place for place, queue in enumerate(waiting) if queue]
        free = sum(shares[place] for place, queue in enumerate(waiting) if not queue)
        if not free or not open_ends:
            break
        for place, queue in enumerate(waiting):
            shares[place] = shares[place] + free / len(open_ends) if queue else 0.0
        moved = True
    return numbers
