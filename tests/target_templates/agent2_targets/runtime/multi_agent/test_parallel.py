"""PettingZoo environments as a batch: who is left, masks, endings, faults with their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.failures import BuildError, NonFinite, StepFault
from agent2_targets.runtime.multi_agent.building import as_parallel
from agent2_targets.runtime.multi_agent.parallel import ParallelBatch

from .leaving import Leaving, one_after_another


def make(count: int = 1, build: Any = Leaving, **arguments: Any) -> ParallelBatch:
    return ParallelBatch(lambda: as_parallel(build(**arguments)), count, backend="leaving", info_keys=("distance",))


def act(batch: ParallelBatch) -> Any:
    count = batch.count
    return batch.step({"runner": np.ones((count, 2), np.int64), "watcher": np.zeros((count, 1, 1), np.float32)})


def test_the_layout_says_who_takes_part_and_what_was_adapted() -> None:
    batch = make()
    runner, watcher = batch.layout.groups
    assert (runner.name, runner.agents, runner.has_action_mask) == ("runner", ("runner_0", "runner_1"), True)
    assert (watcher.name, watcher.agents, watcher.has_action_mask) == ("watcher", ("watcher",), False)
    assert runner.action_space == {"kind": "discrete", "n": 3, "start": 0}
    assert watcher.observation_space["shape"] == [3], "a discrete observation becomes one-hot"
    assert batch.layout.state_space["shape"] == [2 * 2 + 3]
    assert batch.layout.info_keys == ("distance",)
    assert [line.split(":")[0] for line in batch.adaptations] == [
        "new-space-objects",
        "default-time-limit",
        "discrete-start",
        "flattened-observation",
        "global-state",
    ]


def test_agents_that_leave_keep_their_places_and_the_episode_ends_with_the_last() -> None:
    batch = make()
    batch.reset([0])
    steps = [act(batch) for _ in range(6)]
    assert "all-key" in {line.split(":")[0] for line in batch.adaptations}
    alive = [tuple(np.concatenate(list(step.following.alive.values()), axis=1)[0].tolist()) for step in steps]
    step = steps[-1]
    assert alive[:5] == [(True, True, True), (False, True, True), *[(False, False, True)] * 3]
    assert (step.terminated.tolist(), step.truncated.tolist()) == ([True], [False])
    assert alive[5] == (False, False, True), "who took part in the terminal step shows its last observation"
    assert step.original_rewards["watcher"].tolist() == [[6.0]]
    assert step.info["distance"][0].tolist() == [3.0]


def test_the_turn_based_twin_gives_the_same_through_its_own_conversion() -> None:
    one, other = make(), make(build=one_after_another)
    for batch in (one, other):
        batch.reset([3])
    for _ in range(6):
        left, right = act(one), act(other)
        np.testing.assert_array_equal(left.following.state, right.following.state)
        assert left.terminated == right.terminated


def test_a_shorter_limit_truncates_and_keeps_the_last_observations() -> None:
    batch = ParallelBatch(Leaving, 1, backend="leaving", limit=1)
    batch.reset([0])
    step = act(batch)
    assert step.truncated.tolist() == [True]
    assert step.following.alive["runner"].tolist() == [[True, True]]
    assert step.following.observations["runner"].all()


def test_a_state_that_is_gone_at_the_end_is_replaced_by_the_one_before() -> None:
    batch = make(state=True)
    batch.reset([0])
    states = [act(batch).following.state[0, 0] for _ in range(6)]
    assert states == [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]
    assert "no-last-state" in {line.split(":")[0] for line in batch.adaptations}


def test_faults_are_told_with_step_and_environment() -> None:
    batch = make(2, nan=1)
    batch.reset([0, 0])
    with pytest.raises(NonFinite, match=r"the reward of agent runner_0 is nan \(step 1 of environment 0\)"):
        act(batch)
    batch = make(1, stranger=1)
    batch.reset([0])
    with pytest.raises(StepFault, match="runner_9 is not among possible_agents"):
        act(batch)


def test_the_environment_may_say_that_its_groups_want_the_same() -> None:
    assert not make().layout.is_cooperative
    team = type("Team", (Leaving,), {"metadata": {"is_cooperative": True}})
    assert make(build=team).layout.is_cooperative


def test_an_environment_without_agents_is_refused() -> None:
    with pytest.raises(BuildError, match="possible_agents"):
        as_parallel(object())
