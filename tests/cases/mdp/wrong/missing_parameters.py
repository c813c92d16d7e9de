# environment: CartPole-v1
# arguments: {}
# expect: code=wrong-parameters line=7
import numpy as np


def reward(state, action, next_state, info):
    return {"upright": np.cos(next_state[:, 2])}
