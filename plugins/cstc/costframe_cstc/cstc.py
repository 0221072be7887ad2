"""The cost-sensitive tree of classifiers, in the paper's order: start, improvement, pruning, answers.

`train_by_exact_cost` is the default. `train_as_printed` is section 4 for `recipe="paper"`, step by step beside it:
`fit_top_down` in the place of `grow`, eq. 5 in the place of `move_routes`, and its own pruning and fine-tuning.
"""

from __future__ import annotations

from collections.abc import Collection

from attrs import evolve

from costframe import StageTree, WeakLearnerBank
from costframe.plugin import Rows, Sampling, loss_for
from costframe.stagewise import BankTask, Evaluation, SoftTree, Step, calibrate_tree, pick
from costframe_cstc.divide import divide
from costframe_cstc.grow import grow
from costframe_cstc.moves import move_routes
from costframe_cstc.node_fits import Fitter
from costframe_cstc.printed import train_as_printed
from costframe_cstc.refit import prune_nodes, refit_answers
from costframe_cstc.settings import CHOICES, STARTS, CSTCSettings

_SWEEPS = 2
_FEW = 50  # outputs
_MOST_PICKING = 8_000  # rows for the choice of settings
_MOST_MOVING = 10_000  # rows for the moves of routes
_MOST_READ = 200_000  # largest number of rows with stored reads


def train_cstc(
    task: BankTask, held_out: Rows, settings: CSTCSettings, free: Collection[str], steps: list[Step]
) -> StageTree:
    """Train a tree of classifiers.

    Parameters
    ----------
    task : BankTask
    held_out : Rows
        For choices and pruning.
    settings : CSTCSettings
    free : collection of str
        Settings to choose.
    steps : list of Step
        Gets the accepted steps of the paper's cycles.
    """
    data, bank = task.data, task.bank

    def on(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        fitter = task.on(rows, learners)
        reads = fitter.pricing.on_all_rows if len(rows) <= _MOST_READ else None
        if data.n_classes and settings.loss == "logistic":
            return evolve(fitter, reads=reads, loss=loss_for(data.n_classes))
        return evolve(fitter, reads=reads)

    if task.as_printed:
        tree = train_as_printed(on(data.train), on(held_out), settings, steps)
        return task.finish_printed(tree, settings.steepness)
    few = task.first_learners
    fewer, few_held_out = (Sampling(data).sample(rows, _MOST_PICKING) for rows in (data.train, held_out))
    settings = pick_tree(settings, free, on(fewer, few), on(few_held_out, few), task.verbose)
    train = on(data.train)
    some = on(Sampling(data).sample(data.train, _MOST_MOVING)) if len(data.train) > _MOST_MOVING else train
    chosen_by = evolve(on(held_out), half=Sampling(data).halves(held_out))
    tree = train_by_exact_cost(train, some, chosen_by, settings, tune="ridge" in free)
    tree = calibrate_tree(tree, chosen_by) if data.n_classes else tree
    return task.finish(tree, steepness=settings.steepness)


def train_by_exact_cost(
    train: Evaluation, some: Evaluation, held_out: Evaluation, settings: CSTCSettings, *, tune: bool
) -> SoftTree:
    """Grow a tree, move its routes and split its leaves, and keep the best tree on held-out rows.

    Parameters
    ----------
    train, some : Evaluation
        Rows for fits of answers, and fewer of them for moves of routes.
    held_out : Evaluation
    settings : CSTCSettings
    tune : bool
        Whether to choose the answers' ridge again in the end.
    """

    def total(tree: SoftTree) -> float:
        return held_out.total(tree if held_out.loss.link == "identity" else calibrate_tree(tree, held_out))

    fitter, fewer = Fitter(train, settings.ridge), Fitter(some, settings.ridge)
    tree, answers = grow(fitter, settings.depth, settings.inflation)
    best = prune_nodes(held_out, tree, answers)
    if not settings.optimize:
        return best
    for _ in range(_SWEEPS):
        tree = move_routes(fewer, some.place_thresholds(tree), held_out)
        tree, answers = refit_answers(fitter, divide(fewer, tree, settings.depth, held_out))
        best = min([best, prune_nodes(held_out, tree, answers)], key=total)
    if tune:
        best = min([best, _tuned(fitter, fewer, best, held_out, settings)], key=total)
    return min([best, _placed(held_out, best)], key=total)


def _tuned(fitter: Fitter, fewer: Fitter, tree: SoftTree, held_out: Evaluation, settings: CSTCSettings) -> SoftTree:
    """Fit answers again with the best ridge on held-out rows, chosen by fits to fewer training rows."""

    def total(at: CSTCSettings) -> float:
        return held_out.total(refit_answers(evolve(fewer, ridge=at.ridge), tree)[0])

    ridges, start = {"ridge": CHOICES["ridge"]}, {"ridge": (settings.ridge,)}
    ridge = pick(settings, ridges, start, total, 1, "CSTC: ridge", 0).ridge
    tuned = tree if ridge == fitter.ridge else refit_answers(evolve(fitter, ridge=ridge), tree)[0]
    return min((tree, tuned), key=held_out.total)


def _placed(held_out: Evaluation, tree: SoftTree) -> SoftTree:
    """Place thresholds on held-out rows, if thresholds placed on one half are better on the other."""
    if held_out.half is None or len(tree) == 1:
        return tree
    gained = held_out.cross_fit(lambda _: tree) - held_out.cross_fit(lambda part: part.place_thresholds(tree))
    return held_out.place_thresholds(tree) if gained > 0 else tree


def pick_tree(
    settings: CSTCSettings, free: Collection[str], train: Evaluation, held_out: Evaluation, verbose: int
) -> CSTCSettings:
    """Choose free settings by loss + lambda * cost of the grown and pruned tree on held-out rows.

    Over few outputs it also splits leaves, which is quick.
    """
    dividing = settings.optimize and train.rows.outputs.shape[1] <= _FEW

    def total(at: CSTCSettings) -> float:
        fitter = Fitter(train, at.ridge)
        tree, answers = grow(fitter, at.depth, at.inflation)
        if dividing:
            tree, answers = refit_answers(fitter, divide(fitter, tree, at.depth, held_out))
        return held_out.total(prune_nodes(held_out, tree, answers))

    grid = {name: CHOICES[name] for name in CHOICES if name in free and (name != "inflation" or settings.depth > 1)}
    return pick(settings, grid, STARTS, total, 2, "CSTC: settings", verbose)
