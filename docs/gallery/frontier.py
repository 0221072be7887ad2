"""Score against cost: which models are worth their money.

Each point is a model. No other point beats those on the line in both score and cost; the bars are standard errors.
The recommended model is the cheapest one that is as good as the best within the error.
"""

import costframe as cf

data = cf.datasets.read_table("heart.csv", target="ill", costs="prices.toml")
frontier = cf.Frontier.sweep(data, ["planner", "cegb", "miser"], points=6, cv=0)
frontier.plot(title="Heart disease: score against cost").figure_.savefig("frontier.svg")
print(frontier.recommended())
