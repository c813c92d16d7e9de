"""What was tuned for single environments: each lies over the setting of its class."""

from __future__ import annotations

from agent2_schemas import AlgorithmName
from agent2_training.catalogue.presets import ZOO, Preset

TUNED: dict[tuple[AlgorithmName, str], Preset] = {
    ("PPO", "CartPole"): Preset(
        hyperparameters={
            "num_envs": 8, "rollout_steps": 32, "minibatch_size": 256, "epochs": 20, "gamma": 0.98, "gae_lambda": 0.8,
            "learning_rate": 1e-3, "learning_rate_schedule": "linear", "clip_range": 0.2,
        },
        normalise_observation="none",
        suggested_env_steps=40_000,
        source=f"{ZOO}: ppo.yml, CartPole-v1",
    ),
    ("PPO", "Acrobot"): Preset(
        hyperparameters={
            "num_envs": 16, "rollout_steps": 256, "minibatch_size": 256, "epochs": 4, "gamma": 0.99, "gae_lambda": 0.94,
            "learning_rate": 1e-3, "learning_rate_schedule": "constant",
        },
        normalise_observation="running",
        suggested_env_steps=200_000,
        source=f"{ZOO}: ppo.yml, Acrobot-v1; minibatches of 256 and rate 1e-3",
    ),
    ("PPO", "MountainCar"): Preset(
        hyperparameters={
            "num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "epochs": 4, "gamma": 0.99, "gae_lambda": 0.98,
            "learning_rate": 3e-4, "learning_rate_schedule": "constant", "normalise_return": True,
        },
        normalise_observation="running",
        suggested_env_steps=1_000_000,
        source=f"{ZOO}: ppo.yml, MountainCar-v0",
    ),
    ("PPO", "LunarLander"): Preset(
        hyperparameters={
            "num_envs": 16, "rollout_steps": 1024, "minibatch_size": 256, "epochs": 4, "gamma": 0.999, "gae_lambda": 0.98,
            "learning_rate": 1e-3, "learning_rate_schedule": "linear", "entropy_coefficient": 0.01,
        },
        normalise_observation="none",
        suggested_env_steps=1_000_000,
        source=f"{ZOO}: ppo.yml, LunarLander-v2; minibatches of 256 and rate 1e-3",
    ),
    ("PPO", "Pendulum"): Preset(
        hyperparameters={
            "num_envs": 4, "rollout_steps": 1024, "minibatch_size": 256, "epochs": 10, "gamma": 0.9, "gae_lambda": 0.95,
            "learning_rate": 1e-3, "learning_rate_schedule": "constant", "normalise_return": False,
        },
        normalise_observation="none",
        suggested_env_steps=150_000,
        source=f"{ZOO}: ppo.yml, Pendulum-v1, without gSDE; minibatches of 256",
    ),
    ("PPO", "MountainCarContinuous"): Preset(
        hyperparameters={
            "num_envs": 8, "rollout_steps": 256, "gamma": 0.9999, "gae_lambda": 0.9, "entropy_coefficient": 0.00429,
            "learning_rate": 3e-4, "clip_range": 0.1,
        },
        normalise_observation="running",
        suggested_env_steps=200_000,
        source=f"{ZOO}: ppo.yml, MountainCarContinuous-v0, without gSDE, with larger rollouts",
    ),
    ("PPO", "InvertedPendulum"): Preset(
        hyperparameters={
            "num_envs": 8, "rollout_steps": 64, "minibatch_size": 256, "epochs": 10, "gamma": 0.99, "gae_lambda": 0.9,
            "learning_rate": 1e-3, "learning_rate_schedule": "linear", "value_coefficient": 0.5, "clip_range": 0.2,
            "normalise_return": False,
        },
        normalise_observation="none",
        suggested_env_steps=60_000,
        source=f"{ZOO}: ppo.yml, InvertedPendulum (gamma, lambda), at 8 environments, minibatches of 256 and rate 1e-3",
    ),
    ("PPO", "InvertedDoublePendulum"): Preset(
        hyperparameters={
            "num_envs": 8, "rollout_steps": 128, "minibatch_size": 512, "epochs": 10, "gamma": 0.98, "gae_lambda": 0.8,
        },
        suggested_env_steps=300_000,
        source=f"{ZOO}: ppo.yml, InvertedDoublePendulum, at 8 environments",
    ),
    ("PPO", "Reacher"): Preset(
        hyperparameters={"num_envs": 8, "rollout_steps": 256, "gamma": 0.9, "gae_lambda": 1.0, "epochs": 5},
        suggested_env_steps=500_000,
        source=f"{ZOO}: ppo.yml, Reacher, at 8 environments and minibatches of 256",
    ),
    ("PPO", "Swimmer"): Preset(
        hyperparameters={
            "num_envs": 4, "rollout_steps": 1024, "minibatch_size": 256, "epochs": 10, "gamma": 0.9999, "gae_lambda": 0.98,
            "learning_rate": 6e-4, "learning_rate_schedule": "constant",
        },
        suggested_env_steps=200_000,
        source=f"{ZOO}: ppo.yml, Swimmer",
    ),
    ("SAC", "Pendulum"): Preset(
        hyperparameters={
            "learning_rate": 2e-3, "warmup_env_steps": 500, "num_envs": 1, "batch_size": 256, "buffer_size": 50_000,
            "gamma": 0.98, "tau": 0.01, "updates_per_env_step": 0.5,
        },
        network={"hidden_sizes": (64, 64)},
        suggested_env_steps=8_000,
        source=f"{ZOO}: sac.yml, Pendulum-v1; a small network at twice the rate for one CPU core",
    ),
    ("TD3", "Pendulum"): Preset(
        hyperparameters={"learning_rate": 1e-3, "gamma": 0.98, "warmup_env_steps": 1_000, "buffer_size": 200_000},
        network={"hidden_sizes": (64, 64)},
        suggested_env_steps=15_000,
        source=f"{ZOO}: td3.yml, Pendulum-v1; a small network for one CPU core",
    ),
    ("SAC", "MountainCarContinuous"): Preset(
        hyperparameters={
            "batch_size": 512, "gamma": 0.9999, "alpha": 0.1, "tau": 0.01, "buffer_size": 50_000, "collect_steps": 32,
            "warmup_env_steps": 1_000, "learning_rate": 3e-4,
        },
        network={"hidden_sizes": (64, 64)},
        suggested_env_steps=50_000,
        source=f"{ZOO}: sac.yml, MountainCarContinuous-v0, without gSDE",
    ),
    ("SAC", "LunarLanderContinuous"): Preset(
        hyperparameters={"learning_rate": 7.3e-4, "learning_rate_schedule": "linear", "tau": 0.01, "warmup_env_steps": 10_000},
        network={"hidden_sizes": (400, 300)},
        suggested_env_steps=500_000,
        source=f"{ZOO}: sac.yml, LunarLanderContinuous-v2",
    ),
    ("SAC", "Swimmer"): Preset(hyperparameters={"gamma": 0.999}, source=f"{ZOO}: sac.yml, Swimmer"),
    ("TD3", "Swimmer"): Preset(hyperparameters={"gamma": 0.9999}, source=f"{ZOO}: td3.yml, Swimmer"),
    ("DQN", "CartPole"): Preset(
        hyperparameters={
            "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "warmup_env_steps": 1_000,
            "num_envs": 8, "collect_steps": 32, "updates_per_env_step": 0.5, "target_update_interval": 10,
            "exploration_fraction": 0.16, "exploration_final": 0.04,
        },
        network={"hidden_sizes": (256, 256)},
        suggested_env_steps=50_000,
        source=f"{ZOO}: dqn.yml, CartPole-v1",
    ),
    ("DQN", "Acrobot"): Preset(
        hyperparameters={
            "learning_rate": 6.3e-4, "batch_size": 128, "exploration_fraction": 0.12, "exploration_final": 0.1,
            "target_update_interval": 250,
        },
        source=f"{ZOO}: dqn.yml, Acrobot-v1",
    ),
    ("DQN", "MountainCar"): Preset(
        hyperparameters={
            "learning_rate": 4e-3, "batch_size": 128, "gamma": 0.98, "collect_steps": 4, "updates_per_env_step": 0.5,
            "target_update_interval": 600, "exploration_fraction": 0.2, "exploration_final": 0.07, "num_envs": 4,
        },
        suggested_env_steps=120_000,
        source=f"{ZOO}: dqn.yml, MountainCar-v0",
    ),
    ("DQN", "LunarLander"): Preset(
        hyperparameters={
            "learning_rate": 6.3e-4, "batch_size": 128, "exploration_fraction": 0.12, "exploration_final": 0.1,
            "target_update_interval": 250,
        },
        source=f"{ZOO}: dqn.yml, LunarLander-v2",
    ),
}  # fmt: skip

FIRST_CHOICE: dict[str, AlgorithmName] = {
    "CartPole": "PPO", "Acrobot": "PPO", "MountainCar": "DQN", "LunarLander": "PPO", "InvertedPendulum": "PPO",
    "Swimmer": "PPO", "Pendulum": "SAC", "MountainCarContinuous": "SAC", "LunarLanderContinuous": "PPO",
}  # fmt: skip
"""Which algorithm got there first per wall-clock second, where that was measured or published."""


def family_of(name: str) -> str:
    """Cut an environment reference down to the name of its task: `module:Pendulum-v1` is `Pendulum`."""
    return name.rsplit(":", 1)[-1].rsplit("/", 1)[-1].rsplit("-v", 1)[0]
