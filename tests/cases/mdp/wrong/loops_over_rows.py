# environment: CartPole-v1
# arguments: {}
# expect: code=slow-step line=16
import math

import numpy as np


def observe(observation):
    rows = []
    for row in observation:
        total = 0.0
        for count in range(40000):
            total += math.sin(count * row[2])
        rows.append([row[0], row[1], row[2], row[3], total])
    return np.array(rows)
