"""The algorithms that are installed, by name."""
