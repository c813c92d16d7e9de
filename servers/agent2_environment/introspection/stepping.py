"""Calling into the environment: each call noted, timed, watched and, where it raises, turned into one kind of failure."""

import time
from dataclasses import dataclass
from typing import Any

import gymnasium

from agent2_environment.introspection.notes import Notes, resident_bytes
from agent2_environment.introspection.policies import Policy
from agent2_environment.introspection.recording import Recorder

MEMORY_EVERY_STEPS = 25
MEMORY_STOP_BYTES = 600 * 2**20
UNHURRIED_STEPS = 2
"""The first steps of an instance may compile or load things."""


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """How long single calls may take, wall seconds."""

    step_seconds: float = 3.0
    first_seconds: float = 30.0
    """Resets, and the first steps of an instance."""


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How long a rollout goes on."""

    steps_at_least: int
    seconds_at_most: float
    episodes_wanted: int = 10
    seconds_wanted: float = 2.0
    steps_wanted: int = 10_000


class EnvironmentFailed(Exception):
    """A call into the environment raised, exited, or returned what cannot be read."""

    def __init__(self, call: str, step: int, cause: BaseException) -> None:
        """Keep where it happened and what was raised."""
        super().__init__(f"{call} failed at step {step}: {cause!r}")
        self.call, self.step, self.cause = call, step, cause


class Stepper:
    """Steps one instance, with a note, a deadline and a clock around each call.

    Attributes:
        step_times, reset_times: wall seconds of each call.
        memory: pairs of steps taken and resident bytes less the recording's.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], notes: Notes, deadlines: Deadlines) -> None:
        """Take an instance that was just built."""
        self.env, self._notes, self._deadlines = env, notes, deadlines
        self.step_times: list[float] = []
        self.reset_times: list[float] = []
        self.memory: list[tuple[int, int]] = []
        self.phase = "start"
        self.step_number = 0
        self.steps_taken = 0

    def reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self.step_number = 0
        self._notes.at(self.phase, 0, self._deadlines.first_seconds)
        begun = time.perf_counter()
        try:
            observation, info = self.env.reset(seed=seed)
        except BaseException as error:  # SystemExit is one of the faults looked for
            raise EnvironmentFailed("reset", 0, error) from error
        self.reset_times.append(time.perf_counter() - begun)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step."""
        self.step_number += 1
        self.steps_taken += 1
        is_first = self.steps_taken <= UNHURRIED_STEPS
        allowed = self._deadlines.first_seconds if is_first else self._deadlines.step_seconds
        self._notes.at(self.phase, self.step_number, allowed)
        begun = time.perf_counter()
        try:
            observation, original_reward, terminated, truncated, info = self.env.step(action)
            answer = observation, float(original_reward), bool(terminated), bool(truncated), info
        except BaseException as error:  # SystemExit is one of the faults looked for
            raise EnvironmentFailed("step", self.step_number, error) from error
        self.step_times.append(time.perf_counter() - begun)
        return answer

    def roll(self, policy: Policy, recorder: Recorder, extent: Extent, seed: int) -> None:
        """Play whole episodes, seeded one after the other, until the extent is reached; memory is watched meanwhile."""
        begun, taken, first_bytes = time.monotonic(), 0, resident_bytes()
        observation, _ = self.reset(seed)
        while not _is_enough(extent, taken, recorder.episode, time.monotonic() - begun):
            action = policy()
            following, original_reward, terminated, truncated, info = self.step(action)
            recorder.add(observation, action, original_reward, following, terminated, truncated, info)
            taken += 1
            observation = following
            if terminated or truncated:
                observation, _ = self.reset(seed + recorder.episode)
            if taken % MEMORY_EVERY_STEPS == 0:
                now_bytes = resident_bytes() - recorder.bytes
                self.memory.append((taken, now_bytes))
                if now_bytes - first_bytes > MEMORY_STOP_BYTES:
                    return


def _is_enough(extent: Extent, taken: int, episodes: int, seconds: float) -> bool:
    if seconds >= extent.seconds_at_most:
        return True
    is_rich = episodes >= extent.episodes_wanted or taken >= extent.steps_wanted or seconds >= extent.seconds_wanted
    return taken >= extent.steps_at_least and is_rich
