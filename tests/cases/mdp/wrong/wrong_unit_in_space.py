# environment: MountainCarContinuous-v0
# arguments: {}
# expect: code=range-unused line=13
import numpy as np

OBSERVATION_SPACE = {"shape": [2], "dtype": "float32", "low": [-1.2, -7.0], "high": [0.6, 7.0]}


def observe(observation):
    return np.stack(
        [
            observation[:, 0],
            observation[:, 1],
        ],
        axis=1,
    )
