"""The service's interface as an OpenAPI document, with the features of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costframe import __version__
from costframe.serve.replies import INCLUDED

_NUMBER, _TEXT, _NAMES = {"type": "number"}, {"type": "string"}, {"type": "array", "items": {"type": "string"}}


def openapi(model: Mapping[str, Any], *, has_sources: bool) -> dict[str, Any]:
    """Return the document for a model, as `describe_model` describes it."""
    predict = _post("Predict one row", "RowRequest", "Answer")
    predict["responses"] |= {} if not has_sources else {"502": _error("A source failed"), "503": _error("Too busy")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"costframe: {model['name']}",
            "version": __version__,
            "description": "Asks for features one by one, each with its price, until it can answer.",
        },
        "paths": {
            "/next": {"post": _post("Begin, or tell what was asked; returns what is needed next", "Step", "Next")},
            "/predict": {"post": predict},
            "/model": {"get": _get("The model, its features and prices", "Model")},
            "/health": {"get": _get("Whether the service can answer", "Health")},
            "/metrics": {"get": _text("Counters for Prometheus", "text/plain")},
            "/openapi.json": {"get": _get("This document", "Document")},
            "/": {"get": _text("A page for people", "text/html")},
        },
        "components": {"schemas": _schemas(model, has_sources=has_sources)},
    }


def _schemas(model: Mapping[str, Any], *, has_sources: bool) -> dict[str, Any]:
    by_name = {feature["name"]: _value(feature) for feature in model["features"]}
    values = _or_null(_object(by_name, closed=True))
    paid_before = _object(by_name | {name: {"type": "null"} for name in model["resources"]}, closed=True)
    known = {"type": "array", "items": {"enum": [*paid_before["properties"]]}}
    terms: dict[str, Any] = {
        "unavailable": _or_null(known),
        "known": {"anyOf": [known, paid_before, {"type": "null"}]},
    }
    terms |= {
        name: _or_null({"type": "number", "minimum": 0}) for name in ("max_cost", "tradeoff") if name in model["takes"]
    }
    step = {
        "state": {"type": ["string", "null"], "description": "of the reply before; null begins"},
        "values": values,
        "include": _or_null({"type": "array", "items": {"enum": list(INCLUDED)}, "default": ["why"]}),
    }
    row: dict[str, Any] = {"values": values}
    if has_sources:
        deadline = _or_null({"type": "number", "exclusiveMinimum": 0, "description": "seconds, with a key"})
        row |= {"key": {"description": "of the row in the sources"}, "deadline": deadline}
    bill = {
        "cost": {**_NUMBER, "description": "by the price list"},
        "failed_cost": {**_NUMBER, "description": "of what was asked for in vain"},
        "paid": {**_NUMBER, "description": "what sources were really paid, where any says so"},
    }
    answer = {
        "label": {}, "probabilities": {"type": "array", "items": _object({"label": {}, "probability": _NUMBER})},
        "value": {}, "acquired": _NAMES, "rounds": {"type": "integer"}, "reason": _TEXT, "failures": _NAMES, **bill,
    }  # fmt: skip
    ask = {
        "name": _TEXT,
        "kind": {"enum": ["number", "category", "text", "date", "any"]},
        "labels": _NAMES,
        "price": _NUMBER,
    }
    following = {
        "state": {"type": ["string", "null"]}, "asks": {"type": "array", "items": _object(ask)}, "price": _NUMBER,
        "cost": _NUMBER, "unit": _TEXT, "rounds": {"type": "integer"}, "why": {"type": "object"},
        "so_far": {"type": ["object", "null"]}, "changes": {"type": "object"},
        "answer": {"anyOf": [{"$ref": "#/components/schemas/Answer"}, {"type": "null"}]},
    }  # fmt: skip
    described = {
        "name": _TEXT, "kind": _TEXT, "unit": _TEXT, "classes": {}, "features": {"type": "array"}, "takes": _NAMES,
        "resources": _NAMES, "facts": {"type": "array"},
    }  # fmt: skip
    return {
        "Step": _object(step | terms, closed=True),
        "Next": _object(following),
        "RowRequest": _object(row | terms, closed=True),
        "Answer": _object(answer),
        "Model": _object(described),
        "Health": _object({"status": {"enum": ["ok", "degraded"]}, "model": _TEXT, "problem": _TEXT}),
        "Document": {"type": "object"},
        "Error": _object({"error": _TEXT} | bill),
    }


def _value(feature: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a feature's value; null is a missing one, and unknown labels are taken as missing."""
    price = {"description": f"{feature['kind']}, price {feature['price']:g}"}
    if feature["kind"] == "any":
        return price
    # a number may be a text, as people type it
    kind: dict[str, Any] = {"type": [*(["number", "boolean"] if feature["kind"] == "number" else []), "string", "null"]}
    return kind | price | ({"examples": feature["labels"][:5]} if "labels" in feature else {})


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"type": [schema["type"], "null"]}


def _object(properties: dict[str, Any], *, closed: bool = False) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "object", "properties": properties}
    return told | {"additionalProperties": False} if closed else told


def _post(summary: str, request: str, response: str) -> dict[str, Any]:
    refused = {"400": "Not as expected", "413": "Too large", "415": "Not JSON"}
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": _json(request)},
        "responses": {"200": {"description": "Done", "content": _json(response)}}
        | {status: _error(text) for status, text in refused.items()},
    }


def _get(summary: str, response: str) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": {"description": "Done", "content": _json(response)}}}


def _text(summary: str, media: str) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": {"description": "Done", "content": {media: {"schema": _TEXT}}}}}


def _error(text: str) -> dict[str, Any]:
    return {"description": text, "content": _json("Error")}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
