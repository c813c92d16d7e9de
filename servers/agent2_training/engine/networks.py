"""The networks of a candidate's policy.py, behind the protocols that Tianshou's policies expect."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import nn


def load_policy_module(path: Path) -> Any:
    """Load a rendered policy.py as a module of its own."""
    spec = importlib.util.spec_from_file_location("agent2_policy", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ActorForTianshou(nn.Module):
    """An actor of policy.py as Tianshou calls it: `(obs, state, info) -> (output, state)`.

    Args:
        actor: the `Actor` of policy.py; its parameters are this module's parameters.
        kind: its POLICY_KIND; of Gaussian policies Tianshou expects mean and standard deviation.
    """

    def __init__(self, actor: nn.Module, kind: str) -> None:
        """Keep the actor as it is, so that what ships is what was trained."""
        super().__init__()
        self.actor = actor
        self._has_std = kind in ("gaussian", "squashed_gaussian")

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Any, Any]:
        """Give the distribution's parameters, logits, Q-values or actions of a batch, and the state unchanged."""
        output = self.actor(torch.as_tensor(obs, dtype=torch.float32))
        if self._has_std:
            mean, log_std = output
            return (mean, log_std.exp()), state
        return output, state


class CriticForTianshou(nn.Module):
    """A critic of policy.py as Tianshou calls it: arrays or tensors in, values (batch, 1) out."""

    def __init__(self, critic: nn.Module) -> None:
        """Keep the critic as it is."""
        super().__init__()
        self.critic = critic

    def forward(self, obs: Any, act: Any = None, info: Any = None) -> torch.Tensor:
        """Give the values of states, or of actions in states."""
        observation = torch.as_tensor(obs, dtype=torch.float32)
        if act is None:
            return self.critic(observation)
        return self.critic(observation, torch.as_tensor(act, dtype=torch.float32))
