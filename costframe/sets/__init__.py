"""Search of feature sets: their prices, the losses of quick fits on them, and the choice of good ones."""
