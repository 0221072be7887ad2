"""Sets of features: what each costs, how well it tells the label, and which are worth having."""
