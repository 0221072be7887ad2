"""The tables that cascades are tried on, in four parts: the bank is trained on other rows than the cascade.

Parts are those of ../shared/data, or drawn anew by seed with the same sizes, queries whole; half of the training rows
are for the bank. Where there are many negatives they are thinned, in training and to choose by, and weigh more instead;
scores are those of all rows.
"""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import paper_tables
import synthetic_ranking
from attrs import evolve, frozen

if TYPE_CHECKING:
    from costframe.core.prices.costs import CostModel


@frozen
class Kind:
    """What is asked of a table.

    Attributes
    ----------
    source : str
        Of the rows, in ../shared/data, or "synthetic".
    scores : tuple of str
        The first is what figures show.
    relevant : int
        The least label that is positive; 0 makes all positive but the last class, the healthy of thyroid.
    max_features : float
        Of the columns that a tree of the bank is grown on.
    splits : int
    ranking : bool
    """

    source: str
    scores: tuple[str, ...]
    relevant: int
    max_features: float
    splits: int
    ranking: bool = False


FEW_POSITIVE = ("average_precision", "roc_auc")
KINDS = {
    "synthetic": Kind("synthetic", ("precision@5",), synthetic_ranking.RELEVANT, 0.08, 2, ranking=True),
    "mslr": Kind("mslr", ("ndcg@5",), 2, 0.05, 4, ranking=True),
    "mslr-3": Kind("mslr", FEW_POSITIVE, 3, 0.05, 4),
    "nhanes": Kind("nhanes", FEW_POSITIVE, 1, 0.1, 2),
    "cover": Kind("cover", FEW_POSITIVE, 1, 0.3, 2),
    "heart": Kind("heart", ("roc_auc", "average_precision"), 1, 0.25, 5),
    "thyroid": Kind("thyroid", FEW_POSITIVE, 0, 0.15, 3),
}
TREES = 100
FIELDS = ("X", "relevant", "grade", "weight", "qid")
LARGE = 20000  # training rows
MOST_NEGATIVES = 5000  # in a part to train on or to choose by; if there are more, some are drawn, and weigh more


@frozen(eq=False)
class Part:
    """Some rows.

    Attributes
    ----------
    X : float64 (n, d)
    relevant : int64 (n,)
        0 or 1.
    grade : (n,)
        Labels as they are.
    weight : float64 (n,)
    qid : int64 (n,)
        All zero where there are no queries.
    """

    X: np.ndarray
    relevant: np.ndarray
    grade: np.ndarray
    weight: np.ndarray
    qid: np.ndarray

    def __len__(self) -> int:
        return len(self.relevant)

    def rows(self, chosen: np.ndarray) -> Part:
        """Keep some rows, in their order."""
        return Part(*(getattr(self, name)[chosen] for name in FIELDS))


@frozen(eq=False)
class Table:
    """A table in parts: "bank", "train", "choice" of "valid", to be given to fits, "valid" and "test"."""

    name: str
    kind: Kind
    costs: CostModel
    parts: dict[str, Part]

    @property
    def full_cost(self) -> float:
        """What a row pays that acquires everything."""
        return float(self.costs.full_cost(self.costs.names))

    @property
    def loss(self) -> float:
        """The loss of the best constant on training rows, labels being -1 and 1."""
        return 2 * self.share * (1 - self.share)

    @property
    def log_loss(self) -> float:
        """The cross-entropy of the best constant on training rows."""
        return float(-np.log(self.share) * self.share - np.log1p(-self.share) * (1 - self.share))

    @property
    def share(self) -> float:
        """Share of training rows that are relevant."""
        return float(np.average(self.parts["train"].relevant, weights=self.parts["train"].weight))


@functools.lru_cache(maxsize=2)
def load(name: str, split: int, *, quick: bool = False) -> Table:
    """Read a table or make it; `quick` takes a third of many training rows, or makes fewer queries."""
    kind = KINDS[name]
    costs, parts = _synthetic(kind, split, quick=quick) if kind.source == "synthetic" else _stored(kind, split)
    random = np.random.default_rng([split, 33])
    train = parts.pop("train")
    share = random.permutation(np.unique(train.qid)) if kind.ranking else random.permutation(len(train))
    key = train.qid if kind.ranking else np.arange(len(train))
    count = len(share) // (3 if quick and len(train) > LARGE else 1)
    for part, chosen in (("bank", share[: count // 2]), ("train", share[count // 2 : count])):
        parts[part] = _thinned(train.rows(np.isin(key, chosen)), random)
    parts["choice"] = _thinned(parts["valid"], random)
    return Table(name, kind, costs, parts)


def training_rows(table: Table, which: str) -> Part:
    """Return the rows for the bank ("bank") or the cascade ("train"), or both ("all"), queries in order."""
    if which != "all":
        return table.parts[which]
    both = [table.parts[part] for part in ("bank", "train")]
    joined = Part(*(np.concatenate([getattr(part, name) for part in both]) for name in FIELDS))
    return joined.rows(np.argsort(joined.qid, kind="stable"))


def _synthetic(kind: Kind, split: int, *, quick: bool) -> tuple[CostModel, dict[str, Part]]:
    sizes = {"train": 300, "valid": 100, "test": 150} if quick else {"train": 500, "valid": 300, "test": 1500}
    made = synthetic_ranking.make(split, sum(sizes.values()))
    relevant = (made.grade >= kind.relevant).astype(np.int64)
    whole = Part(made.X, relevant, made.grade, made.weight, made.qid)
    ends = np.cumsum(list(sizes.values()))
    place = np.searchsorted(ends, made.qid, side="right")
    return made.costs, {part: whole.rows(place == i) for i, part in enumerate(sizes)}


def _stored(kind: Kind, split: int) -> tuple[CostModel, dict[str, Part]]:
    data, parts = paper_tables.load(kind.source, split), {}
    for part in ("train", "valid", "test"):
        rows = data.part(part)
        qid = np.zeros(len(rows), np.int64) if rows.qid is None else rows.qid
        relevant = rows.y >= kind.relevant if kind.relevant else rows.y != rows.y.max()
        parts[part] = Part(rows.X, relevant.astype(np.int64), rows.y, np.ones(len(rows)), qid)
    return data.costs, parts


def _thinned(part: Part, random: np.random.Generator) -> Part:
    negative = np.flatnonzero(part.relevant == 0)
    if len(negative) <= MOST_NEGATIVES:
        return part
    kept = random.choice(negative, MOST_NEGATIVES, replace=False)
    chosen = np.union1d(np.flatnonzero(part.relevant), kept)
    weight = np.where(part.relevant == 1, part.weight, part.weight * len(negative) / MOST_NEGATIVES)
    return evolve(part, weight=weight).rows(chosen)


def parser(doc: str, tables: tuple[str, ...]) -> argparse.ArgumentParser:
    """Make the parser of a script that is run on tables."""
    found = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("tables", nargs="*", default=[], help=f"some of {', '.join(tables)}; all by default")
    found.add_argument("--quick", action="store_true", help="a third of the training rows, few trees and tradeoffs")
    found.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for figures")
    found.add_argument("--splits", type=int, help="of each table, by default as many as it has")
    return found


def options(parser: argparse.ArgumentParser, tables: tuple[str, ...]) -> argparse.Namespace:
    """Parse, and refuse tables that are unknown or not there."""
    found = parser.parse_args()
    if unknown := set(found.tables) - set(KINDS):
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    found.tables = found.tables or list(tables)
    if set(found.tables) != {"synthetic"} and not paper_tables.FOLDER.is_dir():
        parser.error(f"there is no folder {paper_tables.FOLDER}; without it there is the table 'synthetic'")
    return found
