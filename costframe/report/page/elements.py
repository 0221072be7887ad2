"""Elements of HTML and SVG, whose texts are escaped wherever they come from."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from costframe.core.errors import printable

__all__ = ["element", "listing", "to_html"]


def element(tag: str, /, *children: ET.Element | str | None, **attributes: object) -> ET.Element:
    """Return an element with elements and texts in it; None is left out.

    In names of attributes, `_` stands for `-`, and one at the end has no meaning. An attribute that is None or False is
    left out; True has no value.
    """
    made = ET.Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            made.set(name.rstrip("_").replace("_", "-"), "" if value is True else printable(str(value)))
    for child in children:
        if isinstance(child, str):
            _append_text(made, printable(child))
        elif child is not None:
            made.append(child)
    return made


def listing(code: str) -> ET.Element:
    """Return lines of code as a block."""
    block = element("code")
    _append_text(block, "\n".join(map(printable, code.split("\n"))))
    return element("pre", block)


def to_html(root: ET.Element) -> str:
    """Return an element as HTML."""
    return ET.tostring(root, encoding="unicode", method="html")


def _append_text(parent: ET.Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
