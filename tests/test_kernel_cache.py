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


def thrice(x):
    return 3 * x


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that compiles two kernels, as a new process does, and returns its warnings."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def run_():
        monkeypatch.setattr(dispatch, "_warned", [])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert (jit.kernel(twice)(2), jit.kernel(thrice)(2)) == (4, 6)
        return [str(one.message) for one in told]

    return run_


def files(folder, pattern):
    return sorted(file for file in folder.rglob(pattern) if file.is_file())


def test_a_cache_that_works_says_nothing_and_is_used(run, tmp_path):
    assert run() == []
    assert len(files(tmp_path, "*.nbi")) == len(files(tmp_path, "*.nbc")) == 2
    before = [file.stat().st_mtime_ns for file in files(tmp_path, "*")]
    assert run() == []
    assert [file.stat().st_mtime_ns for file in files(tmp_path, "*")] == before


@pytest.mark.parametrize("step", ["_save_index", "_save_data"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_cache_that_cannot_be_written_is_told_once_and_leaves_no_index(run, tmp_path, monkeypatch, step, number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(caching.IndexDataCacheFile, step, fail)
        (told,) = run()
    assert told.startswith(f"kernels compile in memory, for their cache in {tmp_path}")
    assert f"fails: {os.strerror(number)}; set NUMBA_CACHE_DIR" in told
    assert not files(tmp_path, "*.nbi")
    assert run() == []
    assert len(files(tmp_path, "*.nbi")) == len(files(tmp_path, "*.nbc")) == 2


@pytest.mark.parametrize("step", ["_save_index", "_save_data"])
def test_a_process_killed_while_it_writes_leaves_no_index_of_older_code(tmp_path, step):
    kill = f"from numba.core import caching; caching.IndexDataCacheFile.{step} = lambda *_: __import__('os')._exit(9); "
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    for factor, first, code, output in ((2, "", 0, "2\n"), (30, kill, 9, ""), (None, "", 0, "30\n")):
        if factor:
            text = f"from costframe.core.jit import kernel\n@kernel\ndef times(x):\n    return {factor} * x\n"
            (tmp_path / "factor.py").write_text(text)
        command = [sys.executable, "-c", f"{first}import factor; print(factor.times(1))"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)  # noqa: S603
        assert (done.returncode, done.stdout) == (code, output), done.stderr


def test_kernels_compile_again_if_what_they_import_changes(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "scale").mkdir()
    texts = {
        "layout": "FACTOR = {}\nOTHER = 0\n",
        "sum_kernels": "from costframe.core.jit import kernel\n@kernel\ndef plus(x):\n    return x + {}\n",
        "times": (
            "from costframe.core.jit import kernel\nfrom scale import layout\n"
            "from scale.layout import (\n    FACTOR,  # of x\n    OTHER,\n)\nfrom scale.sum_kernels import plus\n"
            "@kernel\ndef times(x):\n    return plus(FACTOR * x) + OTHER * layout.FACTOR\n"
        ),
    }
    for number, (factor, added) in enumerate([(2, 0), (30, 0), (30, 400)]):
        for name, text in texts.items():
            file = tmp_path / "scale" / f"{name}.py"
            if not number or name != "times":
                file.write_text(text.format({"layout": factor, "sum_kernels": added}.get(name)))
        command = [sys.executable, "-c", "from scale.times import times; print(times(1))"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)  # noqa: S603
        assert (done.stdout, done.stderr) == (f"{factor + added}\n", "")


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80\x04garbage", None], ids=["empty", "garbage", "cut"])
def test_damaged_files_are_told_once_and_replaced(run, tmp_path, pattern, content):
    run()
    for file in files(tmp_path, pattern):
        file.write_bytes(file.read_bytes()[:-20] if content is None else content)
    (told,) = run()
    assert told.startswith(f"kernels compile in memory, for their cache in {tmp_path}")
    assert run() == []


def test_no_folder_for_a_cache_is_told_once(run, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    (told,) = run()
    assert f"memory, for their cache next to {__file__} fails: no folder can be written; set" in told


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_a_limit_of_files_is_no_error(tmp_path):
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
import numpy as np
from costframe.core.jit import kernel
@kernel
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s
print(total(np.ones(3)))
"""
    (tmp_path / "limited.py").write_text(code)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "limited.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (0, "3.0\n"), done.stderr
    assert done.stderr.count("kernels compile in memory") == 1
    assert "File too large" in done.stderr


def test_a_first_prediction_from_the_cache_imports_nothing_that_only_compiling_needs(tmp_path):
    code = """
import sys
import numpy as np
import costframe as cf
from costframe.core.learners.tree_table import TreeTable
outputs = np.array([0.0, 2.0, 3.0])
trees = TreeTable.single([0, -1, -1], [0.5, 0.0, 0.0], [False] * 3, [1, -1, -1], [2, -1, -1], outputs)
model = cf.StageTree(cf.WeakLearnerBank.from_trees(trees, ("a",)), (cf.Answer([0], [1.0], 0.0),))
print(model.predict(np.ones((1, 1))), "numba.np.arraymath" in sys.modules)
"""
    environment, command = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}, [sys.executable, "-c", code]
    for compiles in (True, False):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        assert (done.returncode, done.stdout) == (0, f"[3.] {compiles}\n"), done.stderr


PARTS = """
from costframe.core.jit import kernel, kernel_apart
@kernel_apart
def scaled(x, factor):
    return {} * x * factor
@kernel
def _twice(x):
    return scaled(x, 2)
@kernel
def both(x, factor):
    return _twice(x) + scaled(x, factor)
"""


def run_parts(folder, code):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", f"import parts_kernels as parts; print(({code}))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, check=False)  # noqa: S603
    assert done.stderr == ""
    return done.stdout.strip()


def test_constants_and_variables_share_a_signature(tmp_path):
    (tmp_path / "parts_kernels.py").write_text(PARTS.format(1))
    assert run_parts(tmp_path, "parts.both(5, 3), parts.scaled.signatures") == "(25, [(int64, int64)])"


def test_kernels_link_no_code_of_a_kernel_apart(tmp_path):
    (tmp_path / "parts_kernels.py").write_text(PARTS.format(1))
    code = (
        "parts.both(5, 3), ["
        "any('scaled' in f.name for f in kernel.overloads[kernel.signatures[0]].library.get_defined_functions())"
        " for kernel in (parts.both, parts._twice, parts.scaled)]"
    )
    assert run_parts(tmp_path, code) == "(25, [False, False, True])"


@pytest.mark.parametrize("lost", ["", "scaled", "both"])
def test_kernels_from_the_cache_find_those_apart(tmp_path, lost):
    (tmp_path / "parts_kernels.py").write_text(PARTS.format(1))
    code = "parts.both(5, 3), sum(parts.both._cache_hits.values()), sum(parts.scaled._cache_hits.values())"
    assert run_parts(tmp_path, code) == "(25, 0, 0)"
    for file in files(tmp_path, f"*{lost}*.nb?") if lost else []:
        file.unlink()
    assert run_parts(tmp_path, code) == f"(25, {int(lost != 'both')}, {int(lost != 'scaled')})"
    (tmp_path / "parts_kernels.py").write_text(PARTS.format(100))
    assert run_parts(tmp_path, code) == "(2500, 0, 0)"


def test_python_may_not_call_what_only_kernels_call(tmp_path):
    (tmp_path / "parts_kernels.py").write_text(PARTS.format(1))
    code = "parts.both(5, 3), str(__import__('pytest').raises(TypeError, parts._twice, 5).value)"
    assert run_parts(tmp_path, code) == "(25, '_twice: only kernels call it')"
