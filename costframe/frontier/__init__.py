"""What accuracy costs: sweeps over tradeoffs, the frontier of their results, and the choice under a budget."""

from costframe.frontier.frontier import Frontier
from costframe.frontier.points import Point
from costframe.frontier.search import BudgetSearch

__all__ = ["BudgetSearch", "Frontier", "Point"]
