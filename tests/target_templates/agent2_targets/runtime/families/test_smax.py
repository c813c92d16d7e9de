"""SMAX as a batch: sizes, compiled once, deterministic per row, nothing on standard output."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.failures import BuildError
from agent2_targets.runtime.families.smax import build

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("jaxmarl") is None, reason="needs the extra smax")]
STOP = 4


def stop(batch: Any) -> dict[str, Any]:
    return {"ally": np.full((batch.count, len(batch.layout.groups[0].agents)), STOP)}


def test_importing_prints_nothing_on_standard_output() -> None:
    script = "from agent2_targets.runtime.families.smax import load_simulator; load_simulator()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120, check=True)
    assert done.stdout == b""


def test_the_sizes_are_those_of_the_map() -> None:
    layout = build("2s3z", {}, 1, 30).layout
    assert layout.groups[0].observation_space["shape"] == [127]
    assert layout.groups[0].action_space["n"] == 10
    assert (layout.state_space["shape"], layout.max_episode_steps, layout.backend) == ([120], 30, "smax")


def test_both_calls_are_compiled_once_and_rows_depend_on_their_seeds_alone() -> None:
    batch = build("3m", {}, 4, None)
    first = batch.reset([7, 8, 9, 10])
    states = [batch.step(stop(batch)).following.state for _ in range(5)]
    started = time.perf_counter()
    batch.reset([9], [0])
    again = [batch.step(stop(batch)).following.state for _ in range(5)]
    assert time.perf_counter() - started < 1.0, "something was compiled again"
    for one, other in zip(states, again, strict=True):
        np.testing.assert_array_equal(one[2], other[0])
    assert not np.array_equal(first.state[0], first.state[1])


def test_a_battle_of_agents_that_stand_still_is_lost_and_ends() -> None:
    batch = build("3m", {}, 2, None)
    batch.reset([0, 1])
    for _ in range(batch.layout.max_episode_steps):
        step = batch.step(stop(batch))
        if step.terminated[0]:
            break
    else:
        pytest.fail("the battle did not end")
    assert not step.following.alive["ally"][0].any()
    assert step.info["battle_won"][0][0] == 0.0
    assert batch.render(1).shape == (320, 320, 3)


def test_a_map_or_an_argument_that_is_not_there_is_told_by_name() -> None:
    with pytest.raises(BuildError, match="Did you mean 3m"):
        build("3mm", {}, 1, None)
    with pytest.raises(BuildError, match="speed"):
        build("3m", {"speed": 2}, 1, None)
