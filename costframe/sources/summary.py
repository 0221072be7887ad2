"""What sources tell of a run that has ended, here or in parts of it elsewhere."""

from __future__ import annotations

from attrs import define, field

from costframe.core.tables.unknown_values import Coverage
from costframe.sources.sources import Sources


@define
class SourcesSummary:
    """What sources have told of a run so far."""

    without_keys: dict[str, bool] = field(factory=dict)  # by lookup, whether it has none of the keys
    failures: dict[str, str] = field(factory=dict)  # by lookup, its last one
    coverage: dict[str, Coverage] = field(factory=dict)  # by feature

    @classmethod
    def of(cls, sources: Sources) -> SourcesSummary:
        """Return what sources tell."""
        return cls(sources.without_keys, sources.failures, sources.coverage)

    def add(self, other: SourcesSummary) -> None:
        """Add what sources have told of other rows of the same run."""
        for name, has_none in other.without_keys.items():
            self.without_keys[name] = has_none and self.without_keys.get(name, True)
        self.failures |= other.failures
        for feature, coverage in other.coverage.items():
            before = self.coverage.get(feature)
            self.coverage[feature] = coverage if before is None else before.joined(coverage)
