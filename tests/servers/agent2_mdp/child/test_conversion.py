"""The text of `potential` that is offered for a component which is a difference of one function of the state."""

from __future__ import annotations

import pytest

from agent2_mdp.child.conversion import potential_text

HEAD = "def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):\n"


@pytest.mark.parametrize(
    ("body", "weight", "expected"),
    [
        ('    return {"x": height(observation) - height(previous_observation)}', 1.0, "height(observation)"),
        ('    return {"x": 10.0 * (observation[:, 0] - previous_observation[:, 0])}', 2.0, "2.0 * (10.0 * observation[:, 0])"),
        (
            "    before = far(previous_observation)\n    after = far(observation)\n"
            '    return {"x": (before - after) / STEP}',
            1.0,
            "-far(observation) / STEP",
        ),
        ('    c = {}\n    c["x"] = -(far(observation) - far(previous_observation))\n    return c', 1.0, "-far(observation)"),
    ],
)  # fmt: skip
def test_a_difference_becomes_a_potential(body: str, weight: float, expected: str) -> None:
    assert potential_text(HEAD + body, "x", weight) == f"def potential(observation):\n    return {expected}"


@pytest.mark.parametrize(
    "body",
    [
        '    return {"x": observation[:, 0] - previous_observation[:, 1]}',
        '    return {"x": observation[:, 0] * action[:, 0] - previous_observation[:, 0] * action[:, 0]}',
        '    x = observation[:, 0]\n    x = x - previous_observation[:, 0]\n    return {"x": x}',
        '    return {"x": np.tanh(observation[:, 0] - previous_observation[:, 0])}',
        '    a = 0\n    for i in range(3):\n        a += 1\n    return {"x": observation[:, 0] - previous_observation[:, 0]}',
    ],
)
def test_what_has_another_form_is_not_converted(body: str) -> None:
    assert potential_text(HEAD + body, "x", 1.0) is None


def test_an_endless_unfolding_is_given_up() -> None:
    lines = ["    a0 = observation[:, 0]", *(f"    a{n} = a{n - 1} + a{n - 1}" for n in range(1, 40))]
    code = HEAD + "\n".join(lines) + '\n    return {"x": a39 - previous_observation[:, 0]}'
    assert potential_text(code, "x", 1.0) is None
