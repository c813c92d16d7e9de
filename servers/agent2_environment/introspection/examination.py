"""The phases of an inspection after the start: probe, record, repeat, and look at all that was seen."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from agent2_environment.introspection.data_findings import (
    find_in_endings,
    find_in_features,
    find_in_observations,
    find_in_rewards,
)
from agent2_environment.introspection.endings import never_ends
from agent2_environment.introspection.failures import find_failure
from agent2_environment.introspection.group_recording import new_recorder
from agent2_environment.introspection.joint import build_any
from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.policies import make_policy
from agent2_environment.introspection.process_findings import find_in_memory, find_in_output
from agent2_environment.introspection.recording import Recorder
from agent2_environment.introspection.repeating import Repetition, Watch
from agent2_environment.introspection.space_findings import find_in_spaces
from agent2_environment.introspection.statistics import (
    episode_statistics,
    flat_observations,
    info_keys,
    observation_entries,
)
from agent2_environment.introspection.stepping import Deadlines, EnvironmentFailed, Extent, Stepper
from agent2_environment.introspection.watch import RawWatch, find_about_integers
from agent2_targets.runtime.environment import Adapted

RANDOM_EXTENT = Extent(steps_at_least=1000, seconds_at_most=20.0)
ZERO_EXTENT = Extent(steps_at_least=200, seconds_at_most=6.0, episodes_wanted=5, seconds_wanted=1.0, steps_wanted=3000)
SECOND_INSTANCE = "second-instance"


class Examination:
    """The phases after the start, in order; each puts its facts on disk before the next one risks the process.

    Args:
        notes: takes the facts.
        adapted: the environment.
        payload: what the child was given.
    """

    def __init__(self, notes: Notes, adapted: Adapted, payload: dict[str, Any]) -> None:
        """Prepare the first instance."""
        self._notes, self._adapted, self._payload = notes, adapted, payload
        self._seed: int = payload["seed"]
        self._deadlines = Deadlines(step_seconds=payload["step_seconds"], first_seconds=payload["first_seconds"])
        self._space = adapted.observation_space
        self._stepper = Stepper(adapted.env, notes, self._deadlines)
        self._stdout_before = notes.stdout_bytes()

    def run(self) -> dict[str, Any]:
        """Go through all phases; a failed call ends them, what was found before it stays."""
        is_complete = True
        self._look_at_spaces()
        self._notes.save()
        try:
            watch = self._begin_watch()
            self._roll("random", RANDOM_EXTENT)
            self._roll("zero", ZERO_EXTENT)
            self._repeat(watch)
        except EnvironmentFailed as failure:
            is_complete = self._stepper.phase == SECOND_INSTANCE
            find_failure(self._notes, failure, self._stepper.phase)
        self._finish()
        return {"report": self._notes.report, "findings": self._notes.findings, "is_complete": is_complete}

    def _roll(self, policy: str, extent: Extent) -> None:
        notes, stepper = self._notes, self._stepper
        recorder = new_recorder(self._adapted)
        act = make_policy(policy, self._adapted.env.action_space, self._seed)
        stepper.phase = policy
        try:
            stepper.roll(act, recorder, extent, self._seed)
        finally:
            notes.rest()
            if recorder.infos:
                self._take_in(policy, recorder)
            notes.save()

    def _take_in(self, policy: str, recorder: Recorder) -> None:
        notes, stepper = self._notes, self._stepper
        arrays = recorder.write(Path(self._payload["folder"]) / f"{policy}.npz")
        notes.report["episodes"] = [*notes.report["episodes"], episode_statistics(policy, recorder)]
        notes.report["step_seconds"] = float(np.median(stepper.step_times))
        notes.report["reset_seconds"] = float(np.median(stepper.reset_times))
        steps_in_episode = np.array(recorder.steps_in_episode[: len(recorder.infos)])
        find_in_observations(notes, self._space, self._comparable(arrays), steps_in_episode)
        self._look_at_rewards(recorder, arrays, is_random=policy == "random")
        if policy != "random":
            return
        notes.report["info_keys"] = info_keys(recorder)
        self._look_at_features(recorder, arrays, steps_in_episode)
        find_in_endings(
            notes,
            recorder,
            self._adapted.max_episode_steps,
            self._adapted.adaptations,
            is_endless=self._never_ends(),
        )
        find_in_memory(notes, stepper.memory)
        find_in_output(notes, self._stdout_before, len(recorder.original_rewards))

    def _repeat(self, watch: Any) -> None:
        notes, stepper, seed = self._notes, self._stepper, self._seed
        stepper.phase = "repeat"
        repetition = Repetition(notes, stepper, watch, self._space, seed)
        is_solid = repetition.find_about_seeds(self._other)
        self._look_at_integers(watch)
        notes.rest()
        notes.save()
        other = self._other()
        if other is None:
            return
        try:
            if is_solid:
                stepper.phase = SECOND_INSTANCE
                repetition.find_about_sharing(other)
        except EnvironmentFailed as failure:
            find_one_instance(notes, str(failure))
        finally:
            with contextlib.suppress(Exception):
                other.env.close()

    def _other(self) -> Stepper | None:
        """Build another instance in this process; where that is refused, say so once."""
        self._notes.at(SECOND_INSTANCE, 0, self._payload["start_seconds"])
        try:
            adapted = build_any(self._payload["reference"], root=self._payload["root"])
        except BaseException as error:  # the refusal may be of any kind
            find_one_instance(self._notes, f"{type(error).__name__}: {error}"[:300])
            return None
        finally:
            self._notes.rest()
        stepper = Stepper(adapted.env, self._notes, self._deadlines)
        stepper.phase = SECOND_INSTANCE
        return stepper

    def _finish(self) -> None:
        notes = self._notes
        notes.at("close", 0, self._deadlines.first_seconds)
        with contextlib.suppress(BaseException):  # closing may fail in any way; nothing is left to lose
            self._adapted.env.close()
        notes.rest()
        notes.save(adaptations=list(self._adapted.adaptations))
        notes.release_stdout()

    def _look_at_spaces(self) -> None:
        find_in_spaces(self._notes, self._space, self._adapted.action_space)

    def _begin_watch(self) -> Watch:
        return RawWatch(self._adapted.env.unwrapped, self._notes)

    def _comparable(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Give a recording whose observations are all meant to lie in their space."""
        return arrays

    def _never_ends(self) -> bool:
        return never_ends(type(self._adapted.env.unwrapped).step)

    def _look_at_rewards(self, recorder: Recorder, arrays: dict[str, Any], *, is_random: bool) -> None:
        original_rewards, steps = np.array(recorder.original_rewards), np.array(recorder.steps_in_episode)
        find_in_rewards(self._notes, original_rewards, steps, is_random=is_random)

    def _look_at_features(self, recorder: Recorder, arrays: dict[str, Any], steps_in_episode: Any) -> None:
        flat = flat_observations(self._space, arrays)
        self._notes.report["observation_entries"] = observation_entries(flat)
        # The observation before step n was seen at step number n - 1 of its episode.
        find_in_features(self._notes, flat, steps_in_episode - 1)

    def _look_at_integers(self, watch: Any) -> None:
        self._stepper.phase = "integer-action"
        find_about_integers(self._notes, watch, lambda: self._stepper.reset(self._seed), self._adapted.action_space)


def find_one_instance(notes: Notes, refusal: str) -> None:
    """Add the finding that a process can hold one instance only."""
    notes.find(
        "one-instance",
        "warning",
        f"A second instance in one process is refused: one instance per process. It says: {refusal}",
        advice="Nothing, where the simulator is made so: each instance gets a process of its own.",
        evidence=refusal[:200],
        is_adapted=True,
    )
