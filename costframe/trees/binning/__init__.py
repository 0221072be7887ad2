"""From values to bins."""
