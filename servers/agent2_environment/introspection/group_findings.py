"""Findings about several agents: features of each group, agents that leave, and what was adapted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_environment.introspection.data_findings import NAMED_AT_MOST, STEPS_AT_LEAST, duplicates, names_of
from agent2_environment.introspection.group_recording import observations_of_agents
from agent2_environment.introspection.joint import JointEnvironment
from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.space_findings import find_in_spaces

Array = NDArray[Any]
FAULTS = {
    "new-space-objects": "Make each space once and give the same object at every call.",
    "all-key": "Leave __all__ out; list endings by agent.",
    "agents-stay": "Take agents out of self.agents when they terminate or are truncated.",
    "four-value-step": "Return five values: observations, rewards, terminations, truncations, infos.",
    "reset-without-info": "Return (observations, infos) from reset; an empty dict for each agent will do.",
    "reset-without-seed": "Take `seed` in reset, and draw from a generator made of it.",
    "observation-dtype": "Return observations in the declared dtype.",
}
"""Adaptations that mend what is wrong; advice by the adaptation's name. The others are choices, and notes."""
CANCEL_TOLERANCE = 1e-9
SAID_ELSEWHERE = ("default-time-limit", "seed-ignored")
"""Adaptations whose fact is a finding of its own kind."""


def find_in_group_spaces(notes: Notes, environment: JointEnvironment) -> None:
    """Look at the spaces of each group as at those of a single agent."""
    for group in environment.groups:
        find_in_spaces(notes, group.observation_space, group.action_space)


def find_in_adaptations(notes: Notes, adaptations: list[str]) -> None:
    """Turn each adaptation into a finding: what was mended is a warning, what was chosen a note."""
    for adaptation in adaptations:
        code, _, meaning = adaptation.partition(": ")
        if code in SAID_ELSEWHERE:
            continue
        severity, advice = ("warning", FAULTS[code]) if code in FAULTS else ("note", "Nothing needs to be done.")
        message = f"{meaning[:1].upper()}{meaning[1:]}."
        notes.find(code, severity, message, advice=advice, evidence=adaptation, is_adapted=True)


def find_in_group_features(notes: Notes, environment: JointEnvironment, arrays: dict[str, Array]) -> None:
    """Note entries of an agent's observation that never vary, or that repeat another one, group by group."""
    constant: list[str] = []
    repeated: list[str] = []
    for group in environment.groups:
        flat = observations_of_agents(arrays, group.name)
        if flat is None or len(flat) < STEPS_AT_LEAST or not np.isfinite(flat).all():
            continue
        spread = np.ptp(flat, axis=0)
        still = np.flatnonzero(spread == 0)
        if len(still):
            constant.append(f"{group.name}: {len(still)} of {flat.shape[1]} ({names_of(still)})")
        doubles = duplicates(flat, np.flatnonzero(spread > 0))
        if doubles:
            shown = ", ".join(f"{twin} = {first}" for first, twin in doubles[:NAMED_AT_MOST])
            repeated.append(f"{group.name}: {len(doubles)} of {flat.shape[1]} ({shown})")
    if constant:
        notes.find(
            "feature-constant",
            "note",
            f"Entries of an agent's observation never vary under the random policy; {'; '.join(constant)}.",
            advice="They tell a policy nothing unless other behaviour moves them; `observe` may drop them.",
        )
    if repeated:
        notes.find(
            "feature-duplicate",
            "note",
            f"Entries of an agent's observation repeat another one exactly; {'; '.join(repeated)}.",
            advice="`observe` may drop them.",
        )


def find_in_group_rewards(notes: Notes, environment: JointEnvironment, arrays: dict[str, Array]) -> None:
    """Note agents whose rewards cancel out at every step, where they are taken to want the same."""
    columns = [arrays[f"original_reward/{group.name}"] for group in environment.groups]
    original_rewards = np.concatenate(columns, axis=1)
    if not original_rewards.any() or not environment.batch.layout.is_cooperative:
        return
    if np.abs(original_rewards.sum(axis=1)).max() <= CANCEL_TOLERANCE:
        notes.find(
            "rewards-cancel",
            "note",
            "The rewards of all agents sum to zero at every step: they are opponents, but are taken to want the same.",
            advice='Say so in the environment: metadata = {"is_cooperative": False}.',
            evidence=f"{len(original_rewards)} steps",
        )


def find_in_presence(notes: Notes, environment: JointEnvironment, arrays: dict[str, Array]) -> None:
    """Note agents that leave before the episode's end."""
    columns = [arrays[f"alive/{group.name}"] for group in environment.groups if f"alive/{group.name}" in arrays]
    if not columns:
        return
    alive = np.concatenate(columns, axis=1)
    if not alive.all():
        notes.find(
            "agents-leave",
            "note",
            f"Agents leave before an episode's end: at {1 - alive.mean():.0%} of agent steps they are no longer there.",
            advice="Their observations are zeros, and learning counts no step of theirs.",
            evidence=f"{len(alive)} steps of {alive.shape[1]} agents",
            is_adapted=True,
        )
