# environment: CartPole-v1
# arguments: {}
# expect: code=outside-declared-space line=14
import numpy as np

OBSERVATION_SPACE = {"shape": [4], "dtype": "float32", "low": -1.0, "high": 1.0}


def observe(observation):
    position, speed, angle, turning = observation.T
    return np.stack(
        [
            position / 2.4,
            speed,
            angle / 0.42,
            np.tanh(turning),
        ],
        axis=1,
    )
