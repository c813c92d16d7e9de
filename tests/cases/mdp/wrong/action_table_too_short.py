# environment: Pendulum-v1
# arguments: {}
# expect: code=raises line=11
import numpy as np

TORQUES = np.array([-2.0, 0.0, 2.0])
ACTION_SPACE = {"n": 5}


def act(action, observation):
    return TORQUES[action][:, None]
