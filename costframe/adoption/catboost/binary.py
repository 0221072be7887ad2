"""CatBoost's .cbm files: a FlatBuffers table, whose fields are numbered as in CatBoost's model.fbs and features.fbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption.catboost.flatbuffers import Table, read_root
from costframe.adoption.catboost.info import read_classes, read_cut, read_link
from costframe.adoption.catboost.model import (
    CATEGORICAL,
    DEEPEST,
    FLOAT,
    CatBoostModel,
    Feature,
    Forest,
    SplitGroup,
    Splits,
    SymmetricForest,
    ctr_reason,
)
from costframe.adoption.documents import Part
from costframe.core.errors import AdoptionError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["MAGIC", "read_binary"]

MAGIC = b"CBM1"
_FORMAT = "FlabuffersModel_v1"  # CatBoost's own spelling
_AS_TRUE = 2  # of ENanValueTreatment
_TEXT, _EMBEDDING = "text", "embedding"
_OTHERS = {CATEGORICAL: 4, _TEXT: 12, _EMBEDDING: 18}
_STEP = np.dtype([("left", "<u2"), ("right", "<u2")])


def read_binary(data: bytes, where: str) -> CatBoostModel:
    """Return the model of a .cbm file."""
    size = int.from_bytes(data[4:8], "little")
    if len(data) < 8 or len(data) - 8 < size:
        raise AdoptionError(f"{where}: is truncated, {size + 8:,} bytes are needed, there are {len(data):,}")
    core = read_root(data[8 : 8 + size], where)
    if (form := core.text(0)) != _FORMAT:
        raise AdoptionError(f"{where}: expected the format {_FORMAT!r}, got {form!r}")
    model = core.table(1, "model")
    if model is None:
        raise AdoptionError(f"{where}: it has no trees; train it for at least one iteration")
    info = Part({entry.text(0): entry.text(1) for entry in core.tables(2, "info")}, where)
    floats = list(_floats(model))
    others = {kind: list(_features(model, field, kind)) for kind, field in _OTHERS.items()}
    groups = [*floats, *_estimated(model, others), *_one_hot(model, others), *_ctrs(model, others)]
    splits, trees = Splits.of(groups, where), _trees(model)
    width = trees.outputs.shape[1]
    splits.check_used(trees.split[trees.split >= 0] if isinstance(trees, Forest) else trees.split, where)
    features = [group.feature for group in floats if group.feature] + [
        each for kind in others.values() for each in kind
    ]
    scale, bias = _scale_and_bias(model, width)
    link, classes, cut = read_link(info, width), read_classes(info, width), read_cut(info)
    return CatBoostModel(where, features, splits, trees, scale, bias, link, classes, cut)


def _floats(model: Table) -> Iterator[SplitGroup]:
    for table in model.tables(5, "float feature"):
        feature = Feature(FLOAT, table.scalar(2, "i", -1), table.scalar(1, "i", -1), table.text(4))
        nan_right = table.scalar(0, "?", default=False) and table.scalar(5, "b", 0) == _AS_TRUE
        yield SplitGroup(feature, _borders(table, 3), nan_right)


def _borders(table: Table, field: int) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # of some kinds of NaN, which are refused later
        return table.vector(field, "f4").astype(np.float64)


def _features(model: Table, field: int, kind: str) -> Iterator[Feature]:
    for table in model.tables(field, f"{kind} feature"):
        yield Feature(kind, table.scalar(1, "i", -1), table.scalar(0, "i", -1), table.text(2))


def _estimated(model: Table, features: dict[str, list[Feature]]) -> Iterator[SplitGroup]:
    """Return the groups of splits by what CatBoost made of texts and embeddings."""
    known = {(kind, one.index): one for kind in (_TEXT, _EMBEDDING) for one in features[kind]}
    for table in model.tables(13, "estimated feature"):
        index = table.scalar(0, "i", -1)
        used = [
            f"{kind} feature {shown(known[kind, index].title)}"
            for kind in (_TEXT, _EMBEDDING)
            if (kind, index) in known
        ]
        reason = f"it splits by the {' or the '.join(used) or 'text'}, which cannot be adopted; train it without"
        yield SplitGroup(None, _borders(table, 3), reason=reason)


def _one_hot(model: Table, features: dict[str, list[Feature]]) -> Iterator[SplitGroup]:
    known = {feature.index: feature for feature in features[CATEGORICAL]}
    for table in model.tables(6, "one-hot feature"):
        index = table.scalar(0, "i", -1)
        if index not in known:
            raise AdoptionError(f"{table.where}: there is no categorical feature {index}")
        yield SplitGroup(known[index], table.vector(1, "u4").astype(np.float64))


def _ctrs(model: Table, features: dict[str, list[Feature]]) -> Iterator[SplitGroup]:
    """Return the groups of splits by statistics of the target."""
    names = {feature.index: feature.title for feature in features[CATEGORICAL]}
    for table in model.tables(7, "CTR"):
        part: Table | None = table
        for name in ("ctr", "base", "combination"):  # each is the first field of the one before
            part = part and part.table(0, name)
        used = [] if part is None else part.vector(0, "i4").tolist()
        reason = ctr_reason([names.get(index, "unknown") for index in used])
        yield SplitGroup(None, _borders(table, 1), reason=reason)


def _trees(model: Table) -> SymmetricForest | Forest:
    width, outputs = model.scalar(0, "i", 0), model.vector(8, "f8").astype(np.float64)
    split, size = model.vector(1, "i4").astype(np.int64), model.vector(2, "i4").astype(np.int64)
    if not len(size):
        raise AdoptionError(f"{model.where}: it has no trees; train it for at least one iteration")
    if width < 1 or len(outputs) % width:
        raise AdoptionError(f"{model.where}: {len(outputs):,} leaf values are not for {width:,} output(s)")
    outputs = outputs.reshape(-1, width)
    steps, start = model.vector(10, _STEP), model.vector(3, "i4")
    if (size < 0).any() or size.sum() != len(split) or (len(start) and (start != np.cumsum(size) - size).any()):
        raise AdoptionError(f"{model.where}: the sizes of its trees do not go with its {len(split):,} splits")
    if len(steps):
        return _free(model, size, split, steps, outputs)
    if size.max() > DEEPEST or (1 << size).sum() != len(outputs):
        raise AdoptionError(
            f"{model.where}: expected trees of at most {DEEPEST} splits with 2^splits leaves, got {size.max()} splits "
            f"at most and {len(outputs):,} leaves"
        )
    return SymmetricForest(size, split, outputs)


def _free(
    model: Table, size: NDArray[np.int64], split: NDArray[np.int64], steps: NDArray[Any], outputs: NDArray[np.float64]
) -> Forest:
    """Return trees of nodes that name their children by the distance to them, 0 for a leaf of the node itself."""
    width, place = outputs.shape[1], model.vector(11, "u4").astype(np.int64)
    if len(steps) != len(split) or len(place) != len(split) or (size < 1).any():
        raise AdoptionError(f"{model.where}: expected {len(split):,} nodes, one or more a tree, got {len(steps):,}")
    low, high = steps["left"].astype(np.int64), steps["right"].astype(np.int64)
    ends, leaf = (low == 0) | (high == 0), (low == 0) & (high == 0)
    if (place[ends] % width != 0).any() or (place[ends] >= outputs.size).any():
        raise AdoptionError(f"{model.where}: a leaf has no outputs among the {outputs.size:,} leaf values")
    tree = np.repeat(np.arange(len(size)), size)
    here = np.arange(len(split)) - (np.cumsum(size) - size)[tree]
    half = np.flatnonzero(ends & ~leaf)  # nodes with one child: their leaves follow the tree's nodes
    extra = np.bincount(tree[half], minlength=len(size))
    follow = np.zeros(len(split), np.int64)
    follow[half] = size[tree[half]] + np.arange(len(half)) - (np.cumsum(extra) - extra)[tree[half]]
    left, right = (np.where(leaf, -1, np.where(step == 0, follow, here + step)) for step in (low, high))
    none = np.full(len(half), -1)
    order = np.argsort(np.concatenate([tree, tree[half]]), kind="stable")
    left, right, split, row = (
        np.concatenate(each)[order]
        for each in (
            (left, none),
            (right, none),
            (np.where(leaf, -1, split), none),
            (np.where(leaf, place // width, -1), place[half] // width),
        )
    )
    return Forest(np.append(0, np.cumsum(size + extra)), left, right, split, row, outputs)


def _scale_and_bias(model: Table, width: int) -> tuple[float, NDArray[np.float64]]:
    """Return the factor of the trees' sums, and what is added: float64 (K,)."""
    scale, bias = model.scalar(14, "d", 1.0), model.vector(16, "f8").astype(np.float64)
    if not len(bias):
        bias = np.full(width, model.scalar(15, "d", 0.0))
    if len(bias) != width or not np.isfinite([scale, *bias]).all():
        raise AdoptionError(f"{model.where}: expected a finite scale, and a finite bias for each of {width} output(s)")
    return scale, bias
