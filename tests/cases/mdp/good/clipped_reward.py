# environment: Pendulum-v1
# arguments: {}
"""The original reward scaled and bounded (Mnih et al. 2015)."""
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"bounded": np.clip(original_reward / 16.3, -1.0, 0.0)}
