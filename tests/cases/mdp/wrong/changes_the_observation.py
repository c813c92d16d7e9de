# environment: CartPole-v1
# arguments: {}
# expect: code=changes-input line=8
import numpy as np


def observe(observation):
    observation[:, 0] /= 2.4
    return observation
