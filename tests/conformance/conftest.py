"""The four real servers, over every transport, for clients that are not ours."""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

Era = Literal["auto", "legacy"]
Connect = Callable[[str, str, Era], AbstractAsyncContextManager[Client]]

HEADERS = {"Authorization": "Bearer a-token-for-the-tests"}


@pytest.fixture(scope="session")
def shared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that all servers of these tests share."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="session")
def server_environment(shared_workspace: Path) -> dict[str, str]:
    """Environment variables of the server processes."""
    return {
        **{key: value for key, value in os.environ.items() if key != "AGENT2_TOKEN"},
        "AGENT2_WORKSPACE": str(shared_workspace),
        "AGENT2_CONFIG": str(shared_workspace / "config.toml"),
    }


@pytest.fixture(scope="session")
def base_url(server_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """All four servers in one process, over Streamable HTTP and SSE."""
    log = tmp_path_factory.mktemp("log") / "servers.txt"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "agent2_serving", "--transport", "sse", "--port", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file,
            env={**server_environment, "AGENT2_TOKEN": HEADERS["Authorization"].removeprefix("Bearer ")},
        )  # fmt: skip
    yield anyio.run(_address_in, log, process)
    process.terminate()
    process.wait(20)


async def _address_in(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until the process has said where it serves."""
    with anyio.fail_after(60):
        while "serving at http" not in (text := log.read_text(encoding="utf-8")):
            assert process.poll() is None, text
            await anyio.sleep(0.05)
    return "/".join(text.split("serving at ")[1].split("/")[:3])


@pytest.fixture
def connect(base_url: str, server_environment: dict[str, str]) -> Connect:
    """How to open a connection, by server, transport and era."""

    @asynccontextmanager
    async def open_client(name: str, transport: str, era: Era) -> AsyncGenerator[Client]:
        if transport == "stdio":
            command = StdioServerParameters(
                command=sys.executable, args=["-m", f"agent2_{name}"], env=server_environment
            )
            async with Client(command, mode=era) as client:
                yield client
        elif transport == "http":
            async with (
                httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
                Client(streamable_http_client(f"{base_url}/{name}/mcp", http_client=http), mode=era) as client,
            ):
                yield client
        else:
            async with Client(sse_client(f"{base_url}/{name}-sse/sse", headers=HEADERS), mode=era) as client:
                yield client

    return open_client


@pytest.fixture(scope="session")
def project(base_url: str) -> str:
    """A project on CartPole, opened by the environment server."""

    async def open_project() -> str:
        arguments = {"environment": "CartPole-v1", "project": "conformance", "task": "balance the pole"}
        async with (
            httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
            Client(streamable_http_client(f"{base_url}/environment/mcp", http_client=http)) as client,
        ):
            with anyio.fail_after(120):
                while True:
                    result = await client.call_tool("inspect_environment", arguments)
                    assert not result.is_error, result.content
                    assert result.structured_content is not None
                    if result.structured_content["state"] != "running":
                        return result.structured_content["project"]

    return anyio.run(open_project)
