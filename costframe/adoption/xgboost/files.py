"""Saved models of xgboost since 1.0, JSON or UBJSON, read without xgboost: a broken file ends its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.adoption.documents import parse_json
from costframe.adoption.xgboost.models import BOOSTERS, adopt_document, read_best_rounds
from costframe.adoption.xgboost.ubjson import parse_ubjson
from costframe.core.errors import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.adoption.documents import Part
    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["adopt_xgboost_file", "looks_like_xgboost", "parse_xgboost"]

_SPACE = b"\xef\xbb\xbf \t\r\n"


def looks_like_xgboost(data: bytes) -> bool:
    """Return whether the content of a file is a model of xgboost, or what is left of one; legacy binaries too."""
    if data.lstrip(_SPACE).startswith(b"{"):
        return b"gradient_booster" in data or b"learner" in data[:100]
    return _is_legacy(data)


def _is_legacy(data: bytes) -> bool:
    """Return whether data begin like a binary model: 136 bytes of parameters, then objective and booster."""
    if data.startswith((b"binf", b"bs64", b"CONFIG-offset:")):
        return True
    length = int.from_bytes(data[136:144], "little")
    booster = data[152 + length : 160 + length]
    return length < 64 and booster.startswith(tuple(name.encode() for name in BOOSTERS))


def adopt_xgboost_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a file that xgboost saved, exactly; see `adopt_xgboost`.

    All of its trees predict, as in a Booster loaded from it; of an estimator that stopped early, those up to its best
    round, as in the estimator loaded from it.

    Parameters
    ----------
    data : bytes
        JSON or UBJSON; which one, the content tells.
    where : str
        Name of the file in errors.
    feature_names : sequence of str, optional
        Names by position. By default the file's own, else f0, f1, ... of at most 100,000 columns.

    Raises
    ------
    AdoptionError
        If the content is not a whole model, or has a part that cannot be adopted; the text names it.
    """
    document = parse_xgboost(data, where)
    return adopt_document(document, len(data), feature_names, rounds=read_best_rounds(document))


def parse_xgboost(data: bytes, where: str) -> Part:
    """Return a saved model as a document; refuse other forms, and versions before the first of these documents."""
    if _is_legacy(data):
        raise AdoptionError(
            f"{where}: is a legacy binary file of xgboost; load it with xgboost < 3.1 and save it as .json or .ubj"
        )
    length = data.lstrip(_SPACE)[1:2]  # of a first name in UBJSON
    document = parse_ubjson(data, where) if length in {b"i", b"U", b"I", b"l", b"L"} else parse_json(data, where)
    version = tuple(document.get("version").wholes(3, high=10**6).tolist()[:2])
    if version < (1, 0):
        raise document.refuse(f"written by xgboost {version[0]}.{version[1]}, older than known (1.0)")
    return document
