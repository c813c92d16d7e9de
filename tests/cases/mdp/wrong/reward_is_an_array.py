# environment: Pendulum-v1
# arguments: {}
# expect: code=reward-not-a-dict line=8
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return original_reward - 0.1 * np.abs(observation[:, 2])
