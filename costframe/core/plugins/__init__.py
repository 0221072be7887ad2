"""Plugins: what is installed, what each brings, and estimators by name."""
