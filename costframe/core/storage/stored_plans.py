"""A planned predictor in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.core.errors import StorageError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.spares import Spare
from costframe.core.stages.stops import Rung, Stop
from costframe.core.storage.stored_answers import build_answer, store_answer
from costframe.core.storage.stored_arrays import Arrays, StoredArrays, as_list, check_range, fields_of
from costframe.core.storage.stored_banks import BANK_FIELDS, OpaqueFunctions, build_bank, store_bank
from costframe.core.storage.stored_card import build_prices, store_prices

PLAN_FIELDS = (*BANK_FIELDS, "gains", "stops", "tradeoff", "batch", "costs", "gain_unit", "spare")
_ABSENT = "some", "every"


def store_plan(plan: PlannedPredictor, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a plan to `arrays`; return its other parts as JSON values."""
    described = {"kind": "planned", **store_bank(plan.bank, arrays)}
    described |= {"gains": store_bank(plan.gains_bank, arrays, "gains."), "stops": []}
    for number, stop in enumerate(plan.stops):
        prefix = f"stop.{number}"
        arrays[f"{prefix}.features"] = stop.features.astype("<i8")
        part: dict[str, Any] = {"answer": store_answer(stop.answer, arrays, f"{prefix}.answer")}
        for name in ("gains", "planned"):
            part[name] = (answer := getattr(stop, name)) is not None
            if answer is not None:
                store_answer(answer, arrays, f"{prefix}.{name}")
        described["stops"].append(part)
    rungs = [(rung.least, rung.tradeoff, rung.planned) for rung in plan.ladder]
    arrays["ladder"] = np.array(rungs, "<f8").reshape(-1)
    batch = None if plan.batch is None else float(plan.batch)
    described |= {"tradeoff": float(plan.tradeoff), "batch": batch, "gain_unit": plan.gain_unit}
    arrays["realised"] = np.array(plan.realised, "<f8")
    spare = None if plan.spare is None else _store_spare(plan.spare, arrays)
    return described | {"costs": store_prices(plan.costs), "spare": spare}


def build_plan(model: dict[str, Any], arrays: StoredArrays, functions: OpaqueFunctions) -> PlannedPredictor:
    """Make a plan from its description, its arrays and the functions of its opaque learners."""
    bank = build_bank(model, arrays, functions)
    fields_of(model["gains"], "gains", *BANK_FIELDS)
    gains_bank = build_bank(model["gains"], arrays, {}, "gains.")
    stops = [_build_stop(number, stop, arrays) for number, stop in enumerate(as_list(model["stops"]))]
    prices, batch = build_prices(model["costs"]), model["batch"]
    rungs = arrays.take("ladder", "<f8")
    if len(rungs) % 3 or not np.isin(rungs[2::3], (0, 1)).all():
        raise StorageError("malformed ladder: expected three numbers a rung, the third of them 0 or 1")
    ladder = (Rung(least, tradeoff, bool(planned)) for least, tradeoff, planned in rungs.reshape(-1, 3).tolist())
    if len(realised := arrays.take("realised", "<f8").tolist()) != 2:
        raise StorageError(f"malformed plan: expected two shares of gains that are realised, got {len(realised)}")
    unit, spare = model["gain_unit"], None if model["spare"] is None else _build_spare(model["spare"], arrays)
    described = {"ladder": ladder, "gain_unit": unit, "realised": tuple(realised), "spare": spare}
    return PlannedPredictor(bank, gains_bank, tuple(stops), model["tradeoff"], prices, batch, **described)


def _build_stop(number: int, stop: object, arrays: StoredArrays) -> Stop:
    title, prefix = f"stop {number}", f"stop.{number}"
    described, *has = fields_of(stop, title, "answer", "gains", "planned")
    if not all(isinstance(given, bool) for given in has):
        raise StorageError(f"malformed {title}: expected true or false for gains and planned, got {has!r:.80}")
    features = arrays.take(f"{prefix}.features", "<i8")
    answer = build_answer(title, described, arrays, f"{prefix}.answer")
    gains = [
        build_answer(title, {"link": "identity"}, arrays, f"{prefix}.{name}") if given else None
        for name, given in zip(("gains", "planned"), has, strict=True)
    ]
    return Stop(features, answer, *gains)


def _store_spare(spare: Spare, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a spare ensemble to `arrays`; return its other parts as JSON values."""
    arrays["spare.losses"], arrays["spare.sets"] = spare.losses.astype("<f8"), spare.expected.sets.ravel().astype("|u1")
    for name in _ABSENT:
        arrays[f"spare.{name}"] = getattr(spare.expected, name).astype("<f8")
    answer = store_answer(spare.answer, arrays, "spare.answer")
    return {"bank": store_bank(spare.bank, arrays, "spare."), "answer": answer, "least": float(spare.expected.least)}


def _build_spare(described: object, arrays: StoredArrays) -> Spare:
    bank, answer, least = fields_of(described, "spare", "bank", "answer", "least")
    fields_of(bank, "bank of the spare", *BANK_FIELDS)
    made = build_bank(bank, arrays, {}, "spare.")
    sets = arrays.take("spare.sets", "|u1")
    check_range("spare.sets", sets, 0, 1)
    if len(sets) % (d := max(len(made.feature_names), 1)):
        raise StorageError(f"malformed spare: expected sets of {d} features, got {len(sets)} numbers")
    if not isinstance(least, float):
        raise StorageError(f"malformed spare: expected a number for least, got {least!r:.80}")
    absent = AbsenceLosses(least, sets.reshape(-1, d), *(arrays.take(f"spare.{name}", "<f8") for name in _ABSENT))
    return Spare(
        made, build_answer("spare", answer, arrays, "spare.answer"), absent, arrays.take("spare.losses", "<f8")
    )
