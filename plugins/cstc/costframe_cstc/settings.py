"""Settings of CSTC, and the values to choose from."""

from __future__ import annotations

from attrs import frozen

CHOICES: dict[str, tuple[float, ...]] = {
    "inflation": (0.3, 1.0, 3.0, 10.0, 30.0),
    "ridge": (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0),
}
STARTS: dict[str, tuple[float, ...]] = {"inflation": (1.0, 10.0), "ridge": (1e-3, 0.1, 10.0)}


@frozen
class CSTCSettings:
    """Numbers of the algorithm."""

    tradeoff: float  # lambda
    depth: int  # levels of nodes
    steepness: float  # gamma
    loss: str = "squared"  # {"squared", "logistic"}: of classes; for numbers it is squared
    l1: float = 0.0  # rho, as printed
    inflation: float = 1.0  # in growth by exact cost, a node of level l pays prices times inflation^(depth - l)
    ridge: float = 1.0  # of fits by exact cost, in units of the outputs' median variance
    optimize: bool = True  # whether to improve the start of the tree
