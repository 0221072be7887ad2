"""Files of sources: tables [sources.NAME] in TOML, with environment variables in the place of secrets."""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from attrs import fields

from costframe.core.checks import as_path
from costframe.core.errors import ParameterError, quote_names, shown
from costframe.core.plugins.registry import registry
from costframe.core.prices.costs import CostModel
from costframe.sources.failures import describe_failure
from costframe.sources.fields import as_fields
from costframe.sources.lookup import Lookup, Policy
from costframe.sources.source import Source

_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_COMMON = ("kind", "features", "resource", "by", "missing")  # keys of every source, besides those of policies
_MOST_BYTES = 10_000_000
_POLICY = tuple(entry.name for entry in fields(Policy))  # keys of a source that are those of its policy


def load_lookups(path: str | os.PathLike[str], costs: CostModel | None) -> dict[str, Lookup]:
    """Read lookups from the tables ``[sources.NAME]`` of a TOML file; other tables are left unread.

    Raises
    ------
    ParameterError
        If the file is not such a file; the error names the file and the entry, and quotes no value of an option.
    """
    file = as_path(path)
    table = _read(file)
    entries = table.get("sources")
    if not isinstance(entries, Mapping) or not entries:
        raise ParameterError(f"{file}: expected tables [sources.NAME], at least one")
    lookups = {}
    for name, entry in entries.items():
        try:
            lookups[name] = _make_lookup(name, entry, file, costs)
        except (ParameterError, TypeError) as error:
            raise ParameterError(f"{file}: sources.{name}: {error}") from None
    return lookups


def _read(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ParameterError(f"{file}: expected at most {_MOST_BYTES:,} bytes, got more")
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ParameterError(f"{file}: expected a text in UTF-8, got other bytes") from None
    except OSError as error:
        raise ParameterError(f"{file}: cannot be read: {error.strerror or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{file}: expected valid TOML, got: {error}") from None
    except (ValueError, RecursionError):  # an integer of thousands of digits; tables within tables
        raise ParameterError(f"{file}: expected valid TOML of usual depth") from None


def _make_lookup(name: str, entry: Any, file: Path, costs: CostModel | None) -> Lookup:
    if not isinstance(entry, Mapping):
        raise ParameterError(f"expected a table, got {shown(entry)}")
    kind = entry.get("kind")
    if not isinstance(kind, str):
        raise ParameterError("kind: expected the name of a kind of source")
    policy = Policy(**{key: value for key, value in entry.items() if key in _POLICY})
    features = as_fields(_features(name, entry, costs), entry.get("missing", ("",)))
    options = {key: value for key, value in entry.items() if key not in {*_COMMON, *_POLICY}}
    return Lookup(_make_source(kind, options, file), features, entry.get("by"), policy)


def _features(name: str, entry: Mapping[str, Any], costs: CostModel | None) -> Any:
    """Return the entry `features`, or the names of those that need the resource."""
    if "features" in entry:
        if "resource" in entry:
            raise ParameterError("resource: expected features or a resource, got both")
        return entry["features"]
    resource = entry.get("resource", name)
    if costs is None:
        raise ParameterError("features: expected their places; without prices no resource tells them")
    if resource not in costs.resource_names:
        raise ParameterError(f"features: expected their places, or a resource of the prices, got {shown(resource)}")
    return [feature.name for feature in costs.features if resource in feature.needs]


def _make_source(kind: str, options: Mapping[str, Any], file: Path) -> Source:
    """Make a source of a registered kind; its options are texts from the file or the environment."""
    make = registry().source(kind)
    parameters = inspect.signature(make).parameters
    known = [name for name in parameters if name != "folder"]
    if unknown := [key for key in options if key not in known]:
        raise ParameterError(f"{quote_names(unknown)}: a source of kind {kind} has {quote_names(known, 20)}")
    given, secrets = {}, list[_Secret]()
    for key, value in options.items():
        given[key] = _fill_in(key, value, secrets)
    required = [name for name in known if parameters[name].default is inspect.Parameter.empty]
    if lacking := [name for name in required if name not in given]:
        raise ParameterError(f"kind {kind}: expected {quote_names(lacking)}")
    folder = {"folder": file.parent} if "folder" in parameters else {}
    try:
        source = make(**given, **folder)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and quote what it was given
        text = describe_failure(error)
        for secret in filter(None, reversed(secrets)):  # whole texts before their parts
            text = text.replace(secret, secret.written)
        raise ParameterError(text) from None
    if not isinstance(source, Source):
        raise ParameterError(f"kind {kind}: expected its plugin to make a Source, got {type(source).__name__}")
    return source


class _Secret(str):
    """A text with environment variables in it; where an error text quotes it, it shows their names."""

    __slots__ = ("written",)
    written: str

    @classmethod
    def of(cls, text: str, written: str) -> Self:
        secret = cls(text)
        secret.written = written
        return secret

    def __repr__(self) -> str:
        return repr(self.written)


def _fill_in(key: str, value: Any, secrets: list[_Secret]) -> Any:
    """Put environment variables in the place of $NAME and ${NAME}, and note the texts that have some.

    $$ is a dollar sign.
    """
    if isinstance(value, Mapping):
        return {name: _fill_in(f"{key}.{name}", entry, secrets) for name, entry in value.items()}
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        name = match[2] or match[3]
        if name not in os.environ:
            raise ParameterError(f"{key}: the environment variable {name} is not set")
        secrets.append(_Secret.of(os.environ[name], match[0]))
        text = secrets[-1]
        return quote(text, safe="") if key == "url" and match[0] != value else text  # a part of an address

    before, filled = len(secrets), _VARIABLE.sub(replace, value)
    if len(secrets) == before:
        return filled
    secrets.append(_Secret.of(filled, value))
    return secrets[-1]
