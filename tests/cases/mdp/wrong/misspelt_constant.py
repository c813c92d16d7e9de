# environment: CartPole-v1
# arguments: {}
# expect: code=misspelt-constant line=6
import numpy as np

OBSERVATIONS_SPACE = {"shape": [4], "low": -1.0, "high": 1.0}


def observe(observation):
    return np.tanh(observation)
