"""What groups of agents see and do crosses the frames of a single agent unchanged, and the state does not cross."""

import numpy as np
import pytest

from agent2_targets.runtime.frames import decode_batch, encode_batch
from agent2_targets.runtime.multi_agent.building import build_multi_agent
from agent2_targets.runtime.multi_agent.frames import (
    actions_from_raw,
    from_raw,
    joint_action_space,
    joint_observation_space,
    to_raw,
)
from agent2_targets.runtime.spaces import to_gymnasium

COUNT = 3
NAMES = ["skirmish:3v3", "mpe2.simple_spread_v3", "mpe2.simple_tag_v3", "mpe2.simple_speaker_listener_v4"]


@pytest.mark.parametrize("name", NAMES)
def test_a_joint_observation_crosses_without_its_state(name: str) -> None:
    batch = build_multi_agent({"name": name}, COUNT)
    groups = batch.layout.groups
    sent = batch.reset(range(COUNT))
    space = joint_observation_space(groups)

    received = from_raw(decode_batch(encode_batch(to_raw(sent), space), space, COUNT), [each.name for each in groups])

    assert received.state.shape == (COUNT, 0)
    assert set(received.action_masks) == {group.name for group in groups if group.has_action_mask}
    for group in groups:
        np.testing.assert_array_equal(received.observations[group.name], sent.observations[group.name])
        np.testing.assert_array_equal(received.alive[group.name], sent.alive[group.name])
        if group.has_action_mask:
            np.testing.assert_array_equal(received.action_masks[group.name], sent.action_masks[group.name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("continuous", [False, True])
def test_actions_that_cross_can_be_stepped(name: str, continuous: bool) -> None:
    arguments = {"continuous_actions": True} if continuous and name.startswith("mpe2") else {}
    batch = build_multi_agent({"name": name, "keyword_arguments": arguments}, COUNT)
    joint = batch.reset(range(COUNT))
    space = joint_action_space(batch.layout.groups)
    sampled = to_gymnasium(space)
    sampled.seed(0)
    rows = [sampled.sample() for _ in range(COUNT)]
    chosen = {group.name: np.stack([row[group.name] for row in rows]) for group in batch.layout.groups}
    for group, mask in joint.action_masks.items():
        chosen[group] = mask.argmax(axis=2)

    actions = actions_from_raw(decode_batch(encode_batch(chosen, space), space, COUNT))

    step = batch.step(actions)
    for group in batch.layout.groups:
        np.testing.assert_array_equal(actions[group.name], chosen[group.name])
        assert step.original_rewards[group.name].shape == (COUNT, len(group.agents))
