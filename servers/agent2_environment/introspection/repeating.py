"""Is it reproducible: equal seeds and equal actions, process generators unseeded, a second instance beside it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.stepping import Stepper
from agent2_environment.introspection.watch import RawWatch, unseed
from agent2_targets.runtime.spaces import SpaceDict, leaf_values

Trajectory = list[tuple[Any, ...]]
TOLERANCE = 1e-6
"""Physics engines repeat to this within one process; more is a different trajectory."""
SECONDS_AT_MOST = 1.0
STEPS_AT_MOST = 60


def play(
    stepper: Stepper, space: SpaceDict, seeds: list[int], actions: list[Any], between: Callable[[], None]
) -> Trajectory:
    """Play fixed actions after seeded resets; give all values in one row a step.

    Args:
        stepper: the instance.
        space: its observation space.
        seeds: one reset each.
        actions: the same for each reset; an episode's end cuts them off.
        between: called before each step, to disturb.
    """
    rows: Trajectory = []
    for seed in seeds:
        observation, _ = stepper.reset(seed)
        rows.append((0.0, False, False, *_copies(observation, space)))
        for action in actions:
            between()
            observation, original_reward, terminated, truncated, _ = stepper.step(action)
            rows.append((original_reward, terminated, truncated, *_copies(observation, space)))
            if terminated or truncated:
                break
    return rows


def first_difference(one: Trajectory, other: Trajectory) -> int | None:
    """Give the row at which two trajectories part; None where they agree."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if not all(_agree(a, b) for a, b in zip(left, right, strict=True)):
            return index
    return None if len(one) == len(other) else min(len(one), len(other))


def find_about_seeds(notes: Notes, stepper: Stepper, watch: RawWatch, space: SpaceDict, seed: int) -> Trajectory | None:
    """Measure reproducibility under a seed; set `is_deterministic`.

    Returns:
        The trajectory, where it is reproducible in every way: then a second instance can be tested against it.
    """
    seeds, actions = plan(stepper, seed)
    first = play(stepper, space, seeds, actions, _nothing)
    second = play(stepper, space, seeds, actions, _nothing)
    parted = first_difference(first, second)
    culprits: list[str] = []
    for generator in ("numpy", "random"):
        watch.scramble = lambda name=generator: unseed(name)
        if parted is None:
            unseeded = first_difference(first, play(stepper, space, seeds, actions, _nothing))
            culprits += [generator] if unseeded is not None else []
    if parted is not None:
        culprits = _seeding_helps(stepper, watch, space, seeds, actions)
    watch.scramble = _nothing
    notes.report["is_deterministic"] = parted is None
    if parted is None and not culprits:
        return first
    names = " and ".join(
        {"numpy": "the global NumPy generator", "random": "the global `random` generator"}[c] for c in culprits
    )
    notes.find(
        "not-reproducible",
        "warning",
        "The environment is not reproducible from its seed"
        + (
            f": it draws from {names}, which reset(seed=…) does not seed."
            if names
            else ": equal seeds and actions part."
        ),
        advice="Draw from self.np_random after super().reset(seed=seed).",
        evidence=_evidence(parted, first, second, names),
        is_adapted=parted is None,
    )
    return None


def plan(stepper: Stepper, seed: int) -> tuple[list[int], list[Any]]:
    """Choose seeds and actions so that one play takes about a second at most."""
    reset_seconds = float(np.median(stepper.reset_times))
    step_seconds = float(np.median(stepper.step_times)) if stepper.step_times else 1e-3
    count = int(np.clip(SECONDS_AT_MOST / max(step_seconds, 1e-9) / 3, 4, STEPS_AT_MOST))
    seeds = [seed + number for number in range(1 if reset_seconds > 0.2 else 3)]
    stepper.env.action_space.seed(seed)
    return seeds, [stepper.env.action_space.sample() for _ in range(count)]


def find_about_sharing(
    notes: Notes, stepper: Stepper, other: Stepper, space: SpaceDict, alone: Trajectory, seed: int
) -> None:
    """Step a second instance between the steps of the first: neither may notice."""
    seeds, actions = plan(stepper, seed)
    other.reset(seed + 1000)

    def disturb() -> None:
        _, _, terminated, truncated, _ = other.step(other.env.action_space.sample())
        if terminated or truncated:
            other.reset(None)

    parted = first_difference(alone, play(stepper, space, seeds, actions, disturb))
    if parted is not None:
        notes.find(
            "shared-state",
            "warning",
            "Two instances in one process disturb each other: the first one's trajectory changes when the second is stepped.",
            advice="Keep state in the instance, not in the class or the module.",
            evidence=f"trajectories part at row {parted} of {len(alone)}",
            is_adapted=True,
        )


def _seeding_helps(
    stepper: Stepper, watch: RawWatch, space: SpaceDict, seeds: list[int], actions: list[Any]
) -> list[str]:
    """Seed the process's generators before each raw reset and look whether the trajectories then agree."""
    for generator in ("numpy", "random"):
        watch.scramble = lambda name=generator: unseed(name, 12345)
        one = play(stepper, space, seeds, actions, _nothing)
        if first_difference(one, play(stepper, space, seeds, actions, _nothing)) is None:
            return [generator]
    return []


def _evidence(parted: int | None, first: Trajectory, second: Trajectory, names: str) -> str:
    if parted is None:
        return f"equal while {names} is seeded too, different when it is not"
    sizes = [abs(a - b).max() for a, b in zip(first[parted][3:], second[parted][3:], strict=False) if _comparable(a, b)]
    return f"two plays of one seed part at row {parted} of {len(first)}" + (f", by {max(sizes):.3g}" if sizes else "")


def _comparable(a: Any, b: Any) -> bool:
    return not isinstance(a, str) and np.shape(a) == np.shape(b) and np.size(a) > 0


def _copies(observation: Any, space: SpaceDict) -> tuple[Any, ...]:
    values = leaf_values(observation, space).values()
    return tuple(np.array(value, dtype=np.float64) if _is_numeric(value) else str(value) for value in values)


def _is_numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf"


def _agree(a: Any, b: Any) -> bool:
    if not isinstance(a, bool | str):
        return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
    return bool(a == b)


def _nothing() -> None:
    """Disturb nothing."""
