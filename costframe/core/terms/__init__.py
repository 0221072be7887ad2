"""What is asked of rows, what describes a predictor, and how predictions become classes."""
