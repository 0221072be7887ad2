"""Tasks of a study, and what is reported of them."""

from __future__ import annotations

from attrs import frozen


@frozen
class Task:
    """The fits of one candidate, by its label, or a first look at it with few training rows."""

    label: str
    first_look: bool = False
