# environment: Pendulum-v1
# arguments: {}
"""A designed action in [-1, 1] with finer steps around zero (Kober et al.: smooth maps)."""
import numpy as np

ACTION_SPACE = {"shape": [1], "low": -1.0, "high": 1.0}


def act(action, observation):
    return 2.0 * np.sign(action) * np.abs(action) ** 1.5
