# environment: CartPole-v1
# arguments: {}
# expect: code=import-not-allowed line=5
import numpy as np
import torch


def observe(observation):
    return torch.tanh(torch.as_tensor(observation)).numpy()
