"""The evaluator against policy hosts of every kind, over real pipes."""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.frames import ACT, HEADER, INIT, STEP, FrameChannel, FrameError, decode_step, encode_batch
from agent2_training.evaluation.evaluator import EvaluationRequest, evaluate

Answer = Callable[[Any, int], bytes]
"""From spaces and count, and the sequence number, to the bytes that are written back."""

COUNTER = '''
import gymnasium, numpy as np
class Counter(gymnasium.Env):
    """Pays the action; three steps an episode, four where the seed is odd."""
    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float64)
    action_space = gymnasium.spaces.{action}
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 3 + (seed or 0) % 2
        return np.array([self.left, 0.5]), {{}}
    def step(self, action):
        self.left -= 1
        {before}
        return np.array([self.left, 0.5]), float(np.sum(action)), self.left == 0, False, {{}}
'''


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what building an environment from a file does to a process of its own: path and working directory."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)


class FakeHost:
    """A policy host in a thread: answers every frame with what a test wants to see refused."""

    def __init__(self, channel: FrameChannel, answer: Answer) -> None:
        self._channel, self._answer = channel, answer
        self.masks: list[list[bool]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            _, sequence, payload = self._channel.receive_any((INIT,), None, None, 20)
            init = json.loads(payload)
            self._channel.send(ACT, sequence, b"", 5)
            while True:
                _, sequence, payload = self._channel.receive_any((STEP,), None, None, 20)
                mask, _ = decode_step(payload, init["observation_space"], init["count"])
                self.masks.append(mask.tolist())
                os.write(self._channel._write, self._answer(init, sequence))
        except (FrameError, OSError):
            self._channel.close()

    def join(self) -> None:
        self._thread.join(10)


def act_frame(init: Any, sequence: int, value: Any) -> bytes:
    space = init["action_space"]
    shape = (init["count"], *space.get("shape", ()))
    dtype = np.float32 if space["kind"] == "box" else np.int64
    payload = encode_batch(np.full(shape, value, dtype), space)
    return HEADER.pack(ACT, sequence, len(payload)) + payload


def run(
    folder: Path, answer: Answer, *, action: str = "Box(-1, 1, (1,), np.float32)", before: str = "pass", **changed: Any
):
    (folder / "counter.py").write_text(COUNTER.format(action=action, before=before))
    to_host, from_evaluator = os.pipe()
    to_evaluator, from_host = os.pipe()
    host = FakeHost(FrameChannel(to_host, from_host), answer)
    values: dict[str, Any] = {
        "reference": {"name": "counter.py:Counter"}, "root": str(folder), "seeds": [2, 3, 4, 5, 6], "lockstep": 2,
        "policy_seconds": 2.0, "total_seconds": 20.0, **changed,
    }  # fmt: skip
    channel = FrameChannel(to_evaluator, from_evaluator)
    result = evaluate(EvaluationRequest(**values), channel)
    channel.close()
    host.join()
    return result, host


def test_each_seeds_episode_runs_once_to_its_end_and_the_original_reward_is_summed(tmp_path: Path) -> None:
    result, host = run(tmp_path, lambda init, number: act_frame(init, number, 0.5))

    assert result["lengths"] == [3, 4, 3, 4, 3]
    assert result["original_returns"] == [1.5, 2.0, 1.5, 2.0, 1.5]
    assert (result["env_steps"], result["clipped_steps"]) == (17, 0)
    assert host.masks[0] == [True, True]
    assert sum(sum(mask) for mask in host.masks) == 5


def test_an_action_out_of_bounds_is_clipped_and_counted(tmp_path: Path) -> None:
    result, _ = run(tmp_path, lambda init, number: act_frame(init, number, 7.0))

    assert result["original_returns"] == [3.0, 4.0, 3.0, 4.0, 3.0]
    assert result["clipped_steps"] == result["env_steps"] == 17


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda init, number: act_frame(init, number, np.nan), "not finite"),
        (lambda init, number: act_frame(init, number, np.inf), "not finite"),
        (lambda init, number: act_frame(init, number + 1, 0.0), "malformed"),
        (lambda init, number: b"HACK" + act_frame(init, number, 0.0)[4:], "malformed"),
        (lambda init, number: HEADER.pack(ACT, number, 3) + b"abc", "malformed"),
        (lambda init, number: HEADER.pack(ACT, number, 2**31) + b"abc", "malformed"),
        (lambda init, number: act_frame(init, number, 0.0) + b"extra bytes that nobody asked for", "malformed"),
    ],
)
def test_a_malformed_answer_fails_the_evaluation_with_its_cause(tmp_path: Path, answer: Answer, words: str) -> None:
    result, _ = run(tmp_path, answer)

    assert result["side"] == "policy"
    assert words in result["error"]


def test_a_short_frame_and_a_late_one_run_into_the_deadline_of_a_step(tmp_path: Path) -> None:
    late, _ = run(tmp_path, lambda init, number: b"", policy_seconds=0.2)
    short, _ = run(tmp_path, lambda init, number: act_frame(init, number, 0.0)[:-1], policy_seconds=0.2)

    for result in (late, short):
        assert result["side"] == "policy"
        assert "at step 0" in result["error"]
        assert "deadline" in result["error"]


@pytest.mark.parametrize("value", [-1, 3])
def test_a_choice_out_of_range_is_an_error(tmp_path: Path, value: int) -> None:
    result, _ = run(tmp_path, lambda init, number: act_frame(init, number, value), action="Discrete(3)")

    assert result["side"] == "policy"
    assert "out of range" in result["error"]


def test_an_environment_that_raises_is_to_blame_itself(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result, _ = run(tmp_path, lambda init, number: act_frame(init, number, 0.0), before="raise KeyError('wheel')")

    assert result["side"] == "environment"
    assert "KeyError: 'wheel'" in result["error"]
    assert "counter.py" in capfd.readouterr().err


def test_an_environment_without_an_end_runs_into_the_deadline_of_the_whole(tmp_path: Path) -> None:
    result, _ = run(
        tmp_path, lambda init, number: act_frame(init, number, 0.0), before="self.left += 1", total_seconds=0.2
    )

    assert result["side"] == "time"
    assert "does every episode end?" in result["error"]
