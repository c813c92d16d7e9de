"""The phases of an inspection where the environment has several agents."""

from typing import Any

import numpy as np

from agent2_environment.introspection.data_findings import find_in_rewards
from agent2_environment.introspection.examination import Examination
from agent2_environment.introspection.group_findings import (
    find_in_adaptations,
    find_in_group_features,
    find_in_group_rewards,
    find_in_group_spaces,
    find_in_presence,
)
from agent2_environment.introspection.group_recording import GroupRecorder, describe_groups, without_the_gone
from agent2_environment.introspection.joint import JointEnvironment
from agent2_environment.introspection.recording import Recorder
from agent2_environment.introspection.repeating import Watch


class GroupExamination(Examination):
    """Goes through the same phases, looking at groups where a single agent has one space."""

    @property
    def _joint(self) -> JointEnvironment:
        environment = self._adapted.env
        if not isinstance(environment, JointEnvironment):
            raise TypeError(f"{type(environment).__name__} is no environment of several agents")
        return environment

    def _look_at_spaces(self) -> None:
        find_in_group_spaces(self._notes, self._joint)

    def _begin_watch(self) -> Watch:
        return self._joint  # its own interface is checked where it is adapted

    def _comparable(self, arrays: dict[str, Any]) -> dict[str, Any]:
        return without_the_gone(arrays, self._space)

    def _never_ends(self) -> bool:
        return False

    def _look_at_rewards(self, recorder: Recorder, arrays: dict[str, Any], *, is_random: bool) -> None:
        names = [group.name for group in self._joint.groups]
        was_there = np.concatenate([arrays[f"alive/{name}"] for name in names], axis=1)
        original_rewards = np.concatenate([arrays[f"original_reward/{name}"] for name in names], axis=1)
        steps = np.array(recorder.steps_in_episode[: len(was_there)])[:, None] * was_there
        find_in_rewards(self._notes, original_rewards[was_there], steps[was_there], is_random=is_random)

    def _look_at_features(self, recorder: Recorder, arrays: dict[str, Any], steps_in_episode: Any) -> None:
        if isinstance(recorder, GroupRecorder):
            self._notes.report.update(describe_groups(self._joint, recorder, arrays))
        find_in_group_features(self._notes, self._joint, arrays)
        find_in_group_rewards(self._notes, self._joint, arrays)
        find_in_presence(self._notes, self._joint, arrays)

    def _look_at_integers(self, watch: Any) -> None:
        """Choices are handed over as Python integers already."""

    def _finish(self) -> None:
        find_in_adaptations(self._notes, self._adapted.adaptations)
        super()._finish()
