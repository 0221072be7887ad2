"""The learner of an xgboost document, the part that predicts, as a predictor.

Whatever version wrote a document, it is read as xgboost 3.2 reads it; a field that it does not know may change what the
model predicts, and is refused. Every number, length and range is checked before anything is made of it, so memory stays
in proportion to the document.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe.adoption.documents import DocumentPart, parse_json
from costframe.adoption.names import choose_names
from costframe.adoption.trees import one_answer
from costframe.adoption.xgboost.categories import read_categories
from costframe.adoption.xgboost.objectives import read_margins, read_xgboost_link
from costframe.adoption.xgboost.trees import TreeReader, read_float32
from costframe.core.arrays import F8, I8
from costframe.core.errors import AdoptionError, BankError, DataError, StageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.float32_margins import Float32Margins
from costframe.core.stages.stages import Answer
from costframe.core.terms.classes import as_texts

BOOSTERS = ("gbtree", "dart", "gblinear")
_MOST_UNNAMED = 100_000  # columns without names in the file: names of 10^7 columns take a gigabyte
_FEW_WEIGHTS = 2**22  # weights of outputs that any document may have; more must be in proportion to it
_LEARNER = ("attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective")
_SIZES = ("base_score", "boost_from_average", "num_class", "num_feature", "num_target")
_TREES = ("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees")
_TREES_PARAM = ("num_parallel_tree", "num_trees", "size_leaf_vector")
_OF_CLASSES = ("sigmoid", "softmax", "step")


def adopt_document(
    document: DocumentPart,
    size: int,
    feature_names: Sequence[str] | None,
    *,
    classes: NDArray[np.generic] | None = None,
    rounds: int | None = None,
) -> StageTree:
    """Adopt a document that took `size` bytes; an estimator may know its classes, and the rounds that it predicts with.

    Raises
    ------
    AdoptionError
    """
    model = _Model.of(document.get("learner"), feature_names, size)
    try:
        tree = model.linear() if model.booster == "gblinear" else model.trees(rounds)
        if (answer := tree.only_answer) is not None and (rule := model.float32) is not None:
            tree = evolve(tree, stages=(evolve(answer, float32=rule),))
        return tree.with_classes(model.labels(classes))
    except (BankError, StageError, DataError) as error:
        raise AdoptionError(f"{document.where}: {error}") from error


@frozen
class _Model:
    """The parts of a document that all boosters have, checked."""

    learner: DocumentPart
    booster: str
    boosting: DocumentPart
    names: tuple[str, ...]
    margins: F8
    link: str
    n_targets: int
    room: int  # most weights of outputs

    @classmethod
    def of(cls, learner: DocumentPart, feature_names: Sequence[str] | None, size: int) -> _Model:
        learner.only(*_LEARNER)
        sizes = learner.get("learner_model_param").only(*_SIZES)
        boosting = learner.get("gradient_booster").only("name", "model", "gbtree", "weight_drop")
        classes = sizes.get("num_class").whole()
        targets = sizes.get("num_target").whole() if sizes.has("num_target") else 1
        n_scores = max(classes, targets, 1)
        if n_scores > size or min(classes, targets) > 1:
            raise sizes.refuse(f"expected classes or targets that fit the file, got {classes:,} and {targets:,}")
        booster = boosting.get("name").text()
        if booster not in BOOSTERS:
            raise boosting.refuse(f"expected a booster of {', '.join(BOOSTERS)}, got {booster[:40]!r}")
        return cls(
            learner,
            booster,
            boosting,
            _choose_names(learner, feature_names, sizes.get("num_feature").whole(1)),
            read_margins(sizes.get("base_score"), learner.get("objective"), n_scores),
            read_xgboost_link(learner.get("objective")),
            targets,
            max(_FEW_WEIGHTS, 4 * size),
        )

    @property
    def float32(self) -> Float32Margins | None:
        """How xgboost tells the class of a row, for a model of classes."""
        of_two = self.link in {"sigmoid", "step"}
        if self.link not in _OF_CLASSES or self.n_targets > 1 or of_two != (len(self.margins) == 1):
            return None
        largest = self.learner.get("objective").get("name").text() == "multi:softmax"
        return Float32Margins("identity" if largest else self.link, self.booster == "dart")

    def trees(self, rounds: int | None) -> StageTree:
        """Return the predictor of boosted trees, of the first rounds or all."""
        dart = self.booster == "dart"
        model = (
            (self.boosting.get("gbtree").only("name", "model") if dart else self.boosting).get("model").only(*_TREES)
        )
        trees, groups = model.get("trees"), model.get("tree_info").wholes(high=len(self.margins) - 1)
        model.get("gbtree_model_param").only(*_TREES_PARAM).get("num_trees").whole(len(trees), len(trees))
        if not len(trees):
            raise model.refuse("it has no trees; train it for at least one round")
        n_kept = _count_trees(model, len(trees), len(self.margins), rounds)
        labels, numbers = read_categories(model, self.names)
        reader = TreeReader(self.names, len(self.margins), numbers)
        tables = []
        for number, tree in enumerate(trees.items()):
            tree.get("id").whole(number, number)
            tables.append(reader.read(tree))
        table = TreeTable.concatenate(tables[:n_kept])
        if len(groups) != len(trees):
            raise model.refuse(f"expected {len(trees):,} entries of 'tree_info', got {len(groups):,}")
        weights = self._weights(table, groups[:n_kept], model)
        if dart:
            dropped = read_float32(self.boosting.get("weight_drop"), len(trees))[:n_kept]
            weights *= np.repeat(dropped.astype(np.float64), table.width)[:, None]
        return one_answer(table, self.names, weights, self.margins, self.link, labels)

    def _weights(self, table: TreeTable, groups: I8, model: DocumentPart) -> F8:
        """Return weights, float64 (sum of widths, K): a tree of one output adds to one score, a wider one to all."""
        n_scores, n_outputs = len(self.margins), int(table.width.sum(dtype=np.int64))
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
        weights = self.boosting.get("model").only("weights", "boosted_rounds").get("weights")
        shape = len(self.names) + 1, len(self.margins)
        values = read_float32(weights, shape[0] * shape[1]).astype(np.float64).reshape(shape)
        read = np.flatnonzero((values[:-1] != 0).any(axis=1))
        bank = WeakLearnerBank.columns(self.names, read.tolist(), fill=0.0)
        answer = Answer(np.arange(len(bank)), values[:-1][read], self.margins[0] + values[-1], self.link)
        return StageTree(bank, (answer,))

    def labels(self, known: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
        """Return the labels of classes, the known ones or those of the scikit-learn classifier that wrote the file."""
        if self.link not in _OF_CLASSES or self.n_targets > 1:
            return None
        expected = max(2, len(self.margins))
        if known is None and self.learner.has("attributes") and self.learner.get("attributes").has("scikit_learn"):
            known = _read_classes(self.learner.get("attributes").get("scikit_learn"), expected)
        return known if known is not None and known.shape == (expected,) else None


def _choose_names(learner: DocumentPart, given: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    written = learner.get("feature_names").texts() if learner.has("feature_names") else ()
    if given is None and not written and n_features > _MOST_UNNAMED:
        raise learner.refuse(f"it has {n_features:,} features without names; give feature_names")
    return choose_names(given, written or None, n_features, learner.where)


def read_best_rounds(document: DocumentPart) -> int | None:
    """Return the rounds with which an estimator that stopped early predicts, None for other documents.

    A Booster's own document, which may hold its best round too, predicts with all.
    """
    learner = document.get("learner")
    attributes = learner.get("attributes") if learner.has("attributes") else None
    if attributes is None or not attributes.has("scikit_learn") or not attributes.has("best_iteration"):
        return None
    return attributes.get("best_iteration").whole() + 1


def _count_trees(model: DocumentPart, n_trees: int, n_scores: int, rounds: int | None) -> int:
    """Count the trees of the first rounds, or of all."""
    if model.has("iteration_indptr"):
        ends = model.get("iteration_indptr").wholes(high=n_trees)
        if not len(ends) or ends[0] != 0 or ends[-1] != n_trees or (np.diff(ends) < 0).any():
            raise model.refuse(f"'iteration_indptr' must rise from 0 to {n_trees}")
    else:  # before 2.0
        sizes = model.get("gbtree_model_param")
        n_parallel = sizes.get("num_parallel_tree").whole(1, n_trees) if sizes.has("num_parallel_tree") else 1
        ends = np.arange(0, n_trees + 1, n_parallel * n_scores)
    if rounds is None:
        return n_trees
    if rounds >= len(ends):
        raise model.refuse(f"the best round is number {rounds}, it has {len(ends) - 1}")
    return int(ends[rounds])


def _read_classes(written: DocumentPart, expected: int) -> NDArray[np.generic] | None:
    """Return the labels of classes that a scikit-learn wrapper wrote, or the numbers that the wrapper of today has."""
    estimator = parse_json(written.text().encode(errors="surrogatepass"), written.where)
    if estimator.has("classes_"):  # before 1.6
        labels = estimator.get("classes_")
        named = len(labels) > 0 and isinstance(labels.value[0], str)
        return as_texts(labels.texts()) if named else labels.reals()
    kind = estimator.get("_estimator_type").text() if estimator.has("_estimator_type") else ""
    return np.arange(expected) if kind == "classifier" else None
