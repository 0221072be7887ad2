"""Trees of stages over a bank: weights for its learners by least squares and price."""
