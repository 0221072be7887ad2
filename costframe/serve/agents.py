"""Tools for agents over the Model Context Protocol: what the model can be told, and a conversation with a budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from costframe import __version__
from costframe.core.checks import needed, resolve
from costframe.core.errors import CostframeError
from costframe.serve.service import Service

INSTRUCTIONS = (
    "This server holds a prediction model whose inputs cost money or time. Call `start`, then get only what it asks "
    "for and give it to `answer` with the state of the reply before, until `answer` in the reply is not null. Values "
    "that cannot be had are named in `unavailable`; a value of null was looked for and is missing, and is paid. "
    "`budget` is never passed."
)


def make_server(service: Service) -> Any:
    """Return an MCP server with the tools `describe`, `start`, `answer` and `why`."""
    server_class = needed("mcp.server.mcpserver", "mcp").MCPServer
    failure = needed("mcp.server.mcpserver.exceptions", "mcp").ToolError

    def step(asked: dict[str, Any]) -> dict[str, Any]:
        """Take a step as over HTTP, with errors as the protocol has them."""
        try:
            told: dict[str, Any] = service.step(json.dumps(asked, allow_nan=False).encode())
        except (CostframeError, ValueError) as error:
            raise failure(str(error)) from None
        return told

    def describe() -> dict[str, Any]:
        """List the features that the model can be told, with kinds, labels and prices, and the classes it answers."""
        return service.models.model.description

    def start(
        known: dict[str, float | str | None] | None = None,
        budget: float | None = None,
        unavailable: list[str] | None = None,
    ) -> dict[str, Any]:
        """Begin the prediction of one case; returns what to get first, its price, why, and a state to go on from.

        Args:
            known: values at hand, which cost nothing; null is known to be missing
            budget: the most that this case may cost, in the unit of `describe`
            unavailable: features or resources that cannot be had
        """
        return step({"values": known or {}, "max_cost": budget, "unavailable": unavailable or []})

    def answer(
        state: str, values: dict[str, float | str | None] | None = None, unavailable: list[str] | None = None
    ) -> dict[str, Any]:
        """Tell values that were asked for; returns what to get next, or the answer with its exact cost.

        Args:
            state: the state of the reply before
            values: what was found, by feature; null was looked for and is missing
            unavailable: what cannot be had
        """
        return step({"state": state, "values": values or {}, "unavailable": unavailable or []})

    def why(state: str) -> dict[str, Any]:
        """Say why the model asks for what it asks, the running answer, and what would change it."""
        told = step({"state": state, "include": ["why", "so_far", "changes"]})
        return {name: told.get(name) for name in ("asks", "price", "cost", "why", "so_far", "changes")}

    functions: list[Callable[..., dict[str, Any]]] = [describe, start, answer, why]
    tools = [_make_tool(function) for function in functions]
    return server_class(
        "costframe", instructions=INSTRUCTIONS, version=__version__, tools=tools,
        log_level="WARNING",  # what is refused is the caller's to know, and about somebody
    )  # fmt: skip


def _make_tool(function: Callable[..., dict[str, Any]]) -> Any:
    """Return the tool of a function, which takes no arguments that it does not know: another name is no budget."""
    tool = _strict_tool().from_function(function)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


def _strict_tool() -> Any:
    """Return the protocol's class of tools, whose budgets are numbers: it takes "null" for none, and true for 1."""
    failure = needed("mcp.server.mcpserver.exceptions", "mcp").ToolError

    class StrictTool(needed("mcp.server.mcpserver.tools", "mcp").Tool):  # type: ignore[misc]
        """A tool whose budget, where it has one, is a number or null."""

        async def run(self, arguments: dict[str, Any], *others: Any, **more: Any) -> Any:
            """Run the tool, unless the budget is none."""
            try:
                resolve("budget", arguments.get("budget"), None)
            except CostframeError as error:
                raise failure(f"{error}; null is no limit") from None
            return await super().run(arguments, *others, **more)

    return StrictTool
