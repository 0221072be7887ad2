"""What a bank gives on training rows, H, kept as leaf numbers: products and Gram matrices without ever holding H."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.errors import BankError
from costframe.core.learners.evaluate import layout_leaves
from costframe.core.learners.node_layout import lay_out_nodes
from costframe.core.learners.symmetric import mirror
from costframe.core.learners.tree_table import TREE
from costframe.core.tables.rows import as_rows
from costframe.core.threads import over_chunks, run_parallel, thread_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.learners.tree_table import TreeTable

__all__ = ["BankOutputs"]

BLOCK = 1 << 22  # numbers that are written out at a time: 32 MiB
GRAM_BLOCK = 1 << 24  # the same where products are as large as the result: fewer passes over that
PART = 1 << 18  # numbers that one thread writes at a time


@frozen(eq=False)
class BankOutputs:
    """H, (n, C) in effect: the outputs of all learners on some rows, in the order of `WeakLearnerBank.outputs`.

    Trees are kept as the number of the leaf that each row ends at, a byte where no tree has more than 256 leaves, and a
    table of what each leaf gives; of columns and opaque learners the outputs themselves are kept.

    Attributes
    ----------
    codes : uint8, uint16 or uint32 (n, trees)
        Leaves, numbered within each tree in the order of its nodes.
    dense : float64 (n, any)
        Outputs of learners that are no trees.
    source : int32 (C,)
        Column of `codes` that an output is read from, or -1 - column of `dense`.
    values : float64 (C, most leaves)
        What each leaf gives; for an output that is no tree's, the first is added to it.
    """

    codes: NDArray[np.unsignedinteger]
    dense: NDArray[np.float64]
    source: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, bank: WeakLearnerBank, X: Any, n_jobs: int | None = None) -> BankOutputs:
        """Evaluate a bank on rows, float64 (n, d) or a data frame."""
        rows = as_rows(X, bank.feature_names, bank.categories)
        codes = _leaf_codes(bank.trees, rows, n_jobs)
        tables = _leaf_tables(bank.trees)
        others = bank.restrict(np.flatnonzero(bank.kind != TREE))
        dense = others.outputs(rows)
        source, values = _sources(bank, tables)
        return cls(codes, dense, source, values)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and outputs."""
        return len(self.codes), len(self.source)

    def columns(self, chosen: NDArray[Any]) -> BankOutputs:
        """Keep some outputs, by number or by mask; nothing large is copied."""
        return evolve(self, source=self.source[chosen], values=self.values[chosen])

    def rows(self, chosen: NDArray[Any]) -> BankOutputs:
        """Keep some rows, by number or by mask."""
        return evolve(self, codes=self.codes[chosen], dense=self.dense[chosen])

    def centered(self, shift: NDArray[np.float64]) -> BankOutputs:
        """Subtract a number from each output: float64 (C,)."""
        return evolve(self, values=self.values - shift[:, np.newaxis])

    def block(self, rows: slice) -> NDArray[np.float64]:
        """Write out consecutive rows: float64 (rows, C)."""
        numbers = np.arange(*rows.indices(self.shape[0]))
        return self._write(numbers, np.ones(len(numbers)), np.empty((len(numbers), self.shape[1])))

    def times(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H B: float64 (n,) for weights (C,), or (n, M) for (C, M)."""
        found = np.empty((self.shape[0], *weights.shape[1:]))
        for rows, block in self._blocks(np.ones(self.shape[0])):
            found[rows] = block @ weights
        return found

    def rmatvec(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H' V: float64 (C,) for values (n,), or (C, M) for (n, M)."""
        found = np.zeros((self.shape[1], *values.shape[1:]))
        for rows, block in self._blocks(np.ones(self.shape[0])):
            found += block.T @ values[rows]
        return found

    def gram(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return H' diag(weight) H: float64 (C, C), symmetric, for weights (n,) >= 0."""
        return self.products(weight, np.empty((self.shape[0], 0)))[0]

    def products(
        self, weight: NDArray[np.float64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return H' diag(weight) H, (C, C), and H' diag(weight) V, (C, M): weights (n,) >= 0, values (n, M).

        Rows that weigh nothing cost nothing. It holds 128 MiB besides the result.
        """
        from scipy.linalg.blas import dsyrk

        if (weight < 0).any():
            raise BankError(f"weight: expected numbers >= 0, got {weight.min()}")
        n_outputs, root = self.shape[1], np.sqrt(weight)
        found, right = np.zeros((n_outputs, n_outputs), order="F"), np.zeros((n_outputs, values.shape[1]))
        for rows, block in self._blocks(root, GRAM_BLOCK) if n_outputs else ():
            found = dsyrk(1.0, block.T, beta=1.0, c=found, overwrite_c=1)  # the upper triangle
            right += block.T @ (root[rows, np.newaxis] * values[rows])
        mirror(found)
        return found.T, right

    def mean(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted mean of each output: float64 (C,), for weights (n,)."""
        return np.asarray(self.rmatvec(weight) / weight.sum())

    def comparisons(
        self, bank: WeakLearnerBank, split: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what the comparisons inside each learner cost on average: float64 (T,).

        Parameters
        ----------
        bank : WeakLearnerBank
            The one these are the outputs of.
        split : float64 (d,)
            Price of a comparison with each feature.
        weight : float64 (n,)
        """
        paid = np.zeros(len(bank))
        if split.any() and len(bank.trees):
            spent = _of_leaves(bank.trees, _spent(bank.trees, split))
            trees = evolve(self, source=np.arange(len(bank.trees), dtype=np.int32), values=spent)
            paid[bank.kind == TREE] = trees.mean(weight)[bank.index[bank.kind == TREE]]
        return paid

    def _blocks(
        self, factor: NDArray[np.float64], most: int = BLOCK
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield row numbers and their outputs times a factor (n,), in a buffer that the next ones are written to.

        Rows whose factor is zero are left out.
        """
        rows = np.flatnonzero(factor)
        step = min(len(rows), max(1, most // max(1, self.shape[1])))
        buffer = np.empty((step, self.shape[1]))
        for begin in range(0, len(rows), max(1, step)):
            part = rows[begin : begin + step]
            yield part, self._write(part, factor[part], buffer[: len(part)])

    def _write(
        self, rows: NDArray[np.int64], factor: NDArray[np.float64], out: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        from costframe.core.learners.outputs_kernels import write_outputs

        def write(part: slice) -> None:
            write_outputs(self.codes, self.dense, self.source, self.values, rows[part], factor[part], out[part])

        step = max(1, PART // max(1, self.shape[1]))
        run_parallel(write, [slice(i, i + step) for i in range(0, len(rows), step)], thread_count())
        return out


def _ordinals(trees: TreeTable) -> NDArray[np.int64]:
    """Count the leaves before each node of its tree: int64 (nodes,), a leaf's number."""
    before = np.concatenate([[0], np.cumsum(trees.feature < 0)])
    return np.asarray(before[:-1] - before[trees.first[:-1]][trees.tree_of_node])


def _leaf_codes(trees: TreeTable, X: NDArray[np.float64], n_jobs: int | None) -> NDArray[np.unsignedinteger]:
    nodes, ordinal = lay_out_nodes(trees, X.shape[1]), _ordinals(trees)
    smallest = np.min_scalar_type(int(ordinal.max(initial=0)))
    codes = np.empty((len(X), len(trees)), smallest)
    number = ordinal[nodes.origin].astype(smallest)

    def chunk(part: slice) -> None:
        found = np.empty((part.stop - part.start, len(trees)), np.int32)
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), found)
        codes[part] = number[found]

    over_chunks(chunk, len(X), n_jobs)
    return codes


def _of_leaves(trees: TreeTable, of_node: NDArray[np.float64]) -> NDArray[np.float64]:
    """Arrange a number of each node by tree and leaf: float64 (trees, most leaves)."""
    leaf, ordinal = trees.feature < 0, _ordinals(trees)
    table = np.zeros((len(trees), int(ordinal.max(initial=0)) + 1))
    table[trees.tree_of_node[leaf], ordinal[leaf]] = of_node[leaf]
    return table


def _leaf_tables(trees: TreeTable) -> list[NDArray[np.float64]]:
    """Tell what each tree's leaves give: float64 (trees, most leaves) for its first output, its second, ..."""
    tables = []
    for k in range(int(trees.width.max(initial=0))):
        has = (trees.feature < 0) & (trees.width[trees.tree_of_node] > k)
        given = np.zeros(trees.n_nodes)
        given[has] = trees.values[trees.value[has] + k]
        tables.append(_of_leaves(trees, given))
    return tables


def _sources(bank: WeakLearnerBank, tables: list[NDArray[np.float64]]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return where each output is read, int32 (C,), and its table, float64 (C, most leaves)."""
    owner = np.repeat(np.arange(len(bank)), bank.widths)
    output = np.arange(len(owner)) - np.repeat(np.cumsum(bank.widths) - bank.widths, bank.widths)
    tree = bank.kind[owner] == TREE
    source = np.empty(len(owner), np.int32)
    source[tree] = bank.index[owner[tree]]
    source[~tree] = -1 - np.arange((~tree).sum())
    values = np.zeros((len(owner), tables[0].shape[1] if tables else 1))
    for c in np.flatnonzero(tree):
        values[c] = tables[output[c]][source[c]]
    return source, values


def _spent(trees: TreeTable, split: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tell what comparisons cost on the way to each node: float64 (nodes,)."""
    spent, first = np.zeros(trees.n_nodes), trees.first[:-1][trees.tree_of_node]
    level = trees.first[:-1][trees.feature[trees.first[:-1]] >= 0]
    while len(level):
        here = spent[level] + split[trees.feature[level]]
        below = [first[level] + trees.left[level], first[level] + trees.right[level]]
        for children in below:
            spent[children] = here
        both = np.concatenate(below)
        level = both[trees.feature[both] >= 0]
    return spent
