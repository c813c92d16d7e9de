"""The battle in NumPy: its rules, its masks, and what it takes to win."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.failures import StepFault
from agent2_targets.runtime.families.skirmish import FIRST_ATTACK, NO_OP, STOP, build
from agent2_targets.runtime.multi_agent.interface import JointObservation

ALLY_HEALTH, ENEMY_HEALTH = slice(0, 12, 4), slice(12, 24, 4)
"""Where a 3v3 state holds the healths."""


def focused(joint: JointObservation) -> dict[str, Any]:
    """Let everybody shoot the weakest enemy in range, else walk to the right, else stop."""
    masks = joint.action_masks["ally"]
    healths = np.where(masks[..., FIRST_ATTACK:], joint.state[:, None, ENEMY_HEALTH], np.inf)
    waiting = np.where(masks[..., 4], 4, np.where(joint.alive["ally"], STOP, NO_OP))
    actions = np.where(np.isfinite(healths).any(axis=-1), FIRST_ATTACK + healths.argmin(axis=-1), waiting)
    return {"ally": actions}


def win_rate(count: int, choose: Any) -> float:
    batch = build("3v3", {}, count, None)
    joint = batch.reset(list(range(count)))
    won, is_over = np.zeros(count), np.zeros(count, dtype=bool)
    for _ in range(batch.layout.max_episode_steps):
        step = batch.step(choose(joint))
        won = np.where(is_over, won, step.info["battle_won"][0])
        is_over |= step.terminated | step.truncated
        joint = step.following
    assert is_over.all()
    return float(won.mean())


def test_fire_on_the_weakest_wins_often_and_chance_never() -> None:
    generator = np.random.default_rng(0)

    def chance(joint: JointObservation) -> dict[str, Any]:
        return {"ally": np.where(joint.action_masks["ally"], generator.random((200, 3, 9)), -1.0).argmax(axis=-1)}

    assert win_rate(200, chance) < 0.05
    assert 0.4 < win_rate(200, focused) < 0.8


def test_the_return_of_a_battle_is_the_damage_done_and_one_for_a_win() -> None:
    batch = build("3v3", {"enemy_damage": 0.0}, 4, None)
    joint = batch.reset([0, 1, 2, 3])
    returns, is_over = np.zeros(4), np.zeros(4, dtype=bool)
    for _ in range(60):
        step = batch.step(focused(joint))
        returns += step.original_rewards["ally"][:, 0] * ~is_over
        is_over |= step.terminated
        joint = step.following
    np.testing.assert_allclose(returns, 2.0, rtol=1e-6)
    assert not joint.state[:, ENEMY_HEALTH].any()


def test_the_dead_can_only_do_nothing_and_show_nothing() -> None:
    batch = build("3v3", {"enemy_damage": 1.0}, 1, None)
    joint = batch.reset([0])
    while joint.alive["ally"].all():
        joint = batch.step(focused(joint)).following
    dead = ~joint.alive["ally"][0]
    assert (joint.action_masks["ally"][0, dead].argmax(axis=-1) == NO_OP).all()
    assert not joint.observations["ally"][0, dead].any()


def test_an_illegal_action_is_told_with_its_agent() -> None:
    batch = build("3v3", {}, 2, None)
    batch.reset([0, 1])
    with pytest.raises(StepFault, match="action 0 of ally_0 is not legal"):
        batch.step({"ally": np.zeros((2, 3), np.int64)})


def test_a_frame_shows_both_sides() -> None:
    batch = build("3v3", {}, 1, None)
    batch.reset([0])
    frame = batch.render()
    assert frame.shape == (320, 320, 3)
    left, right = frame[:, :160].reshape(-1, 3), frame[:, 160:].reshape(-1, 3)
    assert (left == (46, 105, 178)).all(axis=1).any()
    assert (right == (196, 70, 56)).all(axis=1).any()
