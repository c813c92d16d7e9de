"""Projects opened on recordings of small environments, recorded once a session; and a client of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import pytest
from mcp import Client

from agent2_mdp.server import build_server
from agent2_workspace import ProjectFolder

MOST_CALLS = 6
OpenProject = Callable[[str], ProjectFolder]
CallTool = Callable[..., Any]


def load_beside(name: str) -> ModuleType:
    """Load a module of this folder (tests are no package)."""
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


source = load_beside("recording_source")
load_beside("small_environments")


@pytest.fixture(scope="session")
def recording_tools() -> ModuleType:
    """The functions that record transitions."""
    return source


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder with recordings of an environment, recorded at the first request."""
    root = tmp_path_factory.mktemp("recordings")

    def give(environment: str) -> Path:
        folder = root / environment.replace(":", "-").replace("/", "-")
        if not folder.exists():
            made = gymnasium.make(environment)
            source.write_recordings(made, folder, environment)
            made.close()
        return folder

    return give


@pytest.fixture
def open_project(recorded: Callable[[str], Path], workspace_folder: Path) -> OpenProject:
    """Open a project on an environment in the test's own workspace."""

    def give(environment: str) -> ProjectFolder:
        name = environment.split(":")[-1].lower()
        return source.open_project(recorded(environment), name, environment)

    return give


@pytest.fixture
async def call_tool() -> AsyncIterator[CallTool]:
    """Call a tool of a fresh server in memory until it has finished, and give its structured answer."""
    async with Client(build_server().mcp) as client:

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            for _ in range(MOST_CALLS):
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result.content
                assert result.structured_content is not None
                if result.structured_content["state"] != "running":
                    return result.structured_content
            raise AssertionError(f"{name} was still running after {MOST_CALLS} calls")

        yield call
