"""What estimators share: checked data, scores, held-out rows, the scikit-learn shell."""
