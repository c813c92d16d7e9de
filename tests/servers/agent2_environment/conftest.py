"""Fixtures: a client of the environment server in this process, and the faulty environments as an allowed root."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult

from agent2_environment.server import build_server

CASES = Path(__file__).parents[2] / "cases" / "environments"

Call = Callable[..., Awaitable[CallToolResult]]
TextOf = Callable[[CallToolResult], str]


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Allow the folder of faulty environments, as the command does for a file that a person typed."""
    monkeypatch.setenv("AGENT2_ROOTS", str(CASES))
    return CASES


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Connect to a server of its own."""
    async with Client(build_server().mcp) as connected:
        yield connected


@pytest.fixture
def call(client: Client) -> Call:
    """Call a tool until it no longer answers `running`."""

    async def until_done(tool: str, **arguments: Any) -> CallToolResult:
        with anyio.fail_after(150):
            while True:
                result = await client.call_tool(tool, arguments)
                if result.is_error or (result.structured_content or {}).get("state") != "running":
                    return result

    return until_done


@pytest.fixture
def text_of() -> TextOf:
    """Give the text of an answer."""
    return lambda result: "".join(getattr(block, "text", "") for block in result.content)
