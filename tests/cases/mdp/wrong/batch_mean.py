# environment: CartPole-v1
# arguments: {}
# expect: code=batch-leak line=9
import numpy as np


def observe(observation):
    mean, std = observation.mean(axis=0), observation.std(axis=0) + 1e-6
    return (observation - mean) / std
