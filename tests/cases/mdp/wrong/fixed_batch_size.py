# environment: CartPole-v1
# arguments: {}
# expect: code=raises line=8
import numpy as np


def observe(observation):
    rows = observation.reshape(8, 4)
    return np.tanh(rows)
