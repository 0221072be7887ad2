"""Hypothesis profiles, one thread for other libraries, order of workers, and a strict mode without skipped tests."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The threads of OpenMP and BLAS spin while they wait for each other: on small tables and beside other workers of
# pytest, that is a hundred times the work itself. Set them to try the suite with threads; costframe's own are no part
# of this. Libraries read the variables as they load, so no test module may have been imported yet.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

for profile, examples in (("quick", 40), ("thorough", 100)):
    settings.register_profile(
        profile, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.register_profile("deep", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("quick")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole files in order until one has none left, so that fixtures are rarely made twice."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Look for tests that were skipped because something is not installed, with a reason "needs ...".

    With COSTFRAME_COMPLETE set, the run fails if there are any; COSTFRAME_SKIPPED is a file for their names, one a
    line.
    """
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of another run
        return
    skipped = [report for report in reporter.stats.get("skipped", []) if "needs " in str(report.longrepr)]
    if file := os.environ.get("COSTFRAME_SKIPPED"):
        Path(file).write_text("".join(f"{name}\n" for name in dict.fromkeys(report.nodeid for report in skipped)))
    if skipped and os.environ.get("COSTFRAME_COMPLETE"):
        for report in skipped:
            reporter.write_line(f"left out: {report.nodeid}: {report.longrepr[-1]}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
