"""Level 3 for `potential`, `action_mask` and `observe_state`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.calls import call
from agent2_mdp.child.outputs import one_array
from agent2_mdp.child.rehearsal import Rehearsal, try_part, try_probes
from agent2_mdp.child.statistics import is_flat, short
from agent2_mdp.child.subject import Subject, bound_probes, recorded_probes, rehearsal_of
from agent2_targets.runtime.spaces import take

Values = NDArray[np.float64]
LARGE_RATIO = 100.0


def check_potential(subject: Subject, gamma: float) -> Values | None:
    """Try `potential` on the recording; returns the shaping reward of each row, None where it cannot be told."""
    loaded, notes, recording = subject.loaded, subject.notes, subject.recording
    convert = one_array(loaded, "potential", ())
    now = try_part(
        loaded, subject.rehearsal("potential", lambda rows: (take(recording.observation, rows),), convert), notes
    )
    for probes, is_reachable in ((recorded_probes(subject), True), (bound_probes(subject), False)):
        if probes is not None:
            edge = probes.edge
            rehearsal = rehearsal_of("potential", probes, lambda rows, edge=edge: (take(edge, rows),), convert)
            try_probes(loaded, rehearsal, notes, is_reachable=is_reachable)
    if now is None:
        return None
    values = now[""].astype(np.float64)
    if is_flat(values):
        message = f"potential is {short(values[0])} on every recorded row: it shapes nothing."
        notes.warning("potential-constant", message, "Use the observation.", line=loaded.line("potential"))
    called = call(loaded.file, loaded.functions["potential"], recording.next_observation)
    if called.error is not None or np.shape(called.value) != values.shape:
        return None  # on recorded rows it worked: the made-up ones have said what is wrong
    following = np.asarray(called.value, dtype=np.float64)
    shaping = gamma * np.where(recording.terminated, 0.0, following) - values
    original = recording.original_reward
    if float(shaping.std()) > LARGE_RATIO * max(float(original.std()), abs(float(original.mean())), 1e-3):
        notes.warning(
            "potential-large",
            f"The shaping reward (std {short(float(shaping.std()))}) drowns the original reward "
            f"(std {short(float(original.std()))}).",
            "Scale the potential to about the original return.",
            line=loaded.line("potential"),
        )
    return shaping


def check_action_mask(subject: Subject) -> None:
    """Try `action_mask` on masks that allow all, and all but one, of the environment's actions."""
    loaded, notes, line = subject.loaded, subject.notes, subject.loaded.line("action_mask")
    before, after = subject.action_space, subject.designed_action_space
    if before["kind"] != "discrete" or after["kind"] != "discrete":
        message = "action_mask is for discrete actions only; it would never be called."
        notes.error("part-unused", message, "Remove it.", line=line)
        return
    masks = np.concatenate([np.ones((1, before["n"]), bool), ~np.eye(int(before["n"]), dtype=bool)])
    rehearsal = Rehearsal(
        part="action_mask",
        count=len(masks),
        arguments=lambda rows: (masks[rows],),
        convert=one_array(loaded, "action_mask", (int(after["n"]),)),
        where=lambda row: "a mask that allows every action" if row == 0 else f"a mask that forbids action {row - 1}",
        step=lambda row: 0,
    )
    outputs = try_part(loaded, rehearsal, notes)
    if outputs is not None and not outputs[""][0].astype(bool).any():
        message = "action_mask forbids every designed action where the environment allows all."
        notes.error("mask-empty", message, "Leave at least one action allowed.", line=line)


def check_observe_state(subject: Subject) -> None:
    """Say that `observe_state` is never called for a single agent."""
    message = "observe_state is for central critics of groups; a single agent never calls it."
    subject.notes.warning("part-unused", message, "Remove it.", line=subject.loaded.at("observe_state").definition)
