"""A gate and a cheap model in front of an expensive model: composition, prices, and evaluation on held-out rows."""
