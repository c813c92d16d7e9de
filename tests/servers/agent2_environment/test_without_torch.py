"""The environment server installs and runs where there is no torch: the core of the distribution, in a fresh environment."""

import subprocess
import sys
import venv
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.anyio
async def test_the_core_alone_inspects_cartpole_over_stdio(tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(REPOSITORY)]
    subprocess.run(install, check=True, timeout=500)
    probe = [python, "-c", "import importlib.util as u; print([n for n in ('torch', 'tianshou') if u.find_spec(n)])"]
    assert subprocess.run(probe, check=True, timeout=60, capture_output=True, text=True).stdout.strip() == "[]"
    environment = {"AGENT2_WORKSPACE": str(tmp_path / "workspace"), "AGENT2_CONFIG": str(tmp_path / "config.toml")}
    parameters = StdioServerParameters(command=str(python), args=["-m", "agent2_environment"], env=environment)
    with anyio.fail_after(120):
        async with Client(parameters) as client:
            result = await client.call_tool("inspect_environment", {"environment": "CartPole-v1", "project": "cart"})
            while (result.structured_content or {}).get("state") == "running":
                result = await client.call_tool(
                    "inspect_environment", {"environment": "CartPole-v1", "project": "cart"}
                )
    assert not result.is_error, result
    assert (result.structured_content or {})["project"] == "cart"
