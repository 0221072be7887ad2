"""Checks of all laws, at once or as pytest cases."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from textwrap import fill
from typing import Any

from attrs import frozen

from costframe.core.checks import needed
from costframe.hooks import Algorithm
from costframe.testing import (  # noqa: F401 - they register themselves
    laws_of_categories,
    laws_of_cost,
    laws_of_dates,
    laws_of_errors,
    laws_of_labels,
    laws_of_limits,
    laws_of_refusals,
    laws_of_resuming,
    laws_of_settings,
    laws_of_shell,
    laws_of_training,
)
from costframe.testing.case import LAWS, Case, Law, cases, not_for


def laws() -> dict[str, Law]:
    """Return all laws by name."""
    return dict(LAWS)


class ConformanceError(AssertionError):
    """An algorithm breaks laws; the text lists them all."""


@frozen
class Check:
    """One law on one kind of estimator; call it to check.

    Attributes
    ----------
    title : str
        For example "learns[regressor]".
    reason : str or None
        Reason of an expected failure.
    """

    law: Law
    case: Case
    reason: str | None

    @property
    def title(self) -> str:
        """Name of the law and of the kind."""
        return f"{self.law.name}[{self.case.title}]"

    def __call__(self) -> None:
        """Check the law; raise an error if it is broken."""
        self.law.check(self.case)


def checks(
    algorithm: Algorithm | str,
    *,
    expected_failures: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Check]:
    """List the checks of an algorithm; takes the arguments of `check_algorithm`."""
    needed("pandas", "testing")  # laws make data frames; without it, they would look broken
    reasons = dict(expected_failures or {})
    listed = []
    for case in cases(algorithm, settings):
        fitting = [law for law in laws().values() if not (law.compares_fits and case.draws)]
        for law in fitting:
            reason = reasons.get(f"{law.name}[{case.title}]", reasons.get(law.name))
            listed.append(Check(law, case, reason))
    known = {name for check in listed for name in (check.law.name, check.title)}
    for name, reason in reasons.items():
        if name not in known:
            raise ValueError(f"expected_failures: {name!r} is no law, or of no kind that the algorithm has; see laws()")
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"expected_failures: {name!r} has no reason")
    return listed


def check_algorithm(
    algorithm: Algorithm | str,
    *,
    expected_failures: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Check all laws on all kinds of estimators of an algorithm.

    It does not check a classifier on three classes if its scikit-learn tags say that it is for two classes only, and
    no law that compares two fits if the tag `non_deterministic` says that fits may differ.

    Parameters
    ----------
    algorithm : Algorithm, or the name of an installed one
    expected_failures : mapping of str to str
        Laws that the algorithm breaks, with the reason: "law" for every kind of estimator, "law[kind]" for
        one, such as "learns[ranker]".
        They must fail; a passing one is an error.
    settings : mapping
        Constructor parameters for all checks, if the algorithm needs them or is slow without them.

    Raises
    ------
    ConformanceError
        If laws are broken; the text lists all of them with their descriptions, and an exception that several checks
        met once, with all of these.
    """
    failed: dict[str, list[Check]] = {}
    broken: list[str] = []
    for check in checks(algorithm, expected_failures=expected_failures, settings=settings):
        error = _failure(check)
        if error is not None and check.reason is None:
            failed.setdefault(_error_text(error), []).append(check)
        elif error is None and check.reason is not None:
            broken.append(f"{check.title}: passes, although it is expected to fail: {check.reason}")
    if count := len(broken) + sum(map(len, failed.values())):
        name = algorithm if isinstance(algorithm, str) else algorithm.name
        lines = [_broken_text(text, those) for text, those in failed.items()] + broken
        raise ConformanceError(f"algorithm {name!r} breaks {count} law(s):\n" + "\n".join(lines))


def parametrize_algorithm(
    algorithm: Algorithm | str,
    *,
    expected_failures: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Any:
    """Return a pytest decorator: one test for each law and kind; takes the arguments of `check_algorithm`.

    A kind that the algorithm does not support, such as three classes, is one skipped test with the reason.

    Examples
    --------
    >>> @parametrize_algorithm("miser")  # doctest: +SKIP
    ... def test_laws(check):
    ...     check()
    """
    try:
        import pytest
    except ImportError as error:
        raise ImportError("parametrize_algorithm needs pytest: pip install 'costframe[testing]'") from error

    def marks(check: Check) -> list[Any]:
        return [] if check.reason is None else [pytest.mark.xfail(reason=check.reason, strict=True)]

    cases = checks(algorithm, expected_failures=expected_failures, settings=settings)
    skipped = [
        pytest.param(None, id=kind, marks=[pytest.mark.skip(reason=reason)])
        for kind, reason in not_for(algorithm).items()
    ]
    return pytest.mark.parametrize(
        "check", [pytest.param(check, id=check.title, marks=marks(check)) for check in cases] + skipped
    )


def _failure(check: Check) -> Exception | None:
    try:
        check()
    except Exception as error:  # noqa: BLE001 - a plugin may fail in any way; the report says which
        return error
    return None


def _broken_text(text: str, broken: list[Check]) -> str:
    """Return the text of a failure with the law that it breaks, or the names of all of them."""
    if len(broken) == 1:
        return f"{broken[0].title}: {text}\n    protects: {broken[0].law.protects}"
    titles = ", ".join(check.title for check in broken)
    return f"{text}\n{fill(titles, 116, initial_indent='    in ', subsequent_indent='    ', break_on_hyphens=False)}"


def _error_text(error: Exception) -> str:
    """Return the text of an error; for errors other than a law's, with the place."""
    if isinstance(error, AssertionError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
