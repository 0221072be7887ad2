"""A model of scikit-learn for each step of a hand-made order of features; a patient stops at the first sure answer."""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import costframe as cf
from costframe.comparison import SeenTable

ORDER = ("radius", "texture", "concave points", "smoothness", "symmetry")  # what is quick, and tells much, first
SURE = (0.6, 0.8, 0.9, 0.95, 0.99)  # chances of the likelier class at which a patient stops: a model for each


class HandMadeOrder:
    """An outsider of a comparison: its `fit` returns a model for each chance in `SURE`."""

    name = "hand-made order"

    def fit(self, seen: SeenTable) -> list[cf.Predictor]:
        """Train a logistic regression on the features of the first measurement, of the first two, and so on."""
        measured = [(f"mean {part}", f"{part} error", f"worst {part}") for part in ORDER]
        known = [sum(measured[: step + 1], ()) for step in range(len(measured))]
        columns = [[seen.feature_names.index(name) for name in names] for names in known]
        models = [
            make_pipeline(StandardScaler(), LogisticRegression(C=0.3)).fit(seen.train.X[:, few], seen.train.y)
            for few in columns
        ]

        def stop_at(sure: float) -> cf.Predictor:
            def steps() -> Iterator[tuple[str, ...]]:
                values: dict[str, float] = {}
                for asked, names, model in zip(measured, known, models, strict=True):
                    values |= yield asked
                    chances = model.predict_proba(np.array([[values[name] for name in names]]))[0]
                    if chances.max() >= sure:
                        break
                return chances[1]

            return cf.SteppedPredictor(seen.feature_names, steps, seen.costs)

        return [stop_at(sure) for sure in SURE]
