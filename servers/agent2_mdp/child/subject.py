"""What one verification is about: the loaded code, the recording, the spaces, the declared steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from agent2_mdp.child.module import Loaded
from agent2_mdp.child.notes import Notes
from agent2_mdp.child.recording import Recording, with_history
from agent2_mdp.child.rehearsal import Rehearsal
from agent2_targets.runtime.spaces import Raw, SpaceDict, as_parts, as_raw, box_bounds

MAX_PROBED_ENTRIES = 48
"""Entries of an observation that are driven to their extremes one by one."""
PROBE_SHARES = (0.1, 0.5, 0.9)
"""Which recorded rows (as shares of all) the made-up rows start from."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Everything the checks read."""

    loaded: Loaded
    recording: Recording
    observation_space: SpaceDict
    """The environment's own."""
    action_space: SpaceDict
    """The environment's own."""
    stateful: dict[str, Any]
    info_keys: tuple[str, ...]
    known_info_keys: tuple[str, ...]
    """Numeric keys that the inspection saw."""
    notes: Notes

    @property
    def designed_action_space(self) -> SpaceDict:
        """The space that `act` is handed actions of."""
        return self.loaded.action_space or self.action_space

    def defines(self, part: str) -> bool:
        """Tell whether mdp.py has a part that can be called."""
        return part in self.loaded.functions

    def observe_input(self) -> Raw:
        """Give what `observe` is handed: raw observations, with a history axis where it is declared."""
        length = int(self.stateful.get("history", 1))
        return with_history(self.recording.observation, self.recording.episode, length)

    def rehearsal(self, part: str, arguments: Callable[[Any], tuple[Any, ...]], convert: Any) -> Rehearsal:
        """Describe a rehearsal of a part on the recorded rows."""
        recording = self.recording
        return Rehearsal(
            part=part,
            count=len(recording),
            arguments=arguments,
            convert=convert,
            where=recording.where,
            step=recording.step_of,
        )


@dataclass(frozen=True, kw_only=True)
class Probes:
    """Made-up observations: recorded ones with entries driven to an edge."""

    origin: Raw
    """The recorded observation each was made from."""
    edge: Raw
    """The made-up one."""
    words: tuple[str, ...]
    """What was changed, one for each row."""

    def __len__(self) -> int:
        """Number of made-up rows."""
        return len(self.words)


def recorded_probes(subject: Subject) -> Probes | None:
    """Make rows in which one entry is at its recorded minimum, maximum or at zero (where the record passes zero)."""
    recording = subject.recording
    values = _float_array(subject)
    if values is None:
        return None
    flat = values.reshape(len(values), -1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    changes: list[tuple[int, int, float, str]] = []
    for share in PROBE_SHARES:
        origin = int(share * (len(recording) - 1))
        for entry in range(min(flat.shape[1], MAX_PROBED_ENTRIES)):
            changes.append((origin, entry, low[entry], "recorded minimum"))
            changes.append((origin, entry, high[entry], "recorded maximum"))
            if low[entry] < 0 < high[entry]:
                changes.append((origin, entry, 0.0, "zero"))
    rows = np.array([change[0] for change in changes])
    edge = flat[rows].copy()
    for row, (_, entry, value, _) in enumerate(changes):
        edge[row, entry] = value
    return Probes(
        origin=values[rows],
        edge=edge.reshape(len(rows), *values.shape[1:]),
        words=tuple(f"recorded row {origin} with entry {entry} at its {word}" for origin, entry, _, word in changes),
    )


def bound_probes(subject: Subject) -> Probes | None:
    """Make rows with all entries at the space's lower or upper bounds, and at zero; an infinite bound keeps the entry."""
    values = _float_array(subject)
    if values is None:
        return None
    low, high = box_bounds(subject.observation_space)
    origin = values[len(values) // 2]
    limits = [np.where(np.isfinite(bound) & (np.abs(bound) < 1e6), bound, origin) for bound in (low, high)]
    zero = np.clip(np.zeros_like(origin), low, high)
    edge = np.stack([*limits, zero]).astype(values.dtype)
    words = ("all entries at their lower bounds", "all entries at their upper bounds", "all entries at zero")
    return Probes(origin=np.repeat(origin[None], 3, axis=0), edge=edge, words=words)


def rehearsal_of(part: str, probes: Probes, arguments: Callable[[Any], tuple[Any, ...]], convert: Any) -> Rehearsal:
    """Describe a rehearsal of a part on made-up rows."""
    return Rehearsal(
        part=part,
        count=len(probes),
        arguments=arguments,
        convert=convert,
        where=lambda row: f"a made-up observation ({probes.words[row]})",
        step=lambda row: 0,
    )


def _float_array(subject: Subject) -> Any:
    values = subject.recording.observation
    if isinstance(values, dict) or subject.observation_space["kind"] != "box":
        return None
    return values if values.dtype.kind == "f" and values.ndim == 2 else None


def repeated(raw: Raw, length: int) -> Raw:
    """Give observations a history axis in which all are equal."""
    if length == 1:
        return raw
    return as_raw({key: np.repeat(part[:, None], length, axis=1) for key, part in as_parts(raw).items()})
