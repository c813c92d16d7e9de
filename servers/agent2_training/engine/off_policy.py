"""SAC, TD3 and DQN: Tianshou's algorithms with their mathematics on plain tensors."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from agent2_training.engine.replay import ReplayBatch
from agent2_training.engine.stock import StockDQN, StockSAC, StockTD3, kernels
from agent2_training.engine.updating import DirectUpdate, UpdateStats, finite

LOG_TWO_PI = math.log(2 * math.pi)
EPSILON = float(torch.finfo(torch.float32).eps)


class LaggedByLerp:
    """Moves all target networks by one kernel call in place of one for each parameter."""

    def prepare(self, actor: nn.Module, critics: tuple[nn.Module, ...], targets: dict[str, nn.Module]) -> None:
        """Keep the bare modules and the parameter lists.

        Args:
            actor: the `Actor` of policy.py.
            critics: its two critics; empty for DQN.
            targets: the target networks, by the name of what they follow: actor, critic, critic2.
        """
        sources: dict[str, nn.Module] = dict(zip(("actor", "critic", "critic2"), (actor, *critics), strict=False))
        pairs = [
            (old, new)
            for name, module in targets.items()
            for old, new in zip(module.parameters(), sources[name].parameters(), strict=True)
        ]
        values: dict[str, Any] = {
            "plain_actor": actor,
            "plain_critics": critics,
            "targets": targets,
            "_old": [old.data for old, _ in pairs],
            "_new": [new.data for _, new in pairs],
            "_actor_parameters": list(actor.parameters()),
            "_critic_parameters": [parameter for critic in critics for parameter in critic.parameters()],
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)  # past nn.Module: nothing is registered twice

    def _update_lagged_network_weights(self: Any) -> None:
        kernels._foreach_lerp_(self._old, self._new, self.tau)


class ActorCriticUpdate(LaggedByLerp, DirectUpdate):
    """One-step targets and the critics' gradient step, shared by SAC and TD3."""

    def _preprocess_batch(self: Any, batch: ReplayBatch, buffer: Any, indices: Any) -> ReplayBatch:
        with torch.no_grad():
            batch.returns = batch.shaped_rewards + self.gamma * batch.continues * self._next_value(batch.following)
        return batch

    def _descend_critics(self: Any, batch: ReplayBatch) -> dict[str, float]:
        """Take one gradient step of both critics; each has its own optimiser and its own loss."""
        assert batch.returns is not None
        first, second = (critic(batch.observations, batch.actions).flatten() for critic in self.plain_critics)
        first_loss = (first - batch.returns).square().mean()
        loss = first_loss + (second - batch.returns).square().mean()
        value = finite(loss, "critic loss")
        step(self._critic_parameters, loss, self.critic_optim, self.critic2_optim)
        return {"train/critic_loss": value / 2, "train/q_mean": float(first.detach().mean())}


class FastSAC(ActorCriticUpdate, StockSAC):
    """SAC with the parameters that Tianshou's own update gives, in less time."""

    def _next_value(self: Any, following: Tensor) -> Tensor:
        action, log_probability = squashed_sample(self.plain_actor(following))
        first, second = self.targets["critic"](following, action), self.targets["critic2"](following, action)
        return torch.min(first, second).flatten() - self.alpha.value * log_probability

    def _update_with_batch(self: Any, batch: ReplayBatch) -> UpdateStats:
        values = self._descend_critics(batch)
        action, log_probability = squashed_sample(self.plain_actor(batch.observations))
        first, second = (critic(batch.observations, action) for critic in self.plain_critics)
        alpha = self.alpha.value
        loss = (alpha * log_probability - torch.min(first, second).flatten()).mean()
        values["train/policy_loss"] = finite(loss, "policy loss")
        step(self._actor_parameters, loss, self.policy_optim)
        self.alpha.update(-log_probability.detach())
        self._update_lagged_network_weights()
        values["train/alpha"] = alpha
        values["train/entropy"] = -float(log_probability.detach().mean())
        return UpdateStats(values=values, gradient_steps=1)


class FastTD3(ActorCriticUpdate, StockTD3):
    """TD3 with the parameters that Tianshou's own update gives, in less time."""

    def _next_value(self: Any, following: Tensor) -> Tensor:
        action = self.targets["actor"](following)
        noise = torch.randn(action.shape) * self.policy_noise
        if self.noise_clip > 0.0:
            noise = noise.clamp(-self.noise_clip, self.noise_clip)
        action = (action + noise).clamp(-1.0, 1.0)  # Fujimoto's clipping, which Tianshou leaves out
        return torch.min(
            self.targets["critic"](following, action), self.targets["critic2"](following, action)
        ).flatten()

    def _update_with_batch(self: Any, batch: ReplayBatch) -> UpdateStats:
        values = self._descend_critics(batch)
        if self._cnt % self.update_actor_freq == 0:
            loss = -self.plain_critics[0](batch.observations, self.plain_actor(batch.observations)).mean()
            self._last = finite(loss, "policy loss")
            step(self._actor_parameters, loss, self.policy_optim)
            self._update_lagged_network_weights()
        self._cnt += 1
        values["train/policy_loss"] = float(self._last)
        return UpdateStats(values=values, gradient_steps=1)


class FastDQN(LaggedByLerp, DirectUpdate, StockDQN):
    """DQN with the parameters that Tianshou's own update gives, in less time."""

    def _preprocess_batch(self: Any, batch: ReplayBatch, buffer: Any, indices: Any) -> ReplayBatch:
        with torch.no_grad():
            target = self.targets["actor"](batch.following)
            if self.is_double:
                chosen = self.plain_actor(batch.following).argmax(dim=1, keepdim=True)
                value = target.gather(1, chosen).squeeze(1)
            else:
                value = target.max(dim=1).values
            batch.returns = batch.shaped_rewards + self.gamma * batch.continues * value
        return batch

    def _update_with_batch(self: Any, batch: ReplayBatch) -> UpdateStats:
        assert batch.returns is not None
        self._periodically_update_lagged_network_weights()
        chosen = self.plain_actor(batch.observations).gather(1, batch.actions[:, None]).squeeze(1)
        loss = (batch.returns - chosen).square().mean()
        values = {"train/critic_loss": finite(loss, "critic loss"), "train/q_mean": float(chosen.detach().mean())}
        step(self._actor_parameters, loss, self.optim)
        return UpdateStats(values=values, gradient_steps=1)

    def _update_lagged_network_weights(self: Any) -> None:
        kernels._foreach_copy_(self._old, self._new)


def squashed_sample(output: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Sample tanh-squashed Gaussian actions (B, a) with their log probabilities (B,), differentiable."""
    mean, log_std = output
    noise = torch.randn(mean.shape)
    action = torch.tanh(mean + log_std.exp() * noise)
    gaussian = (-0.5 * noise.square() - log_std - 0.5 * LOG_TWO_PI).sum(-1)
    return action, gaussian - torch.log(1 - action.square() + EPSILON).sum(-1)


def step(parameters: list[nn.Parameter], loss: Tensor, *optimisers: Any) -> None:
    """Take one gradient step of these parameters only: the other networks of the loss get no gradient."""
    gradients = torch.autograd.grad(loss, parameters)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    for optimiser in optimisers:
        optimiser._optim.step()
