"""Real processes: standard input, HTTP and SSE, tokens, hosts, stray output."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

DEMO_FILE = str(Path(__file__).with_name("demo_server.py"))
NOISY_FILE = str(Path(__file__).with_name("noisy_server.py"))
TOKEN = "a-token-for-the-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def assert_echoes(client: Client) -> None:
    """Call the demo's tools through an open connection."""
    assert "echo" in [tool.name for tool in (await client.list_tools()).tools]
    result = await client.call_tool("echo", {"word": "hi"})
    assert result.structured_content is not None
    assert result.structured_content["word"] == "hi"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_noisy_server_answers_over_stdio(mode: str) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=[NOISY_FILE])
    with anyio.fail_after(40):
        async with Client(parameters, mode=mode) as client:  # pyright: ignore[reportArgumentType]
            await assert_echoes(client)
            assert not (await client.call_tool("noise", {})).is_error
            await assert_echoes(client)


def test_a_print_while_importing_reaches_standard_error_and_not_the_protocol() -> None:
    ping = '{"jsonrpc": "2.0", "id": 7, "method": "ping"}\n'
    ended = subprocess.run(
        [sys.executable, NOISY_FILE], input=ping, capture_output=True, text=True, timeout=40, check=False
    )
    assert ended.stdout == '{"jsonrpc":"2.0","id":7,"result":{}}\n'
    assert "printed while importing" in ended.stderr
    assert "forged" in ended.stderr


@pytest.mark.anyio
async def test_http_and_sse_answer_in_both_eras_with_the_token(start_http: Callable[..., str]) -> None:
    address = start_http(DEMO_FILE, "--transport", "sse")
    with anyio.fail_after(60):
        for mode in ("auto", "legacy"):
            for path in ("/mcp", "/demo/mcp"):
                async with (
                    httpx2.AsyncClient(headers=HEADERS) as http,
                    Client(streamable_http_client(address + path, http_client=http), mode=mode) as client,
                ):
                    await assert_echoes(client)
            for path in ("/sse", "/demo-sse/sse"):
                async with Client(sse_client(address + path, headers=HEADERS), mode=mode) as client:
                    await assert_echoes(client)


def test_requests_without_the_token_or_from_a_foreign_host_are_refused(start_http: Callable[..., str]) -> None:
    address = start_http(DEMO_FILE, "--transport", "sse", "--allowed-host", "trainer.example")
    bad = {"Authorization": "Bearer wrong"}
    with httpx2.Client(base_url=address, timeout=20) as http:
        for path in ("/mcp", "/demo/mcp"):
            assert http.post(path, json=INITIALIZE, headers=ACCEPT).status_code == 401
            assert http.post(path, json=INITIALIZE, headers={**ACCEPT, **bad}).status_code == 401
            evil = {**ACCEPT, **HEADERS, "Host": "evil.example"}
            assert http.post(path, json=INITIALIZE, headers=evil).status_code == 421
            friend = {**ACCEPT, **HEADERS, "Host": "trainer.example:80"}
            assert http.post(path, json=INITIALIZE, headers=friend).status_code == 200
        assert http.get("/demo-sse/sse").status_code == 401
        assert http.get("/demo-sse/sse", headers={**HEADERS, "Host": "evil.example"}).status_code == 421
        assert http.get("/health").json() == {"ok": True, "servers": ["demo"]}


def run_demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the demo with options that must end it at once."""
    return subprocess.run(
        [sys.executable, DEMO_FILE, *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=40, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--transport", "http", "--host", "0.0.0.0"], {}, "no token is set"),
        (["--transport", "http", "--host", "192.0.2.1"], {"AGENT2_TOKEN": TOKEN}, "Cannot listen on 192.0.2.1"),
        (["--token", "x"], {}, "unrecognized arguments"),
    ],
)
def test_a_bad_option_ends_with_one_clear_message(arguments: list[str], environment: dict[str, str], said: str) -> None:
    ended = run_demo(*arguments, **environment)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_token_may_stand_in_a_file(start_http: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n", encoding="utf-8")
    address = start_http(DEMO_FILE, "--transport", "http", "--token-file", str(file), token=None)
    with httpx2.Client(base_url=address, timeout=20) as http:
        assert http.post("/mcp", json=INITIALIZE, headers=ACCEPT).status_code == 401
        assert http.post("/mcp", json=INITIALIZE, headers={**ACCEPT, **HEADERS}).status_code == 200


def test_a_name_that_is_not_installed_is_answered_with_the_known_ones() -> None:
    assert find_spec("agent2_serving") is not None
    ended = subprocess.run(
        [sys.executable, "-m", "agent2_serving", "kitchen"],
        capture_output=True, text=True, timeout=40, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "No server 'kitchen' is installed. Known: environment, mdp, metrics, training." in ended.stderr


def test_standard_input_serves_one_server_only() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "agent2_serving", "environment", "mdp"],
        capture_output=True, text=True, timeout=40, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "Standard input serves one server, not 2." in ended.stderr


def test_a_server_ends_when_its_client_leaves_in_the_middle_of_long_work() -> None:
    work = {"name": "work", "arguments": {"seconds": 600, "wait_seconds": 0.05}}
    messages = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": work},
    ]
    with subprocess.Popen(
        [sys.executable, DEMO_FILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        process.stdin.flush()
        assert any('"state":"running"' in line for line in process.stdout)
        process.stdin.close()
        assert process.wait(60) == 0
