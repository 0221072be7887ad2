"""Searching leaves for splits: histograms, siblings by subtraction, the best split of each feature."""

from __future__ import annotations

from functools import cache
from math import ldexp
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import numpy as np

from costframe.core.threads import run_parallel
from costframe.trees.binning.scaling import power_of_two
from costframe.trees.growing.split import Candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.growing.histogram import ColumnBlock
    from costframe.trees.growing.leaf import Leaf
    from costframe.trees.growing.packing import PackedGradients
    from costframe.trees.growing.split import Limits

__all__ = ["Family", "SplitSearch"]

_Numbers: TypeAlias = "tuple[int, NDArray[np.float64], NDArray[np.float64]]"  # count bits, units, limits

_CELLS_WORTH_THREADS = 400_000  # what two threads must save to pay for waking the second
_CELLS_PER_BIN = 8  # scanning a bin takes about as long as adding so many cells
_CACHED = 2**23  # bytes of bins that stay in a cache; beyond it, each thread had better read rows of its own
_ROWS_PER_THREAD = 8192  # at least, where threads share the rows


@cache
def _kernels() -> Any:
    """Return what is called for every leaf; looked up once."""
    from costframe.trees.growing.category_kernels import find_category_splits
    from costframe.trees.growing.histogram_kernels import add_rows
    from costframe.trees.growing.monotone_kernels import find_monotone_splits
    from costframe.trees.growing.split_kernels import find_splits, search_pair, subtract

    found = add_rows, find_category_splits, find_monotone_splits, find_splits, search_pair, subtract
    return SimpleNamespace(**{each.__name__: each for each in found})


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

    Attributes
    ----------
    numbers : int, float64 (2,), float64 (3,)
        Bits of the count in a first word, units of gradients and hessians, and the limits.
    """

    data: BinnedData
    packed: PackedGradients
    blocks: list[ColumnBlock]
    wide_blocks: list[ColumnBlock]
    limits: Limits
    n_threads: int
    signs: NDArray[np.int8] | None = None
    candidates: Candidates = attrs.field(init=False)
    _shape: tuple[int, int, int] = attrs.field(init=False)
    _spare: list[NDArray[np.int64]] = attrs.field(factory=list, init=False)
    numbers: _Numbers = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        mapper, packed = self.data.mapper, self.packed
        columns, words = sum(len(block.columns) for block in self.wide_blocks), packed.words.shape[1]
        self._shape = columns, 256, words
        if self.wide_blocks is self.data.blocks.get(1):  # all columns
            self._spare = self.data.spare[words - 1]
        self.candidates = Candidates.none(mapper.n_features, categories=mapper.has_categories)
        relative = ldexp(packed.gradient_unit, -packed.gradient_exponent)  # squares of sums below one are doubles
        self.numbers = packed.count_bits, np.array([relative, packed.hessian_unit]), self.limits.as_array()

    def search(self, families: Sequence[Family]) -> None:
        """Fill in histograms, and the candidates of leaves that have (empty) ones; others need no search."""
        for family in families:
            if family.large is not None:
                family.large.histogram = family.parent
            family.added = self.n_threads > 1 and self._share_rows(family.small)
            family.small.histogram = self._add_by_rows(family.small.rows) if family.added else self._take()

        def search_block(block: ColumnBlock) -> None:
            for family in families:
                self._search_family(block, family)

        if self.n_threads > 1 and self._cells(families) > _CELLS_WORTH_THREADS:
            run_parallel(search_block, self.blocks, self.n_threads)
            return
        for block in self.wide_blocks:
            search_block(block)

    def release(self, leaf: Leaf) -> None:
        """Take back the histogram of a leaf that has no more use for it."""
        if leaf.histogram is not None:
            self._spare.append(leaf.histogram)
            leaf.histogram = None

    def _search_family(self, block: ColumnBlock, family: Family) -> None:
        small = family.small.histogram[block.place]  # type: ignore[index] # set just before
        if not family.added:
            self._add(family.small.rows, block, small)
        if family.large is None:
            self._search_leaf(block, family.small)
        else:
            self._search_pair(block, family.small, family.large)

    def _add(self, rows: NDArray[np.int32], block: ColumnBlock, histogram: NDArray[np.int64]) -> None:
        _kernels().add_rows(self.data.bins, self.packed.words, rows, block.columns, histogram)

    def _share_rows(self, leaf: Leaf) -> bool:
        """Whether threads share a leaf's rows instead of the columns."""
        enough = leaf.count >= self.n_threads * _ROWS_PER_THREAD
        return enough and self.data.bins.size > _CACHED

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

    def _search_pair(self, block: ColumnBlock, small: Leaf, large: Leaf) -> None:
        """Make the larger child's histogram of the parent's, and search both."""
        below, above = small.histogram[block.place], large.histogram[block.place]  # type: ignore[index] # both are set
        if self.signs is not None or self.data.mapper.has_categories:
            _kernels().subtract(above, below, block.n_bins)
            self._search_leaf(block, small)
            self._search_leaf(block, large)
            return
        found = self.candidates
        _kernels().search_pair(
            below, above, (*small.sums, *large.sums), (small.slot, large.slot), block.n_bins, block.columns,
            *self.numbers, found.gain, found.bin, found.missing_left, found.left,
        )  # fmt: skip

    def _search_leaf(self, block: ColumnBlock, leaf: Leaf) -> None:
        found, slot, mapper, kernels = self.candidates, leaf.slot, self.data.mapper, _kernels()
        if slot < 0 or leaf.histogram is None:
            return
        asked = leaf.histogram[block.place], block.n_bins, block.columns, np.array(leaf.sums, np.int64), *self.numbers
        gain, missing_left, left = found.gain[slot], found.missing_left[slot], found.left[slot]
        bounds = np.array([leaf.low, leaf.high]) * power_of_two(-self.packed.gradient_exponent)
        if self.signs is None:
            kernels.find_splits(*asked, gain, found.bin[slot], missing_left, left)
        else:
            kernels.find_monotone_splits(*asked, self.signs, bounds, gain, found.bin[slot], missing_left, left)
        if mapper.has_categories:  # replaces what was found on categorical columns as if their bins were in order
            places = np.flatnonzero(mapper.categorical[block.columns])
            kernels.find_category_splits(
                asked[0], places, *asked[1:], bounds, gain, missing_left, left, found.left_bins[slot]
            )

    def _take(self) -> NDArray[np.int64]:
        """Find room for a histogram, with anything in it."""
        try:
            return self._spare.pop()
        except IndexError:  # another thread may have taken the last
            return np.empty(self._shape, np.int64)

    def _cells(self, families: Sequence[Family]) -> int:
        """Estimate the work, in cells added to a histogram."""
        rows = sum(family.small.count for family in families)
        scanned = 256 * _CELLS_PER_BIN * sum(leaf.slot >= 0 for family in families for leaf in family.leaves)
        return (rows + scanned) * self._shape[0]
