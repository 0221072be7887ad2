"""Expected losses by sets of features, in a file."""

from __future__ import annotations

import numpy as np

from costframe.core.arrays import B1
from costframe.core.errors import StorageError
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.set_losses import SetLosses
from costframe.core.storage.stored_arrays import Arrays, StoredArrays, check_range

_SUMS = "some", "every"


def store_set_losses(losses: SetLosses, arrays: Arrays, prefix: str) -> None:
    """Add the arrays of losses to `arrays`, under names with a prefix."""
    arrays[f"{prefix}.absent"], arrays[f"{prefix}.sets"] = (
        each.sets.astype("|u1") for each in (losses.absence, losses)
    )
    arrays[f"{prefix}.least"], arrays[f"{prefix}.losses"] = (
        np.array(each, "<f8") for each in ([losses.absence.least], losses.losses)
    )
    arrays |= {f"{prefix}.{name}": getattr(losses.absence, name).astype("<f8") for name in _SUMS}


def build_set_losses(arrays: StoredArrays, prefix: str) -> SetLosses:
    """Make losses from their arrays."""
    absent, sets = (_take_sets(arrays, f"{prefix}.{name}") for name in ("absent", "sets"))
    if len(least := arrays.take(f"{prefix}.least", "<f8")) != 1:
        raise StorageError(f"malformed {prefix}: expected one number for least, got {len(least)}")
    absence = AbsenceLosses(float(least[0]), absent, *(arrays.take(f"{prefix}.{name}", "<f8") for name in _SUMS))
    return SetLosses(absence, sets, arrays.take(f"{prefix}.losses", "<f8"))


def _take_sets(arrays: StoredArrays, name: str) -> B1:
    sets = arrays.take(name, "|u1", 2)
    check_range(name, sets, 0, 1)
    return sets.astype(np.bool_)
