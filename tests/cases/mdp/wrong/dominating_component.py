# environment: Pendulum-v1
# arguments: {}
# expect: code=component-dominates line=10
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {
        "original": original_reward,
        "calm": -1000.0 * np.sum(action**2, axis=1),
    }
