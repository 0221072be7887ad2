"""The shared parts of estimators: checked data, scores, held-out rows, the scikit-learn shell."""
