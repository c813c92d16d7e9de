"""Build the algorithm of a design on the networks of its policy.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import gymnasium
import numpy as np
import torch
from tianshou.algorithm.modelfree.sac import AutoAlpha
from torch import nn
from torch.distributions import Categorical, Independent, Normal

from agent2_training.engine.networks import ActorForTianshou, CriticForTianshou
from agent2_training.engine.off_policy import FastDQN, FastSAC, FastTD3
from agent2_training.engine.on_policy import FastA2C, FastPPO
from agent2_training.engine.optimiser import DirectAdam, DirectAdamFactory
from agent2_training.engine.updating import ChoicePolicy, DeterministicPolicy, OnPolicyPolicy, SoftPolicy

# Their constructors are Tianshou's, whose types the mixed-in classes hide.
PPO: Any = FastPPO
A2C: Any = FastA2C
SAC: Any = FastSAC
TD3: Any = FastTD3
DQN: Any = FastDQN
ON_POLICY: Any = OnPolicyPolicy
SOFT: Any = SoftPolicy
DETERMINISTIC: Any = DeterministicPolicy
CHOICE: Any = ChoicePolicy


@dataclass
class Learner:
    """An algorithm, and its parts by the names that a checkpoint gives them.

    Attributes:
        name: name of the algorithm.
        algorithm: Tianshou's algorithm, with our update.
        actor: the `Actor` of policy.py.
        modules: actor, critic, critic2 and target.* by name.
        optimisers: optimisers by name.
        is_on_policy: whether it learns from whole rollouts.
    """

    name: str
    algorithm: Any
    actor: nn.Module
    modules: dict[str, nn.Module]
    optimisers: dict[str, DirectAdam]
    is_on_policy: bool

    def set_learning_rate(self, rate: float) -> None:
        """Set the step size of every optimiser."""
        for optimiser in self.optimisers.values():
            for group in optimiser.param_groups:
                group["lr"] = rate


def build_learner(design: dict[str, Any], policy: Any, action_space: dict[str, Any]) -> Learner:
    """Build networks, policy and algorithm; torch's seed decides the weights.

    Args:
        design: the design as JSON.
        policy: module of its policy.py.
        action_space: what the policy acts in: `{"kind": "discrete", "n": …}` or a box in [-1, 1].
    """
    values, name = design["hyperparameters"], design["algorithm"]
    space = (
        gymnasium.spaces.Discrete(action_space["n"]) if action_space["kind"] == "discrete" else unit_box(action_space)
    )
    builders = {"PPO": build_on_policy, "A2C": build_on_policy, "SAC": build_sac, "TD3": build_td3, "DQN": build_dqn}
    return builders[name](name, values, policy, space)


def unit_box(space: dict[str, Any]) -> gymnasium.spaces.Box:
    """Give the box [-1, 1] of the policy's actions."""
    return gymnasium.spaces.Box(-1.0, 1.0, tuple(space["shape"]), np.float32)


def distribution(output: Any) -> torch.distributions.Distribution:
    """Give the distribution of an actor's output, as Tianshou's own update wants it."""
    if isinstance(output, tuple):
        return Independent(Normal(*output, validate_args=False), 1)
    return Categorical(logits=output, validate_args=False)


def build_on_policy(name: str, values: dict[str, Any], policy: Any, space: gymnasium.Space[Any]) -> Learner:
    """Build PPO or A2C."""
    actor, critic = policy.Actor(), policy.Critic()
    wrapped = ON_POLICY(
        actor=ActorForTianshou(actor, policy.POLICY_KIND),
        dist_fn=distribution,
        action_space=space,
        action_scaling=False,
        action_bound_method="clip" if isinstance(space, gymnasium.spaces.Box) else None,
        deterministic_eval=True,
    )
    shared: dict[str, Any] = {
        "policy": wrapped, "critic": CriticForTianshou(critic), "optim": DirectAdamFactory(values["learning_rate"], eps=1e-5),
        "vf_coef": values["value_coefficient"], "ent_coef": values["entropy_coefficient"],
        "max_grad_norm": values["max_gradient_norm"], "gae_lambda": values["gae_lambda"], "gamma": values["gamma"],
        "return_scaling": values["normalise_return"], "max_batchsize": 4096,
    }  # fmt: skip
    if name == "PPO":
        algorithm: Any = PPO(
            **shared,
            eps_clip=values["clip_range"],
            value_clip=values["value_clip"],
            advantage_normalization=values["normalise_advantage"],
            recompute_advantage=values["recompute_advantage"],
        )
    else:
        algorithm = A2C(**shared)
        algorithm.advantage_normalization = values["normalise_advantage"]
    algorithm.prepare(actor, critic)
    return Learner(name, algorithm, actor, {"actor": actor, "critic": critic}, {"all": algorithm.optim._optim}, True)


def _actor_critics(policy: Any, rate: float) -> tuple[Any, Any, Any, dict[str, Any]]:
    actor, critic, critic2 = policy.Actor(), policy.Critic(), policy.Critic()
    arguments: dict[str, Any] = {
        "critic": CriticForTianshou(critic), "critic2": CriticForTianshou(critic2),
        "policy_optim": DirectAdamFactory(rate), "critic_optim": DirectAdamFactory(rate), "critic2_optim": DirectAdamFactory(rate),
    }  # fmt: skip
    return actor, critic, critic2, arguments


def build_sac(name: str, values: dict[str, Any], policy: Any, space: gymnasium.Space[Any]) -> Learner:
    """Build SAC."""
    actor, critic, critic2, arguments = _actor_critics(policy, values["learning_rate"])
    wrapped = SOFT(
        actor=ActorForTianshou(actor, policy.POLICY_KIND),
        action_space=space,
        action_scaling=False,
    )
    alpha: Any = values["alpha"]
    if alpha == "auto":
        target = values["target_entropy"]
        target = -float(np.prod(space.shape or ())) if target is None else float(target)
        alpha = AutoAlpha(target, 0.0, DirectAdamFactory(values["learning_rate"]))
    else:
        alpha = float(alpha)
    algorithm: Any = SAC(policy=wrapped, alpha=alpha, tau=values["tau"], gamma=values["gamma"], **arguments)
    learner = _off_policy(name, algorithm, actor, (critic, critic2), {})
    if isinstance(algorithm.alpha, nn.Module):
        learner.modules["alpha"] = algorithm.alpha
        learner.optimisers["alpha"] = cast(Any, algorithm.alpha)._optim
    return learner


def build_td3(name: str, values: dict[str, Any], policy: Any, space: gymnasium.Space[Any]) -> Learner:
    """Build TD3."""
    actor, critic, critic2, arguments = _actor_critics(policy, values["learning_rate"])
    wrapped = DETERMINISTIC(
        actor=ActorForTianshou(actor, policy.POLICY_KIND),
        action_space=space,
        action_scaling=False,
    )
    algorithm: Any = TD3(
        policy=wrapped,
        tau=values["tau"],
        gamma=values["gamma"],
        policy_noise=values["policy_noise"],
        noise_clip=values["policy_noise_clip"],
        update_actor_freq=values["actor_update_interval"],
        **arguments,
    )
    return _off_policy(name, algorithm, actor, (critic, critic2), {"actor": algorithm.actor_old.module.actor})


def _off_policy(
    name: str, algorithm: Any, actor: nn.Module, critics: tuple[nn.Module, ...], targets: dict[str, nn.Module]
) -> Learner:
    targets = {
        **targets,
        "critic": algorithm.critic_old.module.critic,
        "critic2": algorithm.critic2_old.module.critic,
    }
    algorithm.prepare(actor, critics, targets)
    modules: dict[str, nn.Module] = {"actor": actor, "critic": critics[0], "critic2": critics[1]}
    modules |= {f"target.{part}": module for part, module in targets.items()}
    optimisers = {
        "actor": algorithm.policy_optim._optim,
        "critic": algorithm.critic_optim._optim,
        "critic2": algorithm.critic2_optim._optim,
    }
    return Learner(name, algorithm, actor, modules, optimisers, False)


def build_dqn(name: str, values: dict[str, Any], policy: Any, space: gymnasium.Space[Any]) -> Learner:
    """Build DQN."""
    actor = policy.Actor()
    wrapped = CHOICE(model=ActorForTianshou(actor, policy.POLICY_KIND), action_space=space)
    algorithm: Any = DQN(
        policy=wrapped,
        optim=DirectAdamFactory(values["learning_rate"]),
        gamma=values["gamma"],
        target_update_freq=values["target_update_interval"],
        is_double=values["is_double"],
    )
    target = algorithm.model_old.module.actor
    algorithm.prepare(actor, (), {"actor": target})
    modules = {"actor": actor, "target.actor": target}
    return Learner(name, algorithm, actor, modules, {"actor": algorithm.optim._optim}, False)
