# environment: MountainCarContinuous-v0
# arguments: {}
"""Progress: what the step gained in height, beside the original reward."""
import numpy as np

REWARD_WEIGHTS = {"original": 1.0, "progress": 2.0}


def height(observation):
    return np.sin(3.0 * observation[:, 0])


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"original": original_reward, "progress": height(observation) - height(previous_observation)}
