# environment: CartPole-v1
# arguments: {}
# expect: code=wrong-shape line=9
import numpy as np


def observe(observation):
    features = [observation[:, 0], observation[:, 1], np.sin(observation[:, 2]), np.cos(observation[:, 2])]
    return np.stack(features)
