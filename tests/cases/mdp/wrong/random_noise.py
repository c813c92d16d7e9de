# environment: CartPole-v1
# arguments: {}
# expect: code=not-deterministic line=11
import numpy as np

GENERATOR = np.random.default_rng(0)


def observe(observation):
    noise = GENERATOR.normal(0.0, 0.01, observation.shape)
    return observation + noise
