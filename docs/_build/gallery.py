"""The gallery: each script of docs/gallery runs, and becomes a page with its picture or its table."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import runpy
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
TABLES = ("heart.csv", "prices.toml")  # of the tutorial, in the folder where scripts run
LEAD = """# Gallery

Short scripts, each with one picture or table. Those that read `heart.csv` and `prices.toml` run in a folder with these
two files of the [tutorial](../tutorial/index.md).
"""


def make_gallery() -> dict[str, str | bytes]:
    """Run the scripts; return the pages and pictures of the gallery by the path of each within the site."""
    files: dict[str, str | bytes] = {}
    cells = []
    for script in SCRIPTS:
        title, text = _docstring(script)
        printed, picture = run_script(script)
        if not printed and picture is None:
            raise ValueError(f"{script.name}: expected a picture {script.stem}.svg or a printed table, got neither")
        shown = [f"# {title}", text]
        if picture is not None:
            files[f"gallery/{script.stem}.svg"] = picture
            shown.append(f"![{title}]({script.stem}.svg)")
        if printed:
            shown.append(f"```text\n{printed}```")
        code = script.read_text("utf-8").split('"""', 2)[2].strip()
        shown.append(f"```python\n{code}\n```\n\n[All of the gallery](index.md)")
        files[f"gallery/{script.stem}.md"] = "\n\n".join(shown)
        cells.append(f"[![{title}]({script.stem}.svg)]({script.stem}.md) | " if picture is not None else " | ")
        cells[-1] = f"| {cells[-1]}[{title}]({script.stem}.md) |"
    files["gallery/index.md"] = "\n".join([LEAD, "| | |", "|---|---|", *cells])
    return files


def run_script(script: Path) -> tuple[str, bytes | None]:
    """Run a script in a folder with the tutorial's tables; return what it prints, and its picture (SVG) or None."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            shutil.copy(DOCS / "tutorial" / name, folder)
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed, mpl.rc_context({"svg.hashsalt": "costframe"}):
                plt.switch_backend("agg")
                runpy.run_path(str(script), run_name="__main__")
        finally:
            os.chdir(before)
            plt.close("all")
        picture = Path(folder, f"{script.stem}.svg")
        return printed.getvalue(), picture.read_bytes() if picture.exists() else None


def _docstring(script: Path) -> tuple[str, str]:
    """Return the first line of a script's docstring without its period, and the rest."""
    title, _, text = (ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "").partition("\n\n")
    return title.rstrip("."), text
