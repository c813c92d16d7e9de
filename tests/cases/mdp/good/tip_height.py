# environment: Acrobot-v1
# arguments: {}
"""The height of the tip as a further feature and as a potential."""
import numpy as np

OBSERVATION_SPACE = {"shape": [7], "dtype": "float32", "low": [-1, -1, -1, -1, -1, -1, -1], "high": 1.0}


def height(observation):
    cos_first, sin_first, cos_second, sin_second = observation[:, :4].T
    return -cos_first - (cos_first * cos_second - sin_first * sin_second)


def observe(observation):
    speeds = observation[:, 4:] / np.array([4 * np.pi, 9 * np.pi], dtype=np.float32)
    return np.concatenate([observation[:, :4], speeds, height(observation)[:, None] / 2.0], axis=1)


def potential(observation):
    return 5.0 * height(observation)
