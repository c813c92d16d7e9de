"""Suggestions: the unchanged MDP first, others only where a measured fact calls for them, all ready to use."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from agent2_workspace import ProjectFolder

OpenProject = Callable[[str], ProjectFolder]
SLOW = pytest.mark.slow
CLASSICS = [
    "FrozenLake-v1",
    pytest.param("CartPole-v1", marks=SLOW),
    pytest.param("Pendulum-v1", marks=SLOW),
    pytest.param("MountainCarContinuous-v0", marks=SLOW),
    pytest.param("Acrobot-v1", marks=SLOW),
    pytest.param("InvertedPendulum-v5", marks=SLOW),
    pytest.param("AngleWithoutSpeed-v0", marks=SLOW),
    pytest.param("RareGoal-v0", marks=SLOW),
    pytest.param("NestedDict-v0", marks=SLOW),
    pytest.param("Picture-v0", marks=SLOW),
]


async def suggestions(project: ProjectFolder, call_tool: Any) -> dict[str, dict[str, Any]]:
    answer = await call_tool("suggest_mdp", project=project.name)
    assert answer["state"] == "finished"
    return {suggestion["name"]: suggestion for suggestion in answer["suggestions"]}


@pytest.mark.anyio
@pytest.mark.parametrize("environment", CLASSICS)
async def test_every_suggestion_passes_verification(
    environment: str, open_project: OpenProject, call_tool: Any
) -> None:
    project = open_project(environment)
    found = await suggestions(project, call_tool)
    assert next(iter(found)) == "unchanged"
    for name, suggestion in found.items():
        assert suggestion["reason"]
        assert suggestion["source"]
        stateful = {key: value for key, value in suggestion["stateful"].items() if key != "observation_clip"}
        answer = await call_tool(
            "write_mdp",
            project=project.name,
            code=suggestion["code"],
            title=name,
            info_keys=suggestion["info_keys"],
            reward_scale=suggestion["reward_scale"],
            **stateful,
        )
        errors = [finding for finding in answer["report"]["findings"] if finding["severity"] == "error"]
        assert answer["report"]["is_accepted"], (name, errors)
        assert tuple(answer["report"]["parts"]) == tuple(suggestion["parts"])


@pytest.mark.slow
@pytest.mark.anyio
async def test_facts_of_pendulum_call_for_a_reward_scale_and_time_but_for_no_history(
    open_project: OpenProject, call_tool: Any
) -> None:
    found = await suggestions(open_project("Pendulum-v1"), call_tool)
    assert {"reward-scale", "time-left"} <= set(found)
    assert 0.001 < found["reward-scale"]["reward_scale"] < 0.05
    assert "history" not in found
    assert "sin-cos-angles" not in found


@pytest.mark.anyio
async def test_an_angle_and_a_missing_speed_are_noticed(open_project: OpenProject, call_tool: Any) -> None:
    found = await suggestions(open_project("AngleWithoutSpeed-v0"), call_tool)
    assert "np.sin" in found["sin-cos-angles"]["code"]
    assert found["history"]["stateful"]["history"] == 4
    assert list(found)[-1] == "history"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_rare_goal_gives_a_potential_toward_it(open_project: OpenProject, call_tool: Any) -> None:
    found = await suggestions(open_project("RareGoal-v0"), call_tool)
    assert found["goal-potential"]["parts"] == ["potential"]
    goal = re.search(r"GOAL = np.array\(\[([\d.]+)", found["goal-potential"]["code"])
    assert goal is not None
    assert 2.7 < float(goal[1]) < 3.3


@pytest.mark.slow
@pytest.mark.anyio
async def test_no_energy_penalty_is_suggested(open_project: OpenProject, call_tool: Any) -> None:
    for environment in ("MountainCarContinuous-v0", "CartPole-v1"):
        found = await suggestions(open_project(environment), call_tool)
        assert not any("reward" in suggestion["parts"] for suggestion in found.values())
