"""Links between files lead somewhere in a checkout, as on a code host; the site points them to pages."""

from __future__ import annotations

import ast
import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*$", re.MULTILINE)
# Any other line before a block is text to the site, and the end of the block opens one.
READ_BY_SITE = re.compile(r'```([\w-]+( title="[^"\n]+")?)?')
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
SOURCES = sorted([
    *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/gallery/*.py"),
    *ROOT.glob("docs/notebooks/*.ipynb"), *ROOT.glob("plugins/*/README.md"), *ROOT.glob("examples/**/*.md"),
    *ROOT.glob("benchmarks/**/*.md"),
])  # fmt: skip


def text_of(path):
    """Return a file's Markdown, without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    if path.suffix == ".ipynb":
        text = "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] != "code")
    return FENCED.sub("", text)


def anchors_of(path):
    """Return the anchors of a page's headings, as code hosts make them."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", title) for title in HEADING.findall(text_of(path)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in plain}


def links_of(path):
    """Return the relative links of a file, each with the file or folder that it leads to, and its anchor."""
    for target in LINK.findall(text_of(path)):
        place, _, anchor = target.partition("#")
        if not re.match("[a-z]+:", target):
            yield target, (path.parent / place).resolve() if place else path, anchor


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(source):
    for target, path, anchor in links_of(source):
        assert path.exists(), f"{target}: there is no {path}"
        assert path.is_relative_to(ROOT), target
        assert not anchor or (path.suffix == ".md" and anchor in anchors_of(path)), f"{target}: no such heading"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_site_reads_every_block_of_code(source):
    if source.suffix == ".md":
        lines = FENCE.findall(source.read_text(encoding="utf-8"))
        assert [line for line in lines if not READ_BY_SITE.fullmatch(line)] == []
        assert len(lines) % 2 == 0


def test_there_are_links_to_check():
    assert sum(len(list(links_of(source))) for source in SOURCES) > 150
    assert "estimates" in anchors_of(ROOT / "docs" / "choosing.md")


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("../plugins/planner/README.md", "algorithms/planner.md"),
        ("../plugins/cegb", "algorithms/cegb.md"),
        ("../costframe/plot.py", "api/plot.md"),
        ("../costframe/datasets/__init__.py", "api/datasets.md"),
        ("../costframe/trees", None),
        ("../costframe/engine", None),
        ("gallery", "gallery/index.md"),
        ("gallery/latency.py", "gallery/latency.md"),
        ("notebooks/story.ipynb", "notebooks/story.md"),
        ("../CHANGELOG.md", "changelog.md"),
        ("choosing.md#errors-and-intervals", "choosing.md#errors-and-intervals"),
        ("tutorial/heart.csv", "tutorial/heart.csv"),
    ],
)
def test_the_site_points_links_to_pages(link, page, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_build")
    pages = importlib.import_module("pages")
    text, broken = pages.relink(f"see [this]({link})", "docs/faq.md", "faq.md")
    assert (text, broken) == ("see this" if page is None else f"see [this]({page})", [])
    story = "docs/notebooks/story.ipynb"
    assert pages.relink("[it](story.ipynb)", story, "notebooks/story.md")[0] == "[it](story.ipynb)"
    assert pages.relink("[no](../nothing.md)", "docs/faq.md", "faq.md")[1] == ["../nothing.md"]


def test_the_site_shows_pictures_of_the_gallery_where_a_link_stands_alone(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_build")
    pages = importlib.import_module("pages")
    text = "[Three ways](gallery/fee.md)\n\nsee [it](gallery/fee.md)\n\n[A table](gallery/table.md)\n"
    shown = "[![Three ways](gallery/fee.svg)](gallery/fee.md)"
    assert pages.with_pictures(text, {"gallery/fee.svg"}) == text.replace("[Three ways](gallery/fee.md)", shown)
