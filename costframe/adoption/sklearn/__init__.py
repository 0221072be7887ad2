"""Models of scikit-learn: trees, linear models, and ensembles of any members."""
