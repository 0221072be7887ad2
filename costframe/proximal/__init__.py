"""Convex objectives with norms of overlapping groups of weights, minimized with exact zeros."""
