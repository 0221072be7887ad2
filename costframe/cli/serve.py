"""What `costframe serve` does: it opens the model, and runs the service in one process or several."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import click
from attrs import asdict, evolve, frozen

from costframe.cli.exits import print_error
from costframe.cli.given_model import open_model
from costframe.cli.reading import ReadingOptions
from costframe.core.checks import needed
from costframe.core.errors import ParameterError, printable
from costframe.serve.app import make_app
from costframe.serve.hosts import check_hosts
from costframe.serve.model_file import ModelFile, ServedModel
from costframe.serve.seals import Seal
from costframe.serve.service import LOCAL, Service
from costframe.sources import Sources, trace_rounds

_SETTINGS = "COSTFRAME_SERVE"  # environment variable by which further processes know what to serve
_PROMETHEUS = "PROMETHEUS_MULTIPROC_DIR"
_PATHS = ("key_file", "source")  # options that are files
_ANY = ("0.0.0.0", "::")  # noqa: S104 - these are compared, not bound
_GRACE = 10  # seconds that requests have to end when the service is to end


@frozen
class ServiceSettings:
    """What a process needs to serve, as texts and numbers."""

    model: str
    costs: str | None
    until: float | str | None
    key_file: str | None
    source: str | None
    deadline: float | None
    in_flight: int
    hosts: tuple[str, ...]
    spare: str | None = None  # copy of the model that the processes share

    @classmethod
    def of_environment(cls) -> Self:
        """Return the settings that the first process left."""
        return cls(**json.loads(os.environ[_SETTINGS]))

    def make_service(self) -> Service:
        """Read the model, the key and the file of sources."""
        models = ModelFile(Path(self.model), self._read, None if self.spare is None else Path(self.spare))
        open_sources = None if self.source is None else partial(self._open_sources, models)
        if open_sources is not None:
            open_sources()  # refuse a wrong file before anybody waits
        seal = Seal.of_file(None if self.key_file is None else Path(self.key_file))
        return Service(models, seal, open_sources, tuple(self.hosts), self.deadline, self.in_flight)

    def _open_sources(self, models: ModelFile) -> Sources:
        """Return the sources, whose rounds are spans where OpenTelemetry is installed."""
        watch = trace_rounds() if find_spec("opentelemetry") else None
        return Sources.load(str(self.source), models.model.prices, watch=watch)

    def _read(self, path: Path) -> ServedModel:
        given = open_model(str(path), self.costs, uniform=True).ended_by(self.until)
        return ServedModel.of(given.fitted, given.prices, Path(self.model).name)


def _check_free(host: str, port: int) -> None:
    """Refuse an address at which nobody can listen now."""
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the service does
            probe.bind(place)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no name of a host"
        raise ParameterError(f"--host {host} --port {port}: cannot listen there: {why}") from None


def application() -> Any:
    """Return the application of the settings in the environment: what each process of uvicorn calls."""
    return make_app(ServiceSettings.of_environment().make_service())


def serve(
    model: str,
    *,
    reading: ReadingOptions,
    host: str,
    port: int,
    workers: int,
    hosts: tuple[str, ...],
    mcp: bool,
    **options: Any,
) -> None:
    """Serve a model until the process is ended."""
    check_hosts(hosts)
    address = f"[{host}]" if ":" in host else host
    names = (*LOCAL, *hosts, *([] if host in _ANY else [address]))
    if host in _ANY and not hosts:
        raise ParameterError(f"--host {host}: add --allow-host, the name by which requests call the service, or '*'")
    paths = {name: None if value is None else str(value) for name, value in options.items() if name in _PATHS}
    settings = ServiceSettings(model, reading.costs, hosts=names, **(options | paths))
    if settings.source is None and settings.deadline is not None:
        raise click.UsageError("--deadline goes with --source")
    if mcp:
        from costframe.serve.agents import make_server

        make_server(settings.make_service()).run("stdio")
        return
    uvicorn = needed("uvicorn", "serve")
    _check_free(host, port)
    service = settings.make_service()  # errors stop here, and not in each process
    print_error(f"serving {printable(model)} at http://{printable(address)}:{port}/")
    bound = {
        "host": host, "port": port, "access_log": False, "server_header": False, "log_level": "warning", "ws": "none",
        "timeout_graceful_shutdown": _GRACE,
    }  # fmt: skip
    if workers == 1:
        uvicorn.run(make_app(service), **bound)
        return
    with tempfile.TemporaryDirectory() as folder:
        spare = Path(folder, "model").with_suffix(Path(model).suffix)
        os.environ[_SETTINGS] = json.dumps(asdict(evolve(settings, spare=str(spare))))
        os.environ.setdefault(_PROMETHEUS, folder)
        uvicorn.run("costframe.cli.serve:application", factory=True, workers=workers, **bound)
