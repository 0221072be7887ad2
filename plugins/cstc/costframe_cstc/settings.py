"""Numbers of the algorithm."""

from __future__ import annotations

from attrs import frozen

__all__ = ["TreeSettings"]


@frozen
class TreeSettings:
    """Numbers of the algorithm.

    Attributes
    ----------
    tradeoff : float
        lambda.
    depth : int
        Levels of nodes.
    steepness : float
        gamma.
    loss : {"squared", "logistic"}
        Of classes; that of numbers is the square.
    l1 : float
        rho, as printed.
    inflation : float
        A node of level l buys, when it is grown by exact cost, at prices times inflation^(depth - l).
    ridge : float
        By exact cost, in units of the outputs' median variance.
    """

    tradeoff: float
    depth: int
    steepness: float
    loss: str = "squared"
    l1: float = 0.0
    inflation: float = 1.0
    ridge: float = 1.0
