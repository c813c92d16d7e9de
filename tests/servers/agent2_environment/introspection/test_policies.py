"""The zero policy takes the action nearest to zero."""

import gymnasium
import numpy as np

from agent2_environment.introspection.policies import make_policy, zero_action


def test_zero_is_clipped_into_a_box() -> None:
    space = {"kind": "box", "shape": [3], "dtype": "float32", "low": [-1.0, 2.0, None], "high": [1.0, 3.0, -4.0]}
    action = zero_action(space)
    assert action.tolist() == [0.0, 2.0, -4.0]
    assert action.dtype == np.float32


def test_the_first_choice_of_a_discrete_space_is_its_zero() -> None:
    assert zero_action({"kind": "discrete", "n": 4, "start": 5}) == 5


def test_the_random_policy_repeats_under_its_seed() -> None:
    space = gymnasium.spaces.Discrete(1000)
    first = make_policy("random", space, 7)
    values = [first() for _ in range(20)]
    second = make_policy("random", space, 7)
    assert values == [second() for _ in range(20)]
