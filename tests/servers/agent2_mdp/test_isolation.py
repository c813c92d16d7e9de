"""Where no sandbox holds, free-form code is refused with the line to type; only the person's configuration relaxes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client

from agent2_mdp.server import build_server
from agent2_workspace import ProjectFolder, configuration_file

CODE = "import numpy as np\n\ndef observe(observation):\n    return np.tanh(observation)\n"
OpenProject = Callable[[str], ProjectFolder]


@pytest.mark.anyio
async def test_free_form_code_needs_a_boundary_and_declared_parts_do_not(
    open_project: OpenProject, call_tool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT2_SANDBOX_TIER", "D")
    monkeypatch.setenv("AGENT2_ISOLATION", "best_effort")  # a variable is not the person's configuration
    project = open_project("CartPole-v1")
    async with Client(build_server().mcp) as client:
        refused = await client.call_tool("write_mdp", {"project": project.name, "code": CODE})
    assert refused.is_error
    text = str(refused.content)
    assert "Generated code is not run here" in text
    assert "best_effort" in text
    declared = await call_tool("write_mdp", project=project.name, normalise_observation="running")
    assert declared["report"]["is_accepted"]

    configuration_file().write_text('isolation = "best_effort"\n')
    allowed = await call_tool("write_mdp", project=project.name, code=CODE)
    assert allowed["report"]["is_accepted"], allowed["report"]["findings"]
    assert allowed["report"]["isolation"]["tier"] == "D"
    assert (await call_tool("preview_mdp", project=project.name, candidate=allowed["candidate_id"]))["rows"]


@pytest.mark.anyio
async def test_no_argument_of_a_tool_can_relax_the_sandbox() -> None:
    async with Client(build_server().mcp) as client:
        for tool in (await client.list_tools()).tools:
            names = set(tool.input_schema["properties"])
            assert not names & {"isolation", "grants", "network", "gpu", "sandbox", "tier", "limits"}
