"""Adam as one kernel call: torch's own fused kernel without the wrappers around it.

`torch.optim.Adam` spends more time around its kernel than in it for networks of this size, and its first step loads the
compiler (two seconds of every run). The arithmetic is the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from tianshou.algorithm.optim import OptimizerFactory
from torch import Tensor

from agent2_training.engine.stock import kernels

BETA_1, BETA_2 = 0.9, 0.999


class DirectAdam:
    """What Tianshou and our updates need of an optimiser.

    Args:
        parameters: what to train.
        learning_rate: step size.
        eps: added to the root of the second moment.

    Attributes:
        param_groups: one group with `params` and `lr`, as torch's optimisers have.
    """

    def __init__(self, parameters: Iterable[Tensor], learning_rate: float, eps: float) -> None:
        """Start with zero moments."""
        self._parameters = list(parameters)
        self._eps = eps
        self.param_groups: list[dict[str, Any]] = [{"params": self._parameters, "lr": learning_rate}]
        self._first = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._second = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._step = torch.zeros((), dtype=torch.float32)
        self._steps = [self._step] * len(self._parameters)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Take one step along the gradients; all parameters must have one."""
        gradients = [parameter.grad for parameter in self._parameters]
        self._step += 1
        kernels._fused_adam_(
            self._parameters, gradients, self._first, self._second, [], self._steps, amsgrad=False,
            lr=float(self.param_groups[0]["lr"]), beta1=BETA_1, beta2=BETA_2, weight_decay=0.0, eps=self._eps, maximize=False,
        )  # fmt: skip

    @torch.no_grad()
    def clip(self, max_norm: float) -> Tensor:
        """Scale all gradients down to a norm; give the norm before."""
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack(kernels._foreach_norm(gradients)))
        factor = max_norm / (float(norm) + 1e-6)
        if factor < 1.0 and math.isfinite(factor):
            kernels._foreach_mul_(gradients, factor)
        return norm

    def state_dict(self) -> dict[str, Tensor]:
        """Give moments and step count as `<parameter number>.<name>`."""
        moments = {f"{index}.exp_avg": value for index, value in enumerate(self._first)}
        moments |= {f"{index}.exp_avg_sq": value for index, value in enumerate(self._second)}
        return {**moments, "step": self._step}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what `state_dict` gave; the step size stays as it is."""
        for index in range(len(self._parameters)):
            self._first[index].copy_(state[f"{index}.exp_avg"])
            self._second[index].copy_(state[f"{index}.exp_avg_sq"])
        self._step.copy_(state["step"])


class DirectAdamFactory(OptimizerFactory):
    """Makes `DirectAdam` where Tianshou asks for an optimiser.

    Args:
        learning_rate: step size.
        eps: added to the root of the second moment.
    """

    def __init__(self, learning_rate: float, eps: float = 1e-8) -> None:
        """Keep the values."""
        super().__init__()
        self._learning_rate, self._eps = learning_rate, eps

    def _create_optimizer_for_params(self, params: Any) -> Any:
        return DirectAdam(params, self._learning_rate, self._eps)
