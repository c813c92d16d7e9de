"""Groups of agents as a design describes them: what each group's policy sees and acts in."""

from __future__ import annotations

from pydantic import Field

from agent2_schemas.environment import Space
from agent2_schemas.model import Frozen


class GroupDesign(Frozen):
    """Agents of equal spaces, before and after the functions of `mdp.py`."""

    name: str = Field(min_length=1, description="Name of the group, e.g. `adversary`.")
    agents: tuple[str, ...] = Field(min_length=1, description="Ids of its agents, in the order of the agents axis.")
    environment_observation_space: Space = Field(description="The environment's observation space of one agent.")
    environment_action_space: Space = Field(description="The environment's action space of one agent.")
    has_action_mask: bool = Field(default=False, description="Whether some actions are not always legal.")
    observation_space: Space = Field(
        description="What the policy sees of one agent: after observe, extras, normalisation and agent identity."
    )
    action_space: Space = Field(description="What the policy acts in: discrete, or a box in [-1, 1].")
