# environment: Pendulum-v1
# arguments: {}
"""The original reward with a further penalty for torque."""
import numpy as np

REWARD_WEIGHTS = {"original": 1.0, "energy": 0.05}


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    energy = -np.sum(np.square(action), axis=1)
    return {"original": original_reward, "energy": energy}
