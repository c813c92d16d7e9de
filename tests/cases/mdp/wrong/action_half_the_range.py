# environment: Pendulum-v1
# arguments: {}
# expect: code=action-range-unreached line=10
import numpy as np

ACTION_SPACE = {"shape": [1], "low": -1.0, "high": 1.0}


def act(action, observation):
    return np.clip(action, -1.0, 1.0)
