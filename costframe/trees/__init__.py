"""The CART engine: histogram trees over uint8 bins; the files in the order the data flows.

`binning` turns values into bins, `packing` gradients into integers, `histogram` adds these up per bin, `split` finds
the best split of each feature, `prices` says what it costs, `partition` moves the rows, `grow` puts it together.
"""

from costframe.trees.binning import BinMapper, BinnedData
from costframe.trees.finish import GrownTree
from costframe.trees.grow import grow_tree
from costframe.trees.losses import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from costframe.trees.prices import NoPrices, OncePrices, SplitPrices
from costframe.trees.ranking import LambdaRankLoss, PairwiseLoss

__all__ = [
    "BinMapper",
    "BinnedData",
    "GrownTree",
    "LambdaRankLoss",
    "LogisticLoss",
    "Loss",
    "NoPrices",
    "OncePrices",
    "PairwiseLoss",
    "SoftmaxLoss",
    "SplitPrices",
    "SquaredLoss",
    "grow_tree",
]
