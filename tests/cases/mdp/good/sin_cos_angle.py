# environment: CartPole-v1
# arguments: {}
"""The pole's angle as sine and cosine."""
import numpy as np

OBSERVATION_SPACE = {"shape": [5], "dtype": "float32", "low": None, "high": None}


def observe(observation):
    position, speed, angle, turning = observation.T
    return np.stack([position, speed, np.sin(angle), np.cos(angle), turning], axis=1).astype(np.float32)
