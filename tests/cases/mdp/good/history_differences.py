# environment: Pendulum-v1
# arguments: {"history": 3}
"""The newest of three observations and its two differences to the earlier ones."""
import numpy as np

OBSERVATION_SPACE = {"shape": [9]}


def observe(observation):
    newest = observation[:, -1]
    parts = [newest, newest - observation[:, -2], observation[:, -2] - observation[:, -3]]
    return np.concatenate(parts, axis=1)
