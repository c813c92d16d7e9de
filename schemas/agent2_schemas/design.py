"""The complete description of an agent, `design.yaml`: MDP, algorithm, network, hyperparameters, budget, seeds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent2_schemas.environment import Space
from agent2_schemas.groups import GroupDesign
from agent2_schemas.hyperparameters import Hyperparameters
from agent2_schemas.model import Frozen, Identifier

MdpPart = Literal["observe", "act", "action_mask", "observe_state", "reward", "potential"]
"""Functions that `mdp.py` may define (DESIGN 4.2)."""

AlgorithmName = Literal["PPO", "A2C", "SAC", "TD3", "DQN", "IPPO", "MAPPO", "VDN", "QMIX", "MADDPG"]
"""The first five learn for one agent, the others for groups of agents."""


class StatefulSteps(Frozen):
    """Steps that keep state, declared here and run by the runtime, so that generated functions stay pure."""

    history: int = Field(
        default=1, ge=1, le=64, description="Raw observations handed to `observe`, newest last; 1: no history axis."
    )
    previous_action: bool = Field(
        default=False,
        description="Append the previous designed action (one-hot if discrete; zeros at reset) after `observe`.",
    )
    time_left: bool = Field(
        default=False, description="Append the share of the time limit that is left, 1 at reset; needs a time limit."
    )
    action_repeat: int = Field(
        default=1,
        ge=1,
        le=16,
        description="Environment steps each designed action is held; steps still count simulator steps.",
    )
    normalise_observation: Literal["none", "running", "warmup"] = Field(
        default="none",
        description="none; running: updated after each policy update; warmup: measured on random steps, then frozen.",
    )
    observation_clip: float = Field(
        default=10.0, gt=0, description="Bound of a normalised observation entry, standard deviations."
    )
    agent_identity: bool = Field(
        default=False, description="Append the one-hot index of the agent within its group; groups of agents only."
    )


class MdpDesign(Frozen):
    """How the agent sees the environment: declared parts, and what its `mdp.py` defines."""

    parts: tuple[MdpPart, ...] = Field(default=(), description="Functions that this candidate's mdp.py defines.")
    is_declared_only: bool = Field(
        default=True, description="Whether the design has no free-form code, so that any sandbox tier may run it."
    )
    info_keys: tuple[str, ...] = Field(default=(), description="Numeric keys of info that `reward` may read.")
    stateful: StatefulSteps = Field(default_factory=StatefulSteps, description="Declared steps that keep state.")
    reward_scale: float = Field(
        default=1.0, gt=0, description="Constant that multiplies the reward the agent learns from; never a shift."
    )
    reward_weights: dict[str, float] = Field(
        default_factory=dict, description="Weights of the reward components, as REWARD_WEIGHTS of mdp.py gives them."
    )
    max_episode_steps: int | None = Field(
        default=None, ge=1, description="Time limit of the environment, environment steps; `time_left` needs it."
    )
    environment_observation_space: Space = Field(description="The environment's own observation space.")
    environment_action_space: Space = Field(description="The environment's own action space.")
    observation_space: Space = Field(
        description="The space the policy sees: a flat or image box, after observe, extras and normalisation."
    )
    action_space: Space = Field(description="The space the policy acts in: discrete, or a box in [-1, 1].")
    groups: tuple[GroupDesign, ...] = Field(
        default=(), description="Groups of agents; empty for a single agent. The four spaces above are the first one's."
    )
    environment_state_space: Space | None = Field(
        default=None, description="The environment's global state, which only training sees; null for a single agent."
    )
    state_space: Space | None = Field(
        default=None, description="What a central critic sees of the state: after observe_state."
    )
    is_cooperative: bool = Field(default=True, description="Whether all agents want the same.")
    backend: str = Field(default="", description="What simulates groups of agents, e.g. `mpe2`; beside every score.")


class NetworkDesign(Frozen):
    """The networks as data; `policy.py` is rendered from it."""

    kind: Literal["mlp", "gru"] = Field(
        default="mlp", description="Body of actor and critic; gru: with a memory, for groups of agents only."
    )
    sharing: Literal["group", "agent"] = Field(
        default="group", description="One policy for each group of agents, or one for each agent."
    )
    hidden_sizes: tuple[int, ...] = Field(
        default=(64, 64), min_length=1, max_length=6, description="Units of each hidden layer of the actor."
    )
    critic_hidden_sizes: tuple[int, ...] | None = Field(
        default=None, description="Units of each hidden layer of the critic; null: as the actor."
    )
    activation: Literal["tanh", "relu", "elu", "leaky_relu", "silu"] = Field(
        default="tanh", description="Activation after each hidden layer."
    )
    layer_norm: bool = Field(default=False, description="LayerNorm before each activation.")
    orthogonal_init: bool = Field(
        default=True, description="Orthogonal weights (gain sqrt 2), policy head gain 0.01, value head gain 1."
    )
    initial_log_std: float = Field(
        default=0.0, ge=-5, le=2, description="Initial log standard deviation of a state-independent Gaussian policy."
    )


class Design(Frozen):
    """All that is needed to train an agent again: `candidates/<id>/design.yaml`."""

    candidate_id: Identifier = Field(description="Folder name of the candidate.")
    parent_id: Identifier | None = Field(default=None, description="Candidate it was derived from.")
    title: str = Field(default="", description="What is particular about it, in a few words.")
    mdp: MdpDesign = Field(description="Observation, action and reward.")
    algorithm: AlgorithmName = Field(description="Learning algorithm.")
    network: NetworkDesign = Field(description="Actor and critic networks.")
    hyperparameters: Hyperparameters = Field(description="Hyperparameters of the algorithm.")
    budget_env_steps: int = Field(ge=1, description="Environment steps of one full training.")
    training_seed: int = Field(
        default=0,
        ge=0,
        description="Seed of networks, exploration and training environments; set from the run at export.",
    )
    gamma_source: str = Field(default="", description="Where the discount comes from, in a few words.")
    sources: tuple[str, ...] = Field(default=(), description="Where the priors come from (paper, preset).")
