# environment: InvertedPendulum-v5
# arguments: {}
# expect: code=info-key-not-declared line=8
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    survive = info["reward_survive"]
    return {"survive": survive}
