"""The answers of stages and stops in a file, with their blends and links."""

from __future__ import annotations

from typing import Any

from costframe.core.errors import StorageError
from costframe.core.stages.float32_margins import Float32Margins
from costframe.core.stages.links import Blend, BlendPart
from costframe.core.stages.stages import Answer, Stage
from costframe.core.storage.stored_arrays import Arrays, StoredArrays, as_list, fields_of

_BLEND = {"weights": "<f8", "intercept": "<f8"}
STAGE = {"learners": "<i8"} | _BLEND
# of an answer, where they are not as by default
_OPTIONS = ("temperature", "blends", "by_scores", "cut", "float32", "class_above")


def store_answer(answer: Stage, arrays: Arrays, prefix: str) -> dict[str, Any]:
    """Add the arrays of an answer or a route to `arrays`; return an answer's other parts as JSON values."""
    arrays |= {f"{prefix}.{key}": getattr(answer, key).astype(dtype) for key, dtype in STAGE.items()}
    if not isinstance(answer, Answer):
        return {}
    options: dict[str, Any] = {"level": answer.level} if answer.link == "ranked" else {}
    if answer.temperature != 1.0:
        options["temperature"] = answer.temperature
    if answer.by_scores:
        options["by_scores"] = True
    if answer.cut:
        options["cut"] = answer.cut
    if answer.class_above is not None:
        options["class_above"] = answer.class_above
    if answer.float32 is not None:
        options["float32"] = {"link": answer.float32.link, "dropout": answer.float32.dropout}
    if answer.blends:
        options["blends"] = [
            _store_blend(blend, arrays, f"{prefix}.blend.{i}") for i, blend in enumerate(answer.blends)
        ]
    return {"link": answer.link} | options


def _store_blend(blend: Blend, arrays: Arrays, prefix: str) -> list[dict[str, Any]]:
    """Add the arrays of a blend to `arrays`; return the other parts of its links as JSON values."""
    arrays |= {f"{prefix}.{key}": getattr(blend, key).astype(dtype) for key, dtype in _BLEND.items()}
    for number, part in enumerate(blend.parts):
        if part.link == "knots":
            arrays[f"{prefix}.{number}.knots"] = part.knots.astype("<f8")
    return [{"link": part.link, "width": part.width, "temperature": part.temperature} for part in blend.parts]


def build_answer(title: str, described: object, arrays: StoredArrays, prefix: str) -> Answer:
    """Make an answer from its description and its arrays."""
    read: dict[str, Any] = dict(arrays.take_all(prefix, STAGE))
    given = described if isinstance(described, dict) else {}
    names = ("level",) if given.get("link") == "ranked" else tuple(key for key in _OPTIONS if key in given)
    link, *values = fields_of(described, title, "link", *names)
    options = dict(zip(names, values, strict=True))
    if "blends" in options:
        options["blends"] = [
            _build_blend(title, blend, arrays, f"{prefix}.blend.{i}")
            for i, blend in enumerate(as_list(options["blends"]))
        ]
    if "float32" in options:
        options["float32"] = _build_float32(title, options["float32"])
    return Answer(**read, link=link, **options)


def _build_float32(title: str, described: object) -> Float32Margins:
    """Make the rule of float32 margins from its description."""
    link, dropout = fields_of(described, f"{title}: float32", "link", "dropout")
    if not isinstance(link, str) or not isinstance(dropout, bool):
        raise StorageError(f"malformed {title}: float32: expected a text and a truth value")
    return Float32Margins(link, dropout)


def _build_blend(title: str, described: object, arrays: StoredArrays, prefix: str) -> Blend:
    """Make a blend from its description and its arrays."""
    read = arrays.take_all(prefix, _BLEND)
    parts = []
    for number, part in enumerate(as_list(described)):
        link, width, temperature = fields_of(part, f"{title}: blend", "link", "width", "temperature")
        knots = {"knots": arrays.take(f"{prefix}.{number}.knots", "<f8", 2)} if link == "knots" else {}
        parts.append(BlendPart(link, width, temperature, **knots))
    return Blend(parts, **read)
