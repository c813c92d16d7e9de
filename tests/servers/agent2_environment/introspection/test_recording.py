"""Recorded transitions have the agreed layout: dotted keys, true dtypes, numeric info with presence masks."""

from pathlib import Path

import numpy as np

from agent2_environment.introspection.recording import Recorder, is_number
from agent2_environment.introspection.statistics import (
    episode_statistics,
    flat_observations,
    info_keys,
    is_image,
    observation_entries,
)

BOX = {"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}
CHOICE = {"kind": "discrete", "n": 3, "start": 0}
NESTED = {"kind": "dict", "spaces": {"arm": {"kind": "dict", "spaces": {"joint": BOX}}, "mode": CHOICE}}


def test_a_box_recording_keeps_the_true_last_observation_and_counts_episodes(tmp_path: Path) -> None:
    recorder = Recorder(BOX, CHOICE)
    for step in range(4):
        before, after = np.full(2, step, np.float32), np.full(2, step + 1, np.float32)
        info = {"speed": step} if step % 2 else {"speed": step, "name": "car"}
        recorder.add(before, 1, 2.0, after, step == 1, step == 3, info)
    recorder.write(tmp_path / "random.npz")
    with np.load(tmp_path / "random.npz", allow_pickle=False) as kept:
        assert kept["observation"].shape == (4, 2)
        assert kept["next_observation"][1].tolist() == [2.0, 2.0]
        assert kept["episode"].tolist() == [0, 0, 1, 1]
        assert kept["original_reward"].dtype == np.float64
        assert kept["info/speed"].tolist() == [0.0, 1.0, 2.0, 3.0]
        assert "info/name" not in kept
        assert kept["terminated"].dtype == bool
    statistics = episode_statistics("random", recorder)
    assert statistics["episodes"] == 2
    assert statistics["mean_original_return"] == 4.0
    assert statistics["terminated_fraction"] == 0.5
    assert {key["name"]: key["is_numeric"] for key in info_keys(recorder)} == {"speed": True, "name": False}


def test_nested_observations_are_joined_by_dots_and_flattened_one_hot() -> None:
    recorder = Recorder(NESTED, BOX)
    value = {"arm": {"joint": np.zeros(2, np.float32)}, "mode": 2}
    recorder.add(value, np.zeros(2, np.float32), 0.0, value, False, False, {})
    arrays = recorder.arrays()
    assert {"observation/arm.joint", "observation/mode", "next_observation/mode"} <= arrays.keys()
    flat = flat_observations(NESTED, arrays)
    assert flat is not None
    assert flat.tolist() == [[0.0, 0.0, 0.0, 0.0, 1.0]]
    assert len(observation_entries(flat)) == 5


def test_a_value_changed_in_place_afterwards_does_not_change_the_recording() -> None:
    recorder, value = Recorder(BOX, BOX), np.zeros(2, np.float32)
    recorder.add(value, value, 0.0, value, False, False, {})
    value += 1
    assert recorder.arrays()["observation"].tolist() == [[0.0, 0.0]]


def test_info_that_is_present_at_times_only_has_a_mask() -> None:
    recorder, value = Recorder(BOX, BOX), np.zeros(2, np.float32)
    recorder.add(value, value, 0.0, value, False, False, {})
    recorder.add(value, value, 0.0, value, False, False, {"won": True})
    arrays = recorder.arrays()
    assert arrays["info/won"].tolist() == [0.0, 1.0]
    assert arrays["info_present/won"].tolist() == [False, True]


def test_pictures_are_told_from_vectors() -> None:
    assert is_image({"kind": "box", "shape": [96, 96, 3], "dtype": "uint8", "low": 0.0, "high": 255.0})
    assert not is_image(BOX)
    assert not is_number(np.zeros(3))
    assert is_number(np.float32(1))
