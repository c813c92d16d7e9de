# environment: CartPole-v1
# arguments: {}
# expect: code=shape-not-declared line=11
import numpy as np

OBSERVATION_SPACE = {"shape": [4], "low": None, "high": None}


def observe(observation):
    angle = observation[:, 2:3]
    return np.concatenate([observation, np.sin(angle)], axis=1)
