"""ADAPT-LIN and ADAPT-LSTSQ: linear models at a price on groups of weights."""
