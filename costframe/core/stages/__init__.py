"""Stages over a bank: walks of rows through them, and the features that rows read."""
