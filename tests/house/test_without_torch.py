"""The environment server installs and runs in a virtual environment that has no torch."""

import os
import subprocess
import venv
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def bare_python(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh virtual environment with the core installation only."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "-c", str(root / "constraints.txt"), str(root)]
    ended = subprocess.run(install, capture_output=True, text=True, timeout=600, check=False, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return python


def test_the_core_installation_brings_no_torch(bare_python: Path) -> None:
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)"
    assert subprocess.run([str(bare_python), "-c", code], timeout=60, check=False).returncode == 0


@pytest.mark.anyio
async def test_the_environment_server_inspects_an_environment_there(bare_python: Path, workspace_folder: Path) -> None:
    environment = {**os.environ, "AGENT2_WORKSPACE": str(workspace_folder)}
    command = StdioServerParameters(command=str(bare_python), args=["-m", "agent2_environment"], env=environment)
    with anyio.fail_after(180):
        async with Client(command) as client:
            while True:
                result = await client.call_tool(
                    "inspect_environment", {"environment": "CartPole-v1", "project": "bare"}
                )
                assert not result.is_error, result.content
                assert result.structured_content is not None
                if result.structured_content["state"] != "running":
                    break
    assert result.structured_content["state"] == "finished", result.structured_content
    assert result.structured_content["report"] is not None


def test_a_missing_extra_is_said_with_the_line_to_type(bare_python: Path) -> None:
    ended = subprocess.run(
        [str(bare_python), "-m", "agent2_generator", "build", "CartPole-v1", "--budget", "10s"],
        capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "pip install 'agent-squared[train]'" in ended.stderr
    assert "Traceback" not in ended.stderr
