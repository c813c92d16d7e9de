"""The child that verifies one `mdp.py`: import, contract, behaviour on recorded transitions. Run by `call_child`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from agent2_mdp.child.calls import WATCHED, call, describe
from agent2_mdp.child.check_act import check_act, sample_actions
from agent2_mdp.child.check_incentives import check_incentives
from agent2_mdp.child.check_observe import check_observe
from agent2_mdp.child.check_potential import check_action_mask, check_observe_state, check_potential
from agent2_mdp.child.check_reward import check_reward
from agent2_mdp.child.module import Loaded, load
from agent2_mdp.child.notes import Notes
from agent2_mdp.child.recording import load_recordings
from agent2_mdp.child.reward_inputs import reward_arguments
from agent2_mdp.child.statistics import spearman
from agent2_mdp.child.subject import Subject
from agent2_sandbox.child import serve_call
from agent2_targets.runtime.failures import TransformError
from agent2_targets.runtime.pipeline import policy_action_space, policy_observation_space
from agent2_targets.runtime.spaces import take
from agent2_targets.runtime.transforms import Transforms

GAMMA = 0.99
"""Discount of the numeric tests; the run's own is not known yet."""
TIMED_ROWS = 8
TIMED_CALLS = 30
PACED_ROWS = 64
FULL_CHECK_SECONDS = 0.5
"""Functions that take longer than this for one pass over all rows are tried on fewer."""
MIN_ROWS = 16
SLOW_SECONDS = 1e-3
"""A step of all functions that takes longer than this gets a warning."""


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """Verify one file.

    Args:
        payload: `file`, `recordings` (paths), `observation_space`, `action_space` (the environment's, as JSON),
            `stateful`, `info_keys`, `known_info_keys`, `max_episode_steps`.

    Returns:
        `findings`, `levels_passed`, `parts`, `observation_space`, `action_space`, `reward_weights`,
        `reward_components`, `shaped_correlation_with_original`, `seconds_per_step`, `recorded_transitions`.
    """
    notes, file = Notes(), str(payload["file"])
    WATCHED.begin()
    recording = load_recordings(payload["recordings"])
    answer: dict[str, Any] = {"recorded_transitions": len(recording), "levels_passed": [], "reward_components": []}
    code = Path(file).read_text(encoding="utf-8")
    loaded = load(file, code, notes)
    if loaded is None:
        return answer | {"findings": notes.findings}
    answer["levels_passed"] = ["import", *([] if notes.has_errors() else ["contract"])]
    subject = Subject(
        loaded=loaded,
        recording=recording,
        observation_space=payload["observation_space"],
        action_space=payload["action_space"],
        stateful=payload["stateful"],
        info_keys=tuple(payload["info_keys"]),
        known_info_keys=tuple(payload["known_info_keys"]),
        notes=notes,
    )
    _check_declared(subject, payload.get("max_episode_steps"))
    subject = _shortened(subject)
    answer["recorded_transitions"] = len(subject.recording)
    answer |= _check_behaviour(subject)
    if not notes.has_errors():
        answer |= _spaces(subject, file, payload.get("max_episode_steps"))
    answer["parts"] = list(loaded.functions)
    answer["reward_weights"] = loaded.weights
    if not notes.has_errors():
        answer["levels_passed"].append("behaviour")
        answer["seconds_per_step"] = _time_step(subject)
    return answer | {"findings": notes.findings}


def _check_declared(subject: Subject, max_episode_steps: int | None) -> None:
    notes = subject.notes
    for key in subject.info_keys:
        if key not in subject.known_info_keys:
            known = ", ".join(subject.known_info_keys) or "none"
            message = f"info_keys names {key!r}, but no numeric key of that name was seen; seen: {known}."
            notes.error("info-key-unknown", message, "Declare only keys of the environment report.")
    if subject.stateful.get("time_left") and not max_episode_steps:
        message = "time_left is declared, but the environment has no time limit."
        notes.error("no-time-limit", message, "Leave time_left out.")
    if subject.stateful.get("history", 1) > 1 and subject.defines("observe"):
        length = subject.stateful["history"]
        message = f"history={length}: observe is handed (batch, {length}, *shape), newest last."
        notes.note("history-axis", message, line=subject.loaded.at("observe").definition)


def _check_behaviour(subject: Subject) -> dict[str, Any]:
    features = check_observe(subject) if subject.defines("observe") else None
    if subject.defines("act"):
        check_act(subject)
    if subject.defines("action_mask"):
        check_action_mask(subject)
    if subject.defines("observe_state"):
        check_observe_state(subject)
    answer: dict[str, Any] = {}
    if subject.defines("reward"):
        weighted, answer["reward_components"] = check_reward(subject)
        if weighted is not None:
            total = np.sum(list(weighted.values()), axis=0)
            answer["shaped_correlation_with_original"] = spearman(total, subject.recording.original_reward)
            check_incentives(subject, total)
    if subject.defines("potential"):
        check_potential(subject, GAMMA)
    if features is not None:
        _check_hidden_state(subject, features)
    return answer


def _check_hidden_state(subject: Subject, features: Any) -> None:
    """Call `observe` after the other parts saw other rows: it must not remember what they were handed."""
    if "not-deterministic" in subject.notes.codes():
        return
    loaded, count = subject.loaded, len(subject.recording)
    forward = np.arange(count)
    for rows in (forward[::-1], forward):
        if subject.defines("reward"):
            call(loaded.file, loaded.functions["reward"], *reward_arguments(subject, rows))
        if subject.defines("potential"):
            call(loaded.file, loaded.functions["potential"], take(subject.recording.observation, rows))
        called = call(loaded.file, loaded.functions["observe"], subject.observe_input())
        if called.error is not None:
            return
        again = np.asarray(called.value, dtype=np.float64).reshape(count, -1)
        if again.shape != features.shape or not np.allclose(again, features, rtol=1e-4, atol=1e-6, equal_nan=True):
            subject.notes.error(
                "hidden-state",
                "observe gives other features after the other parts were called: it reads what they left behind.",
                "Features may depend on the observation alone; rewards are not known when the agent acts.",
                line=loaded.line("observe"),
            )
            return


def _spaces(subject: Subject, file: str, max_episode_steps: int | None) -> dict[str, Any]:
    """Let the runtime itself work out what the policy sees and does; what it refuses is an error."""
    mdp = {
        "environment_observation_space": subject.observation_space,
        "environment_action_space": subject.action_space,
        "stateful": subject.stateful,
        "max_episode_steps": max_episode_steps,
    }
    found: dict[str, Any] = {}
    for name, give in (("observation_space", policy_observation_space), ("action_space", policy_action_space)):
        WATCHED.beat()
        try:
            found[name] = give(mdp, Transforms.load(file, mdp))
        except TransformError as error:
            advice = "Mend it for an observation of zeros, with which the runtime finds out the shapes."
            subject.notes.error("runtime-refuses", str(error), advice, line=error.line)
        except (ValueError, KeyError, TypeError, SystemExit) as error:
            advice = "Declare ACTION_SPACE and act, or another observe."
            subject.notes.error(f"{name.replace('_', '-')}-unusable", f"{describe(error)}.", advice)
    return found


def _shortened(subject: Subject) -> Subject:
    """Take fewer rows where the functions are so slow that all of them would take too long."""
    seconds = sum(_step_seconds(subject, PACED_ROWS, 3).values())
    affordable = int(FULL_CHECK_SECONDS / max(seconds, 1e-9))
    if affordable >= len(subject.recording):
        return subject
    return replace(subject, recording=subject.recording.rows(np.arange(max(affordable, MIN_ROWS))))


def _time_step(subject: Subject) -> float:
    seconds = _step_seconds(subject, TIMED_ROWS, TIMED_CALLS)
    total = sum(seconds.values())
    if total > SLOW_SECONDS:
        slowest = max(seconds, key=lambda name: seconds[name])
        subject.notes.warning(
            "slow-step",
            f"The functions take {total * 1000:.2f} ms for one environment step, {slowest} most of it.",
            "Use array operations instead of Python loops over rows.",
            line=subject.loaded.line(slowest),
        )
    return total


def _step_seconds(subject: Subject, count: int, calls: int) -> dict[str, float]:
    """Time each part for one environment step, in batches of `count` rows; the median of some calls, seconds."""
    rows = np.arange(min(count, len(subject.recording)))
    recording, loaded = subject.recording, subject.loaded
    observations = take(recording.observation, rows)
    actions = sample_actions(subject.designed_action_space, len(rows), np.random.default_rng(0))
    arguments: dict[str, tuple[Any, ...]] = {
        "observe": (take(subject.observe_input(), rows),),
        "act": (actions, observations),
        "reward": reward_arguments(subject, rows),
        "potential": (observations,),
    }
    return {
        name: _median_seconds(loaded, name, given, calls) / len(rows)
        for name, given in arguments.items()
        if subject.defines(name)
    }


def _median_seconds(loaded: Loaded, name: str, arguments: tuple[Any, ...], calls: int) -> float:
    times: list[float] = []
    for _ in range(calls):
        start = time.perf_counter()
        call(loaded.file, loaded.functions[name], *arguments)
        times.append(time.perf_counter() - start)
        if sum(times) > 1.0:
            break
    return float(np.median(times))


if __name__ == "__main__":
    serve_call(main)
