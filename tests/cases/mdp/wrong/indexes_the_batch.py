# environment: CartPole-v1
# arguments: {}
# expect: code=wrong-shape line=9
import numpy as np


def observe(observation):
    position, speed, angle, turning = observation[0], observation[1], observation[2], observation[3]
    return np.concatenate([position, speed, np.sin(angle), turning])
