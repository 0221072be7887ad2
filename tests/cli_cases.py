"""What tests of the command line share; their fixtures are in conftest.py."""

from __future__ import annotations

import os
import subprocess
import sys

from costframe.cli.commands import costframe
from costframe.core.machine import limit_threads

__all__ = ["costframe", "limit_threads"]

# At the end of a run, together.
WRITTEN = {"points.csv", "report.html", "frontier.png", "frontier.svg", "recommended.model"}
FILES = WRITTEN | {"frontier.fits", "run.json", "fits", "models"}
MAIN = "from costframe.__main__ import main; main()"
ALONE = f"from costframe.core.machine import limit_threads as limit; limit(1).__enter__(); {MAIN}"  # in one process

# An algorithm that behaves as the text in place of BODY says.
PLUGIN = """
import costframe as cf
from costframe_miser import MiserClassifier

class Odd(MiserClassifier):
    fit_path = None  # its faults are those of fit

    def fit(self, X, y, **more):
        BODY

@cf.hookimpl
def costframe_algorithms():
    return [cf.Algorithm("NAME", "An odd one", "nobody", classifier=Odd)]
"""


def algorithm(name, body):
    """Return the text of a plugin whose algorithm has this body as its `fit`."""
    return PLUGIN.replace("NAME", name).replace("BODY", body)


def refused(result):
    """Return the one line on the error stream of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert not result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


def words(result):
    """Return what a command that succeeded wrote, with one space between words."""
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def python(*code, **more):
    """Run Python as a process of its own."""
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([sys.executable, *code], text=True, check=False, **more)  # noqa: S603 - our own code


def shell(line, folder, **variables):
    """Run a line in which `$COSTFRAME` is the command, which fits in its own process."""
    command = f"{sys.executable} -c '{ALONE}'"
    line = line.replace("$COSTFRAME", command)
    return subprocess.run(  # noqa: S603 - our own text
        ["/bin/bash", "-c", line], capture_output=True, text=True, check=False, cwd=folder, env=os.environ | variables
    )
