"""Several environments as a batch: true last observations, info with presence, faults with their place."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from agent2_targets.runtime.batch import EnvironmentBatch, split_actions
from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.failures import NonFinite, StepFault
from agent2_targets.runtime.spaces import describe_space


class Counter(gymnasium.Env[Any, Any]):
    """Observes how many steps it has taken; ends after three."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, **faults: Any) -> None:
        self.faults = faults

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.seed_given = 0, seed
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        observation = np.array([np.nan if self.faults.get("nan") == self.steps else self.steps], np.float32)
        if self.faults.get("error") == self.steps:
            raise RuntimeError("broken axle")
        original_reward = np.inf if self.faults.get("inf") == self.steps else 1.0
        info = {"speed": 2 * self.steps, "name": "x"} if self.steps != 2 else {}
        return self.faults.get("observation", observation), original_reward, self.steps == 3, False, info


def test_the_last_observation_is_kept_apart_from_the_first_of_the_next_episode() -> None:
    batch = EnvironmentBatch(Counter, 2)
    batch.reset([1, 2])
    batch.environments[0].steps = 2  # pyright: ignore[reportAttributeAccessIssue]
    step = batch.step(np.array([0, 1]))
    assert step.observations.tolist() == [[3.0], [1.0]]  # pyright: ignore[reportAttributeAccessIssue]
    assert step.terminated.tolist() == [True, False]
    assert batch.reset(None, [0]).tolist() == [[0.0]]  # pyright: ignore[reportAttributeAccessIssue]
    assert batch.step(np.array([0, 0])).observations.tolist() == [[1.0], [2.0]]  # pyright: ignore[reportAttributeAccessIssue]


def test_info_has_values_and_presence() -> None:
    batch = EnvironmentBatch(Counter, 1, ("speed", "name", "none"))
    batch.reset()
    first, second = batch.step(np.array([0])), batch.step(np.array([0]))
    assert [part.tolist() for part in first.info["speed"]] == [[2.0], [True]]
    assert [part.tolist() for part in second.info["speed"]] == [[0.0], [False]]
    assert np.isnan(first.info["name"][0][0])
    assert not first.info["none"][1][0]


def test_action_repeat_sums_rewards_and_stops_at_the_end() -> None:
    batch = EnvironmentBatch(Counter, 1, action_repeat=2)
    batch.reset()
    first, second = batch.step(np.array([0])), batch.step(np.array([0]))
    assert (first.original_rewards[0], first.env_steps[0], first.terminated[0]) == (2.0, 2, False)
    assert (second.original_rewards[0], second.env_steps[0], second.terminated[0]) == (1.0, 1, True)


@pytest.mark.parametrize(
    ("faults", "kind", "words"),
    [
        ({"nan": 2}, NonFinite, ["not finite", "step 2 of environment 1"]),
        ({"inf": 3}, NonFinite, ["reward is inf", "step 3 of environment 1"]),
        ({"observation": np.zeros((2, 1), np.float32)}, StepFault, ["(2, 1)", "(1,)", "step 1 of environment 1"]),
    ],
)
def test_a_fault_names_step_and_environment(faults: dict[str, Any], kind: type[Exception], words: list[str]) -> None:
    environments = iter([Counter(), Counter(**faults)])
    batch = EnvironmentBatch(lambda: next(environments), 2)
    batch.reset()

    def step_three_times() -> None:
        for _ in range(3):
            batch.step(np.array([0, 0]))

    with pytest.raises(kind) as caught:
        step_three_times()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_an_exception_of_the_environment_keeps_its_type_and_gains_its_place() -> None:
    batch = EnvironmentBatch(lambda: Counter(error=1), 1)
    batch.reset()
    with pytest.raises(RuntimeError, match="broken axle") as caught:
        batch.step(np.array([0]))
    assert caught.value.__notes__ == ["at step 1 of environment 0"]


def test_dict_observations_come_as_arrays_by_key() -> None:
    reference = {"name": "CartPole-v1", "wrappers": [{"name": "gymnasium.wrappers:TimeAwareObservation",
                 "keyword_arguments": {"flatten": False}}]}  # fmt: skip
    batch = EnvironmentBatch(lambda: build_environment(reference, root=None).env, 3)
    observations = batch.reset([1, 2, 3])
    assert isinstance(observations, dict)
    assert {key: part.shape for key, part in observations.items()} == {"obs": (3, 4), "time": (3, 1)}


def test_nested_actions_reach_each_environment_as_its_space_says() -> None:
    space = describe_space(spaces.Dict({"go": spaces.Discrete(2), "aim": spaces.Box(-1, 1, (2,))}))
    rows = split_actions({"go": np.array([0, 1]), "aim": np.zeros((2, 2), np.float32)}, space)
    assert [row["go"] for row in rows] == [0, 1]
    assert rows[0]["aim"].shape == (2,)
    pair = describe_space(spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3))))
    assert split_actions({"0": np.array([0, 1]), "1": np.array([2, 0])}, pair) == [(0, 2), (1, 0)]


def test_equal_seeds_give_equal_episodes() -> None:
    batch = EnvironmentBatch(lambda: build_environment({"name": "Pendulum-v1"}, root=None).env, 2)
    first = batch.reset([5, 5])
    assert np.array_equal(first[0], first[1])  # pyright: ignore[reportArgumentType]
