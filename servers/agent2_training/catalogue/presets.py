"""Published settings: what libraries ship as their defaults, and what was tuned for single environments, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agent2_schemas import AlgorithmName

Normalisation = Literal["none", "running", "warmup"]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One complete or partial setting; a partial one lies over a complete one.

    Attributes:
        hyperparameters: values by field name.
        network: values by field name.
        normalise_observation: normalisation to go with it; None leaves that of the setting below.
        reward_scale: constant reward scale to go with it.
        suggested_env_steps: steps after which published or measured runs have levelled off; 0 leaves that below.
        source: where it was published, and what was changed for speed.
    """

    hyperparameters: dict[str, Any] = field(default_factory=dict[str, Any])
    network: dict[str, Any] = field(default_factory=dict[str, Any])
    normalise_observation: Normalisation | None = None
    reward_scale: float = 1.0
    suggested_env_steps: int = 0
    source: str = ""

    def over(self, below: Preset) -> Preset:
        """Lay this setting over a complete one."""
        return Preset(
            hyperparameters={**below.hyperparameters, **self.hyperparameters},
            network={**below.network, **self.network},
            normalise_observation=self.normalise_observation or below.normalise_observation,
            reward_scale=self.reward_scale,
            suggested_env_steps=self.suggested_env_steps or below.suggested_env_steps,
            source=self.source or below.source,
        )


ZOO = "rl-baselines3-zoo hyperparams at 22e3ff2"
CLEANRL = "CleanRL defaults"
SMALL_TANH: dict[str, Any] = {"hidden_sizes": (64, 64), "activation": "tanh", "orthogonal_init": True}
WIDE_RELU: dict[str, Any] = {"hidden_sizes": (256, 256), "activation": "relu", "orthogonal_init": False}

PPO_DISCRETE = Preset(
    hyperparameters={
        "learning_rate": 2.5e-4, "learning_rate_schedule": "linear", "gamma": 0.99, "num_envs": 4, "rollout_steps": 128,
        "gae_lambda": 0.95, "entropy_coefficient": 0.01, "value_coefficient": 0.5, "max_gradient_norm": 0.5,
        "minibatch_size": 128, "epochs": 4, "clip_range": 0.2, "value_clip": True, "normalise_advantage": True,
    },
    network=SMALL_TANH,
    normalise_observation="none",
    suggested_env_steps=500_000,
    source=f"{CLEANRL}: ppo.py",
)  # fmt: skip
PPO_BOX = Preset(
    hyperparameters={
        "learning_rate": 3e-4, "learning_rate_schedule": "linear", "gamma": 0.99, "num_envs": 1, "rollout_steps": 2048,
        "gae_lambda": 0.95, "entropy_coefficient": 0.0, "value_coefficient": 0.5, "max_gradient_norm": 0.5,
        "minibatch_size": 64, "epochs": 10, "clip_range": 0.2, "value_clip": True, "normalise_return": True,
    },
    network=SMALL_TANH,
    normalise_observation="running",
    suggested_env_steps=1_000_000,
    source=f"{CLEANRL}: ppo_continuous_action.py (return scaling in place of reward scaling)",
)  # fmt: skip
A2C_ANY = Preset(
    hyperparameters={
        "learning_rate": 7e-4, "learning_rate_schedule": "linear", "gamma": 0.99, "num_envs": 8, "rollout_steps": 5,
        "gae_lambda": 1.0, "entropy_coefficient": 0.0, "value_coefficient": 0.5, "max_gradient_norm": 0.5,
        "normalise_advantage": False,
    },
    network=SMALL_TANH,
    normalise_observation="none",
    suggested_env_steps=500_000,
    source="stable-baselines3 A2C defaults, with Adam",
)  # fmt: skip
SAC_BOX = Preset(
    hyperparameters={
        "learning_rate": 3e-4, "gamma": 0.99, "num_envs": 1, "batch_size": 256, "buffer_size": 1_000_000,
        "warmup_env_steps": 5_000, "updates_per_env_step": 1.0, "collect_steps": 1, "tau": 0.005, "alpha": "auto",
    },
    network=WIDE_RELU,
    normalise_observation="none",
    suggested_env_steps=1_000_000,
    source=f"{CLEANRL}: sac_continuous_action.py",
)  # fmt: skip
TD3_BOX = Preset(
    hyperparameters={
        "learning_rate": 3e-4, "gamma": 0.99, "num_envs": 1, "batch_size": 256, "buffer_size": 1_000_000,
        "warmup_env_steps": 25_000, "updates_per_env_step": 1.0, "collect_steps": 1, "tau": 0.005,
        "exploration_noise": 0.1, "policy_noise": 0.2, "policy_noise_clip": 0.5, "actor_update_interval": 2,
    },
    network=WIDE_RELU,
    normalise_observation="none",
    suggested_env_steps=1_000_000,
    source=f"{CLEANRL}: td3_continuous_action.py",
)  # fmt: skip
DQN_DISCRETE = Preset(
    hyperparameters={
        "learning_rate": 2.5e-4, "gamma": 0.99, "num_envs": 1, "batch_size": 128, "buffer_size": 10_000,
        "warmup_env_steps": 10_000, "updates_per_env_step": 0.1, "collect_steps": 10, "target_update_interval": 50,
        "exploration_initial": 1.0, "exploration_final": 0.05, "exploration_fraction": 0.5, "is_double": True,
    },
    network={"hidden_sizes": (120, 84), "activation": "relu", "orthogonal_init": False},
    normalise_observation="none",
    suggested_env_steps=500_000,
    source=f"{CLEANRL}: dqn.py (with double Q-learning, as Tianshou's default)",
)  # fmt: skip


def library_default(algorithm: AlgorithmName, kind: str) -> Preset:
    """Give what a library ships as its default for an algorithm and a kind of action space (`box`, `discrete`)."""
    ppo = PPO_DISCRETE if kind == "discrete" else PPO_BOX
    defaults = {"PPO": ppo, "A2C": A2C_ANY, "SAC": SAC_BOX, "TD3": TD3_BOX, "DQN": DQN_DISCRETE}
    return defaults[algorithm]


# For a class of environments: what tuned settings of its members have in common, at sizes that suit one CPU core.
PPO_CLASS_DISCRETE = Preset(
    hyperparameters={
        "learning_rate": 1e-3, "learning_rate_schedule": "linear", "num_envs": 8, "rollout_steps": 128,
        "minibatch_size": 256, "epochs": 10, "gae_lambda": 0.95, "entropy_coefficient": 0.0, "value_clip": False,
    },
    normalise_observation="running",
    suggested_env_steps=100_000,
    source=f"{ZOO}: ppo.yml, what CartPole, Acrobot and MountainCar share; minibatches of 256 for one CPU core",
)  # fmt: skip
PPO_CLASS_BOX = Preset(
    hyperparameters={
        "learning_rate": 1e-3, "learning_rate_schedule": "linear", "num_envs": 8, "rollout_steps": 256,
        "minibatch_size": 256, "epochs": 10, "gae_lambda": 0.95, "value_coefficient": 0.25, "value_clip": False,
        "normalise_return": True, "normalise_advantage": True,
    },
    normalise_observation="running",
    suggested_env_steps=200_000,
    source="Tianshou examples/mujoco/mujoco_ppo.py at f2402056; minibatches of 256 and rate 1e-3 for one CPU core",
)  # fmt: skip
A2C_CLASS = Preset(
    hyperparameters={
        "num_envs": 8, "rollout_steps": 16, "gae_lambda": 0.95, "normalise_return": True, "learning_rate": 2e-3,
    },
    normalise_observation="running",
    suggested_env_steps=200_000,
    source="Tianshou examples/mujoco/mujoco_a2c.py at f2402056: return scaling, normalised observations; Adam at 2e-3",
)  # fmt: skip
SAC_CLASS = Preset(
    hyperparameters={"learning_rate": 7e-4, "warmup_env_steps": 1_000, "num_envs": 1},
    suggested_env_steps=30_000,
    source=f"{ZOO}: sac.yml, MuJoCo; warm-up of 1000 steps and rate 7e-4 for small budgets",
)
TD3_CLASS = Preset(
    hyperparameters={"learning_rate": 1e-3, "warmup_env_steps": 1_000},
    suggested_env_steps=30_000,
    source=f"{ZOO}: td3.yml, MuJoCo; warm-up of 1000 steps for small budgets",
)
DQN_CLASS = Preset(
    hyperparameters={
        "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "warmup_env_steps": 1_000, "num_envs": 4,
        "updates_per_env_step": 0.25, "collect_steps": 4, "target_update_interval": 250, "exploration_fraction": 0.16,
        "exploration_final": 0.05,
    },
    network={"hidden_sizes": (256, 256)},
    suggested_env_steps=100_000,
    source=f"{ZOO}: dqn.yml, what Acrobot and LunarLander share",
)  # fmt: skip


def class_preset(algorithm: AlgorithmName, kind: str) -> Preset:
    """Give the tuned setting of a class of environments, complete."""
    ppo = PPO_CLASS_DISCRETE if kind == "discrete" else PPO_CLASS_BOX
    layers = {"PPO": ppo, "A2C": A2C_CLASS, "SAC": SAC_CLASS, "TD3": TD3_CLASS, "DQN": DQN_CLASS}
    return layers[algorithm].over(library_default(algorithm, kind))
