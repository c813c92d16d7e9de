# environment: Pendulum-v1
# arguments: {}
# expect: code=hidden-state line=11
import numpy as np

SEEN = {"reward": 0.0}


def observe(observation):
    seen = np.full((len(observation), 1), SEEN["reward"])
    return np.concatenate([observation, seen], axis=1)


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    SEEN["reward"] = float(original_reward[0])
    return {"original": original_reward}
