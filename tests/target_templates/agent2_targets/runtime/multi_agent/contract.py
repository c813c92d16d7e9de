"""What every backend of several agents must hold, as one walk through random episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_targets.runtime.multi_agent.interface import Group, JointObservation, Layout, MultiAgentBatch

Actions = dict[str, NDArray[Any]]


def random_actions(layout: Layout, joint: JointObservation, generator: np.random.Generator) -> Actions:
    """Draw legal actions for all groups."""
    return {group.name: _draw(group, joint, generator) for group in layout.groups}


def _draw(group: Group, joint: JointObservation, generator: np.random.Generator) -> NDArray[Any]:
    count, agents = joint.alive[group.name].shape
    space = group.action_space
    if space["kind"] == "box":
        return generator.uniform(0.0, 1.0, (count, agents, *space["shape"])).astype(space["dtype"])
    scores = generator.random((count, agents, space["n"]))
    if group.has_action_mask:
        scores[~joint.action_masks[group.name]] = -1.0
    return scores.argmax(axis=-1)


def check_joint(layout: Layout, joint: JointObservation, count: int) -> None:
    """Check names, shapes, dtypes, masks and dead agents of a joint observation."""
    assert list(joint.observations) == list(joint.alive) == [group.name for group in layout.groups]
    assert list(joint.action_masks) == [group.name for group in layout.groups if group.has_action_mask]
    assert joint.state.shape == (count, *layout.state_space["shape"])
    assert joint.state.dtype == np.float32
    for group in layout.groups:
        observations, alive = joint.observations[group.name], joint.alive[group.name]
        assert observations.shape == (count, len(group.agents), *group.observation_space["shape"])
        assert observations.dtype == np.dtype(group.observation_space["dtype"])
        assert alive.shape == (count, len(group.agents))
        assert alive.dtype == bool
        assert not observations[~alive].any(), "agents that have left are zeros"
        if group.has_action_mask:
            masks = joint.action_masks[group.name]
            assert masks.shape == (count, len(group.agents), group.action_space["n"])
            assert masks.dtype == bool
            assert masks.any(axis=-1).all()
            assert (masks[~alive].sum(axis=-1) == 1).all(), "agents that have left have one legal action"


def walk(batch: MultiAgentBatch, seed: int, steps: int) -> list[NDArray[Any]]:
    """Step a batch with random legal actions, resetting what has ended, and check every answer.

    Args:
        batch: the batch.
        seed: seed of the actions and the episodes.
        steps: batch steps.

    Returns:
        All states and rewards, one array after another.
    """
    layout, count, generator = batch.layout, batch.count, np.random.default_rng(seed)
    joint = batch.reset([seed + row for row in range(count)])
    check_joint(layout, joint, count)
    seen: list[NDArray[Any]] = [joint.state]
    elapsed = np.zeros(count, dtype=int)
    endings = 0
    for _ in range(steps):
        step = batch.step(random_actions(layout, joint, generator))
        elapsed += 1
        check_joint(layout, step.following, count)
        assert set(step.original_rewards) == {group.name for group in layout.groups}
        for name, part in step.original_rewards.items():
            assert part.shape == step.following.alive[name].shape
            assert part.dtype == np.float64
            assert not part[~joint.alive[name]].any(), "agents that had left are rewarded nothing"
        assert set(layout.info_keys) <= set(step.info)
        assert not (step.terminated & step.truncated).any()
        assert step.terminated.dtype == step.truncated.dtype == bool
        ended = step.terminated | step.truncated
        assert (elapsed <= layout.max_episode_steps).all()
        assert step.truncated[elapsed == layout.max_episode_steps].all() or step.terminated.any()
        seen += [step.following.state, *step.original_rewards.values()]
        joint = restart(batch, step.following, np.flatnonzero(ended), seed + endings)
        endings, elapsed[ended] = endings + int(ended.sum()), 0
    assert endings, "the walk saw no end of an episode"
    return seen


def restart(batch: MultiAgentBatch, joint: JointObservation, rows: NDArray[Any], seed: int) -> JointObservation:
    """Reset the rows that ended and put their first observations in place; the others must not change."""
    if not len(rows):
        return joint
    fresh = batch.reset([seed + int(row) for row in rows], rows)
    check_joint(batch.layout, fresh, len(rows))
    merged = JointObservation(
        {name: part.copy() for name, part in joint.observations.items()},
        {name: part.copy() for name, part in joint.action_masks.items()},
        {name: part.copy() for name, part in joint.alive.items()},
        joint.state.copy(),
    )
    for target, source in zip(merged[:3], fresh[:3], strict=True):
        for name, part in source.items():
            target[name][rows] = part
    merged.state[rows] = fresh.state
    return merged
