"""Documents of xgboost's models as predictors: boosted trees, random forests, dart and linear models.

xgboost rounds a value to float32. A comparison is `value < condition`, and NaN goes the node's default way. A test of
categories sends the categories that the node holds to the right, all other values to the left, and NaN the default way;
a value counts without its fraction, and numbers that are negative or 2^24 and more are no category.

Whatever version wrote a document, it is read as xgboost 3.2 reads it; a field that it does not know may change what the
model predicts, and is refused. Every number, length and range is checked before anything is made of it, so memory stays
in proportion to the document.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe.adoption.documents import Part, parse_json
from costframe.adoption.names import choose_names
from costframe.adoption.thresholds import float32_less
from costframe.adoption.trees import one_answer
from costframe.core.arrays import B1, F8, I8, U8
from costframe.core.errors import AdoptionError, BankError, DataError, StageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import PLAIN, WHOLE_FLOAT32, TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.float32_margins import Float32Margins
from costframe.core.stages.stages import Answer
from costframe.core.terms.classes import as_texts

_TREE_FIELDS = (
    "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes", "default_left", "id",
    "leaf_child_counts", "leaf_weights", "left_children", "loss_changes", "parents", "right_children",
    "split_conditions", "split_indices", "split_type", "sum_hessian", "tree_param",
)  # fmt: skip
_PARAM = ("num_deleted", "num_feature", "num_nodes", "num_roots", "size_leaf_vector")
_NO_CATEGORY = 2**24
_MOST = 2**31 - 1


@frozen
class TreeReader:
    """Reads trees of one model."""

    names: tuple[str, ...]  # names of the columns, for errors
    n_scores: int  # outputs of the model: a tree has one output or all
    # for columns whose categories are numbers, by position: the number that each code in the trees stands for.
    # None for texts beyond ASCII: with pandas, xgboost counts their characters as bytes and saves them cut
    numbers: Mapping[int, F8 | None] = field(factory=dict)

    def read(self, tree: Part) -> TreeTable:
        """Return the table of one tree; refuse arrays that do not describe one."""
        left = tree.only(*_TREE_FIELDS).get("left_children").wholes(low=-1, high=_MOST)
        n_nodes, leaf = len(left), left < 0
        tree.get("tree_param").only(*_PARAM).get("num_nodes").whole(n_nodes, n_nodes)
        right = tree.get("right_children").wholes(n_nodes, low=-1, high=_MOST)
        order = _order(left, right, tree)
        column = np.where(leaf, -1, tree.get("split_indices").wholes(n_nodes, high=_MOST * 2 + 1))
        if (column[order] >= len(self.names)).any():
            raise tree.refuse(f"splits a feature beyond the {len(self.names)} of the model")
        condition = read_float32(tree.get("split_conditions"), n_nodes, finite=False)
        threshold = np.where(leaf, np.nan, float32_less(condition))
        default = tree.get("default_left").wholes(n_nodes, high=1).astype(np.bool_)
        position = np.full(n_nodes, -1, np.int32)
        position[order] = np.arange(len(order))
        sets, missing_left, reading = self._categories(tree, column, threshold, default, order)
        arrays = (
            column[order].astype(np.int32),
            threshold[order],
            missing_left[order],
            np.where(leaf, -1, position[left])[order],
            np.where(leaf, -1, position[np.where(leaf, 0, right)])[order],
            self._outputs(tree, condition, right, leaf)[order],
            {int(position[node]): members for node, members in sets.items()},
        )
        try:
            return TreeTable.single(*arrays, reading=reading[order], grown=True)  # `_order` has checked the nodes
        except BankError as error:
            raise tree.refuse(str(error)) from error

    def _categories(
        self, tree: Part, column: I8, threshold: F8, default: B1, order: I8
    ) -> tuple[dict[int, F8], B1, U8]:
        """Return each node's categories that go right, the missing ways, and readings; threshold becomes NaN there.

        Categories go against the missing way, which therefore is left; where the default is right, NaN is one of them.
        """
        sets: dict[int, F8] = {}
        missing_left, reading = default.copy(), np.full(len(default), PLAIN, np.uint8)
        kind = tree.get("split_type").wholes(len(default), high=1) if tree.has("split_type") else np.zeros(len(default))
        inner = order[column[order] >= 0]
        self._check_encoded(tree, column[inner], kind[inner] == 1)
        split = inner[kind[inner] == 1].tolist()
        held = _held(tree, len(default)) if split else {}
        for node in split:
            if node not in held:
                raise tree.refuse(f"node {node} tests for categories, 'categories_nodes' does not list it")
            numbers, missing_left[node] = self.numbers.get(int(column[node])), True
            members = _members(held[node], numbers)
            members = members if default[node] else np.append(members, np.nan)
            threshold[node] = np.nan
            if not len(members):  # nothing goes right
                threshold[node] = np.inf
            else:
                sets[node], reading[node] = members, WHOLE_FLOAT32 if numbers is None else PLAIN
        return sets, missing_left, reading

    def _check_encoded(self, tree: Part, column: I8, tests: B1) -> None:
        """Refuse tests of columns whose categories are unknown, and comparisons where they are numbers."""
        for f in [f for f in set(column.tolist()) if f in self.numbers]:
            if self.numbers[f] is None:
                raise tree.refuse(
                    f"splits the feature {self.names[f]!r}, whose categories are not all ASCII; xgboost saves "
                    "such names of pandas cut short. Rename them, or train on numbers in their place"
                )
            if (column[~tests] == f).any():
                raise tree.refuse(f"compares the feature {self.names[f]!r}, whose categories are numbers")

    def _outputs(self, tree: Part, condition: NDArray[np.float32], right: I8, leaf: B1) -> F8:
        """Return the outputs of each leaf in float32 precision: float64 (nodes, K)."""
        width = tree.get("tree_param").get("size_leaf_vector").whole()
        if width <= 1:  # zero in xgboost 1
            return condition.astype(np.float64)[:, None]
        if width != self.n_scores:
            raise tree.refuse(f"has {width} outputs, expected 1 or {self.n_scores}")
        if not tree.has("leaf_weights"):  # before 3.1 each node holds its own outputs
            outputs = read_float32(tree.get("base_weights"), len(leaf) * width, finite=False)
            return outputs.astype(np.float64).reshape(-1, width)
        weights = tree.get("leaf_weights")
        vectors = read_float32(weights, int(leaf.sum()) * width).astype(np.float64).reshape(-1, width)
        place = np.where(leaf, right, 0)  # a leaf's right child is the number of its outputs
        if ((place < 0) | (place >= len(vectors))).any():
            raise weights.refuse("a leaf's outputs are not among them")
        return np.asarray(vectors[place])


def read_float32(part: Part, length: int, *, finite: bool = True) -> NDArray[np.float32]:
    """Return a list of numbers in float32; too large ones are infinite."""
    with np.errstate(over="ignore"):
        numbers = part.reals(length, finite=finite).astype(np.float32)
    if finite and not np.isfinite(numbers).all():
        raise part.refuse("expected finite numbers, got some beyond float32")
    return numbers


def _held(tree: Part, n_nodes: int) -> dict[int, I8]:
    """Return the categories that the file lists for each node."""
    categories = tree.get("categories").wholes(high=_MOST)
    nodes = tree.get("categories_nodes").wholes(high=n_nodes - 1)
    first = tree.get("categories_segments").wholes(len(nodes), high=len(categories))
    size = tree.get("categories_sizes").wholes(len(nodes), high=len(categories))
    if (first + size > len(categories)).any() or size.sum() > len(categories) or (np.diff(nodes) <= 0).any():
        raise tree.refuse(f"its nodes do not share its {len(categories)} categories among them, in order")
    return {
        node: categories[begin : begin + count]
        for node, begin, count in zip(nodes.tolist(), first.tolist(), size.tolist(), strict=True)
    }


def _members(codes: I8, numbers: F8 | None) -> F8:
    """Return the values that stand for codes, ascending; codes that no value can have are left out."""
    if numbers is None:
        return np.unique(codes[codes < _NO_CATEGORY]).astype(np.float64)
    return np.unique(numbers[codes[codes < len(numbers)]])


def _order(left: I8, right: I8, tree: Part) -> I8:
    """Return the nodes reachable from the root: as they are, if parents come first and all are, else breadth first."""
    inner = np.flatnonzero(left >= 0)
    children = np.concatenate([left[inner], right[inner]])
    if not len(left) or ((children < 1) | (children >= len(left))).any():
        raise tree.refuse("its nodes do not form a tree")
    ordered = (np.minimum(left[inner], right[inner]) > inner).all()
    if ordered and len(children) == len(left) - 1 and (np.bincount(children, minlength=len(left))[1:] == 1).all():
        return np.arange(len(left))
    levels, reached = [np.zeros(1, np.int64)], 1
    while len(levels[-1]):
        inner = levels[-1][left[levels[-1]] >= 0]
        levels.append(np.concatenate([left[inner], right[inner]]))
        reached += len(levels[-1])
        if reached > len(left):
            raise tree.refuse("its nodes do not form a tree")
    order: I8 = np.concatenate(levels)
    if len(np.unique(order)) < len(order):
        raise tree.refuse("its nodes do not form a tree")
    return order


BOOSTERS = ("gbtree", "dart", "gblinear")
_MOST_UNNAMED = 100_000  # columns without names in the file: names of 10^7 columns take a gigabyte
_FEW_WEIGHTS = 2**22  # weights of outputs that any document may have; more must be in proportion to it
_LARGEST = 2**53
_ASCII = 127
_LEARNER = ("attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective")
_SIZES = ("base_score", "boost_from_average", "num_class", "num_feature", "num_target")
_TREES = ("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees")
_TREES_PARAM = ("num_parallel_tree", "num_trees", "size_leaf_vector")
_OF_CLASSES = ("sigmoid", "softmax", "step")
_RAW = ("identity", "raw")
_LOGISTIC = ("sigmoid", "logit")
_EXPONENTIAL = ("exp", "log")
_OBJECTIVES = {
    "binary:logistic": _LOGISTIC,
    "reg:logistic": _LOGISTIC,
    "binary:logitraw": _RAW,
    "binary:hinge": ("step", "raw"),
    "multi:softprob": ("softmax", "raw"),
    "multi:softmax": ("softmax", "raw"),
    "reg:squarederror": _RAW,
    "reg:linear": _RAW,
    "reg:squaredlogerror": _RAW,
    "reg:absoluteerror": _RAW,
    "reg:pseudohubererror": _RAW,
    "reg:quantileerror": _RAW,
    "count:poisson": _EXPONENTIAL,
    "reg:gamma": _EXPONENTIAL,
    "reg:tweedie": _EXPONENTIAL,
    "survival:cox": _EXPONENTIAL,
    "survival:aft": _EXPONENTIAL,
    "rank:pairwise": _RAW,
    "rank:ndcg": _RAW,
    "rank:map": _RAW,
}
_FIELDS = (
    "name", "aft_loss_param", "lambda_rank_param", "lambdarank_param", "poisson_regression_param", "pseduo_huber_param",
    "pseudo_huber_param", "quantile_loss_param", "reg_loss_param", "softmax_multiclass_param",
    "tweedie_regression_param", "ti+", "tj-",
)  # fmt: skip
"""What an objective may hold: parameters and state of its training."""
_SMALLEST = np.float32(1e-6)  # xgboost 3 takes probabilities from here to one minus this


def adopt_document(
    document: Part,
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

    learner: Part
    booster: str
    boosting: Part
    names: tuple[str, ...]
    margins: F8
    link: str
    n_targets: int
    room: int  # most weights of outputs

    @classmethod
    def of(cls, learner: Part, feature_names: Sequence[str] | None, size: int) -> _Model:
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
            _names(learner, feature_names, sizes.get("num_feature").whole(1)),
            read_margins(sizes.get("base_score"), learner.get("objective"), n_scores),
            read_link(learner.get("objective")),
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
        kept = _count_trees(model, len(trees), len(self.margins), rounds)
        labels, numbers = _categories(model, self.names)
        reader = TreeReader(self.names, len(self.margins), numbers)
        tables = []
        for number, tree in enumerate(trees.items()):
            tree.get("id").whole(number, number)
            tables.append(reader.read(tree))
        table = TreeTable.concatenate(tables[:kept])
        if len(groups) != len(trees):
            raise model.refuse(f"expected {len(trees):,} entries of 'tree_info', got {len(groups):,}")
        weights = self._weights(table, groups[:kept], model)
        if dart:
            dropped = read_float32(self.boosting.get("weight_drop"), len(trees))[:kept]
            weights *= np.repeat(dropped.astype(np.float64), table.width)[:, None]
        return one_answer(table, self.names, weights, self.margins, self.link, labels)

    def _weights(self, table: TreeTable, groups: I8, model: Part) -> F8:
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
            known = _classes(self.learner.get("attributes").get("scikit_learn"), expected)
        return known if known is not None and known.shape == (expected,) else None


def _names(learner: Part, given: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    own = learner.get("feature_names").texts() if learner.has("feature_names") else ()
    if given is None and not own and n_features > _MOST_UNNAMED:
        raise learner.refuse(f"it has {n_features:,} features without names; give feature_names")
    return choose_names(given, own or None, n_features, learner.where)


def read_best_rounds(document: Part) -> int | None:
    """Return the rounds with which an estimator that stopped early predicts, None for other documents.

    A Booster's own document, which may hold its best round too, predicts with all.
    """
    learner = document.get("learner")
    attributes = learner.get("attributes") if learner.has("attributes") else None
    if attributes is None or not attributes.has("scikit_learn") or not attributes.has("best_iteration"):
        return None
    return attributes.get("best_iteration").whole() + 1


def _count_trees(model: Part, n_trees: int, n_scores: int, rounds: int | None) -> int:
    """Count the trees of the first rounds, or of all."""
    if model.has("iteration_indptr"):
        ends = model.get("iteration_indptr").wholes(high=n_trees)
        if not len(ends) or ends[0] != 0 or ends[-1] != n_trees or (np.diff(ends) < 0).any():
            raise model.refuse(f"'iteration_indptr' must rise from 0 to {n_trees}")
    else:  # before 2.0
        sizes = model.get("gbtree_model_param")
        each = sizes.get("num_parallel_tree").whole(1, n_trees) if sizes.has("num_parallel_tree") else 1
        ends = np.arange(0, n_trees + 1, each * n_scores)
    if rounds is None:
        return n_trees
    if rounds >= len(ends):
        raise model.refuse(f"the best round is number {rounds}, it has {len(ends) - 1}")
    return int(ends[rounds])


def _categories(model: Part, names: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], dict[int, F8 | None]]:
    """Return the categories that a data frame had in training: labels by name, numbers by position, None if garbled.

    Since 3.1 xgboost keeps them and encodes frames by them, whatever their own order, as predictors do with labels.
    """
    labels: dict[str, tuple[str, ...]] = {}
    numbers: dict[int, F8 | None] = {}
    cats = model.get("cats").only("enc", "feature_segments", "sorted_idx") if model.has("cats") else None
    found = [] if cats is None else [each.only("type", "offsets", "values") for each in cats.get("enc").items()]
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


def _texts(each: Part, values: I8) -> tuple[str, ...]:
    """Return texts that follow each other in ASCII."""
    ends = each.get("offsets").wholes(high=len(values))
    if not len(ends) or ends[0] != 0 or ends[-1] != len(values) or (np.diff(ends) < 0).any():
        raise each.refuse(f"'offsets' must rise from 0 to {len(values)}")
    text = values.astype(np.uint8).tobytes().decode("ascii")
    return tuple(text[begin:end] for begin, end in pairwise(ends.tolist()))


def _check_distinct(categories: Sequence[str | int], each: Part) -> None:
    if len(set(categories)) < len(categories):
        raise each.refuse("a category comes twice")


def _classes(written: Part, expected: int) -> NDArray[np.generic] | None:
    """Return the labels of classes that a scikit-learn wrapper wrote, or the numbers that the wrapper of today has."""
    estimator = parse_json(written.text().encode(errors="surrogatepass"), written.where)
    if estimator.has("classes_"):  # before 1.6
        labels = estimator.get("classes_")
        named = len(labels) > 0 and isinstance(labels.value[0], str)
        return as_texts(labels.texts()) if named else labels.reals()
    kind = estimator.get("_estimator_type").text() if estimator.has("_estimator_type") else ""
    return np.arange(expected) if kind == "classifier" else None


def read_link(objective: Part) -> str:
    """Return the link of an objective; refuse unknown ones by name."""
    return _find(objective.only(*_FIELDS))[0]


def _find(objective: Part) -> tuple[str, str]:
    name = objective.get("name").text()
    if name not in _OBJECTIVES:
        raise objective.refuse(
            f"the link of {name!r} is unknown; if the model's predictions are its raw scores, save "
            f"it with the objective 'reg:squarederror'. Known are {', '.join(_OBJECTIVES)}"
        )
    return _OBJECTIVES[name]


def read_margins(base_score: Part, objective: Part, n_scores: int) -> F8:
    """Return the constants that xgboost adds to the trees' outputs, in its float32: float64 (K,).

    A base score is a text, of one number up to version 3.0 and of a list since; it is a prediction, which the inverse
    of the link makes a margin. The rules are those by which xgboost 3.2 reads files of all versions.
    """
    texts = base_score.text().removeprefix("[").removesuffix("]").split(",", n_scores)
    if len(texts) not in {1, n_scores}:
        raise base_score.refuse(f"expected one number, or {n_scores}, got {len(texts)} or more")
    with np.errstate(over="ignore"):
        given = np.array([_number(text, base_score) for text in texts], np.float32)
    margins = [_MARGINS[_find(objective)[1]](number) for number in given]
    if not np.isfinite(margins).all():
        raise base_score.refuse(f"{base_score.value[:40]!r} is not a prediction that the objective can have")
    return np.full(n_scores, margins, np.float64)


def _number(text: str, base_score: Part) -> float:
    try:
        return float(text)
    except ValueError:
        raise base_score.refuse(f"expected numbers, got {text[:40]!r}") from None


def _logit(probability: np.float32) -> float:
    if not 0 <= probability <= 1:
        return math.nan
    inside = np.clip(probability, _SMALLEST, np.float32(1) - _SMALLEST)
    return -_log(np.float32(1) / inside - np.float32(1))


def _log(number: np.float32) -> float:
    """Return the logarithm, rounded from float64: numpy's own of float32 is less exact than that of C."""
    return float(np.float32(math.log(number))) if number > 0 and math.isfinite(number) else math.nan


_MARGINS: dict[str, Callable[[np.float32], float]] = {"raw": float, "logit": _logit, "log": _log}
