"""Tianshou's classes without their types: our subclasses take plain tensors where its annotations ask for batch objects."""

from typing import Any

import tianshou.algorithm as algorithms
import torch
from tianshou.algorithm.modelfree.ddpg import ContinuousDeterministicPolicy
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.modelfree.sac import SACPolicy

_untyped: Any = algorithms
StockPPO: Any = _untyped.PPO
StockA2C: Any = _untyped.A2C
StockSAC: Any = _untyped.SAC
StockTD3: Any = _untyped.TD3
StockDQN: Any = _untyped.DQN
StockOnPolicyPolicy: Any = ProbabilisticActorPolicy
StockSoftPolicy: Any = SACPolicy
StockDeterministicPolicy: Any = ContinuousDeterministicPolicy
StockChoicePolicy: Any = DiscreteQLearningPolicy

kernels: Any = torch
"""torch's kernels on lists of tensors, which it does not export by name."""
