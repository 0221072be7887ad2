"""Models of CatBoost: live ones, and files read by our own parser."""
