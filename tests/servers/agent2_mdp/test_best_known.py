"""A reward that ranks a random policy above the best known one is refused before any training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

from agent2_workspace import ProjectFolder

OpenProject = Callable[[str], ProjectFolder]
STAY_CLOSE = """import numpy as np

REWARD_WEIGHTS = {"original": 1.0, "far": 5.0}

def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"original": original_reward, "far": -np.abs(observation[:, 0])}
"""


@pytest.fixture
def leaning(recording_tools: ModuleType) -> Callable[[Path], None]:
    """Record CartPole under a policy that balances it while the cart drifts away."""

    def write(file: Path) -> None:
        environment = gymnasium.make("CartPole-v1")
        columns = recording_tools.record(environment, lambda seen: int(seen[2] + 0.5 * seen[3] > 0), 2500)
        environment.close()
        np.savez_compressed(file, **columns)

    return write


@pytest.mark.anyio
async def test_a_reward_that_prefers_random_to_the_best_known_policy_is_refused(
    open_project: OpenProject, call_tool: Any, leaning: Callable[[Path], None]
) -> None:
    project = open_project("CartPole-v1")
    before = await call_tool("write_mdp", project=project.name, code=STAY_CLOSE)
    assert before["report"]["is_accepted"], before["report"]["findings"]
    leaning(project.recordings / "best.npz")
    after = await call_tool("write_mdp", project=project.name, code=STAY_CLOSE)
    assert not after["report"]["is_accepted"]
    finding = after["report"]["findings"][0]
    assert finding["code"] == "best-ranked-below-random"
    assert finding["line"] == 6
    assert "against" in finding["evidence"]
    assert not (project.candidate(after["candidate_id"]).root / "mdp.yaml").exists()
    unchanged = await call_tool("write_mdp", project=project.name)
    assert unchanged["report"]["is_accepted"]
