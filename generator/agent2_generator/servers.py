"""The four servers as the Generator sees them: started over stdio, or reached by address; one call, one typed answer."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import anyio
from anyio.abc import TaskStatus
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import (
    create_mcp_http_client,  # pyright: ignore[reportPrivateImportUsage]  # the SDK's own recipe for headers
    streamable_http_client,
)
from mcp_types import INVALID_PARAMS, TextContent

from agent2_schemas import CorrectableError, Evaluation, Frozen, PrerequisiteError, RunFailed
from agent2_schemas.answers import Answer

SERVER_NAMES = ("environment", "mdp", "training", "metrics")
CALL_TIMEOUT_SECONDS = 90.0
"""Every call answers within 40 s; twice that means that the server hangs."""
WORK_TIMEOUT_SECONDS = 2 * 3600.0
"""Longest work behind one call that keeps answering `running`: the servers end theirs far earlier."""
REPEAT_SECONDS = 0.2
"""Least time between two calls that continue the same work."""
START_TIMEOUT_SECONDS = 60.0
_PASSED_ON = (
    "AGENT2_CONFIG",
    "AGENT2_SANDBOX_TIER",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
)

_BROKEN = (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
"""How a connection ends whose server died."""

Typed = TypeVar("Typed", bound=Frozen)


class ServerLost(RunFailed):
    """A server died or can no longer be reached; finished work is on disk."""


class Servers:
    """Typed calls of the tools of the four servers."""

    def __init__(self, clients: Mapping[str, Client], log_folder: Path) -> None:
        """Keep the connected clients by server name."""
        self._clients = clients
        self._log_folder = log_folder

    async def call(
        self, server: str, tool: str, answer: type[Typed], *, may_fail: bool = False, **arguments: object
    ) -> Typed:
        """Call a tool until it has an answer.

        Args:
            server: name of the server.
            tool: name of the tool.
            answer: schema of its structured answer.
            may_fail: return an answer of state `failed` instead of raising.
            **arguments: arguments of the tool, JSON-serialisable.

        Returns:
            The answer; where it says `running`, the call was repeated until it did not.

        Raises:
            CorrectableError: the tool refused; the message carries its advice.
            RunFailed: the tool's work failed, and `may_fail` is false.
            ServerLost: the server died, or does not answer, or its work never ends.
        """
        begun = anyio.current_time()
        while True:
            value = answer.model_validate(await self._once(server, tool, arguments))
            state = value.state if isinstance(value, Answer | Evaluation) else "finished"
            if state == "running":
                if anyio.current_time() - begun > WORK_TIMEOUT_SECONDS:
                    raise self._silent(server, f"{tool} has answered `running`", WORK_TIMEOUT_SECONDS)
                await anyio.sleep(REPEAT_SECONDS)
                continue
            if state == "failed" and not may_fail:
                raise RunFailed(getattr(value, "message", "") or f"{tool} failed.", getattr(value, "next_step", ""))
            return value

    async def get_prompt(self, server: str, name: str, **arguments: str) -> str:
        """Fetch a prompt of a server, filled in, as one text.

        Raises:
            CorrectableError: the server refused; the message carries its advice.
            ServerLost: the server died.
        """
        try:
            with anyio.fail_after(CALL_TIMEOUT_SECONDS):
                result = await self._clients[server].get_prompt(name, dict(arguments))
        except TimeoutError as error:
            raise self._silent(server, f"{name} was not answered", CALL_TIMEOUT_SECONDS) from error
        except MCPError as error:
            if error.code == INVALID_PARAMS:
                raise CorrectableError(error.message) from error
            raise self._lost(server, name, error) from error
        except _BROKEN as error:
            raise self._lost(server, name, error) from error
        return "\n\n".join(m.content.text for m in result.messages if isinstance(m.content, TextContent))

    async def _once(self, server: str, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        try:
            # Around the whole exchange: a server that reads no more blocks the write as well.
            with anyio.fail_after(CALL_TIMEOUT_SECONDS):
                result = await self._clients[server].call_tool(tool, dict(arguments))
        except TimeoutError as error:
            raise self._silent(server, f"{tool} was not answered", CALL_TIMEOUT_SECONDS) from error
        except (MCPError, *_BROKEN) as error:
            raise self._lost(server, tool, error) from error
        if result.is_error:
            text = " ".join(block.text for block in result.content if isinstance(block, TextContent))
            raise CorrectableError(text.removeprefix(f"Error executing tool {tool}: "))
        return result.structured_content or {}

    def _silent(self, server: str, what: str, seconds: float) -> ServerLost:
        return ServerLost(
            f"The {server} server hangs: {what} for {seconds:g} s.",
            f"Its log: {self._log_folder / f'{server}.log'}. Finished runs are kept: see `agent2 runs`, go on with `agent2 resume`.",
        )

    def _lost(self, server: str, asked: str, error: Exception) -> ServerLost:
        return ServerLost(
            f"The {server} server no longer answers ({asked}: {type(error).__name__}: {error}).",
            f"Its log: {self._log_folder / f'{server}.log'}.",
        )


@asynccontextmanager
async def connect_servers(
    *,
    workspace: Path,
    roots: tuple[Path, ...] = (),
    addresses: Mapping[str, str] | None = None,
    names: tuple[str, ...] = SERVER_NAMES,
) -> AsyncGenerator[Servers]:
    """Start the servers over stdio, or connect to those that have an address.

    Args:
        workspace: the workspace that started servers use; servers reached by address must share it.
        roots: folders from which this command's servers may read environment files.
        addresses: URL by server name; one that ends in `/sse` is reached by SSE, others by Streamable HTTP.
        names: which servers are needed.

    Yields:
        Typed calls.

    Raises:
        PrerequisiteError: a server does not start or cannot be reached.
    """
    addresses = addresses or {}
    log_folder = workspace / "logs"
    try:
        log_folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PrerequisiteError(
            f"The workspace {workspace} cannot be written: {error.strerror or error}.",
            "Choose a folder of yours with --workspace or AGENT2_WORKSPACE.",
        ) from error
    clients: dict[str, Client] = {}
    stop = anyio.Event()

    async def hold(name: str, *, task_status: TaskStatus[None]) -> None:
        """Own one connection for its whole life, in one task, as anyio demands."""
        async with AsyncExitStack() as stack:
            log = stack.enter_context((log_folder / f"{name}.log").open("a"))
            transport = _transport(addresses[name]) if name in addresses else _stdio(name, workspace, roots, log)
            clients[name] = await stack.enter_async_context(Client(transport))
            task_status.started()
            await stop.wait()

    async with anyio.create_task_group() as owners:

        async def start(name: str) -> None:
            try:
                with anyio.fail_after(START_TIMEOUT_SECONDS):
                    await owners.start(hold, name)
            except Exception as error:
                where = addresses.get(name, f"python -m agent2_{name}")
                raise PrerequisiteError(
                    f"The {name} server ({where}) does not answer: {_cause(error)}.",
                    f"See {log_folder / f'{name}.log'}, or run `agent2 doctor`.",
                ) from error

        async with anyio.create_task_group() as starters:
            for name in names:
                starters.start_soon(start, name)
        try:
            yield Servers(clients, log_folder)
        finally:
            stop.set()


def _stdio(name: str, workspace: Path, roots: tuple[Path, ...], log: TextIO) -> Any:
    environment = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    environment["AGENT2_WORKSPACE"] = str(workspace)
    environment["AGENT2_ROOTS"] = os.pathsep.join(map(str, roots))
    environment["PYTHONUNBUFFERED"] = "1"
    parameters = StdioServerParameters(command=sys.executable, args=["-m", f"agent2_{name}"], env=environment)
    return stdio_client(parameters, errlog=log)


def _transport(url: str) -> Any:
    token = os.environ.get("AGENT2_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if url.rstrip("/").endswith("/sse"):
        return sse_client(url, headers=headers)
    return streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))


def _cause(error: BaseException) -> str:
    """Find the innermost cause: errors leave clients as nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
