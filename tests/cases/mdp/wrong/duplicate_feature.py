# environment: CartPole-v1
# arguments: {}
# expect: code=duplicate-feature line=14
import numpy as np


def observe(observation):
    return np.stack(
        [
            observation[:, 0],
            observation[:, 1],
            observation[:, 2],
            observation[:, 3],
            57.3 * observation[:, 2],
        ],
        axis=1,
    )
