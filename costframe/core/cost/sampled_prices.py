"""Prices of learners on a sample of rows: trees acquire features on the path, and share acquired features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from scipy import sparse

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.cost.groups import PricedGroups
from costframe.core.errors import BankError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.bits import word_count
from costframe.core.learners.node_layout import lay_out_nodes, layout_leaves
from costframe.core.learners.tree_table import TREE

MOST_ROWS = 2048


@frozen(eq=False)
class SampledPrices:
    """Prices of groups of outputs, and the rows on which an output needs a group.

    Attributes
    ----------
    groups : PricedGroups
        Of C outputs, at the prices of a row that reads everything.
    reads : uint64 (entries of `groups.member`, W)
        Rows on which the output needs the group, as bits.
    paid : uint64 (G, W)
        Rows that have paid for a group, as bits.
    mass : float64 (8 W, 256)
        Weight of the rows in a byte, by its place among the bytes of a set, and its value.
    """

    groups: PricedGroups
    reads: NDArray[np.uint64]
    paid: NDArray[np.uint64]
    mass: F8

    @classmethod
    def of_bank(cls, bank: WeakLearnerBank, groups: PricedGroups, needs: B1, X: F8, weight: F8) -> SampledPrices:
        """Find the rows on which each learner of a bank reads each feature.

        Parameters
        ----------
        bank : WeakLearnerBank
        groups : PricedGroups
            The result of `PricedGroups.of_bank` for this bank.
        needs : bool (d, R)
            Which resources the features need.
        X : float64 (n, d)
            At least one row.
        weight : float64 (n,)
            Sums to one.
        """
        if not len(X):
            raise BankError("rows: expected at least one to see what is read on it")
        group, learner, reads = _find_needs(bank, needs, np.ascontiguousarray(X, np.float64))
        numbers: Any = sparse.coo_array(
            (np.arange(1, len(group) + 1), (group, learner)), shape=(len(groups.price), len(bank))
        )
        table = sparse.csr_array(numbers.tocsr()[:, np.repeat(np.arange(len(bank)), bank.widths)])
        member = sparse.csr_array((np.ones(table.nnz), table.indices, table.indptr), shape=table.shape)
        paid = np.zeros((len(groups.price), reads.shape[1]), np.uint64)
        return cls(PricedGroups(member, groups.price), reads[table.data - 1], paid, _tabulate_weights(weight))

    def in_loss(self, tradeoff: float) -> SampledPrices:
        """Turn the prices into loss: lambda times each, at most 1e100."""
        return evolve(self, groups=self.groups.in_loss(tradeoff))

    @classmethod
    def whole(cls, groups: PricedGroups, weight: F8 | None = None) -> SampledPrices:
        """Make prices for learner acquisition: every output needs all of its groups on every row.

        Rows are alike, so one row represents all, unless `weight` (n,), which sums to one, is given.
        """
        weight = np.ones(1) if weight is None else weight
        words = _pack_rows(np.ones((len(weight), 1), np.bool_))
        paid = np.zeros((groups.member.shape[0], words.shape[1]), np.uint64)
        return cls(groups, np.repeat(words, groups.member.nnz, axis=0), paid, _tabulate_weights(weight))

    def with_weight(self, weight: F8) -> SampledPrices:
        """Give the same rows other weights, float64 (n,), which sum to one."""
        return evolve(self, mass=_tabulate_weights(weight))

    def restrict(self, outputs: I8) -> SampledPrices:
        """Keep some outputs, in the given order."""
        chosen = sparse.csr_array(_number_entries(self.groups.member)[:, outputs])
        member = sparse.csr_array((np.ones(chosen.nnz), chosen.indices, chosen.indptr), shape=chosen.shape)
        return evolve(self, groups=PricedGroups(member, self.groups.price), reads=self.reads[chosen.data - 1])

    def after(self, used: B1, among: B1 | None = None) -> SampledPrices:
        """Mark the groups that some outputs, bool (C,), need as paid, on all rows or those `among`, bool (n,)."""
        bought = self._union(used)
        if among is not None:
            bought &= _pack_rows(among[:, np.newaxis])
        return evolve(self, paid=self.paid | bought)

    def shares(self, used: B1) -> F8:
        """Return the share of rows on which some outputs, bool (C,), need each unpaid group: float64 (G,)."""
        return self.weigh(self._union(used) & ~self.paid)

    def priced(self, used: B1) -> PricedGroups:
        """Scale the prices of groups so that they sum to the mean cost of some outputs, bool (C,)."""
        return PricedGroups(self.groups.member, self.groups.price * self.shares(used))

    def by_row(self, used: B1) -> F8:
        """Return the cost of some outputs, bool (C,), on each row: float64, padded with zeros to whole words."""
        sets = self._union(used) & ~self.paid
        paid = np.flatnonzero(sets.any(axis=1) & (self.groups.price > 0))
        bits = np.unpackbits(
            np.ascontiguousarray(sets[paid].astype("<u8", copy=False)).view(np.uint8), axis=1, bitorder="little"
        )
        return np.asarray(self.groups.price[paid] @ bits)

    def cost(self, used: B1) -> float:
        """Return the mean cost of some outputs, bool (C,)."""
        return float(self.groups.price @ self.shares(used))

    def weigh(self, sets: NDArray[np.uint64]) -> F8:
        """Return the share of the rows in each set, uint64 (M, W): float64 (M,)."""
        masses = np.empty(len(sets))
        engine.weigh_sets(sets, self.mass, masses)
        return masses

    @cached_property
    def offers(self) -> F8:
        """Mean cost of each output alone: float64 (C,), read-only."""
        member, prices = self.groups.member, np.zeros(self.groups.member.shape[1])
        first, output = member.indptr.astype(np.int64), member.indices.astype(np.int64)
        engine.price_offers(first, output, self.groups.price, self.reads, self.paid, self.mass, prices)
        prices.setflags(write=False)
        return prices

    def one_by_one(self) -> F8:
        """Return the cost that each output adds to that of all outputs before it: float64 (C,)."""
        member, prices = self.groups.member, np.zeros(self.groups.member.shape[1])
        for g in np.flatnonzero(self.groups.price):
            outputs = member.indices[member.indptr[g] : member.indptr[g + 1]]
            order = np.argsort(outputs)
            reads = self.reads[member.indptr[g] + order]
            bought = np.bitwise_or.accumulate(np.vstack([self.paid[g], reads]), axis=0)
            prices[outputs[order]] += self.groups.price[g] * self.weigh(reads & ~bought[:-1])
        return prices

    def _union(self, used: B1) -> NDArray[np.uint64]:
        """Return the rows on which some outputs, bool (C,), need each group: uint64 (G, W)."""
        member, united = self.groups.member, np.zeros(self.paid.shape, np.uint64)
        engine.unite_sets(member.indptr.astype(np.int32), member.indices.astype(np.int32), used, self.reads, united)
        return united


def _number_entries(member: sparse.csr_array[Any, tuple[int, int]]) -> sparse.csr_array[Any, tuple[int, int]]:
    """Give the entries the numbers 1, 2, ..., in their order."""
    return sparse.csr_array((np.arange(1, member.nnz + 1), member.indices, member.indptr), shape=member.shape)


def _find_needs(bank: WeakLearnerBank, needs: B1, X: F8) -> tuple[I8, I8, NDArray[np.uint64]]:
    """Return the group, learner and rows, as bits, of each need of a learner: itself, features, and resources."""
    n_learners, n_features = len(bank), len(bank.feature_names)
    nodes = lay_out_nodes(bank.trees, n_features)
    leaves = np.empty((len(X), len(bank.trees)), np.int32)
    layout_leaves(nodes, X, leaves)
    F = bank.F.astype(np.float64)
    of_learner: Any = sparse.vstack(
        [sparse.eye_array(n_learners), F, sparse.csr_array(needs.T).astype(np.float64) @ F], format="csc"
    )
    of_learner.sort_indices()
    first, group = of_learner.indptr.astype(np.int64), of_learner.indices.astype(np.int64)
    learner = np.repeat(np.arange(n_learners), np.diff(first))
    is_tree = bank.kind == TREE
    by_path = is_tree[learner] & (group >= n_learners)
    reads = np.where(by_path[:, np.newaxis], np.uint64(0), _pack_rows(np.ones((len(X), 1), np.bool_)))
    ends, tree = np.append(nodes.root, len(nodes.word)), np.where(is_tree, bank.index, -1).astype(np.int64)
    engine.note_reads(leaves, ends, nodes.parent, nodes.feature, tree, first, group, needs, reads)
    return group, learner, reads


def _pack_rows(bits: B1) -> NDArray[np.uint64]:
    """Pack bool (n, M) into words over the rows: uint64 (M, W)."""
    n_words = word_count(len(bits))
    bytes_ = np.zeros((bits.shape[1], 8 * n_words), np.uint8)
    packed = np.packbits(bits, axis=0, bitorder="little").T
    bytes_[:, : packed.shape[1]] = packed
    return bytes_.view("<u8").astype(np.uint64, copy=False)


def _tabulate_weights(weight: F8) -> F8:
    """Tabulate the weight of each byte's rows: float64 (8 W, 256) for weights (n,)."""
    padded = np.zeros(64 * word_count(len(weight)))
    padded[: len(weight)] = weight
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little")
    return np.asarray(padded.reshape(-1, 8) @ bits.T.astype(np.float64))
