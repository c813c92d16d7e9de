"""What all our algorithm classes share: an update without Tianshou's batch objects and mode switches, on plain tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from tianshou.algorithm.algorithm_base import TrainingStats

from agent2_training.engine.faults import Diverged
from agent2_training.engine.stock import (
    StockChoicePolicy,
    StockDeterministicPolicy,
    StockOnPolicyPolicy,
    StockSoftPolicy,
)


@dataclass(kw_only=True)
class UpdateStats(TrainingStats):
    """What an update measured, by TensorBoard tag."""

    values: dict[str, float] = field(default_factory=dict[str, float])
    gradient_steps: int = 0


class DirectUpdate:
    """Replaces `Algorithm.update`: same order of work, but no batch objects and no walk over all modules twice.

    The networks have neither dropout nor batch normalisation, so that training and evaluation mode are one.

    Attributes:
        on_gradient_step: called after each gradient step of a long update: a heartbeat, which may raise `StopRequested`.
    """

    on_gradient_step: Callable[[], None] = staticmethod(lambda: None)

    def update(self: Any, buffer: Any, sample_size: int | None = 0, repeat: int | None = None) -> UpdateStats:
        """Update the networks.

        Args:
            buffer: a `Rollout`, or a `ReplayBuffer`.
            sample_size: samples of one gradient step.
            repeat: passes over a rollout; None off policy, where one batch is drawn.

        Raises:
            Diverged: a loss is NaN or infinite.
        """
        batch, indices = buffer.sample(sample_size)
        prepared = self._preprocess_batch(batch, buffer, indices)
        if repeat is None:
            return self._update_with_batch(prepared)
        return self._update_with_batch(prepared, sample_size, repeat)


class PolicyWithoutCompilation:
    """Spares Tianshou's policies compiling return kernels at construction (seconds): ours are NumPy and torch."""

    @staticmethod
    def _compile() -> None:
        pass


class OnPolicyPolicy(PolicyWithoutCompilation, StockOnPolicyPolicy):
    """Tianshou's policy of PPO and A2C."""


class SoftPolicy(PolicyWithoutCompilation, StockSoftPolicy):
    """Tianshou's policy of SAC."""


class DeterministicPolicy(PolicyWithoutCompilation, StockDeterministicPolicy):
    """Tianshou's policy of TD3."""


class ChoicePolicy(PolicyWithoutCompilation, StockChoicePolicy):
    """Tianshou's policy of DQN."""


def finite(value: torch.Tensor, name: str) -> float:
    """Read a loss.

    Raises:
        Diverged: it is NaN or infinite.
    """
    number = float(value.detach())
    if not math.isfinite(number):
        raise Diverged(f"The {name} is {number}")
    return number


def first_non_finite_parameter(modules: dict[str, torch.nn.Module]) -> str | None:
    """Name the first parameter that holds NaN or infinity; None where all are finite."""
    for prefix, module in modules.items():
        for name, parameter in module.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                return f"{prefix}.{name}"
    return None
