# environment: Pendulum-v1
# arguments: {}
# expect: code=component-dead line=10
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {
        "original": original_reward,
        "goal": np.where(np.abs(observation[:, 2]) > 8.5, 1.0, 0.0),
    }
