# environment: FrozenLake-v1
# arguments: {}
"""Potential: the share of the way to the goal that is done."""
import numpy as np


def potential(observation):
    return (observation // 4 + observation % 4) / 6.0
