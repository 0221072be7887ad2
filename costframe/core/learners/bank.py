"""An ordered set of weak learners: trees, columns and opaque functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8, U8
from costframe.core.checks import as_items
from costframe.core.errors import BankError, brief, format_count, shown
from costframe.core.learners.node_layout import tree_leaves
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE, TreeTable
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Categories, as_categories, check_features
from costframe.core.tables.rows import as_feature_names, as_rows

if TYPE_CHECKING:
    from scipy import sparse
from costframe.core.learners.opaque_learner import OpaqueLearner, as_columns, as_learners


@define(eq=False, frozen=True, repr=False)
class WeakLearnerBank:
    """Weak learners h_1..h_T in a fixed order, with the features they read and their evaluation weights.

    Make one with `from_trees`, `columns`, `opaque` or `costframe.train_bank`; join with `concatenate`, pick with
    `restrict`.

    Attributes
    ----------
    feature_names : tuple of str (d,)
    kind : uint8 (T,)
        TREE, COLUMN or OPAQUE.
    index : int32 (T,)
        Position of each learner among those of its kind.
    evaluation : float64 (T,)
        e_t: evaluating learner t costs e_t times a cost model's `learner` price.
    trees : TreeTable
    column_feature, column_fill : int32 (C,), float64 (C,)
        Column that each learner reads, and the value that replaces NaN (NaN: keep it).
    opaques : tuple of OpaqueLearner
    categories : mapping of str to tuple of str, HashedLabels or AsGiven
        Labels of the features whose categories are texts; the number of a label in X is its position, or its hash.
    """

    feature_names: tuple[str, ...] = field(converter=as_feature_names)
    kind: U8
    index: NDArray[np.int32]
    evaluation: F8
    trees: TreeTable = field(factory=TreeTable.empty)
    column_feature: NDArray[np.int32] = field(factory=lambda: np.empty(0, np.int32))
    column_fill: F8 = field(factory=lambda: np.empty(0, np.float64))
    opaques: tuple[OpaqueLearner, ...] = field(default=(), converter=as_learners)
    categories: Categories = field(factory=dict, converter=as_categories)

    def __attrs_post_init__(self) -> None:
        _check_bank(self)
        for array in (self.kind, self.index, self.evaluation, self.column_feature, self.column_fill):
            array.setflags(write=False)

    def __repr__(self) -> str:
        """Count the learners of each kind, and the features they read; the arrays would fill pages."""
        kinds = zip(np.bincount(self.kind, minlength=3), ("tree", "column", "opaque learner"), strict=True)
        counts = [format_count(int(count), noun) for count, noun in kinds if count]
        return brief(self, *counts, f"reads {len(self.read)} of {format_count(len(self.feature_names), 'feature')}")

    def __len__(self) -> int:
        """Count the learners."""
        return len(self.kind)

    def __add__(self, other: WeakLearnerBank) -> WeakLearnerBank:
        """Concatenate two banks."""
        return WeakLearnerBank.concatenate([self, other])

    @classmethod
    def from_trees(
        cls, trees: TreeTable, feature_names: Sequence[str], *, evaluation: ArrayLike = 1.0
    ) -> WeakLearnerBank:
        """Make a bank of trees; `evaluation` is e_t, one number or one for each tree."""
        if not isinstance(trees, TreeTable):
            raise BankError(f"trees: expected a TreeTable, got {shown(trees)}")
        return cls(feature_names, *_kind_arrays(TREE, len(trees), evaluation), trees=trees)

    @classmethod
    def columns(
        cls,
        feature_names: Sequence[str],
        features: Sequence[int] | None = None,
        *,
        fill: ArrayLike = 0.0,
        evaluation: ArrayLike = 1.0,
    ) -> WeakLearnerBank:
        """Make a bank of columns, phi(x) = x; `fill` replaces NaN, one number or one for each column."""
        feature_names = as_feature_names(feature_names)
        read = as_columns(np.arange(len(feature_names)) if features is None else features, "columns")
        return cls(
            feature_names,
            *_kind_arrays(COLUMN, len(read), evaluation),
            column_feature=read,
            column_fill=_expand(fill, len(read), "fill"),
        )

    @classmethod
    def opaque(
        cls, feature_names: Sequence[str], learners: Sequence[OpaqueLearner], *, evaluation: ArrayLike = 1.0
    ) -> WeakLearnerBank:
        """Make a bank of opaque learners."""
        learners = as_learners(learners)
        return cls(feature_names, *_kind_arrays(OPAQUE, len(learners), evaluation), opaques=learners)

    @classmethod
    def concatenate(cls, banks: Sequence[WeakLearnerBank]) -> WeakLearnerBank:
        """Join the learners of several banks, in order; features match by name, and new ones follow at the end."""
        given = as_items(banks)
        if given is None or not all(isinstance(bank, WeakLearnerBank) for bank in given):
            raise BankError(f"banks: expected a list of WeakLearnerBank, got {shown(banks)}")
        if not given:
            raise BankError("concatenate: expected at least one bank, got none")
        names = tuple(dict.fromkeys(name for bank in banks for name in bank.feature_names))
        aligned = [bank.with_features(names) for bank in banks]
        counts = np.array([[len(bank.trees), len(bank.column_feature), len(bank.opaques)] for bank in aligned])
        before = (np.cumsum(counts, axis=0) - counts).astype(np.int32)
        return cls(
            names,
            np.concatenate([bank.kind for bank in aligned]),
            np.concatenate([bank.index + shift[bank.kind] for bank, shift in zip(aligned, before, strict=True)]),
            np.concatenate([bank.evaluation for bank in aligned]),
            TreeTable.concatenate([bank.trees for bank in aligned]),
            np.concatenate([bank.column_feature for bank in aligned]),
            np.concatenate([bank.column_fill for bank in aligned]),
            tuple(learner for bank in aligned for learner in bank.opaques),
            _join_labels(banks),
        )

    def with_features(self, names: Sequence[str]) -> WeakLearnerBank:
        """Return the same learners for rows with the columns `names`, which must include all features they read."""
        names = as_feature_names(names)
        if names == self.feature_names:
            return self
        place = {name: column for column, name in enumerate(names)}
        columns = np.array([place.get(name, -1) for name in self.feature_names], np.int32)
        absent = self.read[columns[self.read] < 0]
        if len(absent):
            raise BankError(f"features: the bank reads {self.feature_names[absent[0]]!r}, not in {names}")
        moved = tuple(evolve(learner, features=columns[list(learner.features)]) for learner in self.opaques)
        return evolve(
            self,
            feature_names=names,
            trees=self.trees.remap_features(columns),
            column_feature=columns[self.column_feature],
            opaques=moved,
            categories={name: labels for name, labels in self.categories.items() if name in place},
        )

    def renamed(self, names: Sequence[str]) -> WeakLearnerBank:
        """Return the same learners for rows whose columns have other names, in the same order."""
        new = dict(zip(self.feature_names, names, strict=True))
        categories = {new[name]: labels for name, labels in self.categories.items()}
        return evolve(self, feature_names=names, categories=categories)

    def restrict(self, learners: ArrayLike) -> WeakLearnerBank:
        """Keep the given learners, in the given order.

        Raises
        ------
        BankError
            If an index is out of range or repeated.
        """
        chosen = np.asarray(learners) if np.size(learners) else np.empty(0, np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise BankError(f"restrict: expected a list of indices, got {shown(learners)}")
        if ((chosen < 0) | (chosen >= len(self))).any() or len(np.unique(chosen)) < len(chosen):
            raise BankError(f"restrict: expected distinct indices below {len(self)}, got {chosen.tolist()}")
        kind = self.kind[chosen]
        old = [self.index[chosen[kind == which]] for which in (TREE, COLUMN, OPAQUE)]
        index = np.empty(len(chosen), np.int32)
        for which in (TREE, COLUMN, OPAQUE):
            index[kind == which] = np.arange(len(old[which]))
        return WeakLearnerBank(
            self.feature_names,
            kind,
            index,
            self.evaluation[chosen],
            self.trees.restrict(old[TREE]),
            self.column_feature[old[COLUMN]],
            self.column_fill[old[COLUMN]],
            tuple(self.opaques[i] for i in old[OPAQUE]),
            self.categories,
        )

    def weighted(self, evaluation: ArrayLike) -> WeakLearnerBank:
        """Return the same learners with other evaluation weights e_t, one number or one for each learner."""
        return evolve(self, evaluation=_expand(evaluation, len(self), "evaluation"))

    @cached_property
    def widths(self) -> NDArray[np.int32]:
        """Number of outputs K_t of each learner: int32 (T,)."""
        widths = np.ones(len(self), np.int32)
        widths[self.kind == TREE] = self.trees.width[self.index[self.kind == TREE]]
        for t in np.flatnonzero(self.kind == OPAQUE):
            widths[t] = self.opaques[self.index[t]].width
        return widths

    @cached_property
    def F(self) -> sparse.csr_array:  # noqa: N802 - the papers' name
        """Features that each learner may read: a 0/1 matrix, uint8 csr (d, T)."""
        from scipy import sparse

        ones, shape = np.ones(len(self.reads[0]), np.uint8), (len(self.feature_names), len(self))
        return sparse.csr_array((ones, self.reads), shape=shape)

    @cached_property
    def reads(self) -> tuple[I8, I8]:
        """The entries of F: pairs of a feature and a learner that may read it, ascending, int64 (reads,) each.

        They need no scipy, whose import takes a third of the time of a process's first prediction.
        """
        learner_of_tree = np.flatnonzero(self.kind == TREE)[np.argsort(self.index[self.kind == TREE])]
        inner = self.trees.feature >= 0
        features = [self.trees.feature[inner], self.column_feature[self.index[self.kind == COLUMN]]]
        learners = [learner_of_tree[self.trees.tree_of_node[inner]], np.flatnonzero(self.kind == COLUMN)]
        for t in np.flatnonzero(self.kind == OPAQUE):
            read = self.opaques[self.index[t]].features
            features.append(np.array(read, np.int32))
            learners.append(np.full(len(read), t))
        cells = np.unique(np.concatenate(features).astype(np.int64) * len(self) + np.concatenate(learners))
        width = max(len(self), 1)
        return cells // width, cells % width

    @property
    def read(self) -> I8:
        """Columns that any learner reads, ascending: int64 (any,)."""
        return np.unique(self.reads[0])

    def outputs(self, X: Any) -> F8:
        """Evaluate all learners and return H(x): float64 (rows, sum of K_t), columns in learner order."""
        rows = as_rows(X, self.feature_names, self.categories)
        first = np.cumsum(self.widths) - self.widths
        outputs = np.empty((len(rows), int(self.widths.sum())))
        leaves = tree_leaves(self.trees, rows)
        for t in range(len(self)):
            index, to = self.index[t], slice(first[t], first[t] + self.widths[t])
            if self.kind[t] == TREE:
                at = self.trees.value[self.trees.first[index] + leaves[:, index].astype(np.int64)]
                outputs[:, to] = self.trees.values[at[:, None] + np.arange(self.widths[t])]
            elif self.kind[t] == COLUMN:
                values = rows[:, self.column_feature[index]]
                outputs[:, first[t]] = np.where(np.isnan(values), self.column_fill[index], values)
            else:
                outputs[:, to] = self.opaques[index](rows[:, list(self.opaques[index].features)])
        return outputs

    def leaves(self, X: Any) -> NDArray[np.int32]:
        """Return each row's leaf in every tree: int32 (rows, trees), node numbers counted from the tree's root."""
        return tree_leaves(self.trees, as_rows(X, self.feature_names, self.categories))


def _join_labels(banks: Sequence[WeakLearnerBank]) -> Categories:
    """Return the labels of all banks; refuse two banks that read a feature with different labels."""
    joined: dict[str, Any] = {name: labels for bank in banks for name, labels in bank.categories.items()}
    seen: set[str] = set()
    for bank in banks:
        for f in bank.read:
            name = bank.feature_names[f]
            labels = bank.categories.get(name)
            joined[name] = _agree(name, joined[name], labels) if name in seen else labels
            seen.add(name)
    return {name: labels for name, labels in joined.items() if labels is not None}


def _agree(name: str, first: Any, other: Any) -> Any:
    """Return labels that do for two banks."""
    if first == other:
        return first
    if None in (first, other) and AsGiven() in (first, other):
        raise BankError(
            f"concatenate: feature {name!r} is compared as a number in one bank, and given to foreign code as it came "
            "in another; with_categories({}) of a model gives its code doubles"
        )
    raise BankError(f"concatenate: feature {name!r} has the labels {first} in one bank, {other} in another")


def _kind_arrays(kind: int, count: int, evaluation: ArrayLike) -> tuple[U8, NDArray[np.int32], F8]:
    weights = _expand(evaluation, count, "evaluation")
    return np.full(count, kind, np.uint8), np.arange(count, dtype=np.int32), weights


def _expand(values: ArrayLike, count: int, name: str) -> F8:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BankError(f"{name}: expected one number, or one a learner, got {shown(values)}") from None
    if array.shape not in {(), (count,)}:
        raise BankError(f"{name}: expected one number, or one a learner ({count}), got shape {array.shape}")
    return np.array(np.broadcast_to(array, (count,)))


def _check_bank(bank: WeakLearnerBank) -> None:
    names, d = bank.feature_names, len(bank.feature_names)
    if len(set(names)) < d or not all(isinstance(name, str) for name in names):
        raise BankError(f"feature_names: expected distinct strings, got {names}")
    check_features(bank.categories, names)
    if not (bank.kind.shape == bank.index.shape == bank.evaluation.shape == (len(bank),)):
        raise BankError("kind, index, evaluation: expected one entry a learner")
    if not np.isfinite(bank.evaluation).all() or (bank.evaluation < 0).any():
        raise BankError(f"evaluation: expected finite weights >= 0, got {bank.evaluation}")
    if (bank.kind > OPAQUE).any():
        raise BankError(f"kind: expected {TREE}, {COLUMN} or {OPAQUE} for each learner, got {bank.kind}")
    for which, count in ((TREE, len(bank.trees)), (COLUMN, len(bank.column_feature)), (OPAQUE, len(bank.opaques))):
        if not np.array_equal(np.sort(bank.index[bank.kind == which]), np.arange(count)):
            raise BankError(f"index: learners of kind {which} must name each of their {count} entries once")
    if bank.column_fill.shape != bank.column_feature.shape:
        raise BankError(f"column_fill: expected {bank.column_feature.shape}, got {bank.column_fill.shape}")
    tested = [bank.trees.feature, bank.column_feature, [f for learner in bank.opaques for f in learner.features]]
    read = np.concatenate([np.asarray(part, np.int64) for part in tested])
    if (read >= d).any() or (np.concatenate([read[len(bank.trees.feature) :], [0]]) < 0).any():
        raise BankError(f"features: a learner reads column {read.max() if read.size else -1}, there are {d}")
    titles = [learner.name for learner in bank.opaques]
    if len(set(titles)) < len(titles):
        raise BankError(f"opaque learners: names must be distinct, got {titles}")
