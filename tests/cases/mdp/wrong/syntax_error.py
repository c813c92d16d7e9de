# environment: CartPole-v1
# arguments: {}
# expect: code=syntax-error line=7
import numpy as np


def observe(observation)
    return observation
