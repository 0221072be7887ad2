"""Hypothesis profiles, and a strict mode in which nothing may be skipped for want of an installation."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("quick", max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("quick")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With COSTFRAME_COMPLETE set, fail if a test was skipped because something is not installed ("needs ...")."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("COSTFRAME_COMPLETE") or reporter is None:
        return
    missing = [report for report in reporter.stats.get("skipped", []) if "needs " in str(report.longrepr)]
    for report in missing:
        reporter.write_line(f"left out: {report.nodeid}: {report.longrepr[-1]}", red=True)
    if missing:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
