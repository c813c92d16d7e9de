# environment: Pendulum-v1
# arguments: {}
# expect: code=batch-leak line=9
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    best = original_reward.max()
    return {"near_best": original_reward - best}
