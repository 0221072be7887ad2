"""The core that all algorithms share: prices, learners, stages, predictors, inquiries and exact costs."""
