"""Preview, prompts and resources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from agent2_mdp.server import build_server
from agent2_workspace import ProjectFolder

OpenProject = Callable[[str], ProjectFolder]
CODE = """import numpy as np

REWARD_WEIGHTS = {"original": 1.0, "calm": 0.1}


def observe(observation):
    angle = np.arctan2(observation[:, 1], observation[:, 0])
    return np.stack([angle, observation[:, 2]], axis=1)


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"original": original_reward, "calm": -np.abs(observation[:, 2])}


def potential(observation):
    return observation[:, 0]
"""


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_preview_shows_before_and_after_and_draws_them(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("Pendulum-v1")
    written = await call_tool("write_mdp", project=project.name, code=CODE, reward_scale=0.5)
    assert written["report"]["is_accepted"], written
    found = await call_tool("preview_mdp", project=project.name, candidate=written["candidate_id"])
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["environment observation[2]"]["before_std"] > 0
    assert rows["environment observation[2]"]["after_std"] is None
    assert -3.2 <= rows["designed observation[0]"]["after_min"] < rows["designed observation[0]"]["after_max"] <= 3.2
    assert rows["reward component calm"]["after_mean"] < 0
    assert rows["shaped_reward"]["before_mean"] == rows["original_reward"]["before_mean"]
    assert rows["shaped_reward"]["after_mean"] != rows["shaped_reward"]["before_mean"]
    assert "potential-based shaping" in rows
    plot = Path(found["plot"])
    assert plot.is_absolute()
    assert plot.read_bytes().startswith(b"\x89PNG")
    (fonts,) = (project.root.parent.parent / "cache" / "matplotlib").iterdir()
    assert fonts.name.startswith("fontlist-"), "the list of fonts is built once for the workspace"
    assert not [path for path in project.candidate(written["candidate_id"]).root.iterdir() if path.name[0] == "."]


@pytest.mark.anyio
async def test_a_rejected_candidate_has_no_preview(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("CartPole-v1")
    written = await call_tool("write_mdp", project=project.name, code="def observe(x)\n")
    async with Client(build_server().mcp) as client:
        result = await client.call_tool("preview_mdp", {"project": project.name, "candidate": written["candidate_id"]})
    assert result.is_error
    assert "write_mdp" in result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_prompts_carry_task_environment_earlier_parts_and_contract(
    open_project: OpenProject, call_tool: Any, mode: Any
) -> None:
    project = open_project("CartPole-v1")
    broken = "def observe(observation)\n    return observation\n"
    written = await call_tool("write_mdp", project=project.name, code=broken, reward_scale=0.25)
    candidate = written["candidate_id"]
    async with Client(build_server().mcp, mode=mode) as client:
        names = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert names == {"design_observation", "design_action", "design_reward", "repair_code"}
        for name in sorted(names):
            arguments = {"project": project.name} | ({"candidate": candidate} if name == "repair_code" else {})
            found = await client.get_prompt(name, arguments)
            text = found.messages[0].content.text  # pyright: ignore[reportAttributeAccessIssue]
            assert "Do it well." in text
            assert "CartPole-v1" in text
            assert "The contract of `mdp.py`" in text
            assert len(text) < 30_000
            assert "$" not in text
            if name == "repair_code":
                assert "syntax-error (line 1)" in text
                assert "   1  def observe(observation)" in text
                assert '"reward_scale": 0.25' in text
        with pytest.raises(Exception, match="nowhere"):
            await client.get_prompt("design_reward", {"project": "nowhere"})


@pytest.mark.anyio
async def test_the_resources_describe_every_part_and_every_declared_step() -> None:
    async with Client(build_server().mcp) as client:
        texts = [
            (await client.read_resource(uri)).contents[0].text  # pyright: ignore[reportAttributeAccessIssue]
            for uri in ("agent2://mdp/contract", "agent2://mdp/transforms")
        ]
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"suggest_mdp", "write_mdp", "preview_mdp", "read_candidate"}
    for part in ("observe", "act", "action_mask", "reward", "potential", "OBSERVATION_SPACE", "REWARD_WEIGHTS"):
        assert part in texts[0]
    declared = set(tools["write_mdp"].input_schema["properties"]) - {
        "project", "code", "parent", "title", "idempotency_key",
    }  # fmt: skip
    for argument in declared:
        assert argument in texts[1], argument
