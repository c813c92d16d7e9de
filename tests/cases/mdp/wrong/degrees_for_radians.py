# environment: CartPole-v1
# arguments: {}
# expect: code=nearly-constant-feature line=13
import numpy as np


def observe(observation):
    angle = np.deg2rad(observation[:, 2])
    return np.stack(
        [
            observation[:, 0],
            observation[:, 1],
            np.cos(angle),
            observation[:, 3],
        ],
        axis=1,
    )
