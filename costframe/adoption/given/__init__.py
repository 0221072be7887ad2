"""Models that a user gives to an estimator, fitted or not."""
