"""Conversion of frames, arrays and categories to rows."""
