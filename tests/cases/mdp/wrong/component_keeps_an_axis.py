# environment: Pendulum-v1
# arguments: {}
# expect: code=wrong-shape line=9
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    energy = -(action**2)
    return {"original": original_reward, "energy": energy}
