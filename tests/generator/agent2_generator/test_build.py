"""The whole journey on real input: from a reference to a judged, delivered agent, in one command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MANY = ("policy.py", "mdp.py", "runtime", "design.yaml", "weights.safetensors", "normaliser.json", "play.py", "evaluate.py",
        "train.py", "requirements.txt", "README.md", "report.html", "manifest.json")  # fmt: skip


@pytest.mark.timeout(900)
def test_a_small_budget_in_steps_delivers_an_agent_that_scores_itself(command: Any) -> None:
    result = command.run(
        "build", "CartPole-v1", "--task", "balance the pole", "--budget", "8k-steps", "--algorithm", "PPO"
    )
    assert result["state"] == "delivered", command.progress()
    target = Path(result["target"])
    assert [name for name in MANY if not (target / name).exists()] == []
    assert result["verdict"] == "not tested"
    assert "minutes" in result["verdict_reason"] or "No candidate of the search came near" in result["verdict_reason"]
    assert result["score"] > 25, "better than random"
    shown = subprocess.run(
        [sys.executable, target / "evaluate.py", "--episodes", "5", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    own = json.loads(shown)
    assert own["episodes"] == 5
    assert own["mean_original_return"] > 25
    assert command.processes() == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("environment", "budget", "threshold", "episodes"),
    [("CartPole-v1", "60s", 475, 100), ("InvertedPendulum-v5", "3m", 950, 20), ("Pendulum-v1", "10m", -200, 20)],
)
def test_known_tasks_reach_their_scores(
    command: Any, environment: str, budget: str, threshold: float, episodes: int
) -> None:
    result = command.run("build", environment, "--budget", budget, "--name", "known", timeout_seconds=850)
    assert result["state"] == "delivered", command.progress()
    fresh = command.run("evaluate", "known", "--episodes", str(episodes))
    assert fresh["mean_original_return"] >= threshold
