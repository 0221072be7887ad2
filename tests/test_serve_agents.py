"""Tools for agents: a conversation by the protocol's own client, in the process and on standard input and output."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys

import pytest

pytest.importorskip("mcp", reason="needs mcp")
pytest.importorskip("starlette", reason="needs starlette")
from serve_cases import NAMES, model, serve_file

import costframe as cf


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("agents") / "my.model"
    cf.save(model("planner"), path)
    return path


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    return (None, text) if result.is_error else (json.loads(text), "")


async def talk(client, row, **start):
    step, error = await call(client, "start", **start)
    assert not error
    while step["answer"] is None:
        values = {ask["name"]: row[ask["name"]] for ask in step["asks"]}
        step, error = await call(client, "answer", state=step["state"], values=values)
        assert not error, error
    return step["answer"]


def check(target, path):
    from mcp import Client

    async def main():
        async with Client(target) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"describe", "start", "answer", "why"}
            told, _ = await call(client, "describe")
            assert [feature["name"] for feature in told["features"]] == list(NAMES)
            row = dict.fromkeys(NAMES, 0.4)
            answer = await talk(client, row)
            end = cf.predict_one(cf.load(path), row)
            assert (answer["cost"], answer["label"], answer["acquired"]) == (end.cost, end.label, list(end.acquired))
            capped = await talk(client, row, budget=7)
            assert capped["cost"] <= 7
            first, _ = await call(client, "start", known={"age": None})
            why, _ = await call(client, "why", state=first["state"])
            assert "asked" in why["why"]["text"]
            _, error = await call(client, "answer", state=first["state"], values={"mri": 1})
            assert "'mri'" in error
            typed, _ = await call(client, "start", known={"age": "0,5"})
            assert typed["asks"] == (await call(client, "start", known={"age": 0.5}))[0]["asks"]
            _, error = await call(client, "start", known={"age": "1,234"})
            assert "1,234 can be 1.234 or 1234" in error
            for budget in (True, "5", "null", "nan", -1, [5], {"CHF": 5}, 10**400, ""):
                _, error = await call(client, "start", budget=budget)
                assert error.startswith("budget: expected a"), budget
                assert "null is no limit" in error
            assert (await call(client, "start", budget=None))[0]["asks"]
            _, error = await call(client, "start", max_cost=7)  # its name is budget
            assert "max_cost" in error
            _, error = await call(client, "start", unavailable=["mri"])
            assert "mri" in error

    asyncio.run(main())


def test_the_tools_talk_in_the_process(path):
    from costframe.serve.agents import make_server

    check(make_server(serve_file(path)), path)


def test_the_command_ends_with_its_input_and_takes_no_infinite_budget(path):
    def line(number, method, **params):
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}}
    begun = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    asked = [line(n, "tools/call", name="start", arguments={"budget": n}) for n in (2, math.nan, math.inf)]
    lines = [line(1, "initialize", **who), begun, asked[0], "no JSON", *asked[1:]]
    code = "from costframe.__main__ import main; main()"
    command = [sys.executable, "-c", code, "serve", str(path), "--mcp"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as process:  # noqa: S603 - our own command
        for one in lines:
            process.stdin.write(one + "\n")
        process.stdin.flush()
        replies = []
        while len(replies) < 2:
            told = json.loads(process.stdout.readline())
            replies += [told] if "id" in told else []
        process.stdin.close()
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()
        rest = process.stdout.read()
    assert replies[1]["id"] == 2
    assert not replies[1]["result"].get("isError")
    assert '"asks"' not in rest


def test_the_command_talks_on_standard_input_and_output(path):
    from mcp import StdioServerParameters

    code = "from costframe.__main__ import main; main()"
    check(StdioServerParameters(command=sys.executable, args=["-c", code, "serve", str(path), "--mcp"]), path)
