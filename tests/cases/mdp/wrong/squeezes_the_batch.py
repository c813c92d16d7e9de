# environment: MountainCarContinuous-v0
# arguments: {}
# expect: code=wrong-shape line=9
import numpy as np


def potential(observation):
    height = np.sin(3.0 * observation[:, :1])
    return np.squeeze(height)
