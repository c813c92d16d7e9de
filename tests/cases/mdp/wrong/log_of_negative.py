# environment: Pendulum-v1
# arguments: {}
# expect: code=not-finite line=9
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    speed = observation[:, 2]
    calm = -np.log(1.0 + speed)
    return {"original": original_reward, "calm": calm}
