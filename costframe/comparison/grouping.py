"""Records of anybody, grouped into tables whose sides can be compared: of one content, prices, score and splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from attrs import frozen

from costframe.comparison.lines import to_line
from costframe.comparison.records import Record
from costframe.core.errors import format_count

K = TypeVar("K")
Makers = dict[str, dict[str, Record]]  # by side, then by digest of the split


@frozen(eq=False)
class Group:
    """Records that can be compared: by the label of their side, and by the digest of their split."""

    label: str
    records: Makers


@frozen(eq=False)
class Grouped:
    """Groups of records in a fixed order, failures, and remarks on what was kept apart."""

    groups: tuple[Group, ...]
    failures: tuple[Record, ...]
    notes: tuple[str, ...]


def group_records(records: Iterable[Record]) -> Grouped:
    """Group records, in whichever order they come.

    Records are compared where table, prices and score are the same and their sides share splits, by digests. Others of
    one name are kept apart, and a remark says so.
    """
    notes: list[str] = []
    kept = _drop_repeats(records, notes)
    made, failures = [one for one in kept if one.models], [one for one in kept if not one.models]
    label_of = _label_makers(kept, notes)
    groups = []
    for name, of_name in _by(made, lambda record: record.table.name).items():
        subjects = list(_by(of_name, lambda record: record.subject).values())
        if len(subjects) > 1:
            what = [facet for facet, values in _facets(subjects).items() if len(set(values)) > 1]
            notes.append(f"{name}: {len(subjects)} tables of this name are kept apart, as {_enumerate(what)} differ")
        for place, subject in enumerate(subjects):
            label = name if len(subjects) == 1 else f"{name} ({_tell_apart(subjects, place)})"
            parts = _share_splits(subject)
            if len(parts) > 1:
                notes.append(f"{label}: sides that share no split are kept apart, in {len(parts)} groups")
            for number, part in enumerate(parts, 1):
                splits: Makers = defaultdict(dict)
                for record in part:
                    splits[label_of[record.maker]][record.split.digest] = record
                whole = label if len(parts) == 1 else f"{label}, splits {number}"
                groups.append(Group(whole, {side: splits[side] for side in sorted(splits)}))
    for group in groups:
        notes += _remark_on_missing(group)
    return Grouped(tuple(groups), tuple(failures), tuple(notes))


def _by(records: Iterable[Record], key: Callable[[Record], K]) -> dict[K, list[Record]]:
    """Return records by a key, keys and records in their fixed order."""
    found: dict[K, list[Record]] = {}
    for record in sorted(records, key=lambda record: record.order):
        found.setdefault(key(record), []).append(record)
    return found


def _drop_repeats(records: Iterable[Record], notes: list[str]) -> list[Record]:
    """Return one record of each key: one with models, if there is one; say where several have other figures."""
    kept = []
    for several in _by(records, lambda record: record.key).values():
        made = [record for record in several if record.models] or several
        first, different = min(made, key=to_line), {record.models for record in made}
        if len(different) > 1:
            notes.append(
                f"{first.table.name}, repeat {first.split.repeat}, {first.side.name}: {len(different)} lines have "
                "different figures of the same fit; one of them is kept"
            )
        kept.append(first)
    return kept


def _label_makers(records: Sequence[Record], notes: list[str]) -> dict[tuple[object, ...], str]:
    """Return a label of each maker: the side's name, with what differs where several have one name."""
    labels: dict[tuple[object, ...], str] = {}
    for name, several in _by(records, lambda record: record.side.name).items():
        makers = {record.maker: record for record in several}
        if len(makers) == 1:
            labels[several[0].maker] = name
            continue
        facts = [_facts_of(record) for record in makers.values()]
        differing = [key for key in facts[0] if len({fact[key] for fact in facts}) > 1]
        for maker, fact in zip(makers, facts, strict=True):
            labels[maker] = f"{name} ({', '.join(fact[key] for key in differing)})"
        notes.append(f"{name}: {len(makers)} sides of this name are kept apart")
    return labels


def _facts_of(record: Record) -> dict[str, str]:
    """Return what tells a maker from others of its name, as texts."""
    fit = ", ".join(f"{name} {value}" for name, value in sorted(record.fit.items()) if value is not None)
    return {
        "version": record.side.version or "no version",
        "costframe": f"costframe {record.versions.get('costframe', 'unknown')}",
        "fit": fit or "default fits",
        "settings": f"settings {record.side.digest[:6]}",
    }


def _facets(subjects: Sequence[Sequence[Record]]) -> dict[str, list[str]]:
    """Return the values of subjects of one name, by what they are of."""
    firsts = [subject[0] for subject in subjects]
    return {
        "their rows": [f"rows {first.table.digest[:6]}" for first in firsts],
        "prices": [f"prices {first.prices.digest[:6]}" for first in firsts],
        "scores": [first.score for first in firsts],
    }


def _tell_apart(subjects: Sequence[Sequence[Record]], place: int) -> str:
    """Return what differs of one of several subjects of one name."""
    return ", ".join(values[place] for values in _facets(subjects).values() if len(set(values)) > 1)


def _share_splits(records: Sequence[Record]) -> list[list[Record]]:
    """Return records of a table in parts whose sides share splits, directly or through other sides."""
    parts: list[tuple[set[object], list[Record]]] = []
    for record in records:
        keys: set[object] = {record.split.digest, record.maker}
        joined = [part for part in parts if part[0] & keys]
        parts = [part for part in parts if not part[0] & keys]
        held = [one for part in joined for one in part[1]]
        parts.append((keys.union(*(part[0] for part in joined)), [*held, record]))
    return sorted((sorted(part[1], key=lambda record: record.order) for part in parts), key=lambda part: part[0].order)


def _remark_on_missing(group: Group) -> list[str]:
    """Return remarks on sides that have not all splits of a table."""
    splits = {digest for records in group.records.values() for digest in records}
    return [
        f"{group.label}: {side} has {len(records)} of {format_count(len(splits), 'split')}"
        for side, records in group.records.items()
        if len(records) < len(splits)
    ]


def _enumerate(texts: Sequence[str]) -> str:
    return " and ".join(texts)


def labels_by_name(groups: Iterable[Group]) -> Mapping[str, list[str]]:
    """Return the labels of sides by their names."""
    found: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for label, records in group.records.items():
            found[next(iter(records.values())).side.name].add(label)
    return {name: sorted(labels) for name, labels in found.items()}
