# environment: CartPole-v1
# arguments: {}
# expect: code=constant-observation line=8
import numpy as np


def observe(observation):
    return np.zeros_like(observation)
