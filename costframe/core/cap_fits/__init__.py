"""Fits of what rows under limits choose by, and of what they are answered instead, on rows without labels."""
