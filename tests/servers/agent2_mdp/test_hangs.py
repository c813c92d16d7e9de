"""Code that never ends, but does not look endless, is stopped by the stall limit, and its line is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent2_mdp import verification
from agent2_workspace import ProjectFolder

OpenProject = Callable[[str], ProjectFolder]
IN_PYTHON = """import numpy as np

def observe(observation):
    total = 0
    for number in range(10**14):
        total += number % 7
    return observation + total
"""
IN_C = """import numpy as np

def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    if len(observation) == 1:
        sum(range(10**14))
    return {"original": original_reward}
"""
WHILE_LOADING = "table = [n for n in range(10**14) if n < 0]\n"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "lines"),
    [
        pytest.param(IN_PYTHON, {5, 6}, id="python", marks=pytest.mark.slow),
        pytest.param(IN_C, {5}, id="c"),
        pytest.param(WHILE_LOADING, {1}, id="loading", marks=pytest.mark.slow),
    ],
)
async def test_a_hang_is_ended_by_the_stall_limit_and_names_its_line(
    code: str, lines: set[int], open_project: OpenProject, call_tool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "STALL_SECONDS", 2.0)
    project = open_project("CartPole-v1")
    answer = await call_tool("write_mdp", project=project.name, code=code)
    finding = answer["report"]["findings"][0]
    assert finding["code"] == "hangs"
    assert finding["severity"] == "error"
    assert finding["line"] in lines
    assert finding["message"].startswith("A call did not end within 2 s: mdp.py, line")
    assert finding["advice"]
