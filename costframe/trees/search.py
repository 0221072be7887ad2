"""Searching leaves for splits: histograms, siblings by subtraction, the best split of each feature."""

from __future__ import annotations

from math import ldexp
from typing import TYPE_CHECKING, TypeAlias

import attrs
import numpy as np

from costframe.core.threads import run_parallel
from costframe.trees.scaling import power_of_two
from costframe.trees.split import Candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.trees.binning import BinnedData
    from costframe.trees.histogram import ColumnBlock
    from costframe.trees.leaf import Leaf
    from costframe.trees.packing import PackedGradients
    from costframe.trees.split import Limits

__all__ = ["Family", "SplitSearch"]

_Numbers: TypeAlias = "tuple[int, NDArray[np.float64], NDArray[np.float64]]"  # count bits, units, limits

_CELLS_WORTH_THREADS = 400_000  # what two threads must save to pay for waking the second
_CELLS_PER_BIN = 8  # scanning a bin takes about as long as adding so many cells
_CACHED = 2**23  # bytes of bins that stay in a cache; beyond it, each thread had better read rows of its own
_ROWS_PER_THREAD = 8192  # at least, where threads share the rows


@attrs.define(eq=False)
class Family:
    """Leaves that are searched together.

    Parameters
    ----------
    small, large : Leaf, Leaf or None
        Two siblings, the one with fewer rows first; or the root alone.
    parent : int64 (k, 256, 1 or 2), optional
        The parent's histogram, if there is a larger child: it becomes this child's own.
    """

    small: Leaf
    large: Leaf | None = None
    parent: NDArray[np.int64] | None = None
    added: bool = attrs.field(default=False, init=False)  # whether the smaller one's histogram is filled

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """One or two leaves."""
        return (self.small,) if self.large is None else (self.small, self.large)


@attrs.define(eq=False)
class SplitSearch:
    """All that searches for one tree share.

    Parameters
    ----------
    data : BinnedData
        Training rows.
    packed : PackedGradients
        Their gradients.
    blocks, wide_blocks : list of ColumnBlock
        Columns to search, cut for several threads and for one.
    limits : Limits
        What children must have.
    n_threads : int
        Does not change the result.
    signs : int8 (d,), optional
        Features with which outputs must rise (1) or fall (-1).
    """

    data: BinnedData
    packed: PackedGradients
    blocks: list[ColumnBlock]
    wide_blocks: list[ColumnBlock]
    limits: Limits
    n_threads: int
    signs: NDArray[np.int8] | None = None
    _spare: list[NDArray[np.int64]] = attrs.field(factory=list, init=False)

    def search(self, families: Sequence[Family]) -> None:
        """Fill in histograms, and the candidates of leaves that have (empty) ones; others need no search."""
        for family in families:
            if family.large is not None:
                family.large.histogram = family.parent
            family.added = self._share_rows(family.small)
            family.small.histogram = self._add_by_rows(family.small.rows) if family.added else self._take()
        numbers = self._numbers()

        def search_block(block: ColumnBlock) -> None:
            for family in families:
                self._search_family(block, family, numbers)

        worth = self.n_threads > 1 and self._cells(families) > _CELLS_WORTH_THREADS
        run_parallel(search_block, self.blocks if worth else self.wide_blocks, self.n_threads if worth else 1)

    def release(self, leaf: Leaf) -> None:
        """Take back the histogram of a leaf that has no more use for it."""
        if leaf.histogram is not None:
            self._spare.append(leaf.histogram)
            leaf.histogram = None

    def empty_candidates(self) -> Candidates:
        """Mark a leaf as one to be searched."""
        mapper = self.data.mapper
        return Candidates.none(mapper.n_features, categories=mapper.has_categories)

    def _search_family(self, block: ColumnBlock, family: Family, numbers: _Numbers) -> None:
        from costframe.trees.split_kernels import subtract

        small = family.small.histogram[block.place]  # type: ignore[index] # set just before
        if not family.added:
            self._add(family.small.rows, block, small)
        if family.large is not None:
            subtract(family.large.histogram[block.place], small, block.n_bins)  # type: ignore[index] # likewise
        for leaf in family.leaves:
            if self.signs is None:
                self._search_leaf(block, leaf, numbers)
            else:
                self._search_monotone(block, leaf, numbers, self.signs)

    def _add(self, rows: NDArray[np.int32], block: ColumnBlock, histogram: NDArray[np.int64]) -> None:
        from costframe.trees.histogram_kernels import add_rows

        add_rows(self.data.bins, self.packed.words, rows, block.columns, histogram)

    def _share_rows(self, leaf: Leaf) -> bool:
        """Whether threads share a leaf's rows instead of the columns."""
        enough = leaf.count >= self.n_threads * _ROWS_PER_THREAD
        return self.n_threads > 1 and enough and self.data.bins.size > _CACHED

    def _add_by_rows(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """Make a histogram, each thread adding up some of the rows; sums of integers come out the same."""
        histograms = [self._take() for _ in range(self.n_threads)]
        parts = list(zip(np.array_split(rows, self.n_threads), histograms, strict=True))

        def add_part(part: tuple[NDArray[np.int32], NDArray[np.int64]]) -> None:
            for block in self.wide_blocks:
                self._add(part[0], block, part[1][block.place])

        run_parallel(add_part, parts, self.n_threads)
        for histogram in histograms[1:]:
            histograms[0] += histogram
        self._spare += histograms[1:]
        return histograms[0]

    def _search_leaf(self, block: ColumnBlock, leaf: Leaf, numbers: _Numbers) -> None:
        from costframe.trees.split_kernels import find_splits

        found = leaf.candidates
        if found is not None and leaf.histogram is not None:
            total = np.array([leaf.sums.word, leaf.sums.hessian_word], np.int64)
            find_splits(
                leaf.histogram[block.place], block.n_bins, block.columns, total, *numbers,
                found.gain, found.bin, found.missing_left, found.left,
            )  # fmt: skip
            if self.data.mapper.has_categories:
                self._search_categories(block, leaf.histogram, total, numbers, found)

    def _search_categories(
        self,
        block: ColumnBlock,
        histogram: NDArray[np.int64],
        total: NDArray[np.int64],
        numbers: _Numbers,
        found: Candidates,
    ) -> None:
        """Replace what was found on categorical columns as if their bins were in order."""
        from costframe.trees.category_kernels import find_category_splits

        places = np.flatnonzero(self.data.mapper.categorical[block.columns])
        find_category_splits(
            histogram[block.place], places, block.n_bins, block.columns, total, *numbers,
            found.gain, found.missing_left, found.left, found.left_bins,
        )  # fmt: skip

    def _search_monotone(self, block: ColumnBlock, leaf: Leaf, numbers: _Numbers, signs: NDArray[np.int8]) -> None:
        from costframe.trees.monotone_kernels import find_monotone_splits

        found = leaf.candidates
        if found is not None and leaf.histogram is not None:
            total = np.array([leaf.sums.word, leaf.sums.hessian_word], np.int64)
            bounds = np.array([leaf.low, leaf.high]) * power_of_two(-self.packed.gradient_exponent)
            find_monotone_splits(
                leaf.histogram[block.place], block.n_bins, block.columns, total, *numbers, signs, bounds,
                found.gain, found.bin, found.missing_left, found.left,
            )  # fmt: skip

    def _numbers(self) -> _Numbers:
        packed = self.packed
        relative = ldexp(packed.gradient_unit, -packed.gradient_exponent)  # squares of sums below one are doubles
        units = np.array([relative, packed.hessian_unit])
        return packed.count_bits, units, self.limits.as_array()

    def _take(self) -> NDArray[np.int64]:
        """Find room for a histogram, with anything in it."""
        if self._spare:
            return self._spare.pop()
        columns = sum(len(block.columns) for block in self.blocks)
        return np.empty((columns, 256, self.packed.words.shape[1]), np.int64)

    def _cells(self, families: Sequence[Family]) -> int:
        """Estimate the work, in cells added to a histogram."""
        rows = sum(family.small.count for family in families)
        scanned = (
            256 * _CELLS_PER_BIN * sum(leaf.candidates is not None for family in families for leaf in family.leaves)
        )
        return (rows + scanned) * sum(len(block.columns) for block in self.blocks)
