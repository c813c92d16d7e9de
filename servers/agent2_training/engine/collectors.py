"""Gather transitions: whole rollouts into preallocated arrays, or single steps straight into the replay buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from agent2_training.engine.on_policy import Rollout
from agent2_training.engine.replay import ReplayBuffer
from agent2_training.engine.simulation import Simulation


def sample_choices(logits: torch.Tensor) -> torch.Tensor:
    """Draw choices (B,) as torch's Categorical does, from the same random numbers."""
    return torch.multinomial(torch.softmax(logits, dim=-1), 1, True).squeeze(1)


def sample_gaussian(output: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Draw unclipped actions (B, a) as torch's Normal does, from the same random numbers."""
    mean, log_std = output
    return torch.normal(mean, log_std.exp())


class OnPolicyCollector:
    """Rolls out T steps of all environments, then hands them over at once.

    Args:
        simulation: the environments, already reset.
        actor: the `Actor` of policy.py.
        on_step: called after each step: a heartbeat, which may raise `StopRequested`.

    Attributes:
        plain: observations of the latest rollout before the normaliser, (n, T, size).
    """

    def __init__(self, simulation: Simulation, actor: nn.Module, on_step: Callable[[], None]) -> None:
        """Allocate nothing yet: the first collection tells the length."""
        self._simulation, self._actor, self._on_step = simulation, actor, on_step
        self._sample: Callable[[Any], torch.Tensor] = sample_choices if simulation.is_discrete else sample_gaussian
        self.plain: NDArray[np.float32] = np.zeros((0, 0, 0), np.float32)

    def collect(self, steps: int) -> Rollout:
        """Take `steps` steps of every environment.

        Returns:
            The rollout; its arrays are new ones.
        """
        simulation, n = self._simulation, self._simulation.count
        shape, action_shape = simulation.shape, simulation.action_shape
        rollout = Rollout(
            observations=np.empty((n, steps, *shape), np.float32),
            following=np.empty((n, steps, *shape), np.float32),
            actions=np.empty((n, steps, *action_shape), np.int64 if simulation.is_discrete else np.float32),
            shaped_rewards=np.empty((n, steps)),
            terminated=np.empty((n, steps), bool),
            truncated=np.empty((n, steps), bool),
        )
        if simulation.normaliser is not None:
            self.plain = np.empty((n, steps, simulation.size), np.float32)
        with torch.no_grad():
            for step in range(steps):
                observations = simulation.observations
                if simulation.normaliser is not None:
                    self.plain[:, step] = simulation.plain
                action = self._sample(self._actor(torch.from_numpy(observations))).numpy()
                bounded = action if simulation.is_discrete else np.clip(action, -1.0, 1.0)
                result = simulation.step(bounded)
                rollout.observations[:, step], rollout.following[:, step] = observations, result.following
                rollout.actions[:, step], rollout.shaped_rewards[:, step] = action, result.shaped_reward
                rollout.terminated[:, step], rollout.truncated[:, step] = result.terminated, result.truncated
                self._on_step()
        return rollout


class OffPolicyCollector:
    """Steps all environments and writes the transitions straight into the replay buffer.

    Args:
        simulation: the environments, already reset.
        actor: the `Actor` of policy.py.
        choose: policy actions (n, …) from the actor's output: its exploration.
        buffer: where transitions go.
        on_step: called after each step: a heartbeat, which may raise `StopRequested`.
    """

    def __init__(
        self,
        simulation: Simulation,
        actor: nn.Module,
        choose: Callable[[Any], NDArray[Any]],
        buffer: ReplayBuffer,
        on_step: Callable[[], None],
    ) -> None:
        """Keep the parts."""
        self._simulation, self._actor, self._choose = simulation, actor, choose
        self._buffer, self._on_step = buffer, on_step

    def collect(self, steps: int) -> int:
        """Take `steps` steps of every environment by the exploring policy; give the environment steps taken."""
        before = self._simulation.env_steps
        for _ in range(steps):
            with torch.no_grad():
                output = self._actor(torch.from_numpy(self._simulation.observations))
            self._store(self._choose(output))
        return self._simulation.env_steps - before

    def collect_random(self, env_steps: int, generator: np.random.Generator) -> None:
        """Take at least `env_steps` environment steps by uniform random actions."""
        target = self._simulation.env_steps + env_steps
        while self._simulation.env_steps < target:
            self._store(self._simulation.random_actions(generator))

    def _store(self, action: NDArray[Any]) -> None:
        plain = self._simulation.plain
        result = self._simulation.step(action)
        self._buffer.add(plain, action, result.shaped_reward, result.following_plain, result.terminated)
        self._on_step()


def make_exploration(
    name: str, values: dict[str, Any], generator: np.random.Generator, exploration_rate: Callable[[], float]
) -> Callable[[Any], NDArray[Any]]:
    """Make the function that turns an actor's output into exploring policy actions.

    Args:
        name: name of the algorithm: SAC, TD3 or DQN.
        values: its hyperparameters.
        generator: random numbers of TD3's noise and DQN's choices.
        exploration_rate: DQN's current share of random actions.
    """

    def soft(output: tuple[torch.Tensor, torch.Tensor]) -> NDArray[Any]:
        mean, log_std = output
        return torch.tanh(torch.normal(mean, log_std.exp())).numpy()

    def noisy(output: torch.Tensor) -> NDArray[Any]:
        action = output.numpy()
        noise = generator.normal(0.0, values["exploration_noise"], action.shape)
        return np.clip(action + noise, -1.0, 1.0).astype(np.float32)

    def epsilon_greedy(output: torch.Tensor) -> NDArray[Any]:
        action = output.argmax(dim=1).numpy()
        is_random = generator.random(len(action)) < exploration_rate()
        return np.where(is_random, generator.integers(0, output.shape[1], len(action)), action)

    return {"SAC": soft, "TD3": noisy, "DQN": epsilon_greedy}[name]
