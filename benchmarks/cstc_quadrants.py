"""The synthetic experiment of the CSTC paper: models should buy signs first, and then one expensive feature.

Two signs at 1 each select the feature, of four at 10 each, that is the label; a perfect model pays 12 of 42 and makes
no error. Some seeds have the quadrants' means 3, 1, -1, -3, others have means from a normal distribution of deviation
2.5. Tradeoffs are in units of half the squared error per cost: the paper's .01 to .08, of the whole square, are .005 to
.04 here. Beyond 0.05 the label's feature, whose variance is 1, is not worth its price.

    python benchmarks/cstc_quadrants.py --quick            # two seeds of each kind, two tradeoffs
    python benchmarks/cstc_quadrants.py --recipe paper     # as the paper prints it
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from attrs import frozen

import costframe as cf
from costframe.report.stage_statistics import see_stages
from harness.points import markdown
from harness.tables import OUTPUT, fitting_rows, options
from harness.timing import clock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from costframe.datasets import Dataset
    from costframe.report.stage_statistics import StageSeen

MEANS, DEVIATION = (3.0, 1.0, -1.0, -3.0), 2.5
SIGNS = {"sign_x", "sign_z"}
PERFECT, NEAR, LEAST_ERROR = 12.0, 0.03, 0.01  # cost, its relative error, mean squared error
CLAIMED = (0.005, 0.01, 0.02, 0.04)
WIDER = (0.0005, 0.0015, *CLAIMED, 0.045, 0.05, 0.06, 0.08)
KINDS = {"3, 1, -1, -3": False, "random": True}


@frozen
class Found:
    """A fitted tree on test rows.

    Attributes
    ----------
    error, cost : float
        Mean squared error, mean cost per row.
    in_order : bool
        Whether every row pays for signs alone until its last stage, where it pays for one feature, the label's.
    seconds : float
    """

    error: float
    cost: float
    in_order: bool
    seconds: float

    @property
    def perfect(self) -> bool:
        """Whether both claims hold."""
        return self.error < LEAST_ERROR and abs(self.cost / PERFECT - 1) <= NEAR


def means_of(seed: int, *, random: bool) -> Sequence[float]:
    """Return the quadrants' means, those of the paper or drawn."""
    return np.random.default_rng([seed, 51]).normal(0, DEVIATION, 4).tolist() if random else MEANS


def data_of(seed: int, *, random: bool) -> Dataset:
    """Draw 2,000 rows for each part."""
    return cf.datasets.make_quadrants(means=means_of(seed, random=random), random_state=seed)


def fit(data: Dataset, tradeoff: float, recipe: str | None) -> Any:
    """Fit a tree of three levels to the columns."""
    settings = {"bank": "columns", "depth": 3, "recipe": recipe, "n_jobs": 1}
    model = cf.estimator("cstc", "regression", costs=data.costs, tradeoff=tradeoff, **settings)
    return model.fit(**fitting_rows(data))


def measure(data: Dataset, tradeoff: float, recipe: str | None) -> Found:
    """Fit, and look at test rows."""
    with clock() as spent:
        tree = fit(data, tradeoff, recipe).predictor_
    test = data.part("test")
    report = cf.ExpectedCost(data.costs).evaluate(tree, test.X, n_jobs=1)
    error = float(np.mean((report.predictions - test.y) ** 2))
    seen = see_stages(tree, data.costs.select(tree.feature_names), test.X, n_jobs=1)
    return Found(error, report.mean, in_order(tree, seen, data), spent["seconds"])


def in_order(tree: cf.StageTree, seen: Sequence[StageSeen], data: Dataset) -> bool:
    """Tell whether every path buys both signs, and one feature that is the label there at its last stage."""
    test, before = data.part("test"), {0: frozenset[str]()}
    for at, stage in enumerate(tree.stages):
        rows = seen[at].rows
        if rows is None or not len(rows):
            continue
        fresh = frozenset(one.name for one in seen[at].acquired)
        if isinstance(stage, cf.Route):
            if fresh - SIGNS:
                return False
            before |= dict.fromkeys((stage.below, stage.above), before[at] | fresh)
            continue
        dear = fresh - SIGNS
        if len(dear) != 1 or before[at] | fresh != SIGNS | dear:
            return False
        if (test.X[rows, data.feature_names.index(*dear)] != test.y[rows]).any():
            return False
    return True


def main() -> None:
    asked = options(
        __doc__,
        quick={"action": "store_true", "help": "two seeds of each kind, two tradeoffs"},
        seeds={"type": int, "help": "of each kind, 10 by default"},
        recipe={"choices": ("paper",), "help": "as of CSTCRegressor"},
        output=OUTPUT,
    )
    row = CLAIMED[1::2] if asked.quick else WIDER
    seeds = asked.seeds or (2 if asked.quick else 10)
    found = {
        (kind, tradeoff): [measure(data_of(seed, random=random), tradeoff, asked.recipe) for seed in range(seeds)]
        for kind, random in KINDS.items()
        for tradeoff in row
    }
    print_table(found)
    print_verdicts(found)
    data = data_of(0, random=False)
    draw(fit(data, CLAIMED[1], asked.recipe), data, asked.output)


def print_table(found: dict[tuple[str, float], list[Found]]) -> None:
    """Print the measurements."""
    rows = []
    for (kind, tradeoff), several in found.items():
        errors, costs = np.array([(one.error, one.cost) for one in several]).T
        shown = [
            f"{errors.mean():.4f}, {errors.max():.4f}",
            f"{costs.mean():.3f}, {costs.min():.2f}, {costs.max():.2f}",
            f"{sum(one.perfect for one in several)} of {len(several)}",
            f"{sum(one.in_order for one in several)} of {len(several)}",
            f"{np.mean([one.seconds for one in several]):.2f}",
        ]
        rows.append([kind, f"{tradeoff:g}", *shown])
    head = ["squared error: mean, most", "cost: mean, least, most", "both as claimed", "in order", "seconds"]
    print(markdown(["means", "tradeoff", *head], rows))


def print_verdicts(found: dict[tuple[str, float], list[Found]]) -> None:
    """Say whether the claims hold at the paper's tradeoffs, and for which seeds they do not."""
    for kind, random in KINDS.items():
        rows = [several for (name, tradeoff), several in found.items() if name == kind and tradeoff in CLAIMED]
        runs = [one for several in rows for one in several]
        error, cost = np.array([np.mean([(one.error, one.cost) for one in several], axis=0) for several in rows]).T
        off, ordered = np.abs(cost / PERFECT - 1).max(), sum(one.in_order for one in runs)
        held = error.max() < LEAST_ERROR and off <= NEAR
        print(f"\nmeans {kind}, paper's tradeoffs")
        print(f"- {_word(held)}: mean squared error at most {error.max():.4f}, claimed is less than {LEAST_ERROR};")
        print(f"  mean cost within {off:.1%} of {PERFECT:g}, claimed is {NEAR:.0%}")
        print(f"- both in {sum(one.perfect for one in runs)} of {len(runs)} single runs")
        word = _word(ordered == len(runs))
        print(f"- {word}: signs first, one expensive feature after, in {ordered} of {len(runs)} runs")
        for seed, several in enumerate(zip(*rows, strict=True)):
            if short := sum(not one.perfect for one in several):
                means = ", ".join(f"{mean:.2f}" for mean in means_of(seed, random=random))
                print(f"- seed {seed}, means {means}: short in {short} of {len(several)}")


def _word(held: bool) -> str:
    return "yes" if held else "no"


def draw(model: Any, data: Dataset, output: Path) -> None:
    """Write the picture of a tree."""
    test = data.part("test")
    for kind, written in cf.plot_stages(model, test.X, test.y, data.costs, n_jobs=1).items():
        (output / f"cstc_quadrants.{kind}").write_bytes(written)
    print(f"\npicture at tradeoff {model.tradeoff:g} in {output}")


if __name__ == "__main__":
    main()
