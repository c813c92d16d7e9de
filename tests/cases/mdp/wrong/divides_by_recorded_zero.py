# environment: FrozenLake-v1
# arguments: {}
# expect: code=not-finite line=9
import numpy as np


def observe(observation):
    state = observation.astype(float)
    inverse = 1.0 / state
    return np.stack([state / 15.0, inverse], axis=1)
