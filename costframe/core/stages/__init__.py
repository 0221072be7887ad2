"""Stages over a bank: how rows walk through them, and which features they read."""
