# environment: CartPole-v1
# arguments: {}
# expect: code=action-outside-space line=10
import numpy as np

ACTION_SPACE = {"n": 3}


def act(action, observation):
    return action
