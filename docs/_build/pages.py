"""Pages that are made of other files: the plugins' READMEs, notebooks, the changelog and the public names."""

from __future__ import annotations

import importlib
import inspect
import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = "docs/notebooks"
CHANGELOG = "CHANGELOG.md"
# What plugins import from, and policies from elsewhere.
FACES = ("plugin", "trees", "stagewise", "sets", "gates", "adoption", "comparison", "programs")
REFERENCE = ("costframe", *FACES, "datasets", "errors", "plot", "sources", "testing")  # pages of modules
PLUGIN = re.compile(r"plugins/(\w+)/README\.md")
MODULE = re.compile(r"costframe/(?:(\w+)(?:\.py|/__init__\.py)|__init__\.py)i?")
MADE = re.compile(r"^(docs/(?:gallery/\w+(?=\.py)|notebooks/[\w-]+(?=\.ipynb)))\.\w+$")  # shown as pages
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
PICTURE = re.compile(r"^\[([^\]]*)\]\(((?:\.\./)*gallery/\w+)\.md\)$", re.MULTILINE)
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def plugin_names() -> list[str]:
    """Return the names of the plugins in this repository, sorted."""
    return sorted(readme.parent.name for readme in ROOT.glob("plugins/*/README.md"))


def page_of(path: str) -> str | None:
    """Return the page that shows a file or folder of the repository, or None."""
    if (ROOT / path / "README.md").is_file():
        path = posixpath.normpath(f"{path}/README.md")
    special = {CHANGELOG: "changelog.md", "README.md": "index.md", "docs/gallery": "gallery/index.md"}
    if found := PLUGIN.fullmatch(path):
        return f"algorithms/{found[1]}.md"
    if (found := MODULE.fullmatch(path)) and (found[1] or "costframe") in REFERENCE:
        return f"api/{found[1] or 'costframe'}.md"
    if path in special or not path.startswith("docs/"):
        return special.get(path)
    return MADE.sub(r"\1.md", path).removeprefix("docs/")


def read_pages() -> dict[str, tuple[str, str]]:
    """Return the made pages by name, each with the path of its source in the repository and its Markdown."""
    sources = [f"plugins/{name}/README.md" for name in plugin_names()]
    pages = {str(page_of(path)): (path, (ROOT / path).read_text("utf-8")) for path in (*sources, CHANGELOG)}
    for notebook in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        pages[f"notebooks/{notebook.stem}.md"] = f"{NOTEBOOKS}/{notebook.name}", _as_markdown(notebook)
    return pages | {f"api/{name}.md": (f"api/{name}.md", text) for name, text in _reference().items()}


def relink(markdown: str, source: str, page: str) -> tuple[str, list[str]]:
    """Point links between files of the repository to pages; return the text and the links that lead nowhere.

    A file without a page, such as a module, is shown as text.
    """
    broken: list[str] = []

    def replace(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        path, _, anchor = target.partition("#")
        if not path or ":" in path:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if path == source:  # a notebook, to be downloaded
            return found[0]
        if not path.startswith("docs/") and not (ROOT / path).exists():  # MkDocs checks its own pages
            broken.append(target)
        if (shown := page_of(path)) is None:
            return text.strip("[]")
        return f"{text}({posixpath.relpath(shown, posixpath.dirname(page))}{'#' if anchor else ''}{anchor})"

    parts = FENCED.split(markdown)  # odd ones are code
    parts[::2] = [LINK.sub(replace, part) for part in parts[::2]]
    return "".join(parts), broken


def with_pictures(text: str, pictures: Collection[str]) -> str:
    """Put the picture of a script of the gallery in place of each link to its page that is a paragraph of its own."""

    def replace(found: re.Match[str]) -> str:
        title, script = found[1], found[2]
        has_picture = f"gallery/{posixpath.basename(script)}.svg" in pictures
        return f"[![{title}]({script}.svg)]({script}.md)" if has_picture else found[0]

    return PICTURE.sub(replace, text)


def with_figure(plugin: str, text: str) -> str:
    """Put the figure of a plugin's algorithms before the first block of code."""
    figure = f"![Score against cost, {plugin} and the others]({plugin}.svg)\n\n"
    return text.replace("```python\n", figure + "```python\n", 1)


def _as_markdown(notebook: Path) -> str:
    """Return the cells of a notebook as text and code, with a link to download it."""
    cells: list[dict[str, Any]] = json.loads(notebook.read_text("utf-8"))["cells"]
    sources = [("".join(cell["source"]), cell["cell_type"]) for cell in cells]
    parts = [f"```python\n{text}\n```" if kind == "code" else text for text, kind in sources]
    parts.insert(1, f"[Download this notebook]({notebook.name})")
    return "\n\n".join(parts)


def _has_docstring(value: object) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


def _reference() -> dict[str, str]:
    """Return the pages of the reference: directives that render the docstrings of the public names."""
    import costframe as cf
    import costframe.datasets
    import costframe.errors
    import costframe.plot
    import costframe.sources
    import costframe.testing

    kinds = {
        kind
        for algorithm in cf.algorithms().values()
        for kind in (algorithm.classifier, algorithm.regressor, algorithm.ranker)
        if kind is not None and (ROOT / "plugins" / kind.__module__.split(".")[0].removeprefix("costframe_")).is_dir()
    }
    public = [name for name in cf.__all__ if name not in {"datasets", "errors", "plot", "sources"}]
    faces = {name: importlib.import_module(f"costframe.{name}") for name in FACES}
    elsewhere = [getattr(module, name) for module in (cf, costframe.sources, costframe.errors) for name in module.__all__]
    own = {
        name: [each for each in face.__all__ if not any(getattr(face, each) is one for one in elsewhere)]
        for name, face in faces.items()
    }
    named = {
        "costframe": [f"costframe.{name}" for name in public],
        "datasets": [f"costframe.datasets.{name}" for name in costframe.datasets.__all__],
        "errors": [f"costframe.errors.{name}" for name in costframe.errors.__all__ if name not in public],
        "plot": [f"costframe.plot.{name}" for name in costframe.plot.__all__],
        "sources": [f"costframe.sources.{name}" for name in costframe.sources.__all__ if name not in {*public, *costframe.errors.__all__}],
        "estimators": sorted(f"{kind.__module__}.{kind.__name__}" for kind in kinds),
        "testing": [f"costframe.testing.{name}" for name in costframe.testing.__all__],
    } | {
        name: [f"costframe.{name}.{each}" for each in names if _has_docstring(getattr(faces[name], each))]
        for name, names in own.items()
    }
    bare = {
        name: [f"`{each}`" for each in names if not _has_docstring(getattr(faces[name], each))]
        for name, names in own.items()
    }
    titles = {"costframe": "costframe", "estimators": "Estimators"}
    pages = {
        page: [f"# {titles.get(page, f'costframe.{page}')}", *(f"::: {name}" for name in names)]
        for page, names in named.items()
    }
    for page, names in bare.items():
        pages[page] += [f"Constants and names of types: {', '.join(names)}."] if names else []
    return {page: "\n\n".join(parts) for page, parts in pages.items()}
