"""Groups of agents go through the same pipelines as one agent, row by row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.failures import TransformError
from agent2_targets.runtime.multi_agent.building import build_multi_agent
from agent2_targets.runtime.multi_agent.interface import JointObservation, MultiAgentBatch
from agent2_targets.runtime.multi_agent.pipeline import GroupActionPipeline, GroupObservationPipeline
from agent2_targets.runtime.multi_agent.transforms import load_group_transforms

from .designs import mdp_of

COUNT = 4


def build(name: str, **keys: Any) -> MultiAgentBatch:
    return build_multi_agent({"name": name, **keys}, COUNT)


def pipelines(
    batch: MultiAgentBatch, folder: Path, code: str = "", **stateful: Any
) -> tuple[GroupObservationPipeline, GroupActionPipeline]:
    file = folder / "mdp.py"
    file.write_text(code)
    mdp = mdp_of(batch.layout, **stateful)
    transforms = load_group_transforms(file, mdp)
    return GroupObservationPipeline(mdp, transforms, COUNT), GroupActionPipeline(mdp, transforms, COUNT)


def show(batch: MultiAgentBatch, folder: Path, code: str) -> None:
    """Make the pipelines and show the first observations."""
    observe, _ = pipelines(batch, folder, code)
    observe.reset(None, batch.reset(range(COUNT)))


def first_legal(joint: JointObservation) -> dict[str, Any]:
    return {name: mask.argmax(axis=2) for name, mask in joint.action_masks.items()}


@pytest.mark.parametrize("name", ["skirmish:3v3", "mpe2.simple_speaker_listener_v4", "mpe2.simple_tag_v3"])
def test_every_group_sees_its_own_observations_and_acts_in_its_own_space(name: str, tmp_path: Path) -> None:
    batch = build(name)
    observe, act = pipelines(batch, tmp_path)
    joint = batch.reset(range(COUNT))

    inputs = observe.reset(None, joint)
    chosen = {
        group.name: inputs.action_masks[group.name].argmax(axis=2)
        if group.has_action_mask
        else np.zeros((COUNT, len(group.agents)), dtype=np.int64)
        for group in batch.layout.groups
    }
    step = batch.step(act(chosen, joint))

    for group in batch.layout.groups:
        np.testing.assert_array_equal(inputs.observations[group.name], joint.observations[group.name])
        assert observe.shapes[group.name] == tuple(group.observation_space["shape"])
        assert act.spaces[group.name]["n"] == group.action_space["n"]
    following = observe.step(step.following, chosen)
    np.testing.assert_array_equal(following.state, step.following.state)


def test_history_previous_action_time_left_and_identity_are_those_of_each_agent(tmp_path: Path) -> None:
    batch = build("skirmish:3v3")
    observe, act = pipelines(batch, tmp_path, history=2, previous_action=True, time_left=True, agent_identity=True)
    joint = batch.reset(range(COUNT))
    size, choices = joint.observations["ally"].shape[2], 9

    observe.reset(None, joint)
    chosen = first_legal(joint)
    step = batch.step(act(chosen, joint))
    shown = observe.step(step.following, chosen).observations["ally"]

    assert shown.shape == (COUNT, 3, 2 * size + choices + 1 + 3) == (COUNT, 3, *observe.shapes["ally"])
    np.testing.assert_array_equal(shown[..., :size], joint.observations["ally"])
    np.testing.assert_array_equal(shown[..., size : 2 * size], step.following.observations["ally"])
    np.testing.assert_array_equal(shown[..., 2 * size : 2 * size + choices].argmax(axis=2), chosen["ally"])
    np.testing.assert_allclose(shown[..., -4], 1 - 1 / batch.layout.max_episode_steps)
    np.testing.assert_array_equal(shown[0, :, -3:], np.eye(3))


def test_only_the_rows_that_are_reset_start_afresh(tmp_path: Path) -> None:
    batch = build("skirmish:3v3")
    observe, act = pipelines(batch, tmp_path, time_left=True)
    joint = batch.reset(range(COUNT))
    observe.reset(None, joint)
    chosen = first_legal(joint)
    observe.step(batch.step(act(chosen, joint)).following, chosen)

    again = observe.reset([2], batch.reset([7], [2])).observations["ally"]

    assert again.shape[0] == 1
    np.testing.assert_array_equal(again[..., -1], 1.0)


def test_the_functions_get_whole_groups_who_is_alive_and_the_groups_name(tmp_path: Path) -> None:
    batch = build("mpe2.simple_tag_v3")
    code = (
        "import numpy as np\n"
        "def observe(observation, alive, group):\n"
        "    nearest = observation - observation.mean(axis=1, keepdims=True)\n"
        "    return np.concatenate([nearest, alive[..., None] * (2.0 if group == 'agent' else 1.0)], axis=2)\n"
    )
    observe, _ = pipelines(batch, tmp_path, code)
    joint = batch.reset(range(COUNT))

    shown = observe.reset(None, joint).observations

    raw = joint.observations["adversary"]
    np.testing.assert_allclose(shown["adversary"][..., :-1], raw - raw.mean(axis=1, keepdims=True), atol=1e-6)
    assert (shown["adversary"][..., -1] == 1.0).all()
    assert (shown["agent"][..., -1] == 2.0).all()


def test_agents_that_have_left_see_zeros_and_do_their_only_legal_choice(tmp_path: Path) -> None:
    batch = build("skirmish:3v3", keyword_arguments={"enemy_damage": 0.5})
    observe, act = pipelines(batch, tmp_path, "def observe(observation):\n    return observation + 1.0\n")
    joint = batch.reset(range(COUNT))
    inputs = observe.reset(None, joint)
    chosen = {"ally": np.full((COUNT, 3), 1)}
    gone = ~joint.alive["ally"]
    for _ in range(30):
        joint = batch.step(act(chosen, joint)).following
        inputs = observe.step(joint, chosen)
        gone = ~joint.alive["ally"]
        if gone.any():
            break

    assert gone.any()
    assert (inputs.observations["ally"][gone] == 0.0).all()
    assert (inputs.observations["ally"][~gone] != 0.0).any()
    assert (act(chosen, joint)["ally"][gone] == 0).all()


def test_a_reward_for_the_team_counts_for_each_of_its_living_agents(tmp_path: Path) -> None:
    batch = build("skirmish:3v3")
    file = tmp_path / "mdp.py"
    file.write_text(
        "REWARD_WEIGHTS = {'team': 2.0}\n"
        "def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):\n"
        "    return {'team': original_reward.mean(axis=1), 'each': action * 1.0}\n"
        "def potential(observation):\n    return observation[..., 0]\n"
    )
    transforms = load_group_transforms(file, mdp_of(batch.layout))["ally"]
    joint = batch.reset(range(COUNT))
    actions = first_legal(joint)
    step = batch.step(actions)
    transforms.alive = np.array([[True, True, False]] * COUNT)

    total, components = transforms.shaped_reward(
        joint.observations["ally"],
        actions["ally"],
        step.following.observations["ally"],
        step.original_rewards["ally"],
        step.terminated,
        step.truncated,
        step.info,
        0.9,
    )

    assert set(components) == {"team", "each", "potential"}
    assert total.shape == (COUNT, 3)
    assert (total[:, 2] == 0.0).all()
    np.testing.assert_allclose(components["each"][:, :2], actions["ally"][:, :2])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def observe(observation):\n    return observation[:, 0]\n", "expected (1, 3"),
        ("def action_mask(mask):\n    return mask[..., :4]\n", "choices"),
        ("def action_mask(mask):\n    return mask & False\n", "without a legal choice"),
    ],
)
def test_a_function_that_breaks_the_contract_is_told_what_was_expected(code: str, said: str, tmp_path: Path) -> None:
    batch = build("skirmish:3v3")

    with pytest.raises(TransformError) as told:
        show(batch, tmp_path, code)

    assert said in str(told.value)


def test_an_act_that_chooses_what_is_not_legal_is_refused(tmp_path: Path) -> None:
    batch = build("skirmish:3v3")
    _, act = pipelines(batch, tmp_path, "def act(action, observation):\n    return action * 0\n")
    joint = batch.reset(range(COUNT))

    with pytest.raises(TransformError, match="not legal"):
        act(first_legal(joint), joint)


def test_a_held_action_is_for_single_agents(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="action_repeat"):
        pipelines(build("skirmish:3v3"), tmp_path, action_repeat=2)
