"""Explanations of rows: what each feature adds to the score and to the cost."""
