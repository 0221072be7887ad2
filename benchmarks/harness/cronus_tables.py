"""Needs ../shared, but for synthetic: tables of few positive rows in four parts, as cascades are tried on them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from harness.tables import draw_ranking, load

if TYPE_CHECKING:
    import costframe as cf

MOST_NEGATIVES = 5000  # in a part to train on or to choose by


@frozen
class Kind:
    """What is asked of a table: where its rows come from, its score, the least label that is positive."""

    source: str
    score: str
    positive: int
    ranking: bool = False


KINDS = {
    "synthetic": Kind("synthetic", "precision@5", 3, ranking=True),
    "mslr": Kind("mslr", "precision@5", 2, ranking=True),
    "nhanes": Kind("nhanes", "average_precision", 1),
    "cover": Kind("cover", "average_precision", 1),
}


@frozen(eq=False)
class Part:
    """Rows: X (n, d), positive 0 or 1, grade as it comes, weight, qid; all (n,)."""

    X: np.ndarray
    positive: np.ndarray
    grade: np.ndarray
    weight: np.ndarray
    qid: np.ndarray

    def select(self, rows: np.ndarray) -> Part:
        """Keep some rows, in their order."""
        return Part(self.X[rows], self.positive[rows], self.grade[rows], self.weight[rows], self.qid[rows])


@frozen(eq=False)
class Table:
    """A table: "all" training rows and their halves "bank" and "train", "choice" of "valid", "valid" and "test"."""

    kind: Kind
    costs: cf.CostModel
    parts: dict[str, Part]

    def price_of_loss(self) -> float:
        """Return the best constant's squared loss of labels -1 and 1 per cost of all features."""
        train = self.parts["all"]
        share = float(np.average(train.positive, weights=train.weight))
        return float(2 * share * (1 - share) / self.costs.full_cost())


@functools.lru_cache(maxsize=1)
def load_parts(name: str, split: int, *, quick: bool) -> Table:
    """Read a table or draw it."""
    kind, random = KINDS[name], np.random.default_rng([split, 33])
    costs, parts = _draw(kind, split, quick=quick) if kind.source == "synthetic" else _read(kind, split)
    train = parts.pop("train")
    key = train.qid if kind.ranking else np.arange(len(train.qid))
    order = random.permutation(np.unique(key))[:: 3 if quick and len(key) > 20_000 else 1]
    half = {"bank": order[::2], "train": order[1::2], "all": order}
    drawn = {part: _thin(train.select(np.isin(key, chosen)), random) for part, chosen in half.items()}
    return Table(kind, costs, parts | drawn | {"choice": _thin(parts["valid"], random)})


def _draw(kind: Kind, split: int, *, quick: bool) -> tuple[cf.CostModel, dict[str, Part]]:
    sizes = {"train": 300, "valid": 100, "test": 150} if quick else {"train": 500, "valid": 300, "test": 500}
    drawn = draw_ranking(split, sum(sizes.values()))
    positive = (drawn.grade >= kind.positive).astype(np.int64)
    whole = Part(drawn.X, positive, drawn.grade, drawn.weight, drawn.qid)
    place = np.searchsorted(np.cumsum(list(sizes.values())), drawn.qid, side="right")
    return drawn.costs, {part: whole.select(place == at) for at, part in enumerate(sizes)}


def _read(kind: Kind, split: int) -> tuple[cf.CostModel, dict[str, Part]]:
    data, parts = load(kind.source, split), {}
    for part in ("train", "valid", "test"):
        rows = data.part(part)
        qid = np.zeros(len(rows), np.int64) if rows.qid is None else rows.qid
        positive = (rows.y >= kind.positive).astype(np.int64)
        parts[part] = Part(rows.X, positive, rows.y, np.ones(len(rows)), qid)
    return data.costs, parts


def _thin(part: Part, random: np.random.Generator) -> Part:
    negative = np.flatnonzero(part.positive == 0)
    if len(negative) <= MOST_NEGATIVES:
        return part
    kept = random.choice(negative, MOST_NEGATIVES, replace=False)
    weight = np.where(part.positive == 1, part.weight, part.weight * len(negative) / MOST_NEGATIVES)
    return evolve(part, weight=weight).select(np.union1d(np.flatnonzero(part.positive), kept))
