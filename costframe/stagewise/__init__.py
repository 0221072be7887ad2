"""Weights for the learners of a bank, by least squares and price: what stages over a bank are made of."""
