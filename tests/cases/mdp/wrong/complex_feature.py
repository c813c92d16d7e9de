# environment: CartPole-v1
# arguments: {}
# expect: code=wrong-dtype line=9
import numpy as np


def observe(observation):
    turned = np.exp(1j * observation)
    return turned
