"""Readers of the field's public files, on small files of their form; and what they say of digests."""

import hashlib
import importlib
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from costframe.errors import DataError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def public(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module("harness.public_files")
    for name in [name for name in sys.modules if name.partition(".")[0] == "harness"]:
        sys.modules.pop(name)


def known(public, name, folder):
    """Return a table whose files have the digests that they should have."""
    table = public.TABLES[name]
    digests = {file.name: hashlib.sha256((folder / file.name).read_bytes()).hexdigest() for file in table.files}
    return evolve(table, files=tuple(evolve(file, sha256=digests[file.name]) for file in table.files))


def test_spam_is_refused_if_its_bytes_are_not_the_known_ones(public, tmp_path):
    rows = np.random.default_rng(0).random((60, 57)).round(2)
    lines = [",".join(map(str, [*row, i % 2])) for i, row in enumerate(rows)]
    (tmp_path / "spambase.data").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"spambase.data: expected the SHA-256 b1ef93de.*, got "):
        public.TABLES["spam"].load(tmp_path)
    data = known(public, "spam", tmp_path).load(tmp_path, 3)
    assert data.X.tolist() == rows.tolist()
    assert data.y.tolist() == [0, 1] * 30
    assert (data.full_cost, data.seed) == (57.0, 3)
    (tmp_path / "spambase.data").write_text("1,2,3\n4,5,6\n")
    with pytest.raises(DataError, match=r"expected some rows of 58 numbers, got the shape \(2, 3\)"):
        known(public, "spam", tmp_path).load(tmp_path)


def test_miniboone_counts_its_signals_first(public, tmp_path):
    rows = np.random.default_rng(0).normal(size=(50, 50)).round(3)
    rows[0] = -999
    lines = [" ".join(map(str, row)) for row in rows]
    (tmp_path / "MiniBooNE_PID.txt").write_text("\n".join([" 20 30", *lines]))
    data = public.TABLES["miniboone"].load(tmp_path)
    assert data.y.tolist() == [1] * 20 + [0] * 30
    assert np.isnan(data.X[0]).all()
    assert data.X[1:].tolist() == rows[1:].tolist()


def write_stays(folder, part, numbers):
    with tarfile.open(folder / f"set-{part}.tar.gz", "w:gz") as archive:
        for number in numbers:
            text = f"Time,Parameter,Value\n00:00,RecordID,{number}\n00:00,Age,{number % 90}\n00:00,Height,-1\n"
            text += f"01:00,HR,{60 + number % 2}\n02:30,HR,{70 + number % 2}\n" + (
                "03:00,pH,7.25\n" if number % 3 else ""
            )
            info = tarfile.TarInfo(f"set-{part}/{number}.txt")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    lines = ["RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death"]
    lines += [f"{number},-1,-1,5,-1,{number % 2}" for number in numbers]
    (folder / f"Outcomes-{part}.txt").write_text("\n".join(lines) + "\n")


def test_physionet_has_means_of_series_and_what_was_not_measured_is_missing(public, tmp_path):
    for part, first in zip("abc", (100, 200, 300), strict=True):
        write_stays(tmp_path, part, range(first, first + 20))
    data = known(public, "physionet", tmp_path).load(tmp_path)
    numbers = np.concatenate([np.arange(first, first + 20) for first in (100, 200, 300)])
    column = {name: data.X[:, f] for f, name in enumerate(data.feature_names)}
    assert len(column) == 41
    assert column["HR"].tolist() == (65 + numbers % 2).tolist()
    assert column["Age"].tolist() == (numbers % 90).tolist()
    assert np.isnan(column["Height"]).all()
    assert (np.isnan(column["pH"]) == (numbers % 3 == 0)).all()
    assert data.y.tolist() == (numbers % 2).tolist()
    records = public.as_records(data)
    assert (records.has_records, data.has_records, records.full_cost) == (True, False, 41.0)
    filled, marks = public.fill_means(data), public.only_marks(data)
    assert not np.isnan(filled.X).any()
    assert set(filled.X[:, data.feature_names.index("pH")]) == {7.25}
    assert marks.X[:, data.feature_names.index("pH")].tolist() == (numbers % 3 == 0).tolist()


def test_tables_with_heads_leave_out_what_happened_later(public, tmp_path):
    rows = [f"{i},{i * 3},{'CDL'[i % 3]},{'FM'[i % 2]},{'NA' if i % 5 == 0 else i / 4}" for i in range(60)]
    (tmp_path / "cirrhosis.csv").write_text("\n".join(["ID,N_Days,Status,Sex,Bilirubin", *rows]))
    data = public.TABLES["cirrhosis"].load(tmp_path)
    assert data.feature_names == ("Sex", "Bilirubin")
    assert dict(data.categorical) == {"Sex": ("F", "M")}
    assert np.isnan(data.X[:, 1]).tolist() == [i % 5 == 0 for i in range(60)]
    assert data.classes == ("C", "D", "L")
    rows = [f"{i},{i % 2},{i % 3},{i % 2},{i % 7},{i}" for i in range(60)]
    (tmp_path / "support2.csv").write_text("\n".join(["id,death,age,hospdead,surv2m,ph", *rows]))
    assert public.TABLES["support2"].load(tmp_path).feature_names == ("age", "ph")
    (tmp_path / "diabetes.csv").write_text("\n".join(["a,b,kind", *(f"{i},{i * i},{i % 3}" for i in range(60))]))
    assert public.TABLES["diabetes"].load(tmp_path).classes == ("0", "1", "2")


def test_the_list_says_what_is_there_with_digests(public, tmp_path):
    text = b"1 1\n" + b" ".join([b"0"] * 50)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "MiniBooNE_PID.txt").write_bytes(text)
    (tmp_path / "spambase.data").write_text("x")
    script = ROOT / "benchmarks" / "harness" / "public_files.py"
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=True)  # noqa: S603
    assert "miniboone: there\n" in done.stdout
    assert f"    MiniBooNE_PID.txt: {hashlib.sha256(text).hexdigest()} (not known)\n" in done.stdout
    assert "spam: other bytes in spambase.data\n" in done.stdout
    assert "(another)" in done.stdout
    assert "physionet: lacks set-a.tar.gz, " in done.stdout
    with pytest.raises(DataError, match=r"support2: support2.csv is not in .*; it comes from https://archive.ics"):
        public.TABLES["support2"].load(tmp_path)


def test_a_drawn_cube_tells_classes_by_their_three_bits(public):
    data = public.load_public("cube", "", 1)
    assert (data.X.shape, data.classes, data.full_cost) == ((1000, 20), tuple(range(8)), 20.0)
    for label in range(8):
        means = data.X[data.y == label].mean(axis=0)
        bits = [(label >> bit) & 1 for bit in range(3)]
        assert means[label : label + 3] == pytest.approx(bits, abs=0.12)
        assert np.delete(means, range(label, label + 3)) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(
    ("table", "content"),
    [
        ("miniboone", b"no numbers\n"),
        ("miniboone", b""),
        ("diabetes", b""),
        ("cirrhosis", b"ID,Status,Age\n1,C\n"),
        ("support2", b"\xff\xfe\x00\n"),
    ],
)
def test_a_file_that_is_no_such_table_is_named(public, tmp_path, table, content):
    name = public.TABLES[table].files[0].name
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"{name}: cannot be read as {table}: "):
        public.TABLES[table].load(tmp_path)


def board(*arguments):
    command = [sys.executable, str(ROOT / "benchmarks" / "board.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def test_a_board_of_few_rows_has_all_classes_of_a_file_that_has_one_after_another(tmp_path):
    rows = np.random.default_rng(0).normal(size=(400, 50)).round(3)
    lines = [" ".join(map(str, row)) for row in rows]
    (tmp_path / "MiniBooNE_PID.txt").write_text("\n".join([" 200 200", *lines]))
    few = "--public", tmp_path, "--sides", "cegb", "--repeats", 1, "--rows", 60
    made = board(tmp_path / "board", "miniboone", "support2", *few)
    assert made.returncode == 0, made.stderr
    assert "miniboone: 220 rows, 50 features" in made.stdout
    assert "support2: left out, support2: support2.csv is not in" in made.stdout
    again = board(tmp_path / "board", "miniboone", *few[:-1], 50)
    assert again.returncode == 1
    assert "miniboone: left out, directory: the lines of miniboone in " in again.stdout
    assert again.stderr.startswith("there is no board, as no table has results")


@pytest.mark.parametrize("options", [("--levels", "0"), ("--rows", "0"), ("--sides", "nobody"), ("--repeats", "0")])
def test_a_board_names_what_is_wrong_before_it_fits(tmp_path, options):
    made = board(tmp_path / "board", "drawn", *options)
    assert made.returncode in {1, 2}
    assert "Traceback" not in made.stderr
    assert {"--sides": "algorithm 'nobody'"}.get(options[0], options[0].strip("-")) in made.stderr + made.stdout
    assert not list(tmp_path.rglob("results.jsonl"))
