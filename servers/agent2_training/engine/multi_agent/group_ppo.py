"""IPPO and MAPPO: PPO on the slots of a group, with a central critic, value normalisation, masks and agents that leave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agent2_training.engine.learner import Learner, distribution
from agent2_training.engine.networks import ActorForTianshou, CriticForTianshou
from agent2_training.engine.on_policy import (
    LOG_TWO_PI,
    FastPPO,
    Prepared,
    Rollout,
    flat,
    generalised_advantage,
    log_probability,
)
from agent2_training.engine.optimiser import DirectAdamFactory
from agent2_training.engine.updating import OnPolicyPolicy

ILLEGAL_LOGIT = -1e9
Policy: Any = OnPolicyPolicy  # its constructor is Tianshou's, whose types the mixed-in class hides


@dataclass
class GroupRollout(Rollout):
    """Transitions of a group: slot `environment * agents + agent` stands where a single agent's environment does.

    Attributes:
        critic_inputs: what the critic sees (m, T, c) float32: the state (MAPPO) or the observation (IPPO), and the
            one-hot identity.
        critic_following: the true next such inputs (m, T, c) float32.
        masks: legal choices (m, T, choices) bool; None where all always are.
        acting: whether the agent was there to act (m, T) bool: only then its action is learnt from.
        valued: whether its value is learnt (m, T) bool: to a team a member that has left still is one.
    """

    critic_inputs: NDArray[np.float32]
    critic_following: NDArray[np.float32]
    masks: NDArray[np.bool_] | None
    acting: NDArray[np.bool_]
    valued: NDArray[np.bool_]


@dataclass
class GroupPrepared(Prepared):
    """Flat tensors of one update of a group; weights are 0 where nothing is learnt."""

    critic_inputs: Tensor
    masks: Tensor | None
    acting: Tensor
    valued: Tensor


def masked(output: Any, masks: Tensor | None) -> Any:
    """Put illegal choices out of reach: their probability is exactly zero in float32."""
    return output if masks is None else output.masked_fill(~masks, ILLEGAL_LOGIT)


class GroupPPO(FastPPO):
    """PPO of one group; values are learnt in units of their running mean and standard deviation."""

    def _preprocess_batch(self: Any, batch: Any, buffer: Any, indices: Any) -> GroupPrepared:
        rollout: GroupRollout = batch
        observations, actions = torch.from_numpy(flat(rollout.observations)), torch.from_numpy(flat(rollout.actions))
        masks = None if rollout.masks is None else torch.from_numpy(flat(rollout.masks))
        old_values, returns, advantages, explained = self._value_targets(rollout, observations)
        with torch.no_grad():
            old = log_probability(masked(self.plain_actor(observations), masks), actions)
        return GroupPrepared(
            rollout, observations, actions, old_values, returns, advantages, old, explained,
            critic_inputs=torch.from_numpy(flat(rollout.critic_inputs)), masks=masks,
            acting=torch.from_numpy(rollout.acting.ravel().astype(np.float32)),
            valued=torch.from_numpy(rollout.valued.ravel().astype(np.float32)),
        )  # fmt: skip

    def _value_targets(self: Any, rollout: Rollout, observations: Tensor) -> tuple[Tensor, Tensor, Tensor, float]:
        """Old values, returns and advantages, flat, as `OnPolicyUpdate` gives them, from the central critic."""
        assert isinstance(rollout, GroupRollout)
        shape, ends = rollout.shaped_rewards.shape, rollout.terminated | rollout.truncated
        ends[:, -1] = True
        with torch.no_grad():
            old_values = self.plain_critic(torch.from_numpy(flat(rollout.critic_inputs))).flatten()
            last_values = self.plain_critic(torch.from_numpy(rollout.critic_following[ends])).flatten()
        normalised = old_values.numpy().reshape(shape).astype(np.float64)
        following = np.empty_like(normalised)
        following[:, :-1], following[ends] = normalised[:, 1:], last_values.numpy()
        mean, scale = self._value_units()
        values, next_values = normalised * scale + mean, following * scale + mean
        advantages = generalised_advantage(
            rollout.shaped_rewards, values, next_values, rollout.terminated, rollout.truncated, self.gamma, self.gae_lambda
        )  # fmt: skip
        targets = advantages + values
        seen = targets[rollout.valued]
        if self.return_scaling and len(seen):
            self.ret_rms.update(seen)
            mean, scale = self._value_units()
        spread = float(seen.var()) if len(seen) else 0.0
        explained = 1 - float((seen - values[rollout.valued]).var()) / spread if spread > 0 else math.nan
        returns = torch.from_numpy(((targets - mean) / scale).ravel().astype(np.float32))
        return old_values, returns, torch.from_numpy(advantages.ravel().astype(np.float32)), explained

    def _value_units(self: Any) -> tuple[float, float]:
        """Mean and standard deviation that the critic's outputs are in."""
        if not self.return_scaling:
            return 0.0, 1.0
        return float(self.ret_rms.mean), float(np.sqrt(self.ret_rms.var + self._eps))

    def _loss(self: Any, prepared: Prepared, rows: Tensor) -> tuple[Tensor, dict[str, float]]:
        assert isinstance(prepared, GroupPrepared)
        masks = None if prepared.masks is None else prepared.masks[rows]
        output = masked(self.plain_actor(prepared.observations[rows]), masks)
        acting, valued = prepared.acting[rows], prepared.valued[rows]
        advantages = prepared.advantages[rows]
        if self.advantage_normalization:
            mean = weighted(advantages, acting)
            advantages = (advantages - mean) / (weighted((advantages - mean).square(), acting).sqrt() + self._eps)
        log_ratio = (log_probability(output, prepared.actions[rows]) - prepared.old_log_probability[rows]) * acting
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1.0 - self.eps_clip, 1.0 + self.eps_clip)
        policy_loss = -weighted(torch.min(ratio * advantages, clipped * advantages), acting)
        value, returns = self.plain_critic(prepared.critic_inputs[rows]).flatten(), prepared.returns[rows]
        errors = (returns - value).square()
        if self.value_clip:
            old = prepared.old_values[rows]
            bounded = old + (value - old).clamp(-self.eps_clip, self.eps_clip)
            errors = torch.max(errors, (returns - bounded).square())
        value_loss, spread = weighted(errors, valued), weighted(entropies(output), acting)
        loss = policy_loss + self.vf_coef * value_loss - self.ent_coef * spread
        with torch.no_grad():
            measured = {
                "train/approx_kl": float(weighted(ratio - 1 - log_ratio, acting)),
                "train/clip_fraction": float(weighted(((ratio - 1).abs() > self.eps_clip).float(), acting)),
                "train/entropy": float(spread.detach()),
                "train/policy_loss": float(policy_loss.detach()),
                "train/value_loss": float(value_loss.detach()),
            }
        return loss, measured


def weighted(values: Tensor, weights: Tensor) -> Tensor:
    """Mean of values (B,) by weights (B,); 0 where all weights are."""
    return (values * weights).sum() / weights.sum().clamp(min=1.0)


def entropies(output: Any) -> Tensor:
    """Entropy (B,) of each row's distribution, nats."""
    if isinstance(output, tuple):
        log_std: Tensor = output[1]
        return (log_std + 0.5 + 0.5 * LOG_TWO_PI).sum(-1)
    log_probabilities = torch.log_softmax(output, dim=-1)
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


def build_group_ppo(
    values: dict[str, Any], actor: nn.Module, critic: nn.Module, space: gymnasium.Space[Any], kind: str
) -> Learner:
    """Build the learner of one policy.

    Args:
        values: hyperparameters by the names of `PPOHyperparameters`; `normalise_return` switches value normalisation.
        actor: observations (B, …) to logits (B, choices), or to mean and log standard deviation (B, a).
        critic: critic inputs (B, c) to normalised values (B, 1).
        space: what the policy acts in.
        kind: `categorical` or `gaussian`.
    """
    wrapped = Policy(
        actor=ActorForTianshou(actor, kind),
        dist_fn=distribution,
        action_space=space,
        action_scaling=False,
        action_bound_method="clip" if isinstance(space, gymnasium.spaces.Box) else None,
        deterministic_eval=True,
    )
    make: Any = GroupPPO
    algorithm = make(
        policy=wrapped, critic=CriticForTianshou(critic), optim=DirectAdamFactory(values["learning_rate"], eps=1e-5),
        vf_coef=values["value_coefficient"], ent_coef=values["entropy_coefficient"],
        max_grad_norm=values["max_gradient_norm"], gae_lambda=values["gae_lambda"], gamma=values["gamma"],
        return_scaling=values["normalise_return"], max_batchsize=4096, eps_clip=values["clip_range"],
        value_clip=values["value_clip"], advantage_normalization=values["normalise_advantage"],
        recompute_advantage=values["recompute_advantage"],
    )  # fmt: skip
    algorithm.prepare(actor, critic)
    return Learner("PPO", algorithm, actor, {"actor": actor, "critic": critic}, {"all": algorithm.optim._optim}, True)
