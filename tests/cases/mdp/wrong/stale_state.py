# environment: Pendulum-v1
# arguments: {}
# expect: code=not-deterministic line=14
import numpy as np

PREVIOUS = {}


def observe(observation):
    last = PREVIOUS.get("observation", observation)
    if len(last) != len(observation):
        last = observation
    PREVIOUS["observation"] = observation.copy()
    return np.concatenate([observation, observation - last], axis=1)
