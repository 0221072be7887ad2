"""Models as users give them to an estimator: any classifier as a stage tree, fitted if it is not."""
