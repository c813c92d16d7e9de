# environment: CartPole-v1
# arguments: {}
# expect: code=returns-nothing line=7
import numpy as np


def potential(observation):
    value = np.cos(observation[:, 2])
