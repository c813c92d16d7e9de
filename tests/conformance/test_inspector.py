"""The MCP Inspector's command line, an independent client, lists and calls the tools of each real server."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PACKAGES = ["node@22", "@modelcontextprotocol/inspector@2.12.0"]
PATIENCE = ["--connect-timeout", "90000"]  # a start on a busy machine takes its time
ADVICE_EXIT = 5  # what the Inspector ends with when a tool answers with an error
CALLS = {
    "environment": ["list_environments"],
    "mdp": ["read_candidate", "project=nowhere", "candidate=c-1"],
    "training": ["list_algorithms"],
    "metrics": ["list_runs", "project=nowhere"],
}


@pytest.fixture(scope="session")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Inspector and the Node that it needs; npm brings both."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("inspector")
    command = [npm, "install", "--no-fund", "--no-audit", *PACKAGES]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder


def inspect(folder: Path, workspace: Path, arguments: list[str], target: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the Inspector's command line."""
    environment = {
        **os.environ,
        "PATH": f"{folder / 'node_modules' / 'node' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "MCP_STORAGE_DIR": str(folder / "storage"),
        "MCP_AUTO_OPEN_ENABLED": "false",
        "AGENT2_WORKSPACE": str(workspace),
    }
    command = [
        str(folder / "node_modules" / ".bin" / "mcp-inspector"),
        "--cli",
        *arguments,
        "--format",
        "json",
        *target,
    ]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def over_stdio(name: str) -> list[str]:
    """How the Inspector starts a server itself."""
    return ["--", sys.executable, "-m", f"agent2_{name}"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("name", list(CALLS))
def test_the_inspector_lists_tools_with_portable_schemas(
    inspector: Path, workspace_folder: Path, name: str, era: str
) -> None:
    arguments = ["--protocol-era", era, "--method", "tools/list", "--strict"]
    ended = inspect(inspector, workspace_folder, arguments, over_stdio(name))
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert len(json.loads(ended.stdout)["result"]["tools"]) >= 4


@pytest.mark.parametrize("name", list(CALLS))
def test_the_inspector_calls_a_tool(inspector: Path, workspace_folder: Path, name: str) -> None:
    tool, *given = CALLS[name]
    arguments = ["--method", "tools/call", "--tool-name", tool]
    arguments += [word for pair in given for word in ("--tool-arg", pair)]
    ended = inspect(inspector, workspace_folder, arguments, over_stdio(name))
    result = json.loads(ended.stdout)["result"]
    assert ended.returncode == (ADVICE_EXIT if result["isError"] else 0)
    assert result["isError"] == bool(given)
    assert result["content"][0]["text"]


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_the_inspector_reaches_the_servers_over_the_network(
    inspector: Path, workspace_folder: Path, base_url: str, transport: str
) -> None:
    url = f"{base_url}/training/mcp" if transport == "http" else f"{base_url}/training-sse/sse"
    header = "Authorization: Bearer a-token-for-the-tests"
    arguments = ["--server-url", url, "--transport", transport, "--header", header, "--method", "tools/list"]
    ended = inspect(inspector, workspace_folder, arguments, [])
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert "start_training" in ended.stdout
