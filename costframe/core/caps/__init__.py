"""Stage trees under limits: a hard cap, and unavailable features."""
