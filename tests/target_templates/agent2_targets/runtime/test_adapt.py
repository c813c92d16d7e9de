"""Older interfaces behind the current one, each adaptation named."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agent2_targets.runtime.adapt import CurrentApi
from agent2_targets.runtime.failures import StepFault

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
CHOICE = spaces.Discrete(2)


class Plain:
    """A healthy environment that says what it was given; each test breaks one thing."""

    def __init__(self, **faults: Any) -> None:
        self.faults, self.shared, self.seeds, self.actions = faults, np.zeros(2, np.float32), [], []

    def observation(self) -> Any:
        given = self.faults.get("observation", np.ones(2, np.float32))
        return given.copy() if isinstance(given, np.ndarray) else given

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.seeds.append(seed)
        return self.observation(), {}

    def step(self, action: Any) -> Any:
        self.actions.append(action)
        return self.observation(), self.faults.get("reward", 1.0), False, False, {}


def adapt(environment: Any, space: Any = BOX, limit: int | None = None) -> tuple[CurrentApi, list[str]]:
    adaptations: list[str] = []
    return CurrentApi(environment, space, CHOICE, limit, adaptations), adaptations


def names(adaptations: list[str]) -> list[str]:
    return [text.partition(":")[0] for text in adaptations]


def test_a_healthy_environment_needs_no_adaptation() -> None:
    current, adaptations = adapt(Plain())
    observation, info = current.reset(seed=1)
    assert info == {}
    assert current.step(0)[1:] == (1.0, False, False, {})
    assert observation.dtype == np.float32
    assert adaptations == []


@pytest.mark.parametrize(("info", "expected"), [({}, (True, False)), ({"TimeLimit.truncated": True}, (False, True))])
def test_four_values_become_five(info: dict[str, Any], expected: tuple[bool, bool]) -> None:
    class Old(Plain):
        def step(self, action: Any) -> Any:
            return self.observation(), 1.0, True, info

    current, adaptations = adapt(Old())
    current.reset()
    assert current.step(0)[2:4] == expected
    assert names(adaptations) == ["four-value-step"]


def test_reset_without_info_options_or_seed_is_called_as_it_wants() -> None:
    class Old(Plain):
        def reset(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return np.random.uniform(size=2).astype(np.float32)

    current, adaptations = adapt(Old())
    first, info = current.reset(seed=5)
    second, _ = current.reset(seed=5)
    assert info == {}
    assert np.array_equal(first, second), "the global generator is seeded instead"
    assert names(adaptations) == ["reset-without-seed", "reset-without-info"]


def test_reset_without_options_keeps_its_seed() -> None:
    class Old(Plain):
        def reset(self, seed: int | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return super().reset(seed=seed)

    environment = Old()
    current, adaptations = adapt(environment)
    current.reset(seed=7, options={"a": 1})
    assert environment.seeds == [7]
    assert names(adaptations) == ["reset-without-options"]


def test_an_old_seed_method_is_used() -> None:
    class Old(Plain):
        def seed(self, seed: int) -> None:
            self.seeds.append(seed)

        def reset(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.observation()

    environment = Old()
    current, adaptations = adapt(environment)
    current.reset(seed=9)
    assert environment.seeds == [9]
    assert "seed-method" in names(adaptations)


def test_float64_is_cast_once_said() -> None:
    current, adaptations = adapt(Plain(observation=np.ones(2)))
    assert current.reset()[0].dtype == np.float32
    current.step(0)
    assert names(adaptations) == ["observation-dtype"]


def test_a_reward_array_of_one_becomes_a_number() -> None:
    current, adaptations = adapt(Plain(reward=np.array([2.5])))
    current.reset()
    assert current.step(0)[1] == 2.5
    assert names(adaptations) == ["reward-array"]


def test_a_reused_observation_array_is_copied() -> None:
    class Reusing(Plain):
        def observation(self) -> Any:
            self.shared += 1
            return self.shared

    current, adaptations = adapt(Reusing())
    first, _ = current.reset()
    current.step(0)
    assert first.tolist() == [1.0, 1.0]
    assert names(adaptations) == ["observation-reused"]


def test_discrete_actions_arrive_as_python_ints() -> None:
    environment = Plain()
    current, _ = adapt(environment)
    current.reset()
    current.step(np.int64(1))
    assert type(environment.actions[0]) is int


def test_the_time_limit_truncates_and_starts_anew() -> None:
    current, _ = adapt(Plain(), limit=2)
    for _ in range(2):
        current.reset()
        assert [current.step(0)[3] for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"observation": np.ones(3, np.float32)}, ["(3,)", "(2,)"]),
        ({"observation": "north"}, ["str"]),
        ({"observation": spaces.Discrete(2)}, ["Discrete"]),
        ({"reward": np.ones(2)}, ["(2,)", "one number"]),
        ({"reward": None}, ["None", "number"]),
    ],
)
def test_what_cannot_be_adapted_is_refused_with_its_step(faults: dict[str, Any], words: list[str]) -> None:
    current, _ = adapt(Plain(**faults))
    with pytest.raises(StepFault) as caught:
        current.step(0)
    assert all(word in str(caught.value) for word in [*words, "step 1"])


def test_dict_observations_are_cast_and_checked_by_key() -> None:
    space = spaces.Dict({"a": BOX, "b": CHOICE})
    current, adaptations = adapt(Plain(observation={"b": np.int64(1), "a": np.ones(2)}), space)
    observation, _ = current.reset()
    assert observation["a"].dtype == np.float32
    assert type(observation["b"]) is int
    assert names(adaptations) == ["observation-dtype"]
    current, _ = adapt(Plain(observation={"a": np.ones(2)}), space)
    with pytest.raises(StepFault, match="keys"):
        current.reset()


def test_the_wrapper_obeys_the_signature_of_gymnasium() -> None:
    assert list(inspect.signature(CurrentApi.reset).parameters) == ["self", "seed", "options"]
