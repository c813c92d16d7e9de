# environment: CartPole-v1
# arguments: {}
"""Each entry scaled by its natural size and squashed into (-1, 1)."""
import numpy as np

SCALE = np.array([2.4, 2.0, 0.2, 2.0], dtype=np.float32)
OBSERVATION_SPACE = {"shape": [4], "dtype": "float32", "low": -1.0, "high": 1.0}


def observe(observation):
    return np.tanh(observation / SCALE)
