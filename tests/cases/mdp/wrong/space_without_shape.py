# environment: CartPole-v1
# arguments: {}
# expect: code=space-form line=6
import numpy as np

OBSERVATION_SPACE = {"dim": 4, "type": "continuous", "low": -1.0, "high": 1.0}


def observe(observation):
    return np.tanh(observation)
