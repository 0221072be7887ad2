"""`--output` never overwrites in silence: it asks on a terminal, and needs --force elsewhere."""

from __future__ import annotations

import pytest
from cli_cases import refused

from costframe.cli import overwriting
from costframe.core.errors import ParameterError

FIT = ("fit", "none.csv", "--target", "y", "--algorithm", "miser", "--tradeoff", 1, "--output", "m")


def test_a_file_is_kept_before_any_work(run, tmp_path):
    (tmp_path / "m").write_text("mine")
    said = refused(run(*FIT))
    assert said == "error: --output: m would be overwritten; choose another place, or add --force"
    assert "none.csv: cannot be read" in refused(run(*FIT, "--force"))
    assert (tmp_path / "m").read_text() == "mine"


@pytest.mark.parametrize("answer", [True, False])
def test_somebody_at_a_terminal_is_asked(tmp_path, monkeypatch, answer):
    asked = []
    monkeypatch.setattr(overwriting, "on_terminal", lambda: True)
    monkeypatch.setattr(overwriting.click, "confirm", lambda text, **_: asked.append(text) or answer)
    (folder := tmp_path / "run").mkdir()
    overwriting.check_overwrite([folder, tmp_path / "new"], force=False)  # empty, and not there
    assert not asked
    (folder / "points.csv").write_text("")
    if answer:
        overwriting.check_overwrite([folder], force=False)
    else:
        with pytest.raises(ParameterError, match="was not overwritten"):
            overwriting.check_overwrite([folder], force=False)
    assert asked == [f"overwrite {folder}?"]
    overwriting.check_overwrite([folder], force=True)
    assert len(asked) == 1
