"""Findings on recorded arrays, each with the number that shows it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent2_environment.introspection.data_findings import (
    find_in_endings,
    find_in_features,
    find_in_observations,
    find_in_rewards,
)
from agent2_environment.introspection.endings import never_ends
from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.process_findings import find_in_memory
from agent2_environment.introspection.recording import Recorder
from agent2_environment.introspection.space_findings import find_in_spaces

BOX = {"kind": "box", "shape": [2], "dtype": "float64", "low": -1.0, "high": 1.0}


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    taken = Notes(tmp_path)
    yield taken
    taken.close()


def codes(notes: Notes) -> dict[str, dict[str, Any]]:
    return {finding["code"]: finding for finding in notes.findings}


def rolled(original_rewards: list[float], lengths: int = 10, terminated: bool = True) -> Recorder:
    recorder, value = Recorder(BOX, BOX), np.zeros(2)
    for number, original_reward in enumerate(original_rewards, start=1):
        is_end = number % lengths == 0
        recorder.add(value, value, original_reward, value, is_end and terminated, is_end and not terminated, {})
    return recorder


def test_a_late_nan_observation_is_reported_with_its_step(notes: Notes) -> None:
    values = np.zeros((50, 2))
    values[36] = np.nan
    find_in_observations(notes, BOX, {"next_observation": values}, np.arange(1, 51))
    assert codes(notes)["observation-not-finite"]["step"] == 37


def test_values_outside_are_reported_with_share_and_ranges(notes: Notes) -> None:
    values = np.zeros((100, 2))
    values[:25, 1] = 50.0
    find_in_observations(notes, BOX, {"next_observation": values}, np.arange(1, 101))
    message = codes(notes)["observation-out-of-bounds"]["message"]
    assert "25% of steps" in message
    assert "seen 0 … 50, declared -1 … 1" in message


def test_a_value_one_rounding_outside_is_no_finding(notes: Notes) -> None:
    values = np.full((10, 2), 1.0 + 1e-7)
    find_in_observations(notes, BOX, {"next_observation": values}, np.arange(1, 11))
    assert not notes.findings


def test_constant_duplicate_and_counting_features_are_noted(notes: Notes) -> None:
    steps = np.tile(np.arange(20), 10)
    random = np.random.default_rng(0).normal(size=200)
    flat = np.stack([random, np.zeros(200), random, steps * 0.05], axis=1)
    find_in_features(notes, flat, steps)
    assert set(codes(notes)) == {"feature-constant", "feature-duplicate", "feature-counts-time"}
    assert "2 = 0" in codes(notes)["feature-duplicate"]["message"]


@pytest.mark.parametrize(
    ("original_rewards", "expected"),
    [
        ([1.0] * 200, {"reward-constant"}),
        ([0.0] * 199 + [1.0], {"reward-sparse"}),
        ([500.0, -500.0] * 100, {"reward-scale"}),
        ([1.0, float("inf")] * 100, {"reward-not-finite"}),
        ([1.0, 0.5] * 100, set()),
    ],
)
def test_rewards_are_judged_by_their_numbers(notes: Notes, original_rewards: list[float], expected: set[str]) -> None:
    find_in_rewards(notes, np.array(original_rewards), np.arange(1, len(original_rewards) + 1), is_random=True)
    assert set(codes(notes)) == expected


def test_an_environment_that_never_ends_is_a_warning(notes: Notes) -> None:
    find_in_endings(notes, rolled([1.0] * 200, lengths=1000), None, [], is_endless=False)
    assert codes(notes)["episode-endless"]["severity"] == "warning"


def test_an_added_limit_that_ends_every_episode_is_said(notes: Notes) -> None:
    find_in_endings(
        notes, rolled([1.0] * 200, lengths=100, terminated=False), 100, ["default-time-limit: added"], is_endless=True
    )
    assert codes(notes)["episode-endless"]["is_adapted"]
    assert codes(notes)["episode-endless"]["severity"] == "warning"


def test_a_random_policy_that_finds_no_end_is_only_noted_where_a_limit_is_added(notes: Notes) -> None:
    recorder = rolled([1.0] * 200, lengths=100, terminated=False)
    find_in_endings(notes, recorder, 100, ["default-time-limit: added"], is_endless=False)
    assert codes(notes)["episode-endless"]["severity"] == "note"


def test_only_a_step_that_literally_never_ends_is_called_endless() -> None:
    def on_and_on(action: int) -> tuple[int, float, bool, bool, dict[str, int]]:
        return action, 0.0, False, False, {}

    def computed(action: int) -> tuple[int, float, bool, bool, dict[str, int]]:
        return action, 0.0, action > 3, False, {}

    assert never_ends(on_and_on)
    assert not never_ends(computed)
    assert not never_ends(len)


def test_a_time_limit_that_is_reported_as_termination_is_noted(notes: Notes) -> None:
    find_in_endings(notes, rolled([1.0] * 200, lengths=50), 1000, [], is_endless=False)
    assert set(codes(notes)) == {"terminated-at-fixed-length"}


def test_steady_growth_is_a_warning_and_a_jump_at_the_start_is_not(notes: Notes) -> None:
    find_in_memory(notes, [(step, 10**8 + (10**8 if step > 100 else 0)) for step in range(0, 1000, 25)])
    assert not notes.findings
    find_in_memory(notes, [(step, 10**8 + step * 1_600_000) for step in range(0, 500, 25)])
    assert "1600 MB per 1000 steps" in codes(notes)["memory-grows"]["message"]


def test_unbounded_and_unsupported_actions_are_named(notes: Notes) -> None:
    find_in_spaces(notes, BOX, {"kind": "box", "shape": [1], "dtype": "float32", "low": None, "high": 1.0})
    find_in_spaces(notes, BOX, {"kind": "multi_binary", "shape": [4]})
    assert codes(notes)["action-range-unbounded"]["severity"] == "warning"
    assert "MultiBinary" in codes(notes)["action-space-unsupported"]["message"]
