"""The pages whose code stands for itself: every block runs, in order."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {"adopting": ("piped", "answer", "again"), "certain": ("answer", "near")}


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    for block in blocks:  # later ones go on from the first
        exec(block, names)  # noqa: S102 - our own text
    assert set(PAGES[page]) <= names.keys()
    assert len(capsys.readouterr().out.splitlines()) >= len(blocks) // 2
