"""The expensive model: what it may be, and what training knows of it."""
