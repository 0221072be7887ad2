"""One self-contained HTML page: a frontier with a slider for the budget, and its models."""
