"""A small server with one tool for each thing that serving promises; run it as a file, or import `build_server`."""

import os
import subprocess
import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from agent2_schemas import Frozen, Metric, NotFound
from agent2_serving import DESTROY, READ, WRITE, LongCalls, Server, reply, run_server


class Echo(Frozen):
    """What the demo tools answer."""

    word: str = Field(description="The word that was given.")
    value: Metric = Field(default=None, description="A number; null where it is not finite.")
    strict_value: float = Field(default=0.0, description="A number that must be finite.")
    state: str = Field(default="finished", description="running or finished.")


class Settings(Frozen):
    """A nested argument."""

    learning_rate: float = Field(default=1e-3, gt=0, description="Step size.")


Answer = Annotated[CallToolResult, Echo]


def build_server() -> Server:
    """Build the demo server."""
    server = Server("demo", instructions="A demo.")
    add_plain_tools(server)
    add_odd_tools(server)
    add_prompt_and_resource(server)
    return server.sealed()


def add_plain_tools(server: Server) -> None:
    """Add the tools that answer."""

    @server.tool(title="Echo", annotations=READ)
    def echo(word: str, times: Annotated[int, Field(ge=1, le=9)] = 1, settings: Settings | None = None) -> Answer:
        """Say the word again."""
        return reply(f"{word * times} at {(settings or Settings()).learning_rate}", Echo(word=word * times))

    @server.tool(title="Fail in the way that is asked for", annotations=DESTROY)
    async def fail(way: str) -> Answer:
        """Fail."""
        if way == "foreseen":
            raise NotFound("There is no run 'x'.", "Call list_runs.")
        if way == "schema":
            Settings.model_validate({"learning_rate": -1, "learnig_rate": 2})
        if way == "not-finite":
            return reply("nan", Echo(word="nan", strict_value=float("nan")))
        raise ZeroDivisionError("a bug")

    @server.tool(title="Answer with a number", annotations=READ)
    def number(value: str) -> Answer:
        """Answer with a number, or with one that is none."""
        return reply(f"{value} " * 400, Echo(word="x", value=float(value)))


def add_odd_tools(server: Server) -> None:
    """Add the tools that print, and that take their time."""
    calls = LongCalls()

    @server.tool(title="Print everywhere", annotations=WRITE)
    def noise() -> Answer:
        """Write to standard output in every way there is."""
        print('{"jsonrpc": "2.0", "id": 1, "result": {}}', flush=True)
        os.write(1, b"raw\n")
        subprocess.run(["/bin/echo", "from a child"], check=True, stdin=subprocess.DEVNULL)
        return reply("quiet", Echo(word=sys.stdin.read()))

    @server.tool(title="Work long", annotations=READ)
    async def work(seconds: float, wait_seconds: float, ctx: Context) -> Answer:
        """Work for some seconds, answering `running` meanwhile."""

        async def start() -> Echo:
            await anyio.sleep(seconds)
            return Echo(word="done")

        value = await calls.result(f"work {seconds}", start, wait_seconds=wait_seconds, ctx=ctx)
        return reply("running", Echo(word="", state="running")) if value is None else reply("done", value)


def add_prompt_and_resource(server: Server) -> None:
    """Add a prompt and a resource."""

    @server.prompt(title="Greet")
    def greet(name: str) -> str:
        """Greet somebody."""
        if name == "nobody":
            raise NotFound("There is nobody.", "Name somebody.")
        return f"Hello {name}"

    @server.resource("demo://{name}", mime_type="text/plain")
    def thing(name: str) -> str:
        """A thing by its name."""
        if name == "nothing":
            raise NotFound("There is nothing.")
        return f"thing {name}"


if __name__ == "__main__":
    run_server(build_server)
