"""The tasks: `nox -l` lists them, `nox -s NAME` runs one."""

import runpy
from pathlib import Path

import nox

nox.options.sessions = ["gates", "tests"]
nox.options.reuse_existing_virtualenvs = True

_USED = ("cli", "retries", "test", "testing", "catboost", "lightgbm")  # extras whose lowest versions are tried


@nox.session
def gates(session: nox.Session) -> None:
    """Check with ruff, mypy and the import rules."""
    session.install("-e", ".[test,gates]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the whole suite, with the example plugins installed."""
    session.install("-e", ".[test]", "-e", "examples/costframe-stumps", "-e", "examples/costframe-feast")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run a part of the suite with the lowest version of everything that pyproject.toml names."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    used = [*project["dependencies"], *(each for name in _USED for each in extras[name])]
    bounds = [each.replace(">=", "==") for each in used if not each.startswith("costframe[")]
    session.install("-e", ".", *bounds)
    names = ["cli_models", "frontier_display", "package", "page", "storage", "table_files"]
    files = [f"tests/test_{name}.py" for name in names]  # where other libraries' versions matter
    old = ["-W", "default::DeprecationWarning"]  # of old releases, about what they import of newer ones
    session.run("pytest", *old, *(session.posargs or files))


@nox.session
def deep(session: nox.Session) -> None:
    """Try the central law on 20,000 drawn cases, and what repeats other tests."""
    session.install("-e", ".[test]")
    session.run("pytest", "tests/test_exactness.py", "--hypothesis-profile=deep", *session.posargs)
    session.run("pytest", "-n", "2", "-m", "deep")


@nox.session
def sanitize(session: nox.Session) -> None:
    """Run the engine's tests on a build with address and undefined-behaviour checks."""
    folder = session.create_tmp()
    session.install(".[test]")
    session.run("python", "engine/build.py", "--sanitize", "--output", folder)
    runtime = session.run("c++", "-print-file-name=libasan.so", external=True, silent=True)
    env = {
        "COSTFRAME_ENGINE": f"{folder}/engine-base.so",
        "LD_PRELOAD": str(runtime).strip(),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    tests = [*Path("tests").glob("test_*.py"), *Path("plugins").glob("*/tests/test_*.py")]
    own = [str(file) for file in tests if "mark.engine" in file.read_text()]  # others load libraries that it ends
    session.run("pytest", "-n", "2", "-m", "engine", *(session.posargs or own), env=env)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try 140,000 hostile files, logs, replies and values, servers that fail in any order, and 500 drawn pipelines."""
    session.install("-e", ".[test,live,lightgbm,catboost]")
    env = {"COSTFRAME_MUTATIONS": "8000"}
    session.run("pytest", "-n", "2", "tests/test_fuzz.py", "--hypothesis-profile=deep", *session.posargs, env=env)
    session.run("pytest", "-n", "2", "tests/test_drawn_pipelines.py", env={"COSTFRAME_PIPELINES": "500"})
    session.run("pytest", "tests/test_faults.py", "-k", "any_order", "--hypothesis-profile=deep", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run a benchmark by name with its options, or the times, as ratios against a peer in the same run."""
    session.install("-e", ".[bench]")
    name, *options = session.posargs or ["times"]
    session.run("python", f"benchmarks/{name}.py", *options)


@nox.session
def release(session: nox.Session) -> None:
    """Build the distributions, and try the wheel in an empty environment of every supported Python that is here."""
    session.run(".ci/wheel", external=True)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build dist/*.whl for all platforms with ziglang's compiler, check their libraries, and try the one for Linux."""
    session.install("build", "hatchling>=1.24", "lief", "ziglang>=0.17")
    for old in Path("dist").glob("*.whl"):
        old.unlink()
    for platform in runpy.run_path("engine/build.py")["TARGETS"]:
        session.run("python", "-m", "build", "--wheel", "--no-isolation", env={"COSTFRAME_PLATFORM": platform})
    session.run("python", ".ci/exports.py")
    empty = f"{session.create_tmp()}/empty"
    session.run("python", "-m", "venv", "--clear", empty)
    session.run(f"{empty}/bin/pip", "install", *map(str, Path("dist").glob("*manylinux*x86_64.whl")), external=True)
    user = Path(".ci/user.py").resolve()
    with session.chdir(empty):  # away from the checkout, so that only the wheel can be imported
        session.run("bin/python", str(user), external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into build/site; warnings and broken links are errors."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict")
