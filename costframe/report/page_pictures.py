"""Pictures within a page: SVG of matplotlib in the page's own colors, with words for a screen reader."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from costframe.report.style import COLORS, GRAY, INK, PALE

# The page's own colors, which differ in the dark, instead of the picture's.
PAINTS = {color.lower(): f"var(--c{number})" for number, color in enumerate(COLORS)}
PAINTS |= {INK: "var(--ink)", GRAY: "var(--faint)", PALE: "var(--faint)", "#ffffff": "var(--card)"}


def read_picture(svg: bytes, words: str) -> ET.Element:
    """Return the picture of an SVG of ours without namespaces and styles; `words` say what it shows."""
    root = ET.fromstring(svg)  # noqa: S314 - our own
    for part in list(root.iter()):
        part.tag = part.tag.rpartition("}")[2]
        part.attrib = {name.rpartition("}")[2]: value for name, value in part.attrib.items()}
        for child in [child for child in part if child.tag.endswith(("metadata", "style"))]:
            part.remove(child)  # of matplotlib; the page has a style of its own
    root.attrib |= {"role": "img", "aria-label": words}
    return root


def tell_ids_apart(root: ET.Element, prefix: str) -> None:
    """Begin all ids of a picture, and what refers to them, with a prefix, so that a page can have several pictures."""
    for part in root.iter():
        for name, value in part.attrib.items():
            if name == "id":
                part.set(name, f"{prefix}-{value}")
            elif name == "href":
                part.set(name, re.sub("^#", f"#{prefix}-", value))
            else:
                part.set(name, value.replace("url(#", f"url(#{prefix}-"))


def paint_picture(root: ET.Element) -> str:
    """Return a picture as text, in the page's colors."""
    text = ET.tostring(root, encoding="unicode")
    return re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda color: PAINTS.get(color[0], "var(--line)"), text)
