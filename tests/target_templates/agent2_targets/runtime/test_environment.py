"""Building environments from references: what works, and what a bad reference is told."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.failures import BuildError

GOOD = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Lamp(gymnasium.Env):
    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2, start=5)

    def __init__(self, brightness=1.0):
        self.brightness = brightness

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), self.brightness, False, False, {"action": action}
"""


def write(folder: Path, text: str, name: str = "lamp.py") -> None:
    (folder / name).write_text(textwrap.dedent(text))


def failure(name: str, root: Path, **reference: Any) -> BuildError:
    with pytest.raises(BuildError) as caught:
        build_environment({"name": name, **reference}, root=str(root))
    return caught.value


def test_a_registered_id_is_built_with_its_own_time_limit() -> None:
    adapted = build_environment({"name": "CartPole-v1"}, root=None)
    assert adapted.max_episode_steps == 500
    assert adapted.action_space == {"kind": "discrete", "n": 2, "start": 0}
    assert adapted.observation_space["shape"] == [4]


@pytest.mark.parametrize("name", ["lamp.py", "lamp.py:Lamp"])
def test_a_file_is_built_in_its_own_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path, GOOD)
    adapted = build_environment({"name": name, "keyword_arguments": {"brightness": 3.0}}, root=str(tmp_path))
    adapted.env.reset(seed=0)
    _, original_reward, _, _, info = adapted.env.step(5)
    assert (original_reward, info["action"]) == (3.0, 5)
    assert Path.cwd() == tmp_path.resolve()
    assert any(text.startswith("default-time-limit") for text in adapted.adaptations)
    assert any(text.startswith("discrete-start") for text in adapted.adaptations)
    assert adapted.max_episode_steps == 1000


def test_a_factory_function_will_do(tmp_path: Path) -> None:
    write(tmp_path, GOOD + "\n\ndef bright(level):\n    return Lamp(level)\n")
    adapted = build_environment({"name": "lamp.py:bright", "keyword_arguments": {"level": 2.0}}, root=str(tmp_path))
    adapted.env.reset()
    assert adapted.env.step(5)[1] == 2.0


def test_an_absolute_name_means_the_copy_under_the_root(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    write(tmp_path, GOOD.replace("brightness=1.0", "brightness=7.0"))
    write(copy, GOOD)
    adapted = build_environment({"name": str(tmp_path / "lamp.py")}, root=str(copy))
    adapted.env.reset()
    assert adapted.env.step(5)[1] == 1.0


def test_a_class_in_a_module_is_built_and_limited() -> None:
    reference = {"name": "gymnasium.envs.classic_control.pendulum:PendulumEnv", "max_episode_steps": 3}
    adapted = build_environment(reference, root=None)
    adapted.env.reset(seed=0)
    ends = [adapted.env.step(adapted.env.action_space.sample())[3] for _ in range(3)]
    assert ends == [False, False, True]
    assert not any(text.startswith("default-time-limit") for text in adapted.adaptations)


def test_wrappers_are_applied_innermost_first() -> None:
    wrappers = [
        {"name": "gymnasium.wrappers:FlattenObservation"},
        {"name": "gymnasium.wrappers:FrameStackObservation", "keyword_arguments": {"stack_size": 3}},
    ]
    adapted = build_environment({"name": "CartPole-v1", "wrappers": wrappers}, root=None)
    assert adapted.observation_space["shape"] == [3, 4]
    assert adapted.env.reset(seed=0)[0].shape == (3, 4)


def test_mujoco_leaves_no_log_file_and_no_line_behind(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build_environment({"name": "InvertedPendulum-v5"}, root=None).env.close()
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()
    assert capfd.readouterr() == ("", "")
    assert Path.cwd().samefile(tmp_path)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("CartPol-v1", "unknown-id", ["CartPol-v1", "CartPole-v1"]),
        ("CartPole-v9", "unknown-id", ["version 9", "CartPole-v1"]),
        ("ALE/Pong-v5", "unknown-id", ["ale_py:ALE/Pong-v5"]),
        ("Taxi-v3", "deprecated-id", ["Taxi-v4"]),
        ("HalfCheetah-v3", "deprecated-id", ["HalfCheetah-v5"]),
        ("no_such_package:Thing-v0", "module-not-found", ["before the colon", "pip install no-such-package"]),
        ("gymnasium:CartPol-v1", "unknown-id", ["after the colon", "CartPole-v1"]),
        ("json:JSONDecoder", "not-an-environment", ["no reset", "no step"]),
        ("gymnasium.envs:registry", "not-an-environment", ["registry"]),
        ("nowhere.py", "file-not-found", ["nowhere.py"]),
        ("mpe2.simple_spread_v3", "multi-agent", ["a single policy cannot steer it"]),
        ("smax:3m", "multi-agent", ["a single policy cannot steer it"]),
    ],
)
def test_a_wrong_name_is_told_what_is_wrong_and_what_to_do(
    tmp_path: Path, name: str, code: str, words: list[str]
) -> None:
    error = failure(name, tmp_path)
    assert error.code == code
    assert error.advice
    assert all(word in str(error) for word in words), str(error)


@pytest.mark.parametrize(
    ("text", "name", "code", "line", "words"),
    [
        ("import math\ndef f(:\n    pass\n", "lamp.py", "syntax-error", 2, ["line 2"]),
        ("\nimport gym\n", "lamp.py", "old-gym", 2, ["No module named 'gym'", "gymnasium"]),
        ("import no_such_thing\n", "lamp.py", "missing-extra", 1, ["pip install no-such-thing"]),
        ("x = 1\ny = 1 / 0\n", "lamp.py", "import-failed", 2, ["ZeroDivisionError"]),
        ("import sys\nsys.exit(0)\n", "lamp.py", "import-failed", 2, ["SystemExit"]),
        ("x = 1\n", "lamp.py", "no-environment", None, ["no environment"]),
        ("class Lamp:\n    pass\n", "lamp.py:Lamp", "not-an-environment", 1, ["no reset", "no step"]),
        ("def make():\n    return 3\n", "lamp.py:make", "not-an-environment", None, ["int"]),
        (GOOD, "lamp.py:Lampe", "class-not-found", None, ["Lamp"]),
        (GOOD + "class Other(Lamp):\n    pass\nclass Third(Lamp):\n    pass\n", "lamp.py", "several-environments",
         None, ["Other", "Third", "lamp.py:Other"]),
        (GOOD.replace("brightness=1.0", "brightness"), "lamp.py", "missing-arguments", 7, ["brightness"]),
        (GOOD.replace("self.brightness = brightness", "self.brightness = 1 / 0"), "lamp.py", "constructor-failed", 12,
         ["ZeroDivisionError"]),
        (GOOD.replace("    observation_space = ", "    old_space = "), "lamp.py", "no-observation-space", 7,
         ["observation_space"]),
        (GOOD.replace("spaces.Discrete(2, start=5)", "2"), "lamp.py", "bad-space", 7, ["action_space", "int"]),
        ("def parallel_env():\n    pass\n", "lamp.py", "multi-agent", None, ["multi-agent"]),
    ],
)  # fmt: skip
def test_a_faulty_file_is_told_what_is_wrong_and_where(
    tmp_path: Path, text: str, name: str, code: str, line: int | None, words: list[str]
) -> None:
    write(tmp_path, text)
    error = failure(name, tmp_path)
    assert (error.code, error.line) == (code, line)
    assert error.advice
    assert all(word in str(error) for word in words), str(error)


def test_unknown_arguments_are_named_with_close_matches(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    error = failure("lamp.py", tmp_path, keyword_arguments={"brightnes": 1})
    assert error.code == "unknown-arguments"
    assert "brightness" in error.advice
    assert failure("CartPole-v1", tmp_path, keyword_arguments={"colour": 1}).code == "unknown-arguments"


def test_a_wrapper_that_does_not_exist_or_refuses_is_named(tmp_path: Path) -> None:
    error = failure("CartPole-v1", tmp_path, wrappers=[{"name": "gymnasium.wrappers:FlatenObservation"}])
    assert (error.code, "FlattenObservation" in error.advice) == ("wrapper-failed", True)
    error = failure("CartPole-v1", tmp_path, wrappers=[{"name": "gymnasium.wrappers:ClipAction"}])
    assert (error.code, "ClipAction" in error.message) == ("wrapper-failed", True)


def test_a_file_is_imported_once(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    first, second = (build_environment({"name": "lamp.py"}, root=str(tmp_path)) for _ in range(2))
    assert type(first.env.unwrapped) is type(second.env.unwrapped)
