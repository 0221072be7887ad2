"""Rows that differ: one cheap feature tells which other one helps.

In these drawn rows a selector says which of four blocks of features decides the class; the rest is noise in this row.
A list that is the same for all rows must have all. The planner buys the selector, then this row's block.
"""

import costframe as cf

data = cf.datasets.load("selector-unequal")
train, valid, test = (data.part(name) for name in ("train", "valid", "test"))
print(f"all features cost {data.costs.full_cost():.0f}")
for name in ("planner", "cegb", "miser"):
    model = cf.estimator(name, costs=data.costs, tradeoff=1e-3)
    model.fit(train.X[:2000], train.y[:2000], X_val=valid.X[:1000], y_val=valid.y[:1000])
    report = model.cost(test.X)
    bought = report.acquired.sum(axis=1).mean()
    print(f"{name:8} accuracy {model.score(test.X, test.y):.3f}, cost {report.mean:5.1f}, {bought:.1f} features a row")
