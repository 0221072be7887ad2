"""Pipelines of scikit-learn: transformers as data, and the model behind them."""
