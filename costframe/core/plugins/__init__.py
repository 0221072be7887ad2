"""Installed plugins, by name."""
