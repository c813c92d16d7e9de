"""The example environment: sound by itself, and buildable into an agent."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def environment() -> Any:
    """A greenhouse that can draw itself."""
    spec = importlib.util.spec_from_file_location("greenhouse", EXAMPLES / "greenhouse.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Greenhouse(render_mode="rgb_array")


def mean_return(environment: Any, policy: Any, days: int = 40) -> float:
    returns = []
    for seed in range(days):
        observation, _ = environment.reset(seed=seed)
        total, is_over = 0.0, False
        while not is_over:
            observation, original_reward, terminated, truncated, _ = environment.step(policy(observation))
            total, is_over = total + original_reward, terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def test_it_passes_the_checker_of_gymnasium(environment: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment, skip_render_check=True)


def test_it_draws_itself(environment: Any) -> None:
    environment.reset(seed=0)
    picture = environment.render()
    assert (picture.shape, picture.dtype) == ((96, 160, 3), np.uint8)
    assert len(np.unique(picture)) > 5


def test_a_thoughtful_policy_earns_more_than_chance_or_idleness(environment: Any) -> None:
    generator = np.random.default_rng(0)

    def thermostat(observation: Any) -> Any:
        heating = np.clip((14.0 - observation[0]) * 0.3, 0.0, 1.0)
        return np.array([heating, 0.5 * (observation[0] > 24.0 or observation[1] > 0.85)])

    thoughtful = mean_return(environment, thermostat)
    assert thoughtful > 0
    assert thoughtful > mean_return(environment, lambda _: generator.uniform(0, 1, 2)) + 80
    assert thoughtful > mean_return(environment, lambda _: np.zeros(2)) + 80


def test_info_explains_the_reward(environment: Any) -> None:
    environment.reset(seed=3)
    _, original_reward, terminated, _, info = environment.step(np.array([0.5, 0.1]))
    assert not terminated
    assert original_reward == pytest.approx(
        info["growth"] - info["energy_cost"] - info["mould_cost"] - info["chill_cost"]
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_builds_an_agent_for_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent2_generator", "build", EXAMPLES / "greenhouse.py",
         "--task-file", EXAMPLES / "greenhouse-task.txt", "--budget", "3m", "--workspace", tmp_path / "workspace", "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=850, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["state"] == "delivered"
    assert result["verdict"] in ("improved", "not shown", "not tested")
    assert result["score"] > 0, "better than nothing, and far better than random"
    assert (Path(result["target"]) / "environment" / "greenhouse.py").exists()
