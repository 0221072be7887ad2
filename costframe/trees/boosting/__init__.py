"""Ensembles: losses, the boosting loop, folds, banks."""
