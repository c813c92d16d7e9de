"""Every backend of several agents keeps the one contract."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.multi_agent.building import build_multi_agent, is_multi_agent

from .contract import walk

pytestmark = pytest.mark.filterwarnings("ignore:The old environment creation API")  # pettingzoo's, at its import
HERE = str(Path(__file__).parent)
COMPILED = [pytest.mark.slow, pytest.mark.skipif(find_spec("jaxmarl") is None, reason="needs the extra smax")]
BACKENDS: dict[str, Any] = {
    "one group": {"name": "mpe2.simple_spread_v3"},
    "box actions": {"name": "mpe2.simple_spread_v3", "keyword_arguments": {"continuous_actions": True}},
    "a twin": {"name": "mpe2.simple_spread_v3", "keyword_arguments": {"batched": True}},
    "unlike groups": {"name": "mpe2.simple_speaker_listener_v4", "max_episode_steps": 7},
    "opponents": {"name": "mpe2.simple_tag_v3"},
    "agents that leave": {"name": "leaving.py:parallel_env"},
    "agents that the limit stops": {"name": "leaving.py:Leaving", "keyword_arguments": {"limit": 3}},
    "a battle": {"name": "skirmish:3v3"},
    "a battle of unlike sides": {"name": "skirmish:5v2", "max_episode_steps": 20},
    "a compiled battle": pytest.param({"name": "smax:3m"}, marks=COMPILED),
    "agents by turns": {"name": "pettingzoo.classic.tictactoe_v3"},
}


@pytest.mark.parametrize("reference", BACKENDS.values(), ids=BACKENDS)
def test_a_backend_keeps_shapes_masks_dead_agents_and_endings_and_resets_nothing_itself(
    reference: dict[str, Any],
) -> None:
    assert is_multi_agent(reference, root=HERE)
    batch = build_multi_agent(reference, 3, root=HERE, can_be_twin=True)
    try:
        first = walk(batch, 5, 60)
    finally:
        batch.close()
    again = build_multi_agent(reference, 3, root=HERE, can_be_twin=True)
    try:
        second = walk(again, 5, 60)
    finally:
        again.close()
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("reference", BACKENDS.values(), ids=BACKENDS)
def test_rows_do_not_depend_on_one_another(reference: dict[str, Any]) -> None:
    batch = build_multi_agent(reference, 2, root=HERE)
    try:
        both = batch.reset([1, 2])
        one = batch.reset([2], [0])
        np.testing.assert_array_equal(one.state[0], both.state[1])
    finally:
        batch.close()
