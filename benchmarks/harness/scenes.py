"""Drawn scenes: classes seen through descriptors, each of which gives a score for every class and is paid for once."""

from __future__ import annotations

import numpy as np

import costframe as cf
from costframe.core.prices.costs import FeaturePrice, ResourcePrice
from costframe.datasets import Dataset

CLASSES, DESCRIPTORS, QUALITIES = 10, 24, 16
SIZES = {"train": 1000, "valid": 300, "test": 2000}
SPREAD, WITHIN = 1.6, 1.0  # of class means, and of scenes around them
SCORING = 0.05  # the price of a feature once its descriptor is there


def draw_scenes(seed: int) -> Dataset:
    """Draw rows of ten classes; the descriptors and their prices are the same for all seeds.

    A descriptor sees a few qualities of a scene with noise, less the more it costs, and its features are closeness to
    each class: as in the Greedy Miser paper, 10 one-vs-all scores that need the same resource.
    """
    fixed, random = np.random.default_rng(15), np.random.default_rng([seed, 15])
    means = SPREAD * fixed.standard_normal((CLASSES, QUALITIES)) / np.sqrt(2)
    price = np.round(np.geomspace(1.0, 150.0, DESCRIPTORS), 1)
    n = sum(SIZES.values())
    y = random.integers(CLASSES, size=n)
    scenes = means[y] + WITHIN * random.standard_normal((n, QUALITIES))
    columns = []
    for cost in price:
        looked = fixed.normal(size=(QUALITIES, 4)) / 2
        noise = 2.5 / cost**0.3
        seen = scenes @ looked + noise * random.standard_normal((n, 4))
        columns.append(-((seen[:, None] - means @ looked) ** 2).sum(axis=2))
    names = [f"d{at}_{label}" for at in range(DESCRIPTORS) for label in range(CLASSES)]
    features = tuple(FeaturePrice(name, SCORING, (name.split("_")[0],)) for name in names)
    resources = tuple(ResourcePrice(f"d{at}", float(cost)) for at, cost in enumerate(price))
    costs = cf.CostModel(features, resources, unit="ms")
    split = np.repeat(list(SIZES), list(SIZES.values()))
    return Dataset.from_arrays(np.hstack(columns), y, costs, feature_names=names, split=split, name="scenes")
