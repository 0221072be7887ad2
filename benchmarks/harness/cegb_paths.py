"""All models of one path of CEGB, with or without its look-ahead for resources, as outsiders of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

import costframe as cf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from costframe.comparison import SeenTable


@frozen
class CEGBPath:
    """One path, whose models are estimated on `valid` alone."""

    look_ahead: bool = True
    name: str = "path"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it from others of its name."""
        return {"look_ahead": self.look_ahead}

    def fit(self, seen: SeenTable) -> Iterator[cf.Predictor]:
        """Fit the path."""
        model: Any = cf.estimator("cegb", seen.task, tradeoff=0.0, costs=seen.costs, n_jobs=1)
        path = model.fit_path(
            seen.train.X,
            seen.train.y,
            X_val=seen.valid.X,
            y_val=seen.valid.y,
            qid=seen.train.qid,
            qid_val=seen.valid.qid,
            scoring=seen.score,
            look_ahead=self.look_ahead,
        )
        for point in path.frontier():
            yield path.predictor(point)
