"""Stage trees under a hard cap, or without sources that do not answer."""
