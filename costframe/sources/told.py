"""What sources tell when a run has ended, here or in parts of it elsewhere: of their keys, failures and features."""

from __future__ import annotations

from attrs import define, field

from costframe.core.tables.unknown_values import Coverage
from costframe.sources.sources import Sources


@define
class SourcesEnd:
    """What sources have told of a run so far."""

    without_keys: dict[str, bool] = field(factory=dict)  # by lookup, whether it has none of the keys
    failures: dict[str, str] = field(factory=dict)  # by lookup, its last one
    coverage: dict[str, Coverage] = field(factory=dict)  # by feature

    @classmethod
    def of(cls, sources: Sources) -> SourcesEnd:
        """Return what sources tell."""
        return cls(sources.without_keys, sources.failures, sources.coverage)

    def add(self, other: SourcesEnd) -> None:
        """Add what was told of other rows of the same run."""
        for name, found_none in other.without_keys.items():
            self.without_keys[name] = found_none and self.without_keys.get(name, True)
        self.failures |= other.failures
        for feature, each in other.coverage.items():
            held = self.coverage.get(feature)
            self.coverage[feature] = each if held is None else held.joined(each)
