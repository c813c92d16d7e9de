# environment: InvertedPendulum-v5
# arguments: {}
"""A smooth bonus for standing upright, in (0, 1], as in the DeepMind control suite."""
import numpy as np

REWARD_WEIGHTS = {"original": 1.0, "upright": 0.5}


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"original": original_reward, "upright": np.exp(-10.0 * observation[:, 1] ** 2)}
