"""Models that are certified to keep promises: options, the certificate on rows of test, and the file of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from costframe.choices import Frontier
from costframe.choices.promised import check_promised
from costframe.choices.untested import refuse_untested
from costframe.core.errors import CostframeError, ParameterError
from costframe.core.storage.saving import content_of, write_content
from costframe.datasets import Dataset
from costframe.promises import Certified, Promise
from costframe.promises.choose import BrokenPromiseError
from costframe.promises.promise import CONFIDENCE
from costframe.study.rows import StudyRows
from costframe.training.console import Output

PROMISED = "promised.model"


def read_promises(texts: Sequence[str], confidence: float | None) -> tuple[Promise, ...]:
    """Return the promises of the options; refuse a confidence without any."""
    if not texts and confidence is not None:
        raise ParameterError("--confidence: has no effect without --promise")
    return tuple(Promise(text, confidence=CONFIDENCE if confidence is None else confidence) for text in texts)


def check_on_test(promises: Sequence[Promise], dataset: Dataset) -> None:
    """Refuse promises that a data set, or its test rows, have not."""
    if not promises:
        return
    rows = StudyRows.of_part(dataset.part("test"))
    check_promised(promises, rows, dataset.task, has_bills=dataset.costs.errors is not None)
    refuse_untested(rows, dataset.costs.panels, dataset.feature_names)


def certify_on_test(frontier: Frontier, dataset: Dataset, promises: Sequence[Promise]) -> Certified:
    """Return the cheapest model certified on test rows, by which nothing chose; valid rows fix the order of tests."""
    test, valid = dataset.part("test"), dataset.part("valid")
    plan = valid.X, valid.y, valid.groups
    return frontier.cheapest(promise=list(promises), X=test.X, y=test.y, groups=test.groups, made=test.made, plan=plan)


@frozen(eq=False)
class Promised:
    """What came of promises in a comparison: a certified model, or why there is none."""

    certified: Certified | None
    error: CostframeError | None = None
    decimal: str | None = None  # decimal sign of the table

    @classmethod
    def of(cls, frontier: Frontier, dataset: Dataset, promises: Sequence[Promise]) -> Promised:
        """Certify on test rows."""
        try:
            return cls(certify_on_test(frontier, dataset, promises), decimal=dataset.decimal)
        except BrokenPromiseError as error:
            return cls(None, error)

    def show(self, console: Output) -> None:
        """Print the certificate."""
        if self.certified is not None:
            console.print("\n[bold]Promised:[/]", end=" ")
            console.print(describe(self.certified, "test rows"), markup=False)

    def write(self, output: Path) -> list[str]:
        """Write the certified model to a folder; return its path."""
        if self.certified is None:
            return []
        path = output / PROMISED
        write_certified(self.certified, path, self.decimal)
        return [str(path)]

    def end(self) -> None:
        """Raise the error, if there is one."""
        if self.error is not None:
            raise self.error


def write_certified(certified: Certified, path: Path, decimal: str | None) -> None:
    """Write a certified model to a file, with the decimal sign of the training table."""
    write_content(path, content_of(certified.model.predictor_, decimal=decimal))


def describe(certified: Certified, rows: str = "rows") -> str:
    """Return the certificate as text, which names the rows that certify."""
    return str(certified).replace("rows that nothing chose by", f"{rows} that nothing chose by", 1)
