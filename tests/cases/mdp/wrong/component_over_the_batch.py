# environment: Pendulum-v1
# arguments: {}
# expect: code=wrong-shape line=10
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {
        "original": original_reward,
        "energy": -np.sum(action**2),
    }
