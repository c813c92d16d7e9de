# environment: Pendulum-v1
# arguments: {}
# expect: code=reward-anti-correlated line=10
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    angle = np.arctan2(observation[:, 1], observation[:, 0])
    return {
        "upright": angle**2,
        "calm": -0.001 * np.sum(action**2, axis=1),
    }
