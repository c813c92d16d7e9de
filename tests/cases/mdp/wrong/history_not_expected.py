# environment: Pendulum-v1
# arguments: {"history": 4}
# expect: code=shape-not-declared line=10
import numpy as np

OBSERVATION_SPACE = {"shape": [3], "low": None, "high": None}


def observe(observation):
    return np.tanh(observation)
