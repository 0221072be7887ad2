"""Weak learners (trees, columns, opaque functions), banks of them, and their outputs."""
