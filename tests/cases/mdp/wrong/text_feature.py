# environment: CartPole-v1
# arguments: {}
# expect: code=wrong-dtype line=9
import numpy as np


def observe(observation):
    side = np.where(observation[:, :1] > 0, "right", "left")
    return side
