"""Sets of features: their prices, the losses of quick fits on them, and which sets are worth having."""
