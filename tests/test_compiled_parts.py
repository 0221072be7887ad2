"""Compiled functions of a plugin, as the guide binds them: its code, its command, and what is refused."""

import importlib.util
import pickle
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from costframe import engine
from costframe.engine import Library

GUIDE = (Path(__file__).parents[1] / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
PARTS = dict(re.findall(r'^```\w+ title="costframe_twigs/(counts\.\w+)"\n(.*?)^```$', GUIDE, re.MULTILINE | re.DOTALL))
COMMAND = re.search(r"^cc .*counts\.c$", GUIDE, re.MULTILINE)[0]
ODD = """
#include <stdint.h>
struct pair { double scale; const double *values; int64_t n; };
double sum_scaled(const struct pair *pair) {
    double sum = 0.0;
    for (int64_t i = 0; i < pair->n; i++) sum += pair->scale * pair->values[i];
    return sum;
}
int64_t run_out_of_memory(int64_t n) { return -n; }
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="the guide's command is for Linux with a C compiler"
)


@pytest.fixture
def package(tmp_path):
    """A folder with the guide's module, its library, and a module's stem `odd`."""
    folder = tmp_path / "costframe_twigs"
    folder.mkdir()
    for name, text in {**PARTS, "odd.c": ODD}.items():
        (folder / name).write_text(text)
    for command in (COMMAND, COMMAND.replace("counts", "odd")):
        subprocess.run(shlex.split(command), cwd=tmp_path, check=True)  # noqa: S603 - of the guide
    return folder


def module_of(package):
    spec = importlib.util.spec_from_file_location("counts", package / "counts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_functions_of_the_guide_count_and_check(package):
    count_above, counts = module_of(package).count_above, np.zeros(2, np.int64)
    X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    count_above(X, np.array([1.5, 0.0]), counts)
    assert counts.tolist() == [2, 2]
    with pytest.raises(
        TypeError, match=r"^thresholds: expected C-contiguous float64 of shape \(2\), got float64 \(3,\)$"
    ):
        count_above(X, np.zeros(3), counts)
    with pytest.raises(TypeError, match=r"^X: expected C-contiguous float64"):
        count_above(np.asfortranarray(X), np.zeros(2), counts)
    with pytest.raises(TypeError, match=r"^counts: expected C-contiguous int64 of shape \(2\), writable, got float64"):
        count_above(X, np.zeros(2), np.zeros(2))


def test_structs_results_and_codes(package, monkeypatch):
    library = Library.load(package / "odd", __name__)
    scaled = library.struct("Scaled(scale: f8, values: f8[n])")
    monkeypatch.setattr(sys.modules[__name__], "Scaled", scaled, raising=False)
    sum_scaled = library.bind("sum_scaled(scaled: Scaled) -> f8", scaled)
    record = scaled(2.0, np.array([1.0, 4.0]))
    assert sum_scaled(record) == sum_scaled(pickle.loads(pickle.dumps(record))) == 10.0  # noqa: S301 - our own
    of_the_same_name = Library.load(package / "odd", __name__).struct("Scaled(values: f8[n])")
    with pytest.raises(TypeError, match=r"^scaled: expected"):
        sum_scaled(of_the_same_name(np.zeros(2)))
    assert library.bind("run_out_of_memory(n: i8) -> code")(0) == 0
    with pytest.raises(MemoryError):
        library.bind("run_out_of_memory(n: i8) -> code")(1)


@pytest.mark.parametrize(
    ("signature", "error", "words"),
    [
        ("nothing(n: i8)", ImportError, "odd-base.so: it exports no function 'nothing'$"),
        ("sum_scaled", ValueError, "expected a signature such as 'weigh"),
        ("sum_scaled(n: i8) -> text", ValueError, "expected a signature such as 'weigh"),
        (
            "sum_scaled(pair: Pair) -> f8",
            ValueError,
            "^pair: expected a type of numpy such as 'f8', or a struct, got 'Pair'$",
        ),
        (
            "sum_scaled(n: i8, values f8[n]) -> f8",
            ValueError,
            r"expected a parameter such as .*, got 'values f8\[n\]'$",
        ),
        ("sum_scaled(values: f16[n]) -> f8", ValueError, "^values: expected a type of numpy"),
    ],
)
def test_wrong_signatures_are_refused(package, signature, error, words):
    with pytest.raises(error, match=words):
        Library.load(package / "odd", __name__).bind(signature)


def test_a_library_that_is_missing_is_named(tmp_path):
    with pytest.raises(
        ImportError, match=r"twigs-base.* the compiled part of costframe_twigs cannot be loaded, install"
    ):
        Library.load(tmp_path / "twigs", "costframe_twigs")


def test_levels(package, monkeypatch, tmp_path):
    shutil.copy(package / "odd-base.so", package / "odd-avx2.so")
    for level in ("base", "avx2"):
        monkeypatch.setenv("COSTFRAME_ENGINE", level)
        assert Library.load(package / "odd", __name__).file.stem == f"odd-{level}"
        assert Library.load(package / "counts", __name__).file.stem == "counts-base"
    monkeypatch.setenv("COSTFRAME_ENGINE", str(tmp_path / "engine-base.so"))  # another build of the engine
    assert Library.load(package / "odd", __name__).file.parent == package
    shutil.copy(package / "odd-base.so", tmp_path)
    assert Library.load(package / "odd", __name__).file == tmp_path / "odd-base.so"


def test_constants_are_the_librarys():
    assert engine.constants("tree_kind", "missing_bin") == (0, 255)
    with pytest.raises(ImportError, match=r"engine-\w+.so: it has no constant 'nothing'$"):
        engine.constants("nothing")


def test_a_library_without_constants_says_so(package):
    with pytest.raises(ImportError, match="exports no function 'find_constant'"):
        Library.load(package / "odd", __name__).constants("size")
