# environment: CartPole-v1
# arguments: {}
# expect: code=wrong-dtype line=11
import numpy as np

ACTION_SPACE = {"shape": [1], "low": -1.0, "high": 1.0}


def act(action, observation):
    side = (action[:, 0] > 0).astype(np.float32)
    return side
