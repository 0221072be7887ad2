"""ADAPT-LIN: linear gates and cheap models at a price on groups of weights."""
