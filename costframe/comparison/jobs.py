"""Jobs of a comparison: one side on one split, fitted, measured, and written down as a record."""

from __future__ import annotations

import math
import os
import platform
import time
from functools import cache
from importlib.metadata import version

from attrs import asdict, field, frozen

from costframe.choices import Frontier, Point
from costframe.comparison.records import FORMAT, ModelFigures, PriceFacts, Record, SideFacts, SplitFacts, TableFacts
from costframe.comparison.sides import FitSettings, Side
from costframe.comparison.splits import Split, digest_content
from costframe.core.errors import CostframeError
from costframe.core.prices.digest import prices_digest
from costframe.datasets import Dataset
from costframe.study.events import FitTask
from costframe.study.failures import TimeIsUp, UnfinishedError
from costframe.study.progress import Progress

_LIBRARIES = "numpy", "scipy", "scikit-learn"


def describe_table(data: Dataset) -> TableFacts:
    """Return what tells a table from others."""
    n_rows, n_features = data.X.shape
    return TableFacts(data.name, digest_content(data), n_rows, n_features, data.task, len(data.classes))


def describe_prices(data: Dataset) -> PriceFacts:
    """Return what tells its prices from others."""
    costs = data.costs
    return PriceFacts(prices_digest(costs), costs.unit, float(data.full_cost), costs.errors is not None)


def describe_split(split: Split) -> SplitFacts:
    """Return what tells a split from others of its table."""
    counts = (split.count(part) for part in ("train", "valid", "test"))
    return SplitFacts(split.repeat, split.seed, split.digest, *counts)


def describe_side(side: Side) -> SideFacts:
    """Return what tells a side from others."""
    plugin, its_version = side.plugin or (None, None)
    return SideFacts(side.name, side.kind, plugin, its_version, side.settings, side.digest)


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of what fits depend on, by name."""
    from costframe import __version__

    libraries = ((name, version(name)) for name in _LIBRARIES)
    return ("costframe", __version__), ("python", platform.python_version()), *libraries


@frozen(eq=False)
class Job:
    """A side to fit on a split, with what its record says before it is fitted."""

    side: Side
    split: Split
    how: FitSettings
    blank: Record = field(repr=False)

    @classmethod
    def of(
        cls,
        side: Side,
        split: Split,
        how: FitSettings,
        table: TableFacts,
        prices: PriceFacts,
        at: SplitFacts,
        about: SideFacts,
    ) -> Job:
        """Make a job, and the record that it has if the side fails without a word."""
        fit = {"points": how.points, "cv": how.cv}
        blank = Record(
            FORMAT, table, at, prices, about, str(split.score), fit, dict(_versions()), 0.0, 0.0,
            error="nothing was fitted",
        )  # fmt: skip
        return cls(side, split, how, blank)

    @property
    def task(self) -> FitTask:
        """Its name among others, for reports."""
        return FitTask(f"{self.split.data.name}, repeat {self.split.repeat}, {self.side.name}")

    def run(self, progress: Progress) -> Record:
        """Fit and measure; a side that fails has a record of that.

        Raises
        ------
        UnfinishedError
            If time was up, as the progress says by `TimeIsUp`.
        """
        began, busy = time.perf_counter(), _processor_seconds()
        models, error = tuple[ModelFigures, ...](), None
        try:
            if (refusal := self.side.refusal(self.split)) is not None:
                error = refusal
            else:
                models = figures_of(self.side.fit(self.split, self.how, progress))
        except UnfinishedError:
            raise
        except TimeIsUp:
            raise UnfinishedError("time was up") from None
        except CostframeError as failure:
            error = str(failure)
        except MemoryError:
            error = "there was not enough memory"
        spent = time.perf_counter() - began, _processor_seconds() - busy
        return self.blank.with_outcome(models, error, *spent)


def figures_of(frontier: Frontier) -> tuple[ModelFigures, ...]:
    """Return the figures of a frontier's models, by ascending cost."""
    ordered = sorted(frontier.points, key=lambda point: (point.cost, point.score, point.name))
    return tuple(_figures(frontier, point) for point in ordered)


def _figures(frontier: Frontier, point: Point) -> ModelFigures:
    rank = -frontier.bill_interval(point)[1] if frontier.has_bills else frontier.rank(point)[0]
    made = ModelFigures(
        name=point.name,
        tradeoff=float(point.tradeoff),
        rank=float(rank),
        score=float(point.score),
        score_error=float(point.score_error),
        cost=float(point.cost),
        cost_error=float(point.cost_error),
        test_score=float(point.test_score or 0.0),
        test_error=float(point.test_error or 0.0),
        test_cost=float(point.test_cost or 0.0),
        features=int(point.n_features),
        rounds=float(point.rounds),
    )
    if wrong := [key for key, value in asdict(made).items() if isinstance(value, float) and not math.isfinite(value)]:
        raise CostframeError(f"{point.name}: its {wrong[0].replace('_', ' ')} is no finite number")
    return made


def _processor_seconds() -> float:
    """Return the seconds that this process and its ended children have had of all processors."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
