# environment: FrozenLake-v1
# arguments: {}
"""Row and column of the cell instead of its number, and the way that is left."""
import numpy as np

OBSERVATION_SPACE = {"shape": [3], "dtype": "float32", "low": 0.0, "high": 1.0}


def observe(observation):
    row, column = np.divmod(observation, 4)
    left = (6 - row - column) / 6.0
    return np.stack([row / 3.0, column / 3.0, left], axis=1).astype(np.float32)
