"""Outputs H of a bank on training rows, kept as leaf numbers, with products and Gram matrices computed in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8, I8
from costframe.core.errors import BankError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.node_layout import lay_out_nodes, layout_leaves, path_prices
from costframe.core.learners.tree_table import TREE, TreeTable, ranges
from costframe.core.machine import over_chunks, run_parallel, thread_count
from costframe.core.sums import AccurateSums, exact_sum, product
from costframe.core.tables.rows import as_rows

BLOCK = 1 << 22  # numbers written at a time: 32 MiB
GRAM_BLOCK = 1 << 24  # the same for Gram matrices: fewer passes over the result
PART = 1 << 18  # numbers that one thread writes at a time


@frozen(eq=False)
class BankOutputs:
    """The matrix H, (n, C): outputs of all learners on some rows, in the order of `WeakLearnerBank.outputs`.

    For a tree it keeps the number of each row's leaf, one byte if no tree has more than 256 leaves, and a table of the
    leaves' outputs; for columns and opaque learners, the outputs.

    Attributes
    ----------
    codes : uint8, uint16 or uint32 (n, trees)
        Leaves, numbered within each tree in the order of its nodes.
    dense : float64 (n, any)
        Outputs of columns and opaque learners.
    source : int32 (C,)
        Column of `codes` for each output, or -1 - its column of `dense`.
    values : float64 (C, most leaves)
        Output of each leaf; for an output in `dense`, the first value is added to it.
    """

    codes: NDArray[np.unsignedinteger]
    dense: F8
    source: NDArray[np.int32]
    values: F8

    @classmethod
    def of(cls, bank: WeakLearnerBank, X: Any, n_jobs: int | None = None) -> BankOutputs:
        """Evaluate a bank on rows, float64 (n, d) or data frame."""
        rows = as_rows(X, bank.feature_names, bank.categories)
        codes = _leaf_codes(bank.trees, rows, n_jobs)
        others = bank.restrict(np.flatnonzero(bank.kind != TREE))
        dense = others.outputs(rows)
        source, values = _locate_outputs(bank)
        return cls(codes, dense, source, values)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and outputs, (n, C)."""
        return len(self.codes), len(self.source)

    def columns(self, chosen: NDArray[Any]) -> BankOutputs:
        """Keep some outputs, by number or by mask, without a large copy."""
        return evolve(self, source=self.source[chosen], values=self.values[chosen])

    def rows(self, chosen: NDArray[Any]) -> BankOutputs:
        """Keep some rows, by number or by mask."""
        return evolve(self, codes=self.codes[chosen], dense=self.dense[chosen])

    def centered(self, shift: F8) -> BankOutputs:
        """Subtract a number from each output: float64 (C,)."""
        return evolve(self, values=self.values - shift[:, np.newaxis])

    def block(self, rows: slice) -> F8:
        """Return consecutive rows of H: float64 (rows, C)."""
        numbers = np.arange(*rows.indices(self.shape[0]))
        return self._write(numbers, np.ones(len(numbers)), np.empty((len(numbers), self.shape[1])))

    def times(self, weights: F8) -> F8:
        """Return H B: float64 (n,) for weights (C,), or (n, M) for (C, M)."""
        by_output = weights.reshape(len(weights), int(np.prod(weights.shape[1:])))
        products = np.empty((self.shape[0], by_output.shape[1]))
        for rows, block in self._blocks(np.ones(self.shape[0])):
            products[rows] = product(block, by_output)
        return products.reshape(len(products), *weights.shape[1:])

    def rmatvec(self, values: F8) -> F8:
        """Return H' V: float64 (C,) for values (n,), or (C, M) for (n, M)."""
        by_row = values.reshape(len(values), int(np.prod(values.shape[1:])))
        sums = AccurateSums(self.shape[1], by_row.shape[1])
        for rows, block in self._blocks(np.ones(self.shape[0])):
            sums.add(block, by_row[rows])
        return sums.total().reshape(self.shape[1], *values.shape[1:])

    def gram(self, weight: F8) -> F8:
        """Return H' diag(weight) H: float64 (C, C), symmetric, for weights (n,) >= 0."""
        return self.products(weight, np.empty((self.shape[0], 0)))[0]

    def products(self, weight: F8, values: F8) -> tuple[F8, F8]:
        """Return H' diag(weight) H, (C, C), and H' diag(weight) V, (C, M): weights (n,) >= 0, values (n, M).

        Rows of weight zero take no time. It needs 128 MiB beside the result.
        """
        from scipy.linalg.blas import dsyrk

        if (weight < 0).any():
            raise BankError(f"weight: expected numbers >= 0, got {weight.min()}")
        n_outputs, root = self.shape[1], np.sqrt(weight)
        gram, right = np.zeros((n_outputs, n_outputs), order="F"), np.zeros((n_outputs, values.shape[1]))
        for rows, block in self._blocks(root, GRAM_BLOCK) if n_outputs else ():
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=1)  # the upper triangle
            right += block.T @ (root[rows, np.newaxis] * values[rows])
        mirror(gram)
        return gram.T, right

    def mean(self, weight: F8) -> F8:
        """Weighted mean of each output: float64 (C,), for weights (n,)."""
        return np.asarray(self.rmatvec(weight) / exact_sum(weight))

    def comparisons(self, bank: WeakLearnerBank, split: F8, weight: F8) -> F8:
        """Return the mean price of the comparisons inside each learner: float64 (T,).

        Parameters
        ----------
        bank : WeakLearnerBank
            The bank with these outputs.
        split : float64 (d,)
            Price of a comparison with each feature.
        weight : float64 (n,)
        """
        paid = np.zeros(len(bank))
        if split.any() and len(bank.trees):
            nodes, spent = lay_out_nodes(bank.trees, len(split)), np.empty(bank.trees.n_nodes)
            spent[nodes.origin] = path_prices(nodes.parent, nodes.feature, split)
            trees = evolve(
                self, source=np.arange(len(bank.trees), dtype=np.int32), values=_select_leaves(bank.trees, spent)
            )
            paid[bank.kind == TREE] = trees.mean(weight)[bank.index[bank.kind == TREE]]
        return paid

    def _blocks(self, factor: F8, most: int = BLOCK) -> Iterator[tuple[I8, F8]]:
        """Yield row numbers and their outputs times a factor (n,), in a buffer that the next block overwrites.

        It leaves out rows whose factor is zero.
        """
        rows = np.flatnonzero(factor)
        step = min(len(rows), max(1, most // max(1, self.shape[1])))
        buffer = np.empty((step, self.shape[1]))
        for begin in range(0, len(rows), max(1, step)):
            part = rows[begin : begin + step]
            yield part, self._write(part, factor[part], buffer[: len(part)])

    def _write(self, rows: I8, factor: F8, out: F8) -> F8:
        def write(part: slice) -> None:
            engine.write_outputs(self.codes, self.dense, self.source, self.values, rows[part], factor[part], out[part])

        step = max(1, PART // max(1, self.shape[1]))
        run_parallel(write, [slice(i, i + step) for i in range(0, len(rows), step)], thread_count())
        return out


def _number_leaves(trees: TreeTable) -> I8:
    """Return the number of leaves before each node in its tree, which numbers the leaves: int64 (nodes,)."""
    before = np.concatenate([[0], np.cumsum(trees.feature < 0)])
    return np.asarray(before[:-1] - before[trees.first[:-1]][trees.tree_of_node])


def _leaf_codes(trees: TreeTable, X: F8, n_jobs: int | None) -> NDArray[np.unsignedinteger]:
    nodes, ordinal = lay_out_nodes(trees, X.shape[1]), _number_leaves(trees)
    smallest = np.min_scalar_type(int(ordinal.max(initial=0)))
    codes = np.empty((len(X), len(trees)), smallest)
    number = ordinal[nodes.origin].astype(smallest)

    def chunk(part: slice) -> None:
        leaves = np.empty((part.stop - part.start, len(trees)), np.int32)
        layout_leaves(nodes, np.ascontiguousarray(X[part], np.float64), leaves)
        codes[part] = number[leaves]

    over_chunks(chunk, len(X), n_jobs)
    return codes


def _select_leaves(trees: TreeTable, of_node: F8) -> F8:
    """Return the values of leaves, from values of nodes, by tree and leaf: float64 (trees, most leaves)."""
    leaf, ordinal = trees.feature < 0, _number_leaves(trees)
    table = np.zeros((len(trees), int(ordinal.max(initial=0)) + 1))
    table[trees.tree_of_node[leaf], ordinal[leaf]] = of_node[leaf]
    return table


def _locate_outputs(bank: WeakLearnerBank) -> tuple[NDArray[np.int32], F8]:
    """Return the source of each output, int32 (C,), and its table of values, float64 (C, most leaves)."""
    trees, first = bank.trees, np.cumsum(bank.widths) - bank.widths
    is_tree = np.repeat(bank.kind == TREE, bank.widths)
    source = np.repeat(bank.index, bank.widths)
    source[~is_tree] = -1 - np.arange((~is_tree).sum())
    leaf, ordinal = np.flatnonzero(trees.feature < 0), _number_leaves(trees)
    first_of_tree = np.empty(len(trees), np.int64)
    first_of_tree[bank.index[bank.kind == TREE]] = first[bank.kind == TREE]
    owner = trees.tree_of_node[leaf]
    outputs = ranges(first_of_tree[owner], trees.width[owner])
    values = np.zeros((len(source), int(ordinal.max(initial=0)) + 1))
    values[outputs, np.repeat(ordinal[leaf], trees.width[owner])] = trees.values[
        ranges(trees.value[leaf], trees.width[owner])
    ]
    return source, values


def mirror(matrix: F8) -> None:
    """Copy the upper triangle of a square matrix to the lower one, in place, block by block."""
    for begin in range(0, len(matrix), 256):
        end = min(begin + 256, len(matrix))
        for i in range(begin, end):
            matrix[i + 1 : end, i] = matrix[i, i + 1 : end]
        matrix[end:, begin:end] = matrix[begin:end, end:].T
