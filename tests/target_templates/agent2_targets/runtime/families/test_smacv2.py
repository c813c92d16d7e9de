"""The adapter of SMACv2 against a class with its methods: endings told apart, the dead, lost connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.failures import BuildError, StepFault
from agent2_targets.runtime.families.smacv2 import Smacv2Batch, build, read_scenario

from ..multi_agent.contract import random_actions, walk  # noqa: TID252 — all backends share the one contract
from .fake_starcraft import FakeStarCraft


def play(fate: str, steps: int) -> Any:
    batch = Smacv2Batch(lambda: FakeStarCraft(fate), 2)
    joint, generator = batch.reset(), np.random.default_rng(0)
    played = []
    for _ in range(steps):
        played.append(batch.step(random_actions(batch.layout, joint, generator)))
        joint = played[-1].following
    return played[-1]


def test_the_adapter_keeps_the_contract_of_all_backends() -> None:
    batch = Smacv2Batch(FakeStarCraft, 3)
    walk(batch, 0, 30)
    assert [line.split(":")[0] for line in batch.adaptations] == ["seed-ignored"]
    batch.close()
    assert all(battle.is_closed for battle in batch.battles)


@pytest.mark.parametrize(
    ("fate", "steps", "terminated", "won"),
    [("won", 3, True, 1.0), ("lost", 3, True, 0.0), ("limit", 6, False, 0.0)],
)
def test_a_battle_that_is_decided_terminates_and_one_at_the_limit_is_truncated(
    fate: str, steps: int, terminated: bool, won: float
) -> None:
    step = play(fate, steps)
    assert step.terminated.tolist() == [terminated] * 2
    assert step.truncated.tolist() == [not terminated] * 2
    assert step.info["battle_won"][0].tolist() == [won] * 2


def test_a_lost_connection_is_a_failed_battle_and_no_defeat() -> None:
    step = play("cut", 3)
    assert step.truncated.tolist() == [True, True]
    assert step.info["battle_won"][1].tolist() == [False, False], "there is no outcome"
    assert step.following.observations["ally"][:, 0].tolist() == [[3.0] * 4] * 2, "the last that was seen"


def test_the_dead_earn_nothing_and_may_only_do_nothing() -> None:
    step = play("limit", 3)
    assert step.original_rewards["ally"].tolist() == [[1.5, 0.0]] * 2
    batch = Smacv2Batch(FakeStarCraft, 1)
    batch.reset()
    with pytest.raises(StepFault, match="action 0 of ally_0 is not legal"):
        batch.step({"ally": np.zeros((1, 2), np.int64)})


def test_race_and_sizes_make_the_capabilities() -> None:
    settings = read_scenario("zerg_10v11")
    assert settings["map_name"] == "10gen_zerg"
    assert (settings["capability_config"]["n_units"], settings["capability_config"]["n_enemies"]) == (10, 11)
    with pytest.raises(BuildError, match="smacv2:terran_5v5"):
        read_scenario("3m")


def test_what_is_missing_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SC2PATH", str(tmp_path))
    with pytest.raises(BuildError, match="StarCraft II is not there: no folder"):
        build("terran_5v5", {}, 1, None)
    (tmp_path / "Versions").mkdir()
    with pytest.raises(BuildError, match="The folder of SMAC's maps is not there") as caught:
        build("terran_5v5", {}, 1, None)
    assert "SC2PATH" in caught.value.advice
