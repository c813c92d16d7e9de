"""A program for `--llm command:`: answers each question of a build from the words it is asked with; run by the tests."""

import json
import sys
from collections.abc import Mapping

OBSERVE = '''"""Scaled observation."""

import numpy as np

OBSERVATION_SPACE = {"shape": [4], "dtype": "float32", "low": None, "high": None}


def observe(observation):
    return np.stack([observation[:, 0] / 2.4, observation[:, 1] / 2.0, observation[:, 2] / 0.2, observation[:, 3] / 2.0], axis=1)
'''
ANALYSIS = (
    "**Objectives.** Keep the pole upright; each step gives 1. **Constraints.** Two actions, 500 steps. "
    "**Characteristics.** Deterministic, dense, fully observed. **Challenges.** Entries differ in size."
)
BY_HEADING = {
    "You are an analyst of reinforcement-learning": ANALYSIS,
    "You design the observation": (
        {"decision": "design", "reason": "entries of comparable size", "expected_effect": "faster"}, OBSERVE,
    ),
    "You design the action": ({"decision": "keep", "reason": "two actions suffice"}, ""),
    "You design the reward": ({"decision": "keep", "reason": "dense already"}, ""),
    "# Choose the learning algorithm": ({"algorithm": "PPO", "reason": "cheap steps"}, ""),
    "# Design the networks": ({"network": {"hidden_sizes": [32, 32]}, "reason": "four entries"}, ""),
    "# Tune the hyperparameters": ({"hyperparameters": {}, "changes": []}, ""),
    "# Refine a design": ({"action": "optimiser", "reason": "nothing better than the optimiser's point"}, ""),
}  # fmt: skip


def answer(prompt: str) -> str:
    """Answer by the heading of the last question."""
    question = prompt.rpartition("[user]\n")[2]
    for heading, value in BY_HEADING.items():
        if heading in question:
            return value if isinstance(value, str) else written(*value)
    raise SystemExit(f"no answer for: {question[:200]}")


def written(data: Mapping[str, object], code: str = "") -> str:
    """Lay an answer out as it is asked for."""
    block = f"Here it is.\n\n```json\n{json.dumps(data)}\n```\n"
    return f"{block}\n```python\n{code}```\n" if code else block


if __name__ == "__main__":
    print(answer(sys.stdin.read()))
