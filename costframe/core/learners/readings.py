"""Readings of a value before a node tests it, as foreign libraries do; see `TreeTable.reading`."""

PLAIN, ZERO_MISSING, WHOLE, WHOLE_FLOAT32 = 0, 1, 2, 3
TINY = 1.0000000180025095e-35  # float32(1e-35): LightGBM takes numbers up to here for zero
