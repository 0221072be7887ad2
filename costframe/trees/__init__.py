"""The tree engine.

`binning` turns values into bins, `growing` makes a tree of them at prices, `boosting` an ensemble of trees, and
`annealing` lets the tradeoff fall while an ensemble grows.
"""
