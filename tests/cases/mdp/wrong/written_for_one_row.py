# environment: CartPole-v1
# arguments: {}
# expect: code=not-batched line=9
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    penalty = np.zeros(len(observation))
    if terminated:
        penalty = penalty - 10.0
    return {"original": original_reward, "penalty": penalty}
