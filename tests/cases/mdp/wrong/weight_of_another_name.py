# environment: Pendulum-v1
# arguments: {}
# expect: code=weight-unknown line=8
import numpy as np

REWARD_WEIGHTS = {
    "original": 1.0,
    "energie": 0.1,
}


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"original": original_reward, "energy": -np.sum(action**2, axis=1)}
