# environment: CartPole-v1
# arguments: {}
# expect: code=misspelt-part line=7
import numpy as np


def rewards(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"upright": np.cos(observation[:, 2])}
