"""Frames, arrays and categories become rows."""
