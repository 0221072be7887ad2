"""Missing values that tell the target, and columns that look like a second outcome: `costs` and `compare` name them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from dataset_cases import find_leaks

from costframe.datasets import Dataset, read_table

N = 4000


def measured(share, prevalence, n=N, seed=0):
    """Return labels, and which rows were measured: of `share` of all as many ill ones as an AUC of about .78 has."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < prevalence
    fpr = min(max(share - 0.56 * prevalence, 0.0), 0.44)
    tpr = min((share - fpr * (1 - prevalence)) / prevalence, 1.0)
    return ill.astype(int), np.where(ill, rng.random(n) < tpr, rng.random(n) < fpr)


def told_of(X, y, costs=None, **how):
    return find_leaks(Dataset.from_arrays(X, y, costs, **how))


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("prevalence", [0.5, 0.2])
def test_missing_values_that_tell_the_target_are_told_at_all_shares(run, tmp_path, share, prevalence):
    if share == 0.99 and prevalence == 0.2:
        share, prevalence = 0.99, 0.8  # a mark of 1 % says little where 4 of 5 rows are well anyway
    y, there = measured(share, prevalence)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(size=N), "bnp": np.where(there, rng.normal(size=N), np.nan), "y": y})
    frame["race"] = np.where(rng.random(N) < share, rng.choice(["a", "b"], N), None)  # missing by chance
    frame.to_csv(tmp_path / "t.csv", index=False)
    (told,) = [note for note in read_table(tmp_path / "t.csv", "y").notes if note.startswith("possible leak")]
    assert told.startswith("possible leak: whether 'bnp' is missing ")
    assert "tells the target" in told
    done = run("costs", "t.csv", "--target", "y")
    assert done.stderr.startswith("possible leak: whether 'bnp' is missing tells the target: ")
    assert "'race'" not in done.stderr
    few = "bnp = 1.0  # fill in; whether 'bnp' is missing tells the target"
    many = (
        f'bnp = {{ cost = 1.0, absent = "not made" }}  # fill in; empty in {1 - there.mean():.0%} of rows, which tells'
    )
    assert (many if 1 - there.mean() > 0.02 else few) in done.stdout
    (tmp_path / "free.toml").write_text("[features]\nage = 1.0\nbnp = 0.0\nrace = 1.0\n")
    assert "'bnp'" not in run("costs", "t.csv", "--target", "y", "--costs", "free.toml").stderr
    notes = read_table(tmp_path / "t.csv", "y", tmp_path / "free.toml").notes  # it costs nothing: nobody orders it
    assert not any("tells the target" in note and "nearly" not in note for note in notes)


def test_marks_of_panels_numbers_and_other_tasks():
    y, there = measured(0.3, 0.3)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 4))
    X[~there, :2] = np.nan
    (told,) = told_of(X, y)
    assert told.features == ("x0", "x1")
    assert "whether 'x0', 'x1' are missing tells the target" in told
    X[~there, :2] = -999.0
    (told,) = told_of(X, y)
    assert told.startswith("possible leak: whether 'x0', 'x1' are -999 tells the target: ")
    X[:, :2] = np.where(there[:, None], X[:, :2], np.nan)
    (told,) = told_of(X, y + rng.normal(size=N), task="regression")
    assert "are missing tells the target (its mean is " in told
    several = np.where(y == 1, 3, rng.integers(0, 3, N))
    (told,) = told_of(X, several)
    assert "of such rows are 3" in told
    many = rng.normal(size=(N, 30))
    for f in range(30):
        many[~there ^ (rng.random(N) < 0.01 * f), f] = np.nan
    told = told_of(many, y)
    assert len(told) == 9
    assert "'x29' and" in told[-1] or "missing tells the target too" in told[-1]


@pytest.mark.parametrize("mark", [-1, -999, 99, 9999])
@pytest.mark.parametrize("beside", [0.0, 0.2])
def test_numbers_in_place_of_missing_values_are_looked_at_too(mark, beside):
    y, there = measured(0.3, 0.3)
    rng = np.random.default_rng(1)
    ages = rng.integers(0, 91, (N, 2)).astype(float)  # 99 is near, and -1 nearer
    X = np.where(np.column_stack([there, rng.random(N) < 0.3]), ages, mark)
    X[rng.random((N, 2)) < beside] = np.nan  # by chance
    (told,) = told_of(X, y)
    assert told.startswith(f"possible leak: whether 'x0' is {mark} tells the target: ")
    told = told_of(np.where(mark == X, 50.0, X), y)
    assert not told  # a frequent value amid others is none


@pytest.mark.parametrize("n", [60, 300, 4000])
def test_values_that_are_missing_by_chance_are_left_alone(n):
    rng = np.random.default_rng(0)
    for share in (0.02, 0.3, 0.9):
        X = np.where(rng.random((n, 40)) < share, np.nan, rng.normal(size=(n, 40)))
        assert not told_of(X, np.arange(n) % 3 == 0)
        assert not told_of(X, rng.normal(size=n), task="regression")


def test_columns_that_look_like_a_second_outcome_are_named(run, tmp_path):
    rng = np.random.default_rng(0)
    n = 600
    x = rng.normal(size=n)
    ill = x + rng.normal(size=n) > 0
    frame = pd.DataFrame({
        "age": rng.integers(20, 90, n), "x": x, "died_1y": ill | (rng.random(n) < 0.1),
        "death_date": rng.normal(size=n), "readmission": rng.integers(0, 2, n), "ill_5y": rng.integers(0, 2, n),
        "icu": np.where(ill ^ (x > 2), "yes", "no"),
        "billed": ill * 5.0 + rng.random(n), "sex": rng.choice(["m", "f"], n), "stay": rng.integers(1, 20, n),
        "illness_score": x + rng.normal(size=n), "ill": ill,
    })  # fmt: skip
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("costs", "t.csv", "--target", "ill", "--output", "p.toml")
    assert done.exit_code == 0, done.output
    named = {line.split("'")[1]: line for line in done.stderr.splitlines()}
    assert named.keys() == {"died_1y", "death_date", "readmission", "ill_5y", "icu", "billed"}
    assert all("looks like a second outcome, " in line for line in named.values())
    assert "by its name, which is like 'ill'" in named["ill_5y"]
    assert "for it goes with the target (association 0." in named["icu"]
    assert "by the word 'died' in its name" in named["died_1y"]
    assert "for it nearly tells the target (AUC 1" in named["billed"]
    assert "died_1y = 1.0  # fill in; 'died_1y' looks like a second outcome" in (tmp_path / "p.toml").read_text()
    frame["ill"] = x + 0.01 * rng.normal(size=n)
    frame.to_csv(tmp_path / "t.csv", index=False)
    told = run("costs", "t.csv", "--target", "ill").stderr
    assert "'x' looks like a second outcome, for it " in told
    assert run("costs", "t.csv").stderr == ""
