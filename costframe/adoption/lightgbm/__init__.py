"""Models of LightGBM: live ones, and files read by our own parser."""
