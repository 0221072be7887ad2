"""Exact costs of predictions: hard, soft, of every prefix of an ensemble; the report."""
