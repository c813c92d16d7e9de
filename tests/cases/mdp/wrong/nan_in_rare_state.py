# environment: CartPole-v1
# arguments: {}
# expect: code=not-finite line=9
import numpy as np


def observe(observation):
    position, speed, angle, turning = observation.T
    lead = speed * np.log(np.abs(speed))
    return np.stack([position, speed, angle, turning, np.tanh(lead)], axis=1)
