"""The options of `costframe compare` as values: what it fits, and what it does over splits, or on one split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import asdict, field, frozen

from costframe.core.errors import ParameterError


def _split_names(lists: Sequence[str]) -> list[str] | None:
    """Return the names of lists such as `miser,stumps`; None without any list."""
    names = [name.strip() for text in lists for name in text.split(",") if name.strip()]
    if lists and not names:
        raise ParameterError(f"--algorithms: expected names, separated by commas, got {','.join(lists)!r}")
    return names or None


@frozen
class FitOptions:
    """What is fitted, how long, and where it is kept."""

    algorithms: list[str] | None = field(converter=_split_names)  # from lists such as `miser,stumps`
    score: str | None
    points: int | None  # models of each algorithm
    cv: int | None  # folds
    time_limit: float | None  # seconds
    cluster: str | None  # address
    output: Path | None  # folder of all results
    resume: bool
    force: bool

    def __attrs_post_init__(self) -> None:
        if self.resume and self.force:
            raise ParameterError("give either --resume or --force")


@frozen
class SplitOptions:
    """How algorithms and programs are compared over several tables, or repeated splits."""

    repeats: int | None
    reference: str | None  # side that differences are to
    levels: tuple[float, ...] | None  # shares of the cost of all features
    outsiders: tuple[str, ...]  # texts NAME=COMMAND


@frozen
class ChoiceOptions:
    """What is chosen, shown and promised on the one split of a table."""

    budget: float | None
    promised: tuple[str, ...]
    confidence: float | None
    all_points: bool
    no_references: bool


def refuse_given(options: SplitOptions | ChoiceOptions, why: str) -> None:
    """Refuse the first option that is given; the error names its field, and `run` its option."""
    for name, value in asdict(options).items():
        if value is not None and value is not False and value != ():
            raise ParameterError(f"{name}: {why}")
