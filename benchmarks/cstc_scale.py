"""How time and memory of CSTC grow with rows n, learners T (trees of 16 leaves) and depth: a table and a figure.

Each size is a whole training in a process of its own, with one thread, whose peak memory includes the table; phases are
timed apart. There are a fifth as many rows again to choose by. The
table is synthetic, with the Yahoo set's prices and as many rows of one class as of the other. At the end comes a depth
of 4 on 100,000 rows over 500 trees that are given.

    python benchmarks/cstc_scale.py --quick                        # small sizes, about a minute
    python benchmarks/cstc_scale.py                                # up to 100,000 rows
    python benchmarks/cstc_scale.py --large                        # 100,000 rows, 500 trees that are given, depth 4
    python benchmarks/cstc_scale.py --size 30000 250 3 --given --recipe paper
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import scaling
from attrs import frozen
from scaling import Clock, Found, Problem

import costframe as cf
from costframe_cstc import CSTCClassifier, by_exact_cost, train

POSITIVE = 0.5  # share of the rows
LOSS_FOR_EVERYTHING = 5.0  # the tradeoff, in units of 1 / the price of all features, where routes are worth their price
QUICK = {"n": (1000, 2000, 4000), "T": (50, 100, 200), "depth": (2, 3, 4)}
USUAL = {"n": (10_000, 30_000, 100_000), "T": (125, 250, 500), "depth": (2, 3, 4)}
LARGE = (100_000, 500, 4)
NAMES = {"n": "rows n", "T": "learners T", "depth": "depth"}
PHASES = {  # functions of the modules that train
    (train, "pick_settings"): "choice of settings",
    (by_exact_cost, "grow"): "growth",
    (by_exact_cost, "_placed"): "thresholds",
    (by_exact_cost, "_tuned"): "ridge",
    (by_exact_cost, "move_routes"): "routes",
    (by_exact_cost, "divide"): "routes",
    (by_exact_cost, "refit"): "answers",
    (train, "train_as_printed"): "as printed",
}
COLUMNS = ("bank", *dict.fromkeys(PHASES.values()), "whole training")
DRAWN = ("bank", "choice of settings", "growth", "routes", "answers", "whole training")
TOLD = "answers, learners used"


@frozen
class Size:
    """What is measured."""

    n: int
    T: int
    depth: int


def measure(size: Size, recipe: str | None, given: bool) -> Found:
    """Time a training in this process, over a bank that is given or trained inside."""
    problem, clock = Problem.of(size.n, size.T, POSITIVE), Clock()
    before = scaling.peak()
    _time_phases(clock)
    settings: dict[str, Any] = {"bank": problem.bank} if given else {"n_estimators": size.T}
    settings |= {"recipe": recipe} if size.depth > 1 else {"loss": "squared"}
    tradeoff = LOSS_FOR_EVERYTHING / problem.costs.full_cost()
    model = CSTCClassifier(problem.costs, tradeoff, depth=size.depth, n_jobs=1, **settings)
    with clock.step("whole training"):
        model.fit(problem.X, problem.y, X_val=problem.X_val, y_val=problem.y_val)
    tree = model.predictor_
    told = f"{sum(isinstance(stage, cf.Answer) for stage in tree.stages)}, {len(tree.bank)}"
    return Found(size, clock.seconds, clock.work, before, scaling.peak(), os.getloadavg()[1], told)


def _time_phases(clock: Clock) -> None:
    CSTCClassifier._bank = clock.timed("bank", CSTCClassifier._bank)  # type: ignore[method-assign]  # noqa: SLF001
    for (module, name), phase in PHASES.items():
        setattr(module, name, clock.timed(phase, getattr(module, name)))


def main() -> None:
    options = _options()
    alone = options.size and Size(*options.size)
    if options.large or alone:
        _show({"n": [alone or Size(*LARGE)]}, options, given=options.given or options.large)
        return
    found = _show(scaling.sweeps(Size, QUICK if options.quick else USUAL), options, given=options.given)
    options.output.mkdir(parents=True, exist_ok=True)
    scaling.draw(options.output / "cstc_scale", "CSTC: time and memory of whole trainings", found, NAMES, DRAWN)
    print(f"\nfigure in {options.output}")
    print_growth(found)
    if not options.quick:
        print("\nover a bank that is given\n")
        _show({"n": [Size(*LARGE)]}, options, given=True)


def _show(plan: dict[str, list[Size]], options: argparse.Namespace, *, given: bool) -> dict[str, list[Found]]:
    return scaling.run(plan, measure, options.recipe, given, columns=COLUMNS, told=TOLD)


def print_growth(found: dict[str, list[Found]]) -> None:
    """Print by how much time and memory grow from the least size to the largest."""
    print()
    for name, several in found.items():
        first, last = several[0], several[-1]
        sizes = [getattr(one.size, name) for one in (first, last)]
        grown = [one.work["whole training"] for one in (first, last)]
        more = [one.peak - one.before for one in (first, last)]
        print(
            f"{NAMES[name]} from {sizes[0]:,} to {sizes[1]:,}, {sizes[1] / sizes[0]:.3g} times as many: "
            f"{grown[1] / grown[0]:.2f} times the processor time, "
            f"{more[0]:.2f} GB beyond the table before, {more[1]:.2f} GB after"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--large", action="store_true", help="depth 4 on 100,000 rows over 500 given trees only")
    parser.add_argument("--size", type=int, nargs=3, metavar=("n", "T", "depth"), help="this size only")
    parser.add_argument("--given", action="store_true", help="give the bank, boosted on few rows, everywhere")
    parser.add_argument("--recipe", choices=("paper",), help="as of CSTCClassifier")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for the figure")
    return parser.parse_args()


if __name__ == "__main__":
    main()
