"""Groups: equal spaces and a common prefix."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from agent2_targets.runtime.failures import BuildError
from agent2_targets.runtime.multi_agent.grouping import AgentSpaces, form_groups, prefix, read_spaces

BOX = spaces.Box(-1, 1, (2,), np.float32)


def seen(agent: object, observation: spaces.Space[object], actions: int) -> AgentSpaces:
    return read_spaces(agent, observation, spaces.Discrete(actions), has_mask=False)


def test_agents_of_one_prefix_and_equal_spaces_are_one_group_in_the_order_of_their_first_agents() -> None:
    agents = [seen("red_0", BOX, 2), seen("blue_0", BOX, 2), seen("red_1", BOX, 2), seen("red_2", BOX, 3)]
    groups, seats = form_groups(agents)
    assert {group.name: group.agents for group in groups} == {
        "red": ("red_0", "red_1"),
        "blue": ("blue_0",),
        "red_2": ("red_2",),
    }
    assert [(seat.agent, seat.group, seat.index) for seat in seats[:3]] == [
        ("red_0", "red", 0),
        ("blue_0", "blue", 0),
        ("red_1", "red", 1),
    ]


def test_a_number_in_place_of_a_name_is_an_agent() -> None:
    assert [prefix(0), prefix("player_12"), prefix("left"), prefix("a-3")] == ["agent", "player", "left", "a"]


def test_actions_that_are_neither_a_choice_nor_a_box_are_refused_by_name() -> None:
    with pytest.raises(BuildError, match="agent a is a multi_discrete space"):
        read_spaces("a", BOX, spaces.MultiDiscrete([2, 2]), has_mask=False)
