"""The bill against cost: tests and errors in one sum.

A patient sent home ill costs 2,000 CAD, an angiography for nothing 400. Few tests make many errors, all tests cost more
than the errors that they spare. The least bill lies between.
"""

import costframe as cf

errors = {"yes": {"no": 2000.0}, "no": {"yes": 400.0}}
prices = cf.CostModel.of("prices.toml", errors=errors)
data = cf.datasets.read_table("heart.csv", target="ill", costs=prices)
frontier = cf.Frontier.sweep(data, ["planner"], points=8, cv=0)
frontier.plot(title="Errors and tests").figure_.savefig("bill.svg")
for point in sorted(frontier.non_dominated(), key=lambda point: point.cost):
    print(f"tests {point.cost:6.1f}  errors {-point.score:6.1f}  bill {point.cost - point.score:6.1f}")
print("least:", frontier.cheapest().name)
