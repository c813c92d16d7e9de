# environment: CartPole-v1
# arguments: {}
# expect: code=episodes-ranked-backwards line=10
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    tilt = -np.abs(observation[:, 2])
    drift = -np.abs(observation[:, 0])
    return {"tilt": tilt, "drift": drift}
