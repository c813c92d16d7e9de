# environment: CartPole-v1
# arguments: {}
# expect: code=file-access line=8
import numpy as np


def observe(observation):
    mean = np.load("mean.npy")
    return observation - mean
