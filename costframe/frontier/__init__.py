"""What accuracy costs: sweeps over tradeoffs, the frontier of their results, and the choice under a budget."""

from costframe.frontier.points import Frontier, Point
from costframe.frontier.search import BudgetSearch

__all__ = ["BudgetSearch", "Frontier", "Point"]
