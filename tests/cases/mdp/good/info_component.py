# environment: InvertedPendulum-v5
# arguments: {"info_keys": ["reward_survive"]}
"""A component read from a declared key of info, where it is present."""
import numpy as np

REWARD_WEIGHTS = {"survive": 1.0, "slow": 0.01}


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    survive = np.where(info["reward_survive_present"], info["reward_survive"], 0.0)
    return {"survive": survive, "slow": -np.tanh(observation[:, 3] ** 2)}
