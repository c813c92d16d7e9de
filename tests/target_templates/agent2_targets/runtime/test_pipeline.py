"""The path from raw observations to policy inputs, and from policy actions to the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agent2_targets.runtime.normaliser import Normaliser
from agent2_targets.runtime.pipeline import ActionPipeline, ObservationPipeline
from agent2_targets.runtime.spaces import describe_space
from agent2_targets.runtime.transforms import Transforms

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)


def make(
    tmp_path: Path,
    count: int = 2,
    code: str = "",
    observation: Any = BOX,
    action: Any = BOX,
    limit: int | None = 10,
    **stateful: Any,
) -> tuple[ObservationPipeline, ActionPipeline]:
    file = tmp_path / "mdp.py"
    file.write_text(code)
    mdp = {
        "environment_observation_space": describe_space(observation),
        "environment_action_space": describe_space(action),
        "max_episode_steps": limit,
        "stateful": stateful,
    }
    transforms = Transforms.load(file, mdp)
    return ObservationPipeline(mdp, transforms, count), ActionPipeline(mdp, transforms, count)


def rows(*values: float) -> Any:
    return np.array([[value, value] for value in values], np.float32)


def test_a_plain_design_passes_observations_on(tmp_path: Path) -> None:
    observations, _ = make(tmp_path)
    assert observations.space == {"kind": "box", "shape": [2], "dtype": "float32", "low": None, "high": None}
    assert np.array_equal(observations.reset(None, rows(0.1, 0.2)), rows(0.1, 0.2))
    assert np.array_equal(observations.step(rows(0.3, 0.4), rows(0, 0)), rows(0.3, 0.4))


def test_history_is_newest_last_and_starts_afresh_at_a_reset(tmp_path: Path) -> None:
    observations, _ = make(tmp_path, history=3)
    assert observations.reset(None, rows(1, 5))[:, ::2].tolist() == [[1, 1, 1], [5, 5, 5]]
    assert observations.step(rows(2, 6), rows(0, 0))[:, ::2].tolist() == [[1, 1, 2], [5, 5, 6]]
    last = observations.step(rows(3, 7), rows(0, 0))
    assert last[:, ::2].tolist() == [[1, 2, 3], [5, 6, 7]], "the true last observation, before any reset"
    assert observations.reset([0], rows(9))[:, ::2].tolist() == [[9, 9, 9]]
    assert observations.step(rows(10, 8), rows(0, 0))[:, ::2].tolist() == [[9, 9, 10], [6, 7, 8]]


def test_previous_action_and_time_left_follow_the_episode(tmp_path: Path) -> None:
    observations, _ = make(tmp_path, action=spaces.Discrete(3), previous_action=True, time_left=True, action_repeat=2)
    assert observations.shape == (6,)
    assert observations.reset(None, rows(0, 0))[0].tolist() == [0, 0, 0, 0, 0, 1]
    after = observations.step(rows(0, 0), np.array([2, 0]))
    assert np.allclose(after[:, 2:], [[0, 0, 1, 0.8], [1, 0, 0, 0.8]])
    assert observations.reset([1], rows(0))[0].tolist() == [0, 0, 0, 0, 0, 1]
    assert np.allclose(observations.step(rows(0, 0), np.array([1, 1]))[:, 5], [0.6, 0.8])


def test_time_left_without_a_time_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="time limit"):
        make(tmp_path, limit=None, time_left=True)


def test_the_normaliser_comes_last_and_leaves_what_it_needs_to_learn(tmp_path: Path) -> None:
    observations, _ = make(tmp_path, normalise_observation="running", time_left=True, observation_clip=5.0)
    assert isinstance(observations.normaliser, Normaliser)
    assert (observations.space["low"], observations.space["high"]) == (-5.0, 5.0)
    observations.reset(None, rows(3, 5))
    assert observations.unnormalised.tolist() == [[3, 3, 1], [5, 5, 1]]
    observations.normaliser.update(observations.unnormalised)
    assert np.allclose(observations.reset(None, rows(3, 5)), [[-1, -1, 0], [1, 1, 0]])


def test_images_become_floats_in_their_shape_with_history_as_channels(tmp_path: Path) -> None:
    image = spaces.Box(0, 255, (4, 5, 3), np.uint8)
    observations, _ = make(tmp_path, observation=image, history=2)
    first = np.full((2, 4, 5, 3), 51, np.uint8)
    assert observations.shape == (4, 5, 6)
    observations.reset(None, first)
    after = observations.step(first * 5, rows(0, 0))
    assert after[0, 0, 0].tolist() == pytest.approx([0.2] * 3 + [1.0] * 3)


def test_subsets_of_rows_step_alone(tmp_path: Path) -> None:
    observations, _ = make(tmp_path, count=3, history=2, previous_action=True)
    observations.reset(None, rows(1, 2, 3))
    observations.step(rows(20), rows(0.5), [1])
    everything = observations.step(rows(4, 5, 6), rows(0, 0, 0))
    assert everything[:, 0].tolist() == [1, 20, 3]


@pytest.mark.parametrize("stateful", [{}, {"history": 3, "previous_action": True, "time_left": True}])
def test_a_batch_of_one_equals_a_batch_of_many(tmp_path: Path, shoulder: str, stateful: dict[str, Any]) -> None:
    code = shoulder if not stateful else ""
    space = spaces.Box(-8.0, 8.0, (3,), np.float32)
    settings: dict[str, Any] = {"observation": space, "action": spaces.Box(-2.0, 2.0, (1,)), "code": code, **stateful}
    many, act_many = make(tmp_path, 4, **settings)
    ones = [make(tmp_path, 1, **settings) for _ in range(4)]
    generator = np.random.default_rng(0)
    raw = generator.normal(size=(4, 3)).astype(np.float32)
    together = many.reset(None, raw)
    alone = [one.reset(None, raw[i : i + 1])[0] for i, (one, _) in enumerate(ones)]
    for step in range(12):
        assert np.array_equal(together, np.stack(alone))
        if act_many.space["kind"] == "discrete":
            chosen = generator.integers(0, act_many.space["n"], 4)
        else:
            chosen = generator.uniform(-1, 1, (4, 1)).astype(np.float32)
        taken = [act(chosen[i : i + 1], raw[i : i + 1])[0] for i, (_, act) in enumerate(ones)]
        assert np.array_equal(act_many(chosen, raw), np.stack(taken))
        raw = generator.normal(size=(4, 3)).astype(np.float32)
        together = many.step(raw, chosen)
        alone = [one.step(raw[i : i + 1], chosen[i : i + 1])[0] for i, (one, _) in enumerate(ones)]
        if step % 4 == 3:
            together[2] = many.reset([2], raw[2:3])[0]
            alone[2] = ones[2][0].reset(None, raw[2:3])[0]


def test_box_actions_are_rescaled_to_each_bound_and_cast(tmp_path: Path) -> None:
    uneven = spaces.Box(np.array([0.0, -np.inf]), np.array([2000.0, np.inf]), dtype=np.float64)
    _, actions = make(tmp_path, action=uneven)
    assert actions.space == {"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}
    taken = actions(np.array([[-1.0, 0.5], [1.0, -0.5]], np.float32), rows(0, 0))
    assert taken.tolist() == [[0.0, 0.5], [2000.0, -0.5]]
    assert taken.dtype == np.float64
    assert not actions.clipped.any()


def test_discrete_choices_start_where_the_environment_says(tmp_path: Path) -> None:
    _, actions = make(tmp_path, action=spaces.Discrete(3, start=5))
    assert actions(np.array([0, 2]), rows(0, 0)).tolist() == [5, 7]


def test_small_multi_discrete_spaces_become_one_choice(tmp_path: Path) -> None:
    _, actions = make(tmp_path, action=spaces.MultiDiscrete([2, 3]))
    assert actions.space["n"] == 6
    assert actions(np.array([0, 5]), rows(0, 0)).tolist() == [[0, 0], [1, 2]]


def test_act_gets_its_declared_space_and_its_result_is_clipped(tmp_path: Path) -> None:
    code = (
        'ACTION_SPACE = {"shape": [2], "low": 0.0, "high": 10.0}\n'
        "def act(action, observation):\n    return action + observation\n"
    )
    _, actions = make(tmp_path, code=code, action=spaces.Box(0.0, 8.0, (2,), np.float32))
    taken = actions(np.array([[0.0, 0.0], [1.0, -1.0]], np.float32), rows(1, -2))
    assert taken.tolist() == [[6.0, 6.0], [8.0, 0.0]]
    assert actions.clipped.tolist() == [False, True]


def test_spaces_no_policy_acts_in_are_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="act"):
        make(tmp_path, action=spaces.Dict({"a": BOX}))
    with pytest.raises(ValueError, match=r"no act\(\)"):
        make(tmp_path, code='ACTION_SPACE = {"n": 3}\n')
