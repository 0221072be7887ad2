"""Kernels whose cache on disk cannot be read or written: they compile in memory, and one warning says so."""

import errno
import os
import subprocess
import sys
import warnings

import pytest
from numba.core import caching, config

from costframe.core import dispatch, jit

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")


def twice(x):
    return 2 * x


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that compiles a kernel, as a new process does, and returns its warnings."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def run_():
        monkeypatch.setattr(dispatch, "_warned", [])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert jit.kernel(twice)(2) == 4
        return [str(one.message) for one in told]

    return run_


def files(folder, pattern):
    return sorted(file for file in folder.rglob(pattern) if file.is_file())


def python(folder, code):
    """Run a text in a process with a cache of its own; return its output."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, check=False)  # noqa: S603


@pytest.mark.parametrize("step", ["_save_index", "_save_data"])
def test_a_cache_that_cannot_be_written_is_told_once_and_leaves_no_index(run, tmp_path, monkeypatch, step):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(caching.IndexDataCacheFile, step, fail)
        (told,) = run()
    assert told.startswith(f"kernels compile in memory, for their cache in {tmp_path}")
    assert f"fails: {os.strerror(errno.ENOSPC)}; set NUMBA_CACHE_DIR" in told
    assert not files(tmp_path, "*.nbi")
    for _ in range(2):  # a cache that works says nothing and is used
        assert run() == []
        assert len(files(tmp_path, "*.nbi")) == len(files(tmp_path, "*.nbc")) == 1


PARTS = """
from costframe.core.jit import kernel, kernel_apart
from scale.layout import (
    FACTOR,  # of x
)
@kernel_apart
def scaled(x, factor):
    return FACTOR * x * factor
@kernel
def _twice(x):
    return scaled(x, 2)
@kernel
def both(x, factor):
    return _twice(x) + scaled(x, factor)
"""
USED = "parts.both(5, 3), sum(parts.both._cache_hits.values()), sum(parts.scaled._cache_hits.values())"
LINKED = (
    "any('scaled' in f.name for f in parts.both.overloads[(parts.both.signatures[0])].library.get_defined_functions())"
)


def test_kernels_apart_are_linked_once_cached_and_compiled_again_if_what_they_import_changes(tmp_path):
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "part_kernels.py").write_text(PARTS)
    written = 0
    for factor, code, expected in (
        (1, USED, "(25, 0, 0)"),
        (1, USED, "(25, 1, 1)"),
        (100, USED, "(2500, 0, 0)"),
        (100, f"parts.both(5, 3), parts.scaled.signatures, {LINKED}", "(2500, [(int64, int64)], False)"),
        (100, "str(__import__('pytest').raises(TypeError, parts._twice, 5).value)", "_twice: only kernels call it"),
    ):
        if factor != written:
            (tmp_path / "scale" / "layout.py").write_text(f"FACTOR = {(written := factor)}\n")
        done = python(tmp_path, f"from scale import part_kernels as parts; print(({code}))")
        assert (done.stdout.strip(), done.stderr) == (expected, "")
