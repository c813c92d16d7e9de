"""Environments with the design's transforms around them: what the algorithm sees, does and learns from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent2_targets.runtime.batch import EnvironmentBatch
from agent2_targets.runtime.normaliser import Normaliser
from agent2_targets.runtime.pipeline import ActionPipeline, ObservationPipeline
from agent2_targets.runtime.spaces import Raw, as_parts
from agent2_targets.runtime.transforms import Transforms
from agent2_training.engine.episodes import EpisodeRecorder
from agent2_training.engine.faults import Diverged

Floats = NDArray[np.float32]


class Transition(NamedTuple):
    """What one step of all environments gave."""

    shaped_reward: NDArray[np.float64]
    """Reward to learn from (n,): designed, scaled, potential included."""
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    following: Floats
    """True next policy inputs (n, *shape), normalised: of a finished episode its last one."""
    following_plain: Floats
    """The same before the normaliser (n, size)."""


class Simulation:
    """Steps environments by policy actions and keeps the current policy inputs.

    Args:
        build: makes one environment that obeys the current interface.
        design: the design as JSON, with `max_episode_steps` in its `mdp` where there is a time limit.
        transforms: functions of its mdp.py.
        seed: seed of the environments.

    Attributes:
        observations: current policy inputs (n, *shape) float32, normalised.
        plain: the same before the normaliser (n, size) float32.
        env_steps: environment steps taken so far.
        episodes: returns and lengths of finished episodes.
    """

    def __init__(self, build: Callable[[], Any], design: dict[str, Any], transforms: Transforms, seed: int) -> None:
        """Build the environments; call `reset` before the first step."""
        mdp, hyperparameters = design["mdp"], design["hyperparameters"]
        self.count = int(hyperparameters["num_envs"])
        repeat = int((mdp.get("stateful") or {}).get("action_repeat", 1))
        self._batch = EnvironmentBatch(build, self.count, tuple(mdp.get("info_keys") or ()), repeat)
        self._transforms, self._gamma, self._seed = transforms, float(hyperparameters["gamma"]), seed
        self._observe = ObservationPipeline(mdp, transforms, self.count)
        self._act = ActionPipeline(mdp, transforms, self.count)
        self.shape, self.size = tuple(self._observe.shape), self._observe.size
        self.action_space: dict[str, Any] = self._act.space
        self.is_discrete = self.action_space["kind"] == "discrete"
        self.action_shape: tuple[int, ...] = () if self.is_discrete else tuple(self.action_space["shape"])
        self.env_steps = 0
        self.episodes = EpisodeRecorder(self.count)
        self.observations: Floats = np.zeros((self.count, *self.shape), np.float32)
        self.plain: Floats = np.zeros((self.count, self.size), np.float32)
        self._raw: Raw = {}
        self._is_plain_reward = not {"reward", "potential"} & set(transforms.parts)

    @property
    def normaliser(self) -> Normaliser | None:
        """Statistics applied to observations last; None where the design asks for none."""
        return self._observe.normaliser

    @normaliser.setter
    def normaliser(self, value: Normaliser) -> None:
        self._observe.normaliser = value

    def reset(self) -> None:
        """Start new episodes everywhere, with seeds that follow from the run's seed and the steps taken so far."""
        seeds = np.random.SeedSequence([self._seed, self.env_steps]).generate_state(self.count)
        self._raw = self._batch.reset([int(seed >> 1) for seed in seeds])
        self.observations = self._observe.reset(None, self._raw)
        self.plain = self._observe.unnormalised
        self._check(self.plain)
        self.episodes.restart()

    def refresh(self) -> None:
        """Normalise the current observations anew, after the statistics changed."""
        if self._observe.normaliser is not None:
            self.observations = self._observe.normaliser(self.plain).reshape(self.count, *self.shape)

    def random_actions(self, generator: np.random.Generator) -> NDArray[Any]:
        """Draw uniform policy actions (n, *shape)."""
        if self.is_discrete:
            return generator.integers(0, int(self.action_space["n"]), self.count)
        return generator.uniform(-1.0, 1.0, (self.count, *self.action_shape)).astype(np.float32)

    def step(self, action: NDArray[Any]) -> Transition:
        """Step every environment, and reset those whose episode ended.

        Args:
            action: policy actions, within [-1, 1] (n, *shape) or choices (n,).

        Returns:
            The transition; `observations` and `plain` are those to act on next.

        Raises:
            TransformError: a function of mdp.py failed.
            NonFinite: the environment gave NaN or infinity.
            Diverged: a policy input or the learning reward is not finite.
        """
        self._transforms.step = self.env_steps + 1
        environment_action = self._act(action, self._raw)
        previous, result = self._raw, self._batch.step(environment_action)
        taken = int(result.env_steps.sum())
        self.env_steps += taken
        shaped_reward, components = self._shaped_reward(previous, environment_action, result)
        following = self._observe.step(result.observations, action)
        following_plain = self._observe.unnormalised
        self._check(following_plain)
        self._raw, self.observations, self.plain = result.observations, following, following_plain
        done = result.terminated | result.truncated
        clipped = self._act.clipped
        self.episodes.add(result.original_rewards, shaped_reward, result.env_steps, components, clipped)
        if done.any():
            self._restart(np.flatnonzero(done), result.terminated)
        return Transition(shaped_reward, result.terminated, result.truncated, following, following_plain)

    def close(self) -> None:
        """Close the environments."""
        self._batch.close()

    def _shaped_reward(self, previous: Raw, action: Any, result: Any) -> tuple[NDArray[np.float64], dict[str, Any]]:
        original = result.original_rewards
        if self._is_plain_reward:
            return original * self._transforms.reward_scale, {}
        arguments = (result.observations, original, result.terminated, result.truncated, result.info)
        shaped_reward, components = self._transforms.shaped_reward(previous, action, *arguments, self._gamma)
        if not np.isfinite(shaped_reward).all():
            raise Diverged(
                f"The learning reward is {shaped_reward[~np.isfinite(shaped_reward)][0]} at step {self.env_steps}."
            )
        return shaped_reward, components

    def _restart(self, rows: NDArray[Any], terminated: NDArray[np.bool_]) -> None:
        self.episodes.finish(rows, terminated)
        first = self._batch.reset(None, list(rows))
        inputs = self._observe.reset(rows, first)
        # Copies: the transition keeps the true last observations.
        self.observations, self.plain = self.observations.copy(), self.plain.copy()
        self.observations[rows], self.plain[rows] = inputs, self._observe.unnormalised
        self._raw = replaced_rows(self._raw, rows, first)

    def _check(self, inputs: Floats) -> None:
        if not np.isfinite(inputs).all():
            row, entry = np.argwhere(~np.isfinite(inputs))[0][:2]
            raise Diverged(
                f"Entry {entry} of the policy's observation is {inputs[row, entry]} at step {self.env_steps} "
                f"(environment {row})."
            )


def replaced_rows(raw: Raw, rows: Sequence[int] | NDArray[Any], first: Raw) -> Raw:
    """Copy a raw batch with some rows replaced."""
    if not isinstance(raw, dict):
        copy = raw.copy()
        copy[rows] = first
        return copy
    parts = as_parts(first)
    copies = {key: part.copy() for key, part in raw.items()}
    for key, part in copies.items():
        part[rows] = parts[key]
    return copies
