"""Hyperparameters of each algorithm: types, ranges, units. Values live in the training catalogue."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agent2_schemas.model import Frozen


class Shared(Frozen):
    """What every algorithm has."""

    learning_rate: float = Field(gt=0, le=1, description="Step size of Adam.")
    learning_rate_schedule: Literal["constant", "linear"] = Field(
        default="constant", description="constant, or linear to zero over the run's budget."
    )
    gamma: float = Field(gt=0, le=1, description="Discount per designed step.")
    num_envs: int = Field(ge=1, le=256, description="Environments stepped side by side in one process.")


class OnPolicy(Shared):
    """What PPO and A2C share."""

    rollout_steps: int = Field(ge=1, le=65536, description="Steps of each environment between updates.")
    gae_lambda: float = Field(ge=0, le=1, description="Lambda of generalised advantage estimation.")
    entropy_coefficient: float = Field(ge=0, le=1, description="Weight of the entropy bonus.")
    value_coefficient: float = Field(ge=0, le=10, description="Weight of the value loss.")
    max_gradient_norm: float = Field(gt=0, le=100, description="Gradients are clipped to this norm.")
    normalise_return: bool = Field(default=False, description="Scale value targets by a running standard deviation.")
    normalise_advantage: bool = Field(default=True, description="Standardise advantages within each minibatch.")


class PPOHyperparameters(OnPolicy):
    """Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347)."""

    algorithm: Literal["PPO"] = Field(default="PPO", description="Tells the algorithms apart.")
    minibatch_size: int = Field(ge=2, le=65536, description="Samples of one gradient step.")
    epochs: int = Field(ge=1, le=100, description="Passes over each rollout.")
    clip_range: float = Field(gt=0, le=1, description="Clip range of the probability ratio.")
    value_clip: bool = Field(default=False, description="Clip the value change too.")
    recompute_advantage: bool = Field(default=False, description="Recompute advantages before each pass.")


class A2CHyperparameters(OnPolicy):
    """Synchronous advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783)."""

    algorithm: Literal["A2C"] = Field(default="A2C", description="Tells the algorithms apart.")


class OffPolicy(Shared):
    """What SAC, TD3 and DQN share."""

    batch_size: int = Field(ge=1, le=65536, description="Samples of one gradient step.")
    buffer_size: int = Field(ge=100, le=10_000_000, description="Transitions kept in the replay buffer.")
    warmup_env_steps: int = Field(ge=0, description="Environment steps of uniformly random actions before learning.")
    updates_per_env_step: float = Field(gt=0, le=20, description="Gradient steps for each environment step.")
    collect_steps: int = Field(ge=1, le=4096, description="Steps of each environment between rounds of updates.")


class SACHyperparameters(OffPolicy):
    """Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905)."""

    algorithm: Literal["SAC"] = Field(default="SAC", description="Tells the algorithms apart.")
    tau: float = Field(gt=0, le=1, description="Share of the online critics that each update mixes into the targets.")
    alpha: float | Literal["auto"] = Field(default="auto", description="Entropy temperature; auto: learned.")
    target_entropy: float | None = Field(
        default=None, description="Target of a learned temperature; null: minus action size."
    )


class TD3Hyperparameters(OffPolicy):
    """Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018, arXiv 1802.09477)."""

    algorithm: Literal["TD3"] = Field(default="TD3", description="Tells the algorithms apart.")
    tau: float = Field(gt=0, le=1, description="Share of the online networks that each update mixes into the targets.")
    exploration_noise: float = Field(
        ge=0, le=2, description="Standard deviation of the exploration noise, action in [-1, 1]."
    )
    policy_noise: float = Field(ge=0, le=2, description="Standard deviation of target policy smoothing.")
    policy_noise_clip: float = Field(ge=0, le=2, description="Bound of target policy smoothing.")
    actor_update_interval: int = Field(ge=1, le=100, description="Critic updates for each actor update.")


class DQNHyperparameters(OffPolicy):
    """Deep Q-network with double Q-learning (Mnih et al. 2015; van Hasselt et al. 2016, arXiv 1509.06461)."""

    algorithm: Literal["DQN"] = Field(default="DQN", description="Tells the algorithms apart.")
    target_update_interval: int = Field(ge=1, description="Gradient steps between copies into the target network.")
    exploration_initial: float = Field(ge=0, le=1, description="Share of random actions at the start.")
    exploration_final: float = Field(ge=0, le=1, description="Share of random actions at the end of the decay.")
    exploration_fraction: float = Field(gt=0, le=1, description="Share of the budget over which exploration decays.")
    is_double: bool = Field(default=True, description="Double Q-learning.")


Hyperparameters = Annotated[
    PPOHyperparameters | A2CHyperparameters | SACHyperparameters | TD3Hyperparameters | DQNHyperparameters,
    Field(discriminator="algorithm"),
]
