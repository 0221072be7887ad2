"""Groups of columns with prices."""

import numpy as np
from scipy import sparse

from costframe.core.cost.groups import PricedGroups


def priced(groups, n_columns):
    """Make groups of (columns, price)."""
    member = np.zeros((len(groups), n_columns))
    for g, (held, _) in enumerate(groups):
        member[g, list(held)] = 1
    return PricedGroups(sparse.csr_array(member), np.array([price for _, price in groups], float))


def some_groups(rng, n_columns, prices):
    """Draw one group for each column, some that overlap anyhow, and nested ones."""
    held = [(c,) for c in range(n_columns)]
    held += [tuple(np.flatnonzero(rng.random(n_columns) < 0.5)) for _ in range(2)]
    held += [tuple(range(k)) for k in (2, n_columns)]
    return [(columns, float(rng.choice(prices))) for columns in held if columns]
