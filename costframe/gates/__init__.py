"""A gate and a cheap model in front of an expensive one: put together, priced, and looked at on held-out rows."""
