# environment: Pendulum-v1
# arguments: {}
"""Five torques instead of an interval, so that value methods apply."""
import numpy as np

TORQUES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0], dtype=np.float32)
ACTION_SPACE = {"n": 5}


def act(action, observation):
    return TORQUES[action][:, None]
