"""LightGBM's text files, formats v2 to v4: every number and length is checked before it is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.adoption.documents import DocumentPart, parse_json
from costframe.core.arrays import F8, I8
from costframe.core.errors import AdoptionError, shown

CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2  # bits of a split's decision type; above these, how it reads NaN

_NO_WHOLES, _NO_REALS = np.zeros(0, np.int64), np.zeros(0)

Range = list[int] | tuple[float, float] | None
"""A feature in training: codes of its categories, its smallest and largest number, or None where it had one value."""
_ENDS = ("end of trees", "feature importances:", "feature_importances:")  # early v2 writes only the second
_OLDEST, _NEWEST = 2, 4
_BITS = 32  # of each word in a set of categories
_HEAD = re.compile(
    "version|num_class|num_tree_per_iteration|label_index|max_feature_idx|objective|average_output|feature_names|"
    "monotone_constraints|feature_infos|tree_sizes"
)
_TREE = re.compile(
    "Tree|num_leaves|num_cat|split_feature|split_gain|threshold|decision_type|left_child|right_child|"
    "(leaf|internal)_(value|weight|count)|cat_boundaries|cat_threshold|is_linear|leaf_const|num_features|"
    "leaf_features|leaf_coeff|shrinkage"
)


@frozen(eq=False)
class SavedTree:
    """A tree of L leaves as LightGBM writes it."""

    outputs: F8  # (L,): of the leaves
    # feature, decision (L - 1,): of each split; a decision is a sum of bits
    feature: I8 = _NO_WHOLES
    decision: I8 = _NO_WHOLES
    threshold: F8 = _NO_REALS  # (L - 1,)
    # left, right (L - 1,): children: the number of a split, or ~number of a leaf
    left: I8 = _NO_WHOLES
    right: I8 = _NO_WHOLES
    # the categories that go left, of each split by categories, in the order of the splits
    categories: Sequence[I8] = ()


@frozen(eq=False)
class LightGBMModel:
    """A model of LightGBM."""

    where: str  # its name in errors
    version: int
    n_scores: int
    n_features: int
    names: tuple[str, ...]
    objective: str  # with its settings; empty where predictions are raw scores
    averages: bool  # whether predictions are made of the mean of all rounds, not of their sum
    trees: Sequence[SavedTree] = ()  # round by round, one tree for each score
    # the categories of the columns of pandas' category dtype, column by column; these columns are not named
    labels: Sequence[list[Any]] = ()
    ranges: Sequence[Range] = ()  # of all features; empty where there are no labels
    categorical: frozenset[int] = frozenset()  # features that are split by categories; empty where there are no labels


def read_text(data: bytes, where: str) -> LightGBMModel:
    """Read a text file.

    A file that names another number of trees than it holds is refused: it was cut, and its predictions are not those of
    the model.
    """
    try:
        lines = [line.rstrip(" \t\r") for line in data.decode().split("\n")]
    except UnicodeDecodeError as error:
        raise AdoptionError(f"{where}: is not a text in UTF-8 ({error.reason} at byte {error.start})") from None
    if lines[0] != "tree":
        raise AdoptionError(f"{where}: expected the line 'tree' first, got {shown(lines[0])}")
    end = next((number for number, line in enumerate(lines) if line in _ENDS), None)
    if end is None:
        raise AdoptionError(f"{where}: lacks the line {_ENDS[0]!r}; the file is truncated")
    starts = [number for number, line in enumerate(lines[:end]) if line.startswith("Tree=")]
    head = _read_entries(lines[1 : starts[0] if starts else end], _HEAD, where)
    model = _read_head(head)
    if head.has("tree_sizes") and (told := len(head.get("tree_sizes").text().split())) != len(starts):
        raise AdoptionError(f"{where}: tells of {told:,} trees and holds {len(starts):,}; the file was cut")
    trees = [
        _read_tree(_read_entries(lines[first:last], _TREE, f"{where}: tree {number}"), number, model)
        for number, (first, last) in enumerate(pairwise([*starts, end]))
    ]
    return _add_labels(evolve(model, trees=trees), head, lines[end + 1 :])


def _read_entries(lines: Sequence[str], known: re.Pattern[str], where: str) -> DocumentPart:
    """Return the entries `name=value` of a block; one without a value is True."""
    entries: dict[str, Any] = {}
    for line in filter(None, lines):
        name, sign, value = line.partition("=")
        if not known.fullmatch(name):
            raise AdoptionError(f"{where}: has the entry {shown(name)}, unknown in formats v2 to v4")
        if name in entries:
            raise AdoptionError(f"{where}: has the entry {name!r} twice")
        entries[name] = value if sign else True
    return DocumentPart(entries, where)


def _read_head(head: DocumentPart) -> LightGBMModel:
    """Return a model still without trees; refuse unknown versions."""
    version = head.get("version").text()
    if not re.fullmatch(r"v[0-9]{1,4}", version):
        raise head.refuse(f"expected a version such as 'v{_NEWEST}', got {shown(version)}")
    if not _OLDEST <= int(version[1:]) <= _NEWEST:
        side = "older" if int(version[1:]) < _OLDEST else "newer"
        raise head.refuse(f"was written in LightGBM's format {version}, {side} than known (v{_OLDEST} to v{_NEWEST})")
    n_scores = head.get("num_tree_per_iteration").whole(1)
    if head.get("num_class").whole(1) != n_scores:
        raise head.refuse(f"has {n_scores:,} trees in a round, expected one for each of 'num_class' classes")
    averages = head.value.get("average_output", False)
    if not isinstance(averages, bool):
        raise head.refuse(f"expected 'average_output' to be true or false, got {shown(averages)}")
    return LightGBMModel(
        where=head.where,
        version=int(version[1:]),
        n_scores=n_scores,
        n_features=head.get("max_feature_idx").whole() + 1,
        names=tuple(filter(None, head.get("feature_names").text().split(" "))),
        objective=head.get("objective").text() if head.has("objective") else "",
        averages=averages,
    )


def _read_tree(block: DocumentPart, number: int, model: LightGBMModel) -> SavedTree:
    block.get("Tree").whole(number, number)
    leaves = block.get("num_leaves").whole(1)
    outputs = _read_reals(block.get("leaf_value"), leaves)
    if block.has("is_linear") and block.get("is_linear").whole(0, 1):
        read = _read_wholes(block.get("leaf_features"), None, 0, model.n_features - 1)
        if len(read):
            name = repr(model.names[read[0]]) if read[0] < len(model.names) else f"number {read[0]}"
            raise block.refuse(
                f"has linear leaves, one of which reads feature {name}; adopted trees have constant leaves: train with "
                "linear_tree=False"
            )
        outputs = _read_reals(block.get("leaf_const"), leaves)
    if leaves == 1:
        return SavedTree(outputs)
    inner = leaves - 1
    decision = _read_wholes(block.get("decision_type"), inner, 0, (3 << MISSING_SHIFT) - 1)
    threshold = _read_reals(block.get("threshold"), inner)
    return SavedTree(
        outputs,
        _read_wholes(block.get("split_feature"), inner, 0, model.n_features - 1),
        decision,
        threshold,
        _read_wholes(block.get("left_child"), inner, -leaves, inner - 1),
        _read_wholes(block.get("right_child"), inner, -leaves, inner - 1),
        _read_sets(block, threshold[(decision & CATEGORICAL) > 0]),
    )


def _read_sets(block: DocumentPart, numbers: F8) -> list[I8]:
    """Return the categories of each split by categories, whose thresholds are the `numbers` of their sets."""
    count = block.get("num_cat").whole() if block.has("num_cat") else 0
    if len(numbers) != count or not np.array_equal(np.sort(numbers), np.arange(count)):
        raise block.refuse(f"expected splits by the sets of categories 0 to {count} - 1, got {shown(numbers.tolist())}")
    if not count:
        return []
    bounds = _read_wholes(block.get("cat_boundaries"), count + 1)
    words = _read_wholes(block.get("cat_threshold"), None, 0, 2**_BITS - 1)
    if bounds[0] != 0 or bounds[-1] != len(words) or (np.diff(bounds) < 0).any():
        raise block.refuse(f"'cat_boundaries' must ascend from 0 to {len(words)}, the words of 'cat_threshold'")
    members = np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))
    first = _BITS * bounds
    cuts = np.searchsorted(members, first)
    return [members[cuts[k] : cuts[k + 1]] - first[k] for k in numbers.astype(np.int64)]


def _read_wholes(line: DocumentPart, length: int | None, low: int = 0, high: int = 2**53) -> I8:
    """Return the whole numbers of a line."""
    return DocumentPart(_read_numbers(line, int, "0123456789- "), line.where).wholes(length, low, high)


def _read_reals(line: DocumentPart, length: int) -> F8:
    """Return the numbers of a line, which may be infinite."""
    return DocumentPart(_read_numbers(line, float, "0123456789-+.einf "), line.where).reals(length, finite=False)


def _read_numbers(line: DocumentPart, kind: type[int | float], letters: str) -> list[Any]:
    text = line.text()
    try:
        if not text.strip(letters):  # Python's own numbers may hold more, such as 1_000 and digits of other scripts
            return [kind(word) for word in text.split()]
    except ValueError:
        pass
    raise line.refuse(f"expected numbers, got {shown(text)}")


def _add_labels(model: LightGBMModel, head: DocumentPart, after: Sequence[str]) -> LightGBMModel:
    """Add what the head and the lines after the trees say about categories, if they list those of pandas."""
    given = [line.partition(":")[2] for line in after if line.startswith("pandas_categorical:")]
    labels = _read_labels(parse_json(given[-1].encode(), f"{model.where}: pandas_categorical"), model) if given else []
    if not labels:
        return model
    ranges = [_read_range(word) for word in head.get("feature_infos").text().split()]
    told = ",".join(line for line in after if line.startswith("[categorical_feature:"))
    coded = {int(column) for column in re.findall("[0-9]{1,9}", told)}
    coded |= {f for f, seen in enumerate(ranges) if isinstance(seen, list)}
    return evolve(model, labels=labels, ranges=ranges, categorical=frozenset(coded))


def _read_labels(part: DocumentPart, model: LightGBMModel) -> list[list[Any]]:
    """Return lists of categories of pandas, not more than features."""
    if part.value is None:
        return []
    if len(part) > model.n_features:
        raise part.refuse(f"expected lists for at most {model.n_features:,} features, got {len(part):,}")
    lists = list(part.items())
    return [labels.value for labels in lists if len(labels) >= 0]  # what is no list is refused by its length


def _read_range(word: str) -> Range:
    """Return what a feature was in training, such as [0:2.5] or 3:0:1 or none."""
    ends = re.fullmatch(r"\[([^:]{1,40}):([^:]{1,40})\]", word)
    if ends is not None:
        return DocumentPart(ends[1], word).number(), DocumentPart(ends[2], word).number()
    return [int(code) for code in word.split(":")] if re.fullmatch(r"-?[0-9]{1,9}(:-?[0-9]{1,9})*", word) else None
