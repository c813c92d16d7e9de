# environment: CartPole-v1
# arguments: {}
"""A quadratic cost for leaving the middle, bounded, beside the original reward."""
import numpy as np

REWARD_WEIGHTS = {"original": 1.0, "centre": 0.2}


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    centre = -np.minimum((observation[:, 0] / 2.4) ** 2, 1.0)
    return {"original": original_reward, "centre": centre}
