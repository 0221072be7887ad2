"""Models in one checksummed file without code."""
