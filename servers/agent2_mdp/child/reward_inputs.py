"""The arguments of `reward` for recorded transitions, as the runtime hands them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from agent2_mdp.child.subject import Subject
from agent2_targets.runtime.spaces import take


def reward_arguments(subject: Subject, rows: Any) -> tuple[Any, ...]:
    """Give the arguments of `reward` for some recorded rows, `info` as the runtime hands it."""
    recording = subject.recording
    info: dict[str, Any] = {}
    for key in subject.info_keys:
        absent = (np.zeros(len(recording)), np.zeros(len(recording), bool))
        values, present = recording.info.get(key, absent)
        info[key], info[f"{key}_present"] = values[rows], present[rows]
    return (
        take(recording.observation, rows),
        take(recording.action, rows),
        take(recording.next_observation, rows),
        recording.original_reward[rows],
        recording.terminated[rows],
        recording.truncated[rows],
        MappingProxyType(info),
    )
