"""Is it reproducible: equal seeds and equal actions, process generators unseeded, fresh instances, a second one beside it."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.stepping import Stepper
from agent2_environment.introspection.watch import unseed
from agent2_targets.runtime.spaces import SpaceDict, leaf_values

Trajectory = list[tuple[Any, ...]]
TOLERANCE = 1e-6
"""Physics engines repeat to this within one process; more is a different trajectory."""
SECONDS_AT_MOST = 1.0
STEPS_AT_MOST = 60
GENERATORS = {"numpy": "the global NumPy generator", "random": "the global `random` generator"}


class Watch(Protocol):
    """What calls `scramble` before each reset of the environment."""

    scramble: Callable[[], None]


class Repetition:
    """Plays one fixed plan of seeds and actions again and again, each time with one thing changed.

    Args:
        notes: takes the findings and `is_deterministic`.
        stepper: the instance that was rolled before, so that its calls were timed.
        watch: the watch on that instance.
        space: its observation space.
        seed: the first seed.
    """

    def __init__(self, notes: Notes, stepper: Stepper, watch: Watch, space: SpaceDict, seed: int) -> None:
        """Choose seeds and actions so that one play takes about a second at most."""
        self._notes, self._stepper, self._watch, self._space, self._seed = notes, stepper, watch, space, seed
        step_seconds, reset_seconds = np.median(stepper.step_times), np.median(stepper.reset_times)
        count = int(np.clip(SECONDS_AT_MOST / max(float(step_seconds), 1e-9) / 3, 4, STEPS_AT_MOST))
        stepper.env.action_space.seed(seed)
        self._seeds = [seed + number for number in range(1 if reset_seconds > 0.2 else 3)]
        self._actions = [stepper.env.action_space.sample() for _ in range(count)]
        self._first = self._play(stepper)

    def find_about_seeds(self, fresh: Callable[[], Stepper | None]) -> bool:
        """Measure reproducibility under a seed.

        Args:
            fresh: makes another instance; None where a process holds one only.

        Returns:
            Whether it repeats in every way, so that a second instance can be tested against it.
        """
        second = self._play(self._stepper)
        parted = first_difference(self._first, second)
        self._notes.report["is_deterministic"] = parted is None
        if parted is None:
            culprits = [name for name in GENERATORS if self._depends_on(name)]
            if culprits:
                self._say_unseeded(culprits, is_adapted=True)
            return not culprits
        evidence = f"two plays of one seed part at row {parted} of {len(self._first)}{_by(self._first, second, parted)}"
        if self._repeats_fresh(fresh):
            self._notes.report["is_deterministic"] = True
            self._notes.find(
                "repeats-when-fresh",
                "note",
                "Equal seeds and actions repeat in fresh instances, but not always after a reset of the same instance.",
                advice="Nothing to mend where the simulator keeps state of its own; scores carry that noise.",
                evidence=evidence,
            )
            return False
        culprits = [name for name in GENERATORS if self._is_mended_by(name)]
        if culprits:
            self._say_unseeded(culprits[:1], is_adapted=False)
        else:
            self._say("equal seeds and actions part", evidence, is_adapted=False)
        return False

    def find_about_sharing(self, other: Stepper) -> None:
        """Step a second instance between the steps of the first: neither may notice."""
        other.reset(self._seed + 1000)

        def disturb() -> None:
            _, _, terminated, truncated, _ = other.step(other.env.action_space.sample())
            if terminated or truncated:
                other.reset(None)

        disturbed = first_difference(self._first, self._play(self._stepper, disturb))
        if disturbed is None or not self._still_repeats():
            return
        if first_difference(self._first, self._play(self._stepper, disturb)) is not None:
            self._notes.find(
                "shared-state",
                "warning",
                "Two instances in one process disturb each other: the trajectory of one changes when the other is stepped.",
                advice="Keep state in the instance, not in the class or the module.",
                evidence=f"trajectories part at row {disturbed} of {len(self._first)}; alone they repeat",
                is_adapted=True,
            )

    def _play(self, stepper: Stepper, between: Callable[[], None] | None = None) -> Trajectory:
        """Play the plan; give all values in one row a step."""
        rows: Trajectory = []
        for seed in self._seeds:
            observation, _ = stepper.reset(seed)
            rows.append((0.0, False, False, *_copies(observation, self._space)))
            for action in self._actions:
                if between is not None:
                    between()
                observation, original_reward, terminated, truncated, _ = stepper.step(action)
                rows.append((original_reward, terminated, truncated, *_copies(observation, self._space)))
                if terminated or truncated:
                    break
        return rows

    def _still_repeats(self) -> bool:
        return first_difference(self._first, self._play(self._stepper)) is None

    def _depends_on(self, generator: str) -> bool:
        """Unseed one of the process's generators before each raw reset; a difference counts if it goes with its cause."""
        trajectory = self._play_with(lambda: unseed(generator))
        return first_difference(self._first, trajectory) is not None and self._still_repeats()

    def _is_mended_by(self, generator: str) -> bool:
        """Seed one of the process's generators before each raw reset, and see whether all plays then agree."""
        first, *others = [self._play_with(lambda: unseed(generator, 12345)) for _ in range(3)]
        return all(first_difference(first, other) is None for other in others)

    def _play_with(self, scramble: Callable[[], None]) -> Trajectory:
        before, self._watch.scramble = self._watch.scramble, scramble
        try:
            return self._play(self._stepper)
        finally:
            self._watch.scramble = before

    def _repeats_fresh(self, fresh: Callable[[], Stepper | None]) -> bool:
        plays: list[Trajectory] = []
        for _ in range(2):
            stepper = fresh()
            if stepper is None:
                return False
            plays.append(self._play(stepper))
            stepper.env.close()
        return first_difference(*plays) is None

    def _say_unseeded(self, culprits: list[str], *, is_adapted: bool) -> None:
        names = " and ".join(GENERATORS[name] for name in culprits)
        self._say(
            f"it draws from {names}, which reset(seed=…) does not seed",
            f"trajectories repeat while {names} is seeded too, and part while it is not",
            is_adapted=is_adapted,
        )

    def _say(self, why: str, evidence: str, *, is_adapted: bool) -> None:
        self._notes.find(
            "not-reproducible",
            "warning",
            f"The environment is not reproducible from its seed: {why}.",
            advice="Draw from self.np_random after super().reset(seed=seed).",
            evidence=evidence,
            is_adapted=is_adapted,
        )


def first_difference(one: Trajectory, other: Trajectory) -> int | None:
    """Give the row at which two trajectories part; None where they agree."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if not all(_agree(a, b) for a, b in zip(left, right, strict=True)):
            return index
    return None if len(one) == len(other) else min(len(one), len(other))


def _by(first: Trajectory, second: Trajectory, row: int) -> str:
    """Say how large the largest difference at a row is."""
    if row >= min(len(first), len(second)):
        return ""
    pairs = zip(first[row][3:], second[row][3:], strict=True)
    sizes = [float(np.abs(a - b).max()) for a, b in pairs if not isinstance(a, str) and np.size(a)]
    return f", by {max(sizes):.3g}" if sizes else ""


def _copies(observation: Any, space: SpaceDict) -> tuple[Any, ...]:
    values = leaf_values(observation, space).values()
    return tuple(np.array(value, dtype=np.float64) if _is_numeric(value) else str(value) for value in values)


def _is_numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf"


def _agree(a: Any, b: Any) -> bool:
    if isinstance(a, bool | str):
        return bool(a == b)
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
