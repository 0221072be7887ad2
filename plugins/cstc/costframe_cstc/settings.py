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
    loss : {"squared", "logistic"}
        Of classes; that of numbers is the square.
    inflation : float
        A node of level l buys, when it is grown, at prices times inflation^(depth - l).
    ridge : float
        In units of the outputs' median variance.
    steepness : float
        gamma.
    routing_loss, l1 : float
        How much the loss of nodes counts that do not answer, and rho, in the relaxed objective.
    paper_scale : bool
        Leave the relaxed cost as it is.
    acquisition : {"path", "learner"}
    verbose : int
    """

    tradeoff: float
    depth: int
    loss: str
    inflation: float
    ridge: float
    steepness: float
    routing_loss: float
    l1: float
    paper_scale: bool
    acquisition: str
    verbose: int = 0
