"""Saved models of xgboost 1.0 to 3.2, JSON or UBJSON, read without xgboost: a broken file ends its process.

Whatever version wrote a file, it is read as xgboost 3.2 reads it. Every number, length and range in it is checked
before anything is made of it, so memory stays in proportion to the file.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.adoption.adopted import choose_names, one_answer
from costframe.adoption.documents import Part, parse_json
from costframe.adoption.ubjson import parse_ubjson
from costframe.adoption.xgboost_objectives import read_link, read_margins
from costframe.adoption.xgboost_trees import TreeReader, read_float32
from costframe.core.errors import AdoptionError, BankError, DataError, StageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["adopt_xgboost_file", "looks_like_xgboost"]

_NEWEST = (3, 2)
_SPACE = b"\xef\xbb\xbf \t\r\n"
_BOOSTERS = ("gbtree", "dart", "gblinear")
_MOST_UNNAMED = 100_000  # columns without names in the file: names of 10^7 columns take a gigabyte
_FEW_WEIGHTS = 2**22  # weights of outputs that any file may have; more must be in proportion to the file
_LARGEST = 2**53
_ASCII = 127
_OF_CLASSES = ("sigmoid", "softmax", "step")


def looks_like_xgboost(data: bytes) -> bool:
    """Return whether the content of a file is a model of xgboost, or what is left of one; legacy binaries too."""
    if data.lstrip(_SPACE).startswith(b"{"):
        return b"gradient_booster" in data or b"learner" in data[:100]
    return _is_legacy(data)


def _is_legacy(data: bytes) -> bool:
    """Return whether data begin like a binary model: 136 bytes of parameters, then objective and booster."""
    if data.startswith((b"binf", b"bs64", b"CONFIG-offset:")):
        return True
    length = int.from_bytes(data[136:144], "little")
    booster = data[152 + length : 160 + length]
    return length < 64 and booster.startswith(tuple(name.encode() for name in _BOOSTERS))


def adopt_xgboost_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a file that xgboost saved, exactly; see `adopt_xgboost`.

    All of its trees predict, as in a Booster loaded from it.

    Parameters
    ----------
    data : bytes
        JSON or UBJSON; which one, the content tells.
    where : str
        Name of the file in errors.
    feature_names : sequence of str, optional
        Names by position. By default the file's own, else f0, f1, ... of at most 100,000 columns.

    Raises
    ------
    AdoptionError
        If the content is not a whole model, or has a part that cannot be adopted; the text names it.
    """
    return adopt_saved(data, where, feature_names, None)


def adopt_saved(
    data: bytes, where: str, feature_names: Sequence[str] | None, classes: NDArray[np.generic] | None
) -> StageTree:
    """Adopt a saved model whose classes may be known from its estimator."""
    if _is_legacy(data):
        raise AdoptionError(
            f"{where}: is a legacy binary file of xgboost; load it with xgboost < 3.1 and save it as .json or .ubj"
        )
    text = data.lstrip(_SPACE)
    document = parse_ubjson(data, where) if text[1:2] in {b"i", b"U", b"I", b"l", b"L"} else parse_json(data, where)
    _check_version(document)
    model = _Model.of(document.get("learner"), feature_names, len(data))
    try:
        tree = model.linear() if model.booster == "gblinear" else model.trees()
        return tree.with_classes(model.labels(classes))
    except (BankError, StageError, DataError) as error:
        raise AdoptionError(f"{where}: {error}") from error


def _check_version(document: Part) -> None:
    version = tuple(document.get("version").wholes(3, high=10**6).tolist()[:2])
    if not (1, 0) <= version <= _NEWEST:
        age = "newer" if version > _NEWEST else "older"
        raise document.refuse(
            f"written by xgboost {version[0]}.{version[1]}, {age} than known (1.0 to {_NEWEST[0]}.{_NEWEST[1]})"
        )


@frozen
class _Model:
    """The parts of a document that all boosters have, checked."""

    learner: Part
    booster: str
    boosting: Part
    names: tuple[str, ...]
    margins: NDArray[np.float64]
    link: str
    room: int  # most weights of outputs

    @classmethod
    def of(cls, learner: Part, feature_names: Sequence[str] | None, size: int) -> _Model:
        sizes, boosting = learner.get("learner_model_param"), learner.get("gradient_booster")
        classes = sizes.get("num_class").whole()
        targets = sizes.get("num_target").whole() if sizes.has("num_target") else 1
        n_scores = max(classes, targets, 1)
        if n_scores > size or min(classes, targets) > 1:
            raise sizes.refuse(f"expected classes or targets that fit the file, got {classes:,} and {targets:,}")
        booster = boosting.get("name").text()
        if booster not in _BOOSTERS:
            raise boosting.refuse(f"expected a booster of {', '.join(_BOOSTERS)}, got {booster[:40]!r}")
        return cls(
            learner,
            booster,
            boosting,
            _names(learner, feature_names, sizes.get("num_feature").whole(1)),
            read_margins(sizes.get("base_score"), learner.get("objective"), n_scores),
            read_link(learner.get("objective")),
            max(_FEW_WEIGHTS, 4 * size),
        )

    def trees(self) -> StageTree:
        """Return the predictor of boosted trees."""
        dart = self.booster == "dart"
        model = (self.boosting.get("gbtree") if dart else self.boosting).get("model")
        trees, groups = model.get("trees"), model.get("tree_info").wholes(high=len(self.margins) - 1)
        model.get("gbtree_model_param").get("num_trees").whole(len(trees), len(trees))
        if not len(trees):
            raise model.refuse("it has no trees; train it for at least one round")
        _check_rounds(model, len(trees))
        labels, numbers = _categories(model, self.names)
        reader = TreeReader(self.names, len(self.margins), numbers)
        tables = []
        for number, tree in enumerate(trees.items()):
            tree.get("id").whole(number, number)
            tables.append(reader.read(tree))
        table = TreeTable.concatenate(tables)
        weights = self._weights(table, groups, model)
        if dart:
            dropped = read_float32(self.boosting.get("weight_drop"), len(trees))
            weights *= np.repeat(dropped.astype(np.float64), table.width)[:, None]
        return one_answer(table, self.names, weights, self.margins, self.link, labels)

    def _weights(self, table: TreeTable, groups: NDArray[np.int64], model: Part) -> NDArray[np.float64]:
        """Return weights, float64 (sum of widths, K): a tree of one output adds to one score, a wider one to all."""
        n_scores, n_outputs = len(self.margins), int(table.width.sum(dtype=np.int64))
        if len(groups) != len(table):
            raise model.refuse(f"expected {len(table):,} entries of 'tree_info', got {len(groups):,}")
        if n_outputs * n_scores > self.room:
            raise model.refuse(f"{n_outputs:,} outputs of trees for {n_scores:,} scores need too much memory")
        wide = table.width[0] > 1
        if (table.width != table.width[0]).any():
            raise model.refuse("some trees have one output, others several")
        weights = np.zeros((n_outputs, n_scores))
        weights[np.arange(n_outputs), np.tile(np.arange(n_scores), len(table)) if wide else groups] = 1.0
        return weights

    def linear(self) -> StageTree:
        """Return the predictor of a linear model.

        xgboost skips missing values, so 0 stands for them; and it adds the first base score to all scores.
        """
        weights = self.boosting.get("model").get("weights")
        shape = len(self.names) + 1, len(self.margins)
        values = read_float32(weights, shape[0] * shape[1]).astype(np.float64).reshape(shape)
        read = np.flatnonzero((values[:-1] != 0).any(axis=1))
        bank = WeakLearnerBank.columns(self.names, read.tolist(), fill=0.0)
        answer = Answer(np.arange(len(bank)), values[:-1][read], self.margins[0] + values[-1], self.link)
        return StageTree(bank, (answer,))

    def labels(self, known: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
        """Return the labels of classes, the known ones or those of the scikit-learn classifier that wrote the file."""
        attributes, sizes = self.learner.get("attributes"), self.learner.get("learner_model_param")
        if self.link not in _OF_CLASSES or (sizes.has("num_target") and sizes.get("num_target").whole() > 1):
            return None
        expected = max(2, len(self.margins))
        if known is None and attributes.has("scikit_learn"):
            text = attributes.get("scikit_learn")
            estimator = parse_json(text.text().encode(errors="surrogatepass"), text.where)
            if estimator.has("classes_"):  # before 1.6
                labels = estimator.get("classes_")
                named = len(labels) > 0 and isinstance(labels.value[0], str)
                known = np.array(labels.texts()) if named else labels.reals()
            elif estimator.has("_estimator_type") and estimator.get("_estimator_type").text() == "classifier":
                known = np.arange(expected)
        return known if known is not None and known.shape == (expected,) else None


def _names(learner: Part, given: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    own = learner.get("feature_names").texts() if learner.has("feature_names") else ()
    if given is None and not own and n_features > _MOST_UNNAMED:
        raise learner.refuse(f"it has {n_features:,} features without names; give feature_names")
    return choose_names(given, own or None, n_features, learner.where)


def _check_rounds(model: Part, n_trees: int) -> None:
    """Refuse rounds that leave trees out: xgboost predicts with the trees that they list."""
    if not model.has("iteration_indptr"):  # before 2.0
        return
    rounds = model.get("iteration_indptr").wholes(high=n_trees)
    if not len(rounds) or rounds[0] != 0 or rounds[-1] != n_trees or (np.diff(rounds) < 0).any():
        raise model.refuse(f"'iteration_indptr' must rise from 0 to {n_trees}")


def _categories(
    model: Part, names: tuple[str, ...]
) -> tuple[dict[str, tuple[str, ...]], dict[int, NDArray[np.float64] | None]]:
    """Return the categories that a data frame had in training: labels by name, numbers by position, None if garbled.

    Since 3.1 xgboost keeps them and encodes frames by them, whatever their own order, as predictors do with labels.
    """
    labels: dict[str, tuple[str, ...]] = {}
    numbers: dict[int, NDArray[np.float64] | None] = {}
    found = list(model.get("cats").get("enc").items()) if model.has("cats") else []
    if len(found) not in {0, len(names)}:
        raise model.refuse(f"expected categories of {len(names)} features, got {len(found)}")
    for column, each in enumerate(found):
        values = each.get("values").wholes(low=-_LARGEST, high=_LARGEST)
        if not each.has("offsets"):
            _check_distinct(values.tolist(), each)
            numbers[column] = values.astype(np.float64)
        elif ((values < 0) | (values > _ASCII)).any():
            numbers[column] = None
        elif len(values):
            labels[names[column]] = _texts(each, values)
            _check_distinct(labels[names[column]], each)
    return labels, numbers


def _texts(each: Part, values: NDArray[np.int64]) -> tuple[str, ...]:
    """Return texts that follow each other in ASCII."""
    ends = each.get("offsets").wholes(high=len(values))
    if not len(ends) or ends[0] != 0 or ends[-1] != len(values) or (np.diff(ends) < 0).any():
        raise each.refuse(f"'offsets' must rise from 0 to {len(values)}")
    text = values.astype(np.uint8).tobytes().decode("ascii")
    return tuple(text[begin:end] for begin, end in pairwise(ends.tolist()))


def _check_distinct(categories: Sequence[str | int], each: Part) -> None:
    if len(set(categories)) < len(categories):
        raise each.refuse("a category comes twice")
