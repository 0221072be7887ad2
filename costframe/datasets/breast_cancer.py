"""The breast cancer data of the UCI repository, with illustrative prices."""

from __future__ import annotations

import numpy as np

from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.datasets.dataset import Dataset

# Minutes of a pathologist's time to measure a sample's nuclei. The prices are ours, for illustration: reading off a
# size is quick, tracing concavities is not. Compactness is perimeter^2 / area - 1, so it needs these two only.
_MINUTES: dict[str, float | tuple[float, tuple[str, ...]]] = {
    "radius": 2.0,
    "texture": 3.0,
    "perimeter": 2.5,
    "area": 2.5,
    "smoothness": 5.0,
    "compactness": (0.5, ("perimeter", "area")),
    "concavity": 8.0,
    "concave points": 6.0,
    "symmetry": 4.0,
    "fractal dimension": 10.0,
}


def breast_cancer() -> Dataset:
    """Return 569 samples of breast tissue, malignant or benign, with thirty features of ten cell measurements.

    The table is scikit-learn's copy of the UCI data set. Each measurement is a resource, whose mean, standard error and
    worst value have no further cost. The prices are illustrative: minutes of a pathologist's time.
    Rows are split by seed 0, 60/20/20.
    """
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    names = tuple(str(name) for name in table.feature_names)
    labels = np.asarray(table.target_names, np.str_)[table.target]
    return Dataset.from_arrays(
        table.data, labels, _costs(names), feature_names=names, name="breast-cancer", task="classification", seed=0
    )


def _costs(names: tuple[str, ...]) -> CostModel:
    resources = []
    for name, price in _MINUTES.items():
        cost, needs = price if isinstance(price, tuple) else (price, ())
        resources.append(ResourcePrice(name, cost, needs))
    features = tuple(FeaturePrice(name, 0.0, (_measurement(name),)) for name in names)
    return CostModel(features, tuple(resources), unit="minutes")


def _measurement(feature: str) -> str:
    """Return the measurement of a feature such as "mean radius" or "radius error"."""
    return feature.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")
