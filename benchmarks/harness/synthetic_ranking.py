"""A ranking like the one that Cronus was tried on: features in price classes, few relevant documents.

A document has six qualities. It is relevant if it matches the query well, more so if it is also trusted or fresh, less
the query's own standard; noise that no feature sees comes on top. The best 7 % of all documents are relevant.

A feature sees one quality or the product of two, through a monotone curve and noise, or sees nothing at all (a third of
those that cost 1 or 20, a fifth of the others). The more it costs, the less noise. Half of the variance of the noise is
shared by all features of one quality and price, so that many cheap features together are still not a good one.

Negatives have weight ten, as in the paper.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from costframe.core.prices.costs import CostModel, FeaturePrice

COUNTS = {1: 24, 5: 8, 20: 32, 50: 20, 100: 4, 150: 5, 200: 1}  # features by price
NOISE = {1: 2.2, 5: 1.5, 20: 1.1, 50: 0.8, 100: 0.45, 150: 0.35, 200: 0.2}  # its deviation; qualities have one of 1
QUALITIES = ("words", "proximity", "links", "trust", "freshness", "clicks")
SHARES = (0.07, 0.09, 0.16, 0.28)  # of grades 4 and 3, 2, 1, 0 the rest; grade 3 is relevant
RELEVANT, COPIES = 3, 10
FEWEST, MOST = 20, 40  # documents a query


@frozen(eq=False)
class Ranking:
    """Documents in the order of their queries.

    Attributes
    ----------
    X : float64 (n, d)
    grade : int64 (n,)
        0 to 4; from 3 on relevant.
    qid : int64 (n,)
    weight : float64 (n,)
        1 if relevant, else 10.
    costs : CostModel
    """

    X: np.ndarray
    grade: np.ndarray
    qid: np.ndarray
    weight: np.ndarray
    costs: CostModel


def draw_ranking(seed: int, n_queries: int) -> Ranking:
    """Draw queries and their documents; which features there are, and what they see, is the same for all seeds."""
    random = np.random.default_rng([seed, 2012])
    sizes = random.integers(FEWEST, MOST + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    quality = random.standard_normal((len(qid), len(QUALITIES)))
    value = _relevance(quality) + 0.5 * random.standard_normal(n_queries)[qid] + 0.3 * random.standard_normal(len(qid))
    grade = _grades(value)
    X = np.column_stack([column for price in COUNTS for column in _features(price, quality, random)])
    names = [f"c{price}_{i}" for price, count in COUNTS.items() for i in range(count)]
    prices = [float(price) for price, count in COUNTS.items() for _ in range(count)]
    costs = CostModel(tuple(map(FeaturePrice, names, prices)), learner=1.0, unit="trees")
    return Ranking(X, grade, qid, np.where(grade >= RELEVANT, 1.0, float(COPIES)), costs)


def _relevance(quality: np.ndarray) -> np.ndarray:
    words, proximity, links, trust, freshness, clicks = quality.T
    match = words + 1.2 * proximity
    return match + 0.8 * np.minimum(match, trust) + 0.5 * links + 0.7 * np.maximum(freshness, clicks)


def _grades(value: np.ndarray) -> np.ndarray:
    """Cut into grades by rank: int64 (n,)."""
    best, good, fair, poor = np.cumsum((SHARES[0] / 3, SHARES[0] * 2 / 3, SHARES[1], SHARES[2]))
    above = [np.quantile(value, 1 - share) for share in (best, good, fair, poor)]
    return sum((value > bound).astype(np.int64) for bound in above)


def _features(price: int, quality: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    """Return the columns of one price; what each sees is drawn by the price alone."""
    kinds = np.random.default_rng([price, 1])
    n, deviation = len(quality), NOISE[price] * np.sqrt(0.5)
    shared = deviation * random.standard_normal(quality.shape)
    columns = []
    for _ in range(COUNTS[price]):
        blind = kinds.random() < (1 / 3 if price in {1, 20} else 1 / 5) and price < 100
        one, other = kinds.permutation(len(QUALITIES))[:2]
        mixed, curve = kinds.random() < 0.3, int(kinds.integers(3))
        if price >= 100:  # expensive features are about how words match
            one, other = int(kinds.integers(2)), 1
        seen = quality[:, one] + shared[:, one]
        if mixed and one != other:
            seen = (seen + quality[:, other] + shared[:, other]) / np.sqrt(2)
        own = deviation * random.standard_normal(n)
        columns.append(_curved(random.standard_normal(n) if blind else seen + own, curve))
    return columns


def _curved(values: np.ndarray, curve: int) -> np.ndarray:
    """Bend without changing the order; counts are whole numbers."""
    if curve == 0:
        return values
    return np.exp(values) if curve == 1 else np.floor(8 * np.exp(0.5 * values))
