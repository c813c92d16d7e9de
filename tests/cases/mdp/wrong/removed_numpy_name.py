# environment: CartPole-v1
# arguments: {}
# expect: code=raises line=8
import numpy as np


def observe(observation):
    return observation.astype(np.float)
