"""ADAPT-GBRT: boosted trees at prices that the cheap model and the gate share."""
