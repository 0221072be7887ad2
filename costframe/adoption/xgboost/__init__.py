"""Models of XGBoost: live ones, and files read by our own parser."""
