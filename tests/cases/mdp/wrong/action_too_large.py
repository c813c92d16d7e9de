# environment: Pendulum-v1
# arguments: {}
# expect: code=action-outside-space line=10
import numpy as np

ACTION_SPACE = {"shape": [1], "low": -1.0, "high": 1.0}


def act(action, observation):
    return action * 20.0
