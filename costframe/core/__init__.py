"""What every algorithm shares: prices, learners, stages, predictors, inquiries and exact costs."""
