"""Hooks of MkDocs: they add the made pages, the gallery and the figures, and check links between files of the repository."""

from __future__ import annotations

import logging
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

import figures
import gallery
import pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

logger = logging.getLogger("mkdocs.hooks")  # a warning ends a strict build
swept = cache(figures.sweep)  # once for all rebuilds of `mkdocs serve`, as the gallery
gallery_files = cache(gallery.make_gallery)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the made pages, the gallery, and a figure for each plugin."""
    for name, (_, text) in pages.read_pages().items():
        files.append(File.generated(config, name, content=text))
    for name, content in gallery_files().items():
        files.append(File.generated(config, name, content=content))
    for plugin in pages.plugin_names():
        files.append(
            File.generated(config, f"algorithms/{plugin}.svg", content=figures.draw(swept(), plugin))
        )
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Point links to pages, and warn of links that lead nowhere."""
    name = page.file.src_uri
    sources = {made: source for made, (source, _) in pages.read_pages().items()}
    text, broken = pages.relink(markdown, sources.get(name, f"docs/{name}"), name)
    for target in broken:
        logger.warning("%s: the link %s leads nowhere", name, target)
    text = pages.with_pictures(text, gallery_files().keys())
    plugin = name.removeprefix("algorithms/").removesuffix(".md")
    return pages.with_figure(plugin, text) if plugin in pages.plugin_names() else text
