# environment: Pendulum-v1
# arguments: {}
"""Residual policy learning (Silver et al. 2018): a damping controller plus what is learnt."""
import numpy as np

ACTION_SPACE = {"shape": [1], "low": -2.0, "high": 2.0}


def act(action, observation):
    base = -0.1 * observation[:, 2:3]
    return np.clip(base + action, -2.0, 2.0)
