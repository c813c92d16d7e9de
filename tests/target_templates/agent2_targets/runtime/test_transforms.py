"""The functions of mdp.py and their contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.failures import TransformError
from agent2_targets.runtime.transforms import Transforms

RAW = np.array([[1.0, 0.0, 4.0], [0.0, 1.0, -8.0]], np.float32)
ZEROS, FALSE = np.zeros(2), np.zeros(2, bool)


def load(tmp_path: Path, code: str, **mdp: Any) -> Transforms:
    file = tmp_path / "mdp.py"
    file.write_text(code)
    return Transforms.load(file, mdp)


def test_absent_parts_leave_their_input_unchanged(tmp_path: Path) -> None:
    transforms = load(tmp_path, '"""Nothing."""\n')
    assert transforms.parts == ()
    assert transforms.observe(RAW) is RAW
    original_rewards = np.array([1.0, -1.0])
    shaped, components = transforms.shaped_reward(RAW, ZEROS, RAW, original_rewards, FALSE, FALSE, {}, 0.9)
    assert shaped.tolist() == [1.0, -1.0]
    assert list(components) == ["original"]


def test_the_shaped_reward_is_scaled_weighted_and_shaped_by_the_potential(tmp_path: Path, shoulder: str) -> None:
    transforms = load(tmp_path, shoulder, reward_scale=2.0, reward_weights={"original": 3.0})
    terminated = np.array([False, True])
    original_rewards = np.array([1.0, 1.0])
    following = RAW[::-1].copy()
    shaped, components = transforms.shaped_reward(RAW, ZEROS, following, original_rewards, terminated, FALSE, {}, 0.9)
    assert components["original"].tolist() == [3.0, 3.0]
    assert components["upright"].tolist() == [0.0, 0.5]
    assert components["potential"].tolist() == [0.9 * 0 - 1, 0 - 0.0], "no potential after termination"
    assert np.allclose(shaped, 2.0 * np.sum(list(components.values()), axis=0))


def test_info_reaches_the_reward_as_values_and_presence(tmp_path: Path) -> None:
    code = "def reward(a, b, c, original_reward, e, f, info):\n    return {'x': info['x'] * info['x_present']}\n"
    info = {"x": (np.array([4.0, 0.0]), np.array([True, False]))}
    components = load(tmp_path, code).reward(RAW, ZEROS, RAW, ZEROS, FALSE, FALSE, info)
    assert components["x"].tolist() == [4.0, 0.0]


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("x = 1\ndef observe(:\n", 2, ["syntax error"]),
        ("x = 1 / 0\n", 1, ["ZeroDivisionError"]),
        ("observe = 3\n", None, ["observe", "no function"]),
        ("OBSERVATION_SPACE = {'low': 3}\n", None, ["OBSERVATION_SPACE", "shape"]),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named(tmp_path: Path, code: str, line: int | None, words: list[str]) -> None:
    with pytest.raises(TransformError) as caught:
        load(tmp_path, code)
    assert caught.value.line == line
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("    return observation['angle']\n", 2, ["IndexError"]),
        ("    return observation[:1]\n", None, ["(1, 3)", "2 rows"]),
        ("    return 'left'\n", None, ["numeric"]),
        ("    return observation * float('nan')\n", None, ["NaN"]),
    ],
)
def test_a_result_that_breaks_the_contract_is_named(
    tmp_path: Path, body: str, line: int | None, words: list[str]
) -> None:
    transforms = load(tmp_path, "def observe(observation):\n" + body)
    transforms.step = 41
    with pytest.raises(TransformError) as caught:
        transforms.observe(RAW)
    assert (caught.value.function, caught.value.line) == ("observe", line)
    assert all(word in str(caught.value) for word in [*words, "step 41"])


def test_a_declared_shape_must_hold(tmp_path: Path) -> None:
    code = 'OBSERVATION_SPACE = {"shape": [2]}\ndef observe(observation):\n    return observation\n'
    with pytest.raises(TransformError, match=r"\(2, 3\), expected \(2, 2\)"):
        load(tmp_path, code).observe(RAW)


def test_a_reward_component_of_another_shape_is_named(tmp_path: Path) -> None:
    code = "def reward(a, b, c, original_reward, e, f, info):\n    return {'speed': c}\n"
    with pytest.raises(TransformError, match="component 'speed'"):
        load(tmp_path, code).reward(RAW, ZEROS, RAW, ZEROS, FALSE, FALSE, {})


def test_no_function_may_change_what_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "mdp.py"
    path.write_text("def observe(observation):\n    observation[...] = 0\n    return observation\n")
    seen = np.ones((2, 3), np.float32)
    with pytest.raises(TransformError, match=r"read-only") as caught:
        Transforms.load(path, {}).observe(seen)
    assert caught.value.line == 2
    assert seen.all()


@pytest.mark.parametrize(
    "text", ["import sys\nsys.exit(0)\n", "import sys\ndef observe(observation):\n    sys.exit(0)\n"]
)
def test_a_call_of_exit_is_an_error_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mdp.py"
    path.write_text(text)
    with pytest.raises(TransformError, match=r"called sys\.exit\(0\)") as caught:
        Transforms.load(path, {}).observe(np.ones((2, 3), np.float32))
    assert caught.value.line in (2, 3)
