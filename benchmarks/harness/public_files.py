"""Tables of public files that others report on, read from a folder into which the user has downloaded them.

    python benchmarks/harness/public_files.py FOLDER

lists which tables are there, and the SHA-256 of each file: "as known" where it is that of the copies that several
public projects have checked their own by; "another" where it is not, which a reader then refuses; "not known" where no
published digest was found, and the digest of the user's file is all that tells what was read. Nothing is downloaded.

Each price is one, as the field's papers have it. Missing values stay missing. The choices of a reader stand in its
docstring; where a paper's own choice is not published, `note` says so.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import math
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

import costframe as cf
from costframe.core.errors import DataError
from costframe.datasets import Dataset

Paths = Mapping[str, Path]


@frozen
class PublicFile:
    """A file by its name, the SHA-256 of its bytes if that is known, and where it comes from."""

    name: str
    source: str
    sha256: str | None = None

    def check(self, folder: Path) -> tuple[Path, str, str] | None:
        """Return its path, digest, and what the digest says; None where there is no such file."""
        path = next((each for each in sorted(folder.rglob(self.name)) if each.is_file()), None)
        if path is None:
            return None
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        told = "not known" if self.sha256 is None else "as known" if digest == self.sha256 else "another"
        return path, digest, told


@frozen
class PublicTable:
    """A table made of public files; `score` is that of the papers that report on it."""

    name: str
    files: tuple[PublicFile, ...]
    read: Callable[[Paths, int], Dataset]
    score: str
    note: str = ""

    def load(self, folder: Path, seed: int = 0) -> Dataset:
        """Read it, split 60/20/20 by seed; a DataError names a file that is missing, other, or cannot be read."""
        paths = {}
        for file in self.files:
            found = file.check(folder)
            if found is None:
                raise DataError(f"{self.name}: {file.name} is not in {folder}; it comes from {file.source}")
            if found[2] == "another":
                raise DataError(f"{found[0]}: expected the SHA-256 {file.sha256}, got {found[1]}")
            paths[file.name] = found[0]
        try:
            return self.read(paths, seed)
        except DataError:
            raise
        except (ValueError, LookupError, OSError, EOFError, tarfile.TarError) as error:
            read = ", ".join(map(str, paths.values()))
            raise DataError(f"{read}: cannot be read as {self.name}: {type(error).__name__}: {error}") from error

    def state(self, folder: Path) -> list[str]:
        """Return a line for each of its files, and one for the table."""
        found = {file.name: file.check(folder) for file in self.files}
        missing = [name for name, each in found.items() if each is None]
        others = [name for name, each in found.items() if each is not None and each[2] == "another"]
        state = (
            f"lacks {', '.join(missing)}" if missing else f"other bytes in {', '.join(others)}" if others else "there"
        )
        lines = [f"{self.name}: {state}{f'; {self.note}' if self.note else ''}"]
        for file in self.files:
            each = found[file.name]
            lines.append(f"    {file.name}: {f'{each[1]} ({each[2]})' if each else f'from {file.source}'}")
        return lines


def _dataset(name: str, names: list[str], X: Any, y: Any, seed: int, **more: Any) -> Dataset:
    return cf.datasets.Dataset.from_arrays(X, np.asarray(y), None, feature_names=names, name=name, seed=seed, **more)


def read_spam(paths: Paths, seed: int) -> Dataset:
    """Read 4,601 mails, spam or not: shares of 48 words and 6 signs, and lengths of runs of capitals."""
    rows = np.loadtxt(paths["spambase.data"], delimiter=",")
    _check_shape("spambase.data", rows, columns=58)
    names = [*(f"word{i}" for i in range(48)), *(f"sign{i}" for i in range(6)), "run mean", "run longest", "run total"]
    return _dataset("spam", names, rows[:, :57], rows[:, 57].astype(int), seed)


def read_miniboone(paths: Paths, seed: int) -> Dataset:
    """Read 130,064 events of 50 measurements; the first ones are signals, as the first line counts them.

    A measurement of -999 is missing.
    """
    with paths["MiniBooNE_PID.txt"].open() as file:
        signals, others = map(int, file.readline().split())
        rows = np.loadtxt(file)
    _check_shape("MiniBooNE_PID.txt", rows, columns=50, rows=signals + others)
    rows[rows == -999] = np.nan
    return _dataset("miniboone", [f"m{i}" for i in range(50)], rows, np.repeat([1, 0], [signals, others]), seed)


DESCRIPTORS = ("Age", "Gender", "Height", "ICUType", "Weight")
SERIES = (
    "Albumin", "ALP", "ALT", "AST", "Bilirubin", "BUN", "Cholesterol", "Creatinine", "DiasABP", "FiO2", "GCS",
    "Glucose", "HCO3", "HCT", "HR", "K", "Lactate", "Mg", "MAP", "MechVent", "Na", "NIDiasABP", "NIMAP", "NISysABP",
    "PaCO2", "PaO2", "pH", "Platelets", "RespRate", "SaO2", "SysABP", "Temp", "TroponinI", "TroponinT", "Urine", "WBC",
)  # fmt: skip


def read_physionet(paths: Paths, seed: int) -> Dataset:
    """Read the stays of the challenge of 2012, and who died: five descriptors, the means of 36 series over 48 hours.

    A value of -1 is missing, and so is a series without a value. A missing value is an answer here; with
    `as_records`, it is a test that nobody made.
    """
    died: dict[str, int] = {}
    for part in "abc":
        if (path := paths.get(f"Outcomes-{part}.txt")) is not None:
            with path.open(newline="") as file:
                died |= {row["RecordID"]: int(row["In-hospital_death"]) for row in csv.DictReader(file)}
    names, rows, answers = [*DESCRIPTORS, *SERIES], [], []
    for part in "abc":
        if (path := paths.get(f"set-{part}.tar.gz")) is None:
            continue
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.endswith(".txt") and (file := archive.extractfile(member)) is not None:
                    values, stay = _read_stay(io.TextIOWrapper(file, "utf-8"))
                    rows.append([values.get(name, math.nan) for name in names])
                    answers.append(died[stay])
    return _dataset("physionet", names, np.array(rows), answers, seed)


def _read_stay(file: io.TextIOWrapper) -> tuple[dict[str, float], str]:
    """Return the mean of each parameter of a stay, and its number."""
    found: dict[str, list[float]] = {}
    stay = ""
    for row in csv.DictReader(file):
        if row["Parameter"] == "RecordID":
            stay = row["Value"]
        elif row["Parameter"] and (value := float(row["Value"])) != -1:
            found.setdefault(row["Parameter"], []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}, stay


# Of support2: what happened later, what others predicted, and what the stay cost.
LATER = (
    "death", "hospdead", "slos", "d.time", "charges", "totcst", "totmcst", "avtisst", "sfdm2", "surv2m", "surv6m",
    "prg2m", "prg6m", "dnr", "dnrday",
)  # fmt: skip


def read_cirrhosis(paths: Paths, seed: int) -> Dataset:
    """Read 418 patients with 17 features: censored, transplanted or dead; the days until then are left out."""
    return _read_csv("cirrhosis", paths["cirrhosis.csv"], seed, ("Status",), ("ID", "N_Days"))


def read_support(paths: Paths, seed: int) -> Dataset:
    """Read 9,105 seriously ill adults, and who died in hospital; what is in `LATER` is left out."""
    return _read_csv("support2", paths["support2.csv"], seed, ("hospdead",), ("", "id", *LATER))


def read_diabetes(paths: Paths, seed: int) -> Dataset:
    """Read 92,062 people of NHANES with 45 features: normal, prediabetes or diabetes."""
    return _read_csv("diabetes", paths["diabetes.csv"], seed, ("Outcome", "label", "class", "target"), ("", "id"))


def _read_csv(name: str, path: Path, seed: int, labels: tuple[str, ...], left_out: tuple[str, ...]) -> Dataset:
    """Read a CSV file with a head; columns of texts are categories, and empty cells, NA and ? are missing."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        head, *lines = csv.reader(file)
    target = next((label for label in labels if label in head), head[-1])
    names = [each for each in head if each != target and each not in left_out]
    texts = {each: [line[head.index(each)].strip() for line in lines] for each in (*names, target)}
    kept = [i for i, text in enumerate(texts[target]) if text not in {"", "NA", "?"}]
    columns, categorical = [], {}
    for each in names:
        cells = [None if texts[each][i] in {"", "NA", "?"} else texts[each][i] for i in kept]
        try:
            columns.append([math.nan if cell is None else float(cell) for cell in cells])
        except ValueError:
            known = tuple(sorted({cell for cell in cells if cell is not None}))
            categorical[each] = known
            columns.append([math.nan if cell is None else float(known.index(cell)) for cell in cells])
    y = np.array([texts[target][i] for i in kept])
    return _dataset(name, names, np.array(columns).T, y, seed, categorical=categorical)


def _check_shape(name: str, array: np.ndarray, *, columns: int, rows: int | None = None) -> None:
    if array.ndim != 2 or array.shape[1] != columns or rows not in {None, len(array)}:
        raise DataError(f"{name}: expected {rows or 'some'} rows of {columns} numbers, got the shape {array.shape}")


def draw_cube(seed: int, n: int = 1000) -> Dataset:
    """Draw the field's cube: of 20 features three tell each of eight classes, its bits, and the others are noise."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 8, n)
    X = random.normal(0.5, 0.3, (n, 20))
    for bit in range(3):
        X[np.arange(n), y + bit] = (y >> bit & 1) + random.normal(0, 0.3, n)
    return _dataset("cube", [f"x{i}" for i in range(20)], X, y, seed)


def fill_means(data: Dataset) -> Dataset:
    """Return a table whose missing values are means of train, as some papers have it; the marks are gone then."""
    train = data.part("train").X
    means = np.nansum(train, axis=0) / np.maximum(1, (~np.isnan(train)).sum(axis=0))
    return evolve(data, name=f"{data.name}, means", X=np.where(np.isnan(data.X), means, data.X))


def only_marks(data: Dataset) -> Dataset:
    """Return what of a table is missing, 0 or 1: what a model of these marks alone knows is a leak."""
    return evolve(data, name=f"{data.name}, marks", X=np.isnan(data.X).astype(float), categorical={})


def as_records(data: Dataset) -> Dataset:
    """Return a table in which a missing value is a test that nobody made; see docs/records.md."""
    prices = data.costs.to_dict()
    entries = {name: {"cost": data.costs.full_cost([name]), "absent": "not made"} for name in data.feature_names}
    missing = np.isnan(data.X).any(axis=0)
    kept = {n: e if m else prices["features"][n] for (n, e), m in zip(entries.items(), missing, strict=True)}
    return data.with_costs(prices | {"features": kept})


_UCI = "https://archive.ics.uci.edu"
_CHALLENGE = "https://physionet.org/content/challenge-2012/1.0.0/"
TABLES = {
    table.name: table
    for table in (
        PublicTable(
            "spam",
            (
                PublicFile(
                    "spambase.data",
                    f"{_UCI}/dataset/94/spambase",
                    "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
                ),
            ),
            read_spam,
            "roc_auc",
        ),
        PublicTable(
            "physionet",
            tuple(
                PublicFile(name, _CHALLENGE, digest)
                for name, digest in {
                    "set-a.tar.gz": "8cb250f179cd0952b4b9ebcf8954b63d70383131670fac1cfee13deaa13ca920",
                    "set-b.tar.gz": "b1637a2a423a8e76f8f087896cfc5fdf28f88519e1f4e874fbda69b2a64dac30",
                    "set-c.tar.gz": "a4a56b95bcee4d50a3874fe298bf2998f2ed0dd98a676579573dc10419329ee1",
                    "Outcomes-a.txt": "2613ea60ccda29f87571a7d6b09ad130858a8ccd66325bd073365925026883c2",
                    "Outcomes-b.txt": "1305f29734da374a809483229a99f33a9230aa8d4fa74b1a2d6ad788136423d5",
                    "Outcomes-c.txt": "0b32dcb7753c0f18f2f5fde498a28618b8879c5e527ce0dae8ad120dd7e205c9",
                }.items()
            ),
            read_physionet,
            "f1",
            "how others make one value of a series is not published: here it is the mean of 48 hours",
        ),
        PublicTable(
            "miniboone",
            (PublicFile("MiniBooNE_PID.txt", f"{_UCI}/dataset/199/miniboone+particle+identification"),),
            read_miniboone,
            "roc_auc",
        ),
        PublicTable(
            "diabetes",
            (PublicFile("diabetes.csv", "NHANES, as M. Kachuee et al. (2019) made a table of it"),),
            read_diabetes,
            "accuracy",
            "no layout of the file is published: a head, and the label as Outcome, label, class, target or last column",
        ),
        PublicTable(
            "cirrhosis",
            (PublicFile("cirrhosis.csv", f"{_UCI}/dataset/878"),),
            read_cirrhosis,
            "accuracy",
        ),
        PublicTable(
            "support2",
            (PublicFile("support2.csv", f"{_UCI}/dataset/880/support2"),),
            read_support,
            "roc_auc",
            "papers differ in the label: here it is death in hospital, and what was known later is left out",
        ),
    )
}


@functools.cache
def load_public(name: str, folder: str, seed: int = 0) -> Dataset:
    """Return a public table by name, split by seed, or a drawn cube."""
    return draw_cube(seed) if name == "cube" else TABLES[name].load(Path(folder), seed)


def main() -> None:
    """List the tables of a folder."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    for table in TABLES.values():
        print("\n".join(table.state(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
