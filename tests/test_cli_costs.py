"""`costframe costs`: a file to fill in, with resources guessed from names, which keeps the prices that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli_cases import refused

from costframe import CostModel
from costframe.datasets import read_table
from costframe.datasets.price_draft import draft_prices

HOSTILE = ['we"ird, [x] = 1\n# no', "a.b c", "größe", "\x1b[31mred", "'", "#", " ", "\u202egnorw", "\x7f"]


@pytest.fixture
def cells(tmp_path):
    """Write a table of groups of columns; return its path."""
    columns = {
        "age": [1, 2, 3], "color_red": [1, 0, 0], "color_blue": [0, 1, 0], "sick_nose": [1, 1, 0],
        "sick_ear": [1, 0, 1], "cbc.rbc": [1, 2, 3], "cbc.wbc": [2, 2, 2], "cbc.hgb": [1, 1, 1],
        "mean radius": [1, 2, 3], "radius error": [1, 2, 3], "worst radius": [2, 3, 4], "job": ["a", "b", "c"],
        "ill": [0, 1, 0],
    }  # fmt: skip
    pd.DataFrame(columns).to_csv(tmp_path / "cells.csv", index=False)
    return tmp_path / "cells.csv"


def needs(model):
    return {price.name: price.needs for price in model.features if price.needs}


def test_the_file_is_read_back_with_guessed_resources(run, cells, tmp_path):
    result = run("costs", cells, "--target", "ill", "--unit", "CAD")
    assert result.exit_code == 0, result.output
    (tmp_path / "prices.toml").write_text(result.stdout)
    model = CostModel.load(tmp_path / "prices.toml")
    assert model.names == tuple(pd.read_csv(cells).columns[:-1])
    assert model.unit == "CAD"
    assert needs(model) == {
        "color_red": ("color",), "color_blue": ("color",), "cbc.rbc": ("cbc",), "cbc.wbc": ("cbc",),
        "cbc.hgb": ("cbc",), "mean radius": ("radius",), "radius error": ("radius",), "worst radius": ("radius",),
    }  # fmt: skip
    assert {price.cost for price in model.features if price.needs} == {0.0}
    assert {price.cost for price in (*model.resources, *model.features) if price.name not in needs(model)} == {1.0}
    assert "color = 1.0  # fill in; guessed from one-hot 'color_red', 'color_blue'\n" in result.stdout


def test_known_prices_stay_and_missing_ones_are_added(run, cells, tmp_path):
    some = tmp_path / "some.toml"
    some.write_text('unit = "EUR"\nsplit = 0.5\n[features]\ncolor_red = { cost = 3, needs = ["color"] }\nage = 7\n'
                    "[resources]\ncolor = 9\n")  # fmt: skip
    result = run("costs", cells, "--target", "ill", "--ignore", "job", "--costs", some, "--output", "all.toml")
    assert result.exit_code == 0, result.output
    assert result.stdout == "wrote all.toml: 11 features, 4 prices to fill in\n"
    model = CostModel.load(tmp_path / "all.toml")
    price = {price.name: price for price in model.features}
    assert (model.unit, model.split, price["age"].cost, price["color_red"].cost) == ("EUR", 0.5, 7.0, 3.0)
    assert price["color_blue"].needs == ("color",)
    assert {resource.name: resource.cost for resource in model.resources} == {"color": 9.0, "radius": 1.0, "cbc": 1.0}
    text = (tmp_path / "all.toml").read_text()
    assert "age = 7.0\n" in text
    assert "sick_nose = 1.0  # fill in\n" in text


def test_any_name_is_quoted(tmp_path):
    text = draft_prices(HOSTILE).to_toml("Prices of a\nb = 1")
    assert all(line.isprintable() for line in text.splitlines())
    (tmp_path / "p.toml").write_text(text)
    model = CostModel.load(tmp_path / "p.toml")
    assert model.names == tuple(HOSTILE)


def test_what_costs_refuses(run, cells, tmp_path):
    (tmp_path / "mine.toml").write_text("mine")
    for given, text in [
        (("parity", "--target", "y"), "--target is for files; the data set parity"),
        ((cells, "--target", "il"), "no column 'il'"),
        ((cells, "--output", "prices.csv"), "ends in .toml"),
        ((cells, "--output", "mine.toml"), "mine.toml would be overwritten; choose another place, or add --force"),
    ]:
        assert text in refused(run("costs", *given))
    assert (tmp_path / "mine.toml").read_text() == "mine"


def test_nothing_stands_in_the_way_of_a_first_table(run, tmp_path):
    """Of a European bank: an id, a date, a free text, a constant, a column known too late, and a paid score."""
    rng = np.random.default_rng(0)
    n = 300
    late = rng.integers(0, 2, n)
    score = np.char.replace((late + rng.normal(size=n)).round(3).astype(str), ".", ",")
    lines = ["kunde;antrag;zweck;land;mahnung;schufa;ausfall"]
    for i, number in enumerate(rng.permutation(n)):
        day, told = f"{1 + i % 28:02}.{1 + i % 12:02}.2023", i % 90 + 1 if late[i] else ""
        lines.append(f"{7000 + number};{day};Kauf Nr {i * i};DE;{told};{score[i]};{late[i]}")
    (tmp_path / "kredit.csv").write_text("\n".join(lines) + "\n")
    given = ("kredit.csv", "--target", "ausfall")
    done = run("costs", *given, "--output", "preise.toml")
    assert done.stdout == "wrote preise.toml: 3 features, 3 columns to ignore, 3 prices to fill in\n", done.output
    draft = (tmp_path / "preise.toml").read_text()
    assert '    "kunde",  # an id, a whole number that differs in every row\n' in draft
    assert '    "zweck",  # a text that differs in every row\n    "land",  # the same in every row\n' in draft
    given += ("--costs", "preise.toml", "--algorithm", "miser", "--tradeoff", "0.001")
    done = run("fit", *given, "--output", "my.model")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    assert "left out, as preise.toml says: 'kunde', 'zweck', 'land'" in said
    assert "'antrag': dates, read as days since 1970-01-01" in said
    assert "possible leak: whether 'mahnung' is missing nearly tells the target (AUC 1.000 ±0.000); if" in said
    assert "possible leak" not in run("fit", *given, "--ignore", "mahnung", "--output", "honest.model").stdout
    done = run("predict", "honest.model", "kredit.csv", "--output", "answers.csv")
    assert done.exit_code == 0, done.output


def test_prices_left_open_are_no_secret(run, cells, tmp_path):
    """A placeholder is a price like any other, so a forgotten one would be a silent guess."""
    pd.concat([pd.read_csv(cells)] * 10).to_csv(cells, index=False)
    run("costs", cells, "--target", "ill", "--ignore", "job", "--output", "draft.toml")
    (draft := tmp_path / "draft.toml").write_text(
        (tmp_path / "draft.toml").read_text().replace("= 1.0  #", "= 2  #", 5)
    )
    notes = " ".join(read_table(cells, "ill", draft, ignore=["job"]).notes)
    assert "draft.toml: 1 price marked 'fill in' is still 1.0" in notes
